//! Walls: rectifiers that everything runs through.
//!
//! Behind a wall at which no unit fires, all images look the same, and no gradient comes
//! back through it. Where nothing moves in front of it either, the network is dead: its
//! scores are those of its last biases, whatever it is trained on.

use crate::network::{Network, Op};

/// A rectifier through which every path from the image to the scores leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wall {
    /// Its operation.
    pub(crate) rectifier: usize,
    /// How many parameters stand before it: the first ones of the network.
    pub(crate) parameters: usize,
}

/// The walls of `network`, from the scores back to the image.
pub(crate) fn walls(network: &Network) -> impl Iterator<Item = Wall> {
    (0..network.ops.len()).rev().filter_map(|rectifier| wall(network, rectifier))
}

fn wall(network: &Network, rectifier: usize) -> Option<Wall> {
    let (before, rest) = network.ops.split_at(rectifier);
    let (op, behind) = rest.split_first()?;
    if !matches!(op, Op::Relu { .. } | Op::ReluMaxPool { .. }) {
        return None;
    }
    // Nothing behind it may read or add to what was there before it.
    let touched =
        |value: usize| before.iter().any(|it| it.input() == value || it.output() == value);
    let passes = |value: usize| value != op.output() && (value == op.input() || touched(value));
    if behind.iter().any(|it| passes(it.input()) || passes(it.output())) {
        return None;
    }
    let tensors = network.tensors();
    let ranges = |op: &Op| match op {
        Op::Conv { shape, .. } => [Some(shape.weight), shape.bias],
        _ => [None, None],
    };
    let ranges = |op| ranges(op).into_iter().flatten().map(|index| &tensors[index].range);
    let parameters = before.iter().flat_map(ranges).map(|it| it.end).max().unwrap_or(0);
    let in_order = behind.iter().flat_map(ranges).all(|it| it.start >= parameters);
    in_order.then_some(Wall { rectifier, parameters })
}
