//! Whether a few numbers rise, by how often chance alone would order them so well.
//!
//! For numbers that come without an interval, such as one Lipschitz average per sparsity.
//! The test is exact (Kendall's): among all orders of n numbers, how many have at least as
//! many pairs in rising order?

use crate::measured::CONFIDENCE;
use crate::verdict::Verdict;

/// What the order of some numbers says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rising {
    pub(crate) verdict: Verdict,
    /// The probability that chance orders them as well as this.
    pub(crate) chance: f64,
}

/// Whether `numbers` rise. They do if chance would do as well in at most one of twenty
/// cases; they do not if they fall as clearly. With fewer than four, not even perfect order
/// is beyond chance.
pub(crate) fn rising(numbers: &[f64]) -> Rising {
    let pairs = |keep: fn(f64, f64) -> bool| {
        let later = |i: usize| numbers[i + 1..].iter().filter(move |&&b| keep(numbers[i], b));
        (0..numbers.len()).map(|i| later(i).count()).sum::<usize>()
    };
    let (rise, fall) = (pairs(|a, b| a < b), pairs(|a, b| a > b));
    let chance = chance_of(numbers.len(), rise);
    let one_sided = 0.5 * (1.0 - CONFIDENCE);
    let verdict = if chance <= one_sided {
        Verdict::Holds
    } else if chance_of(numbers.len(), fall) <= one_sided {
        Verdict::DoesNotHold
    } else {
        Verdict::NotEnoughData
    };
    Rising { verdict, chance }
}

/// The share of the orders of `n` numbers with at least `rise` pairs in rising order.
fn chance_of(n: usize, rise: usize) -> f64 {
    // The k-th number rises above any count of the k before it, each as likely.
    let mut shares = vec![1.0];
    for k in 1..n {
        let mut next = vec![0.0; shares.len() + k];
        for (count, share) in shares.iter().enumerate() {
            for place in &mut next[count..=count + k] {
                *place += share / (k + 1) as f64;
            }
        }
        shares = next;
    }
    shares.iter().skip(rise).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_numbers_in_order_are_beyond_chance_and_three_are_not() {
        let published = rising(&[0.57, 0.72, 0.81, 1.76]);
        assert_eq!(published.verdict, Verdict::Holds);
        assert!((published.chance - 1.0 / 24.0).abs() < 1e-12);
        let three = rising(&[1.0, 2.0, 3.0]);
        assert_eq!(three.verdict, Verdict::NotEnoughData);
        assert!((three.chance - 1.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_mixed_order_is_open_and_the_reverse_refutes() {
        let swapped = rising(&[0.57, 0.81, 0.72, 1.76]);
        assert_eq!(swapped.verdict, Verdict::NotEnoughData);
        assert!((swapped.chance - 4.0 / 24.0).abs() < 1e-12);
        assert_eq!(rising(&[3.0, 1.0, 4.0, 2.0]).verdict, Verdict::NotEnoughData);
        assert_eq!(rising(&[4.0, 3.0, 2.0, 1.0]).verdict, Verdict::DoesNotHold);
        assert_eq!(rising(&[3.0, 2.0, 1.0]).verdict, Verdict::NotEnoughData);
        assert_eq!(rising(&[]).verdict, Verdict::NotEnoughData);
    }
}
