//! From which share of survivors on a layer is computed as if it were whole: what was measured.

/// Where at least this share of a layer survives, it is computed as if nothing had been
/// pruned, with zeros for the missing weights: sharing what is read saves more than visiting
/// survivors only. Measured, per width of a block; narrow blocks gain more from sharing.
/// A layer that then goes in squares gains more, the more channels it has on either side.
pub(crate) fn crossover(lanes: u32, squares: Option<usize>) -> f64 {
    match (lanes, squares) {
        (3.., Some(..32)) => 0.48,
        (3.., Some(32..64)) => 0.45,
        (3.., Some(64..)) => 0.4,
        (4.., None) => 0.7,
        (3, None) => 0.5,
        _ => 0.42,
    }
}

/// Where at least this share of a layer survives that is pooled at once, its gradients are
/// computed at the winners of windows, with zeros for the missing weights. Measured, as above:
/// narrow blocks gain more, because the way of winners does not depend on their width.
pub(crate) fn winning(lanes: u32) -> f64 {
    match lanes {
        4.. => 0.25,
        3 => 0.15,
        2 => 0.11,
        _ => 0.05,
    }
}
