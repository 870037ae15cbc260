//! Taps that read side by side: what they read is loaded once for all of them.
//!
//! A target that reads alone loads a number for every product, if its taps pass by one by one, and waits
//! for loads. But pruning leaves and takes whole neighbourhoods: where one weight of a kernel's row has survived, the
//! next one often has, too, and at the next position it will read what this one reads now.

use super::taps::Tap;

/// The kinds of stretches: how many positions behind the first tap each of its taps reads.
pub(crate) const KINDS: [&[u32]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
/// Numbers of these kinds.
pub(crate) const THREE: usize = 0;
pub(crate) const BESIDE: usize = 1;
pub(crate) const ASTRIDE: usize = 2;
pub(crate) const ONE: usize = 3;
/// Taps of the longest stretch.
pub(crate) const LONGEST: usize = 3;

/// The kind of the stretch with which `taps` begin, whose offsets ascend.
pub(crate) fn first_kind(taps: &[Tap]) -> usize {
    let behind = |tap: usize| taps.get(tap).map(|tap| tap.offset - taps[0].offset);
    match [behind(1), behind(2)] {
        [Some(1), Some(2)] => THREE,
        [Some(1), _] => BESIDE,
        // The second tap had better go with the third.
        [Some(2), Some(3)] => ONE,
        [Some(2), _] => ASTRIDE,
        _ => ONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of all stretches of taps that read at `offsets`.
    fn kinds(offsets: &[u32]) -> Vec<usize> {
        let mut taps: Vec<Tap> = offsets.iter().map(|&offset| Tap { offset, weight: 0 }).collect();
        let mut kinds = vec![];
        while !taps.is_empty() {
            let kind = first_kind(&taps);
            taps.drain(..KINDS[kind].len());
            kinds.push(kind);
        }
        kinds
    }

    #[test]
    fn neighbours_read_together() {
        assert_eq!(kinds(&[]), [] as [usize; 0]);
        assert_eq!(kinds(&[7, 8, 9]), [THREE]);
        assert_eq!(kinds(&[7, 8, 9, 10, 11]), [THREE, BESIDE]);
        assert_eq!(kinds(&[7, 8, 10, 11]), [BESIDE, BESIDE]);
        assert_eq!(kinds(&[7, 9]), [ASTRIDE]);
        assert_eq!(kinds(&[7, 9, 11]), [ASTRIDE, ONE]);
        assert_eq!(kinds(&[7, 9, 10, 11]), [ONE, THREE]);
        assert_eq!(kinds(&[7, 10, 20]), [ONE, ONE, ONE]);
    }
}
