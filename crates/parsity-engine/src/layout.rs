//! What a block keeps of each value: all of it, or a strip of rows at a time.
//!
//! What a convolution writes is the largest value of a network, and if it is pooled at once
//! nobody ever reads all of it. So a strip of rows is computed and pooled before the next
//! one, in the same place, which stays in the nearest cache. The same holds for its gradient
//! if only the weights need that; and for the gradient by the phases of a halving, which goes straight to
//! what was halved.

use crate::kernels::LANES;
use crate::kernels::frame::Frame;
use crate::kernels::pools::TWO_BY_TWO;
use crate::kernels::products::CHUNK;
use crate::kernels::winograd::KERNEL;
use crate::network::{Flow, Network, Op, Split, Value, Window};
use crate::shape::Shape;
use std::ops::Range;

/// Numbers of a row, times rows, that keep all registers busy.
const STRIP: usize = 24 * LANES;

/// The values of a block, and their gradients.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) values: Vec<Value>,
    pub(crate) gradients: Vec<Value>,
}

impl Layout {
    /// For a thread that works `alone` at a block, or one of several.
    pub(crate) fn new(network: &Network, alone: bool) -> Self {
        let (mut values, mut gradients) = (network.values.clone(), network.gradients.clone());
        for (index, op) in network.ops.iter().enumerate() {
            let Some(window) = pooled_at_once(network, index) else { continue };
            let Value { shape, lanes, .. } = network.values[op.output()];
            let rows = |numbers: usize| {
                let rows = 1 << (numbers / (shape.width << lanes)).max(1).ilog2();
                usize::next_multiple_of(rows, window.height).min(shape.height)
            };
            values[op.output()].shape.height = rows(STRIP);
            if network.flows[index] == Flow::Stop {
                gradients[op.output()].shape.height = rows(CHUNK);
            }
        }
        for phases in (0..network.ops.len()).filter_map(|last| Some(halving(network, last)?.phases))
        {
            let gradient = &mut gradients[phases];
            if alone && gradient.lanes >= WIDE {
                gradient.shape.height = rows_near(gradient).min(gradient.shape.height);
            }
        }
        Layout { values, gradients }
    }
}

/// Bytes of a strip of rows of a value, all channels of it, that is still near when the next operation
/// comes.
const NEAR: usize = 192 * 1024;

/// Rows of the tallest tiles.
const ROWS: usize = 4;

/// Rows of `value` that one operation works on before the next one does: a multiple of those of a tile.
pub(crate) fn rows_near(value: &Value) -> usize {
    let row = (value.shape.channels * value.columns() * size_of::<f32>()) << value.lanes;
    (NEAR / row / ROWS).max(1) * ROWS
}

/// All of `height` rows, in strips of `rows`.
pub(crate) fn strips(height: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..height).step_by(rows).map(move |start| start..(start + rows).min(height))
}

/// The window by which operation `index + 1` pools what the convolution `index` writes.
pub(crate) fn pooled_at_once(network: &Network, index: usize) -> Option<Window> {
    match (&network.ops[index], network.ops.get(index + 1)?) {
        (Op::Conv { output, onto: false, .. }, Op::ReluMaxPool { input, window, .. })
            if input == output =>
        {
            Some(*window)
        }
        _ => None,
    }
}

/// How the gradients of operation `index` may be computed at winners only, and the frame of what
/// its filters see: it is a convolution that is pooled at once. If the gradient flows on from it,
/// a row of what its filters see must be worth a vector; else whole patches are.
pub(crate) fn may_visit_winners(network: &Network, index: usize) -> Option<(Window, Frame)> {
    let Op::Conv { input, output, shape, .. } = network.ops[index] else { return None };
    let window = pooled_at_once(network, index).filter(|_| !shape.flat)?;
    let (input, output) = (network.values[input].shape, network.values[output].shape);
    if network.flows[index] == Flow::Stop {
        return Some((window, shape.stacked_frame(input, output)));
    }
    let wide = shape.width * input.channels >= LANES;
    wide.then(|| (window, shape.frame(input.channels, input, output)))
}

/// Channels on either side from which on fewer multiplications outweigh more additions.
const MANY: usize = 8;

/// Whether operation `index` is a convolution that may be computed in squares, if it is whole: a
/// vector holds one position, squares cover what is written, and nobody pools it at once.
pub(crate) fn may_go_in_squares(network: &Network, index: usize) -> bool {
    let Op::Conv { input, output, shape, .. } = network.ops[index] else { return false };
    let wide = network.values[output].lanes >= WIDE;
    let (input, output) = (network.values[input].shape, network.values[output].shape);
    let even = [input, output].iter().all(|it| (it.height | it.width).is_multiple_of(2));
    let many = input.channels >= MANY && shape.filters >= MANY;
    let fits = (shape.height, shape.width, shape.split) == (KERNEL, KERNEL, 1) && !shape.flat;
    fits && even && many && wide && pooled_at_once(network, index).is_none()
}

/// Blocks of at least `1 << WIDE` lanes have tiles that are worth a ReLU of their own.
pub(crate) const WIDE: u32 = 3;

/// Whether operation `index` is a convolution whose output is rectified tile by tile, in place.
pub(crate) fn rectified_at_once(network: &Network, index: usize) -> bool {
    match (network.ops[index], network.ops.get(index + 1)) {
        (Op::Conv { output, .. }, Some(&Op::Relu { input, output: to })) => {
            input == output && to == output && network.values[output].lanes >= WIDE
        }
        _ => false,
    }
}

/// The value to which operation `index + 1` rectifies what the convolution `index` writes: both are
/// written tile by tile.
pub(crate) fn copied_at_once(network: &Network, index: usize) -> Option<usize> {
    match (network.ops[index], network.ops.get(index + 1)) {
        (Op::Conv { output, .. }, Some(&Op::Relu { input, output: to })) => {
            let wide = network.values[output].lanes >= WIDE;
            (input == output && to != output && wide).then_some(to)
        }
        _ => None,
    }
}

/// If operation `index` is a convolution that alone reads what was rectified just before: the value
/// that was. The gradient by its input is then masked as it is written, and goes to that value's.
pub(crate) fn rectified_before(network: &Network, index: usize) -> Option<usize> {
    let before = index.checked_sub(1)?;
    match (network.ops[before], network.ops[index]) {
        (Op::Relu { input: from, output: to }, Op::Conv { input, .. }) => {
            let wide = network.values[input].lanes >= WIDE;
            (to == input && network.flows[index] == Flow::Set && wide).then_some(from)
        }
        _ => None,
    }
}

/// Operations that lead into a residual block that halves the sides, from what was summed up to what
/// the convolution reads: they are done in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halving {
    /// The value that is added first, if any.
    pub(crate) shortcut: Option<usize>,
    pub(crate) value: usize,
    pub(crate) pooled: usize,
    /// The value to which what was pooled is added, if nobody else reads it: the gradient by it is that
    /// of as many channels there, and need not be copied.
    pub(crate) added_to: Option<usize>,
    pub(crate) phases: usize,
}

impl Halving {
    /// The operation with which it begins, if it ends with operation `last`.
    pub(crate) fn first(&self, last: usize) -> usize {
        last - if self.shortcut.is_some() { 3 } else { 2 }
    }
}

/// The halving that ends with operation `last`.
pub(crate) fn halving(network: &Network, last: usize) -> Option<Halving> {
    let [.., Op::Relu { input: from, output: value }, pool, split] = network.ops[..=last] else {
        return None;
    };
    let Op::AveragePool { input: to_pool, output: pooled, window } = pool else { return None };
    let Op::Split { input: to_split, output: phases, split } = split else { return None };
    let plain = Split { stride: 2, pad_top: 0, pad_left: 0 };
    let alike = [from, to_pool, to_split].iter().all(|&it| it == value);
    let fits = window == TWO_BY_TWO && window.tiles(network.values[value].shape) && split == plain;
    let shortcut = last.checked_sub(3).and_then(|before| match network.ops[before] {
        Op::Add { input, output } if output == value => Some(input),
        _ => None,
    });
    // The gradient of the phases comes first, then that of the pool.
    let flows = network.flows[last] == Flow::Set && network.flows[last - 1] == Flow::Add;
    // So that what was rectified need not be there as a whole.
    let read_again = network.ops[last + 1..].iter().any(|op| op.input() == value);
    // So that the gradient by the phases may come strip by strip.
    let reads = match network.ops.get(last + 1)? {
        Op::Conv { input, .. } => *input == phases && pooled_at_once(network, last + 1).is_none(),
        _ => false,
    };
    (alike && fits && flows && reads && !read_again).then(|| {
        let added_to = added_alone(network, pooled);
        Halving { shortcut, value, pooled, added_to, phases }
    })
}

/// The value to which `part` is added, if nobody else reads `part`, and if no operation before that reads
/// the sum: on the way back, nobody changes the gradient of that any more.
fn added_alone(network: &Network, part: usize) -> Option<usize> {
    let mut readers = network.ops.iter().zip(0..).filter(|(op, _)| op.input() == part);
    let (&Op::Add { output, .. }, index) = readers.next()? else { return None };
    let stays = network.ops[..index].iter().all(|op| op.input() != output);
    (readers.next().is_none() && stays && network.flows[index] == Flow::Set).then_some(output)
}

/// Whether operation `index` pools all that the operation before it has rectified in place, and hands the
/// first gradient back: it can be masked as it is written.
pub(crate) fn pools_rectified(network: &Network, index: usize) -> bool {
    let Some(before) = index.checked_sub(1) else { return false };
    match (network.ops[before], network.ops[index]) {
        (Op::Relu { input: from, output: to }, Op::AveragePool { input, window, .. }) => {
            let covered = covers(window, network.values[input].shape);
            from == to && to == input && network.flows[index] == Flow::Set && covered
        }
        _ => false,
    }
}

/// Whether every position of `shape` lies in one window.
pub(crate) fn covers(window: Window, shape: Shape) -> bool {
    window.tiles(shape) || window.sees_all(shape)
}
