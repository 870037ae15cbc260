//! A network that has met its pattern: ready to run.
//!
//! The symbolic half of the work, done once per (network, pattern): where every
//! survivor reads, and how gradients flow. The numeric half only follows.

use crate::kernels::conv::{Positions, SparseConv, Survivors};
use crate::network::{ConvShape, Network, Op, Value};
use crate::pattern::Pattern;
use std::sync::Arc;

/// How an operation hands the gradient on to its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Not at all: nothing before it has parameters.
    Stop,
    /// It is the first to write.
    Set,
    /// Another operation has written before.
    Add,
}

/// A network with a pattern.
#[derive(Debug)]
pub struct Program {
    network: Arc<Network>,
    pattern: Arc<Pattern>,
    /// Per operation; `None` where it is no convolution.
    convs: Vec<Option<SparseConv>>,
    flows: Vec<Flow>,
}

impl Program {
    /// Lowers `network` with `pattern`, which must be of its parameters.
    pub fn new(network: Arc<Network>, pattern: Arc<Pattern>) -> Self {
        assert_eq!(pattern.parameters(), network.parameters(), "the pattern is of another network");
        let lower = |op: &Op| match op {
            Op::Conv { input, output, shape } => {
                let values = (&network.values[*input], &network.values[*output]);
                Some(lower_conv(&network, &pattern, *shape, values.0, values.1))
            }
            _ => None,
        };
        let convs = network.ops.iter().map(lower).collect();
        let flows = flows(&network);
        Program { network, pattern, convs, flows }
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Which parameters exist.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    pub(crate) fn steps(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Op, Option<&SparseConv>, Flow)> {
        let convs = self.convs.iter().map(Option::as_ref);
        self.network
            .ops
            .iter()
            .zip(convs)
            .zip(&self.flows)
            .map(|((op, conv), &flow)| (op, conv, flow))
    }
}

fn lower_conv(
    network: &Network,
    pattern: &Pattern,
    shape: ConvShape,
    input: &Value,
    output: &Value,
) -> SparseConv {
    let weight = &network.tensors()[shape.weight].range;
    let places = pattern.places(weight);
    let (kernel, taps) = (weight.len() / shape.filters, shape.height * shape.width);
    let mut starts = vec![0; shape.filters + 1];
    let mut offsets = Vec::with_capacity(places.len());
    for &index in &pattern.survivors()[places.clone()] {
        let local = index as usize - weight.start;
        let (channel, tap) = (local % kernel / taps, local % taps);
        let row = input.ring.top + tap / shape.width - shape.pad_top;
        let column = input.ring.left + tap % shape.width - shape.pad_left;
        offsets.push((channel * input.plane() + row * input.columns() + column) as u32);
        starts[local / kernel + 1] = offsets.len() as u32;
    }
    // A filter without survivors ends where the one before it does.
    for filter in 1..starts.len() {
        starts[filter] = starts[filter].max(starts[filter - 1]);
    }
    let mut biases = vec![None; shape.filters];
    if let Some(bias) = shape.bias {
        let range = &network.tensors()[bias].range;
        for place in pattern.places(range) {
            biases[pattern.survivors()[place] as usize - range.start] = Some(place as u32);
        }
    }
    let survivors = Survivors { starts, offsets, first: places.start, biases };
    let positions = Positions {
        height: output.shape.height,
        width: output.shape.width,
        stride: shape.stride,
        input_columns: input.columns(),
        input_len: input.len(),
        output_origin: output.row(0, 0),
        output_columns: output.columns(),
        output_plane: output.plane(),
    };
    SparseConv::new(survivors, positions)
}

/// Walks the operations backwards and notes who is first to write each gradient.
fn flows(network: &Network) -> Vec<Flow> {
    let mut depends = vec![false; network.values.len()];
    for op in &network.ops {
        match *op {
            Op::Conv { output, .. } => depends[output] = true,
            Op::Relu { input, output }
            | Op::MaxPool { input, output, .. }
            | Op::AveragePool { input, output, .. }
            | Op::Add { input, output } => depends[output] |= depends[input],
        }
    }
    let mut written = vec![false; network.values.len()];
    let mut flows: Vec<Flow> = network
        .ops
        .iter()
        .rev()
        .map(|op| {
            let input = op.input();
            if !depends[input] {
                return Flow::Stop;
            }
            match std::mem::replace(&mut written[input], true) {
                false => Flow::Set,
                true => Flow::Add,
            }
        })
        .collect();
    flows.reverse();
    flows
}
