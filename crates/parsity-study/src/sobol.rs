//! The Sobol sequence: points that fill a cube evenly, each a pure function of its index.
//!
//! Unscrambled, with the classic table of Bratley and Fox, and addressed through the
//! Gray code: point `n` is the exclusive or of the directions at the set bits of
//! `n ^ (n >> 1)`. Apart from the search space, because the table is a fact of the
//! literature and the published sampler: from dimension 3 on, other tables give other
//! points.

/// How many dimensions the table has.
pub const DIMENSIONS: usize = 10;

/// As many as a double holds exactly, so coordinates are exact.
const BITS: usize = 53;

/// Per dimension: a primitive polynomial over GF(2), leading term first in its bits, and
/// as many initial odd numbers as its degree. Dimension 1 needs neither.
const TABLE: [(usize, &[u64]); DIMENSIONS] = [
    (0b1, &[]),
    (0b11, &[1]),
    (0b111, &[1, 1]),
    (0b1011, &[1, 3, 7]),
    (0b1101, &[1, 1, 5]),
    (0b10011, &[1, 3, 1, 1]),
    (0b11001, &[1, 1, 3, 7]),
    (0b100101, &[1, 3, 3, 9, 9]),
    (0b111011, &[1, 3, 7, 13, 3]),
    (0b101111, &[1, 1, 5, 11, 27]),
];

/// The first `dimensions` (at most [`DIMENSIONS`]) coordinates of point `index`, each at
/// least 0 and below 1. Point 0 is the origin.
pub fn point(index: u64, dimensions: usize) -> Vec<f64> {
    assert!(dimensions <= DIMENSIONS, "the Sobol table has {DIMENSIONS} dimensions");
    assert!(index < 1 << BITS, "the Sobol sequence is computed to {BITS} bits");
    TABLE[..dimensions].iter().map(|entry| coordinate(index, &directions(entry))).collect()
}

/// The exclusive or of the directions that the Gray code of `index` selects.
fn coordinate(index: u64, directions: &[u64; BITS]) -> f64 {
    let gray = index ^ (index >> 1);
    let selected = (0..BITS).filter(|bit| gray >> bit & 1 == 1);
    let fraction = selected.fold(0, |fraction, bit| fraction ^ directions[bit]);
    fraction as f64 / (1u64 << BITS) as f64
}

/// The directions of one dimension, as fractions of 2^53: the initial numbers, continued
/// by the recurrence m_j = 2·a_1·m_{j−1} ⊕ … ⊕ 2^d·m_{j−d} ⊕ m_{j−d} of its polynomial.
fn directions(&(polynomial, initial): &(usize, &[u64])) -> [u64; BITS] {
    let degree = initial.len();
    let mut numbers = [1u64; BITS];
    numbers[..degree].copy_from_slice(initial);
    if degree > 0 {
        for j in degree..BITS {
            numbers[j] = numbers[j - degree];
            for k in 1..=degree {
                let coefficient = (polynomial >> (degree - k) & 1) as u64;
                numbers[j] ^= (coefficient * numbers[j - k]) << k;
            }
        }
    }
    std::array::from_fn(|j| numbers[j] << (BITS - 1 - j))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_points_are_those_of_the_published_sampler() {
        let published = [
            [0.5, 0.5, 0.5, 0.5],
            [0.75, 0.25, 0.75, 0.25],
            [0.25, 0.75, 0.25, 0.75],
            [0.375, 0.375, 0.625, 0.125],
            [0.875, 0.875, 0.125, 0.625],
            [0.625, 0.125, 0.375, 0.375],
            [0.125, 0.625, 0.875, 0.875],
            [0.1875, 0.3125, 0.3125, 0.6875],
        ];
        for (expected, index) in published.into_iter().zip(1..) {
            assert_eq!(point(index, 4), expected, "point {index}");
        }
    }

    #[test]
    fn the_hundredth_point_is_that_of_the_published_sampler() {
        assert_eq!(point(100, 4), [0.4140625, 0.2578125, 0.3046875, 0.4765625]);
    }

    #[test]
    fn the_origin_comes_first_and_never_again() {
        assert_eq!(point(0, DIMENSIONS), [0.0; DIMENSIONS]);
        for index in 1..5_000 {
            assert!(point(index, DIMENSIONS).iter().all(|&u| 0.0 < u && u < 1.0), "{index}");
        }
    }

    /// The defining property: among the first 2^k points, every dimension has exactly one
    /// point in each of the 2^k equal intervals.
    #[test]
    fn every_dimension_puts_one_point_into_each_of_its_equal_intervals() {
        let count = 1usize << 9;
        let points: Vec<_> = (0..count as u64).map(|index| point(index, DIMENSIONS)).collect();
        for dimension in 0..DIMENSIONS {
            let mut seen = vec![false; count];
            points.iter().for_each(|p| seen[(p[dimension] * count as f64) as usize] = true);
            assert!(seen.into_iter().all(|interval| interval), "dimension {}", dimension + 1);
        }
    }

    #[test]
    fn fewer_dimensions_are_a_prefix_of_more() {
        assert_eq!(point(77, 3), point(77, 10)[..3]);
    }

    #[test]
    fn points_can_be_addressed_far_beyond_any_search() {
        let far = point(u64::from(u32::MAX) + 1, DIMENSIONS);
        assert!(far.iter().all(|&u| 0.0 < u && u < 1.0));
    }
}
