//! From which share of survivors on a layer is computed as if it were whole: what was measured.

/// Where at least this share of a layer survives, it is computed as if nothing had been
/// pruned, with zeros for the missing weights: sharing what is read saves more than visiting
/// survivors only. Measured, per width of a block; narrow blocks gain more from sharing.
/// A layer that then goes in squares gains more, the more channels it has on either side.
pub(crate) fn crossover(lanes: u32, squares: Option<usize>) -> f64 {
    match (lanes, squares) {
        (4.., Some(..32)) => 0.7,
        (4.., Some(32..64)) => 0.57,
        (4.., Some(64..)) => 0.5,
        (3, Some(..32)) => 0.48,
        (3, Some(32..64)) => 0.45,
        (3, Some(64..)) => 0.4,
        (4.., None) => 0.85,
        (3, None) => 0.5,
        _ => 0.42,
    }
}

/// Where at least these shares of a layer survive that is pooled at once, its gradients by the weights
/// and by the input are computed at the winners of windows, with zeros for the missing weights.
/// Measured, as above: narrow blocks gain more, because the way of winners does not depend on
/// their width; and so do slabs of few `positions`, of which survivors see much that is zero.
/// Slabs of 16 to 31 positions are a compromise: with 70 % of Simple-CNN pruned and four images, visiting
/// survivors makes one thread 3 % slower and two threads 5 % faster.
pub(crate) fn winning(lanes: u32, positions: usize) -> (f64, f64) {
    match (lanes, positions) {
        (4.., 16..) => (0.22, 0.31),
        (4.., _) => (0.2, 0.18),
        (3, _) => (0.15, 0.15),
        (2, _) => (0.11, 0.11),
        _ => (0.05, 0.05),
    }
}

/// Where at least this share of a layer survives that sees whole images, vectors go along these, with
/// zeros for the missing weights. Measured, as above.
pub(crate) fn along(lanes: u32) -> f64 {
    match lanes {
        4.. => 0.08,
        3 => 0.05,
        2 => 0.03,
        _ => 0.02,
    }
}
