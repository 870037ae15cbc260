//! Where every survivor reads: a convolution that has met its pattern.
//!
//! The symbolic half of the work, done when a thread first meets a program; the numeric
//! half (`kernels`) only follows the lists that are made here.

use crate::kernels::correlation::{Correlation, Grid, Group, NONE, SHARERS, Tap};
use crate::kernels::products::Places;
use crate::network::{ConvShape, Flow, Network, Op, Value};
use crate::pattern::Pattern;
use crate::shape::Shape;

/// Bytes of a source that should stay in the nearest cache while all targets read it.
const NEAR: usize = 32 * 1024;

/// A convolution, ready to run.
#[derive(Debug)]
pub(crate) struct Conv {
    pub(crate) forward: Correlation,
    /// Where the gradient of its output stands.
    pub(crate) places: Places,
    /// The gradient by its input, one correlation for each phase of the stride.
    pub(crate) backward: Vec<Correlation>,
}

/// Lowers every convolution of `network` for blocks of `1 << lanes` images.
pub(crate) fn lower(network: &Network, pattern: &Pattern, lanes: u32) -> Vec<Option<Conv>> {
    let lower = |op: &Op, flow: Flow| match *op {
        Op::Conv { input, output, shape } => {
            let lowering = Lowering::new(network, pattern, lanes, input, output, shape);
            Some(lowering.conv(flow != Flow::Stop))
        }
        _ => None,
    };
    network.ops.iter().zip(&network.flows).map(|(op, &flow)| lower(op, flow)).collect()
}

/// A survivor: filter, input channel, row and column of the kernel, place in the values.
#[derive(Debug, Clone, Copy)]
struct Survivor {
    filter: usize,
    channel: usize,
    row: usize,
    column: usize,
    place: u32,
}

struct Lowering<'a> {
    shape: ConvShape,
    values: usize,
    lanes: u32,
    input: &'a Value,
    output: &'a Value,
    input_gradient: &'a Value,
    output_gradient: &'a Value,
    survivors: Vec<Survivor>,
    /// Whether nothing was pruned.
    dense: bool,
    biases: Vec<u32>,
}

impl<'a> Lowering<'a> {
    fn new(
        network: &'a Network,
        pattern: &Pattern,
        lanes: u32,
        input: usize,
        output: usize,
        shape: ConvShape,
    ) -> Self {
        let weight = &network.tensors()[shape.weight].range;
        let places = pattern.places(weight);
        let (kernel, taps) = (weight.len() / shape.filters, shape.height * shape.width);
        let survivors = places.clone().map(|place| {
            let local = pattern.survivors()[place] as usize - weight.start;
            let tap = local % taps;
            Survivor {
                filter: local / kernel,
                channel: local % kernel / taps,
                row: tap / shape.width,
                column: tap % shape.width,
                place: place as u32,
            }
        });
        let mut biases = vec![NONE; shape.filters];
        if let Some(bias) = shape.bias {
            let range = &network.tensors()[bias].range;
            for place in pattern.places(range) {
                biases[pattern.survivors()[place] as usize - range.start] = place as u32;
            }
        }
        Lowering {
            shape,
            values: pattern.len(),
            lanes,
            input: &network.values[input],
            output: &network.values[output],
            input_gradient: &network.gradients[input],
            output_gradient: &network.gradients[output],
            survivors: survivors.collect(),
            dense: places.len() == weight.len(),
            biases,
        }
    }

    fn conv(&self, backward: bool) -> Conv {
        let shape = self.output.shape;
        let places = Places {
            targets: (0..shape.channels).map(|f| self.output_gradient.row(f, 0) as u32).collect(),
            row: self.output_gradient.columns(),
            len: self.output_gradient.len(),
        };
        let phases = (0..self.shape.stride)
            .flat_map(|row| (0..self.shape.stride).map(move |column| (row, column)));
        let phases = phases.filter(|_| backward);
        let backward = phases.filter_map(|(row, column)| self.backward(row, column)).collect();
        Conv { forward: self.forward(), places, backward }
    }

    fn forward(&self) -> Correlation {
        let (shape, input, output) = (self.shape, self.input, self.output);
        let grid = Grid {
            height: output.shape.height,
            width: output.shape.width,
            source_stride: shape.stride,
            source_row: shape.stride * input.columns(),
            target_stride: 1,
            target_row: output.columns(),
        };
        let reads = self.survivors.iter().map(|survivor| {
            let start = self.channel_start(input, survivor.channel);
            let border = shape.pad_top * input.columns() + shape.pad_left;
            let offset = start + survivor.row * input.columns() + survivor.column - border;
            Read {
                source: survivor.channel,
                target: survivor.filter,
                band: 0,
                tap: Tap { offset: offset as u32, weight: survivor.place },
            }
        });
        let list = List {
            sources: self.channels(),
            targets: shape.filters,
            bands: 1,
            per_source: self.bytes(shape.height * input.columns()),
            dense: self.dense,
        };
        let (taps, starts, groups) = list.sorted(reads.collect());
        let correlation = Correlation {
            grid,
            source_len: input.len(),
            target_len: output.len(),
            taps,
            starts,
            groups,
            bands: vec![0],
            source_rows: output.shape.height,
            step: self.channels() * shape.height * shape.width,
            targets: (0..shape.filters).map(|filter| output.row(filter, 0) as u32).collect(),
            biases: self.biases.clone(),
        };
        correlation.checked(self.values)
    }

    /// The gradient by the input positions whose row and column leave `row` and `column`
    /// when divided by the stride; `None` if there are none.
    fn backward(&self, row: usize, column: usize) -> Option<Correlation> {
        let (shape, stride) = (self.shape, self.shape.stride);
        let (input, output) = (self.input_gradient, self.output_gradient);
        let along = |side: usize, phase: usize| (side.saturating_sub(phase)).div_ceil(stride);
        let (height, width) = match shape.flat {
            true => (1, 1),
            false => (along(input.shape.height, row), along(input.shape.width, column)),
        };
        if height == 0 || width == 0 {
            return None;
        }
        // Which output position, relative to the grid's, a kernel position connects to.
        let shift = |phase: usize, pad: usize, kernel: usize| {
            let distance = (phase + pad) as isize - kernel as isize;
            (distance.rem_euclid(stride as isize) == 0)
                .then(|| distance.div_euclid(stride as isize))
        };
        let mut bands: Vec<isize> =
            (0..shape.height).filter_map(|kernel| shift(row, shape.pad_top, kernel)).collect();
        bands.sort_unstable();
        if bands.is_empty() {
            bands.push(0);
        }
        let reads = self.survivors.iter().filter_map(|survivor| {
            let down = shift(row, shape.pad_top, survivor.row)?;
            let right = shift(column, shape.pad_left, survivor.column)?;
            let start = output.row(survivor.filter, 0) as isize;
            let offset = start + down * output.columns() as isize + right;
            Some(Read {
                source: survivor.filter,
                target: survivor.channel,
                band: bands.binary_search(&down).ok()?,
                tap: Tap { offset: offset as u32, weight: survivor.place },
            })
        });
        let list = List {
            sources: shape.filters,
            targets: self.channels(),
            bands: bands.len(),
            per_source: self.bytes(bands.len() * output.columns()),
            dense: self.dense,
        };
        let (taps, starts, groups) = list.sorted(reads.collect());
        let start = row * input.columns() + column;
        let place = |channel: usize| (self.channel_start(input, channel) + start) as u32;
        let correlation = Correlation {
            grid: Grid {
                height,
                width,
                source_stride: 1,
                source_row: output.columns(),
                target_stride: stride,
                target_row: stride * input.columns(),
            },
            source_len: output.len(),
            target_len: input.len(),
            taps,
            starts,
            groups,
            bands,
            source_rows: output.shape.height,
            step: shape.height * shape.width,
            targets: (0..self.channels()).map(place).collect(),
            biases: vec![],
        };
        Some(correlation.checked(self.values))
    }

    /// How many channels it reads; all numbers of a flat value are channels.
    fn channels(&self) -> usize {
        match self.shape.flat {
            true => self.input.shape.len(),
            false => self.input.shape.channels,
        }
    }

    /// Where channel `channel` of `value` (the input, or its gradient) starts.
    fn channel_start(&self, value: &Value, channel: usize) -> usize {
        let Shape { height, width, .. } = value.shape;
        match self.shape.flat {
            true => {
                let (row, column) = (channel / width, channel % width);
                value.row(row / height, row % height) + column
            }
            false => value.row(channel, 0),
        }
    }

    fn bytes(&self, positions: usize) -> usize {
        positions * size_of::<f32>() << self.lanes
    }
}

/// One product of a correlation.
#[derive(Debug, Clone, Copy)]
struct Read {
    source: usize,
    target: usize,
    band: usize,
    tap: Tap,
}

/// How the reads of a correlation are sorted.
struct List {
    sources: usize,
    targets: usize,
    bands: usize,
    /// Bytes that one position reads of one source channel.
    per_source: usize,
    dense: bool,
}

impl List {
    /// Taps in the order (block of sources, group of targets, band), where each begins,
    /// and the groups. Sharers are represented by the first of them.
    fn sorted(&self, mut reads: Vec<Read>) -> (Vec<Tap>, Vec<u32>, Vec<Group>) {
        let near = (NEAR / self.per_source).clamp(1, self.sources);
        let blocks = self.sources.div_ceil(near);
        let near = self.sources.div_ceil(blocks);
        let shared = if self.dense { self.targets / SHARERS } else { 0 };
        let groups: Vec<Group> = (0..shared)
            .map(|group| Group { first: (group * SHARERS) as u32, shared: true })
            .chain(
                (shared * SHARERS..self.targets)
                    .map(|target| Group { first: target as u32, shared: false }),
            )
            .collect();
        let group = |target: usize| match target < shared * SHARERS {
            true => (target % SHARERS == 0).then_some(target / SHARERS),
            false => Some(target - shared * (SHARERS - 1)),
        };
        let place = |read: &Read| {
            group(read.target)
                .map(|group| (read.source / near * groups.len() + group) * self.bands + read.band)
        };
        let mut starts = vec![0u32; blocks * groups.len() * self.bands + 1];
        reads.retain(|read| place(read).is_some());
        // Counting sort: reads of one place keep their order.
        for read in &reads {
            starts[place(read).map_or(0, |place| place + 1)] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut taps = vec![Tap { offset: 0, weight: 0 }; reads.len()];
        for read in &reads {
            let next = &mut next[place(read).unwrap_or(0)];
            taps[*next as usize] = read.tap;
            *next += 1;
        }
        (taps, starts, groups)
    }
}
