//! Where every survivor reads: a convolution that has met its pattern.
//!
//! The symbolic half of the work, done when a thread first meets a program; the numeric
//! half (`kernels`) only follows the lists that are made here.

use crate::kernels::LANES;
use crate::kernels::products::Places;
use crate::kernels::taps::{Correlation, Grid, Group, NONE, SHARERS, Tap};
use crate::layout::Layout;
use crate::network::{ConvShape, Flow, Network, Op, Value};
use crate::pattern::Pattern;
use crate::seats::Seat;
use crate::shape::Shape;
use std::ops::Range;

/// Bytes of a source that should stay in the nearest cache while all targets read it.
const NEAR: usize = 32 * 1024;

/// Taps of one target that are worth a turn of loading and storing its sums.
const WORTH: usize = 48;

/// Where at least this share of a layer survives, it is computed as if nothing had been
/// pruned, with zeros for the missing weights: sharing what is read saves more than visiting
/// survivors only. Measured, per width of a block; narrow blocks gain more from sharing.
fn crossover(lanes: u32) -> f64 {
    match lanes {
        4.. => 0.7,
        3 => 0.5,
        _ => 0.42,
    }
}

/// A convolution, ready to run.
#[derive(Debug)]
pub(crate) struct Conv {
    pub(crate) forward: Correlation,
    /// Where the gradient of its output stands.
    pub(crate) places: Places,
    /// The gradient by its input, if that is asked for.
    pub(crate) backward: Option<Correlation>,
    /// If it is computed with zeros for missing weights, its values are its own.
    pub(crate) filled: Option<Filled>,
}

/// Values of a layer with zeros for what was pruned, and their gradient.
#[derive(Debug)]
pub(crate) struct Filled {
    /// (place among the survivors, place here).
    places: Vec<(u32, u32)>,
    pub(crate) values: Vec<f32>,
    pub(crate) gradient: Vec<f32>,
}

impl Filled {
    /// Takes over the survivors' values; the gradient begins at zero.
    pub(crate) fn fill(&mut self, survivors: &[f32]) {
        for &(from, to) in &self.places {
            self.values[to as usize] = survivors[from as usize];
        }
        self.gradient.fill(0.0);
    }

    /// Adds the survivors' gradient to `gradient`.
    pub(crate) fn hand_over(&self, gradient: &mut [f32]) {
        for &(to, from) in &self.places {
            gradient[to as usize] += self.gradient[from as usize];
        }
    }
}

/// Lowers every convolution of `network` for blocks of `1 << lanes` images, as far as it is
/// computed at `seat`.
pub(crate) fn lower(
    network: &Network,
    pattern: &Pattern,
    layout: &Layout,
    lanes: u32,
    seat: &Seat,
) -> Vec<Option<Conv>> {
    let lower = |op: &Op, flow: Flow| match *op {
        Op::Conv { input, output, shape } => {
            let lowering = Lowering::new(network, pattern, layout, lanes, input, output, shape);
            Some(lowering.conv(seat, flow != Flow::Stop))
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
    /// Rows of the output.
    height: usize,
    input: &'a Value,
    output: &'a Value,
    input_gradient: &'a Value,
    output_gradient: &'a Value,
    survivors: Vec<Survivor>,
    /// Whether nothing was pruned.
    dense: bool,
    /// Weights of a filter before pruning.
    kernel: usize,
    filled: Option<Vec<(u32, u32)>>,
    biases: Vec<u32>,
}

impl<'a> Lowering<'a> {
    fn new(
        network: &'a Network,
        pattern: &Pattern,
        layout: &'a Layout,
        lanes: u32,
        input: usize,
        output: usize,
        shape: ConvShape,
    ) -> Self {
        let weight = &network.tensors()[shape.weight].range;
        let places = pattern.places(weight);
        // The kernel as the tensor has it; its parts are dealt out to phases like the input.
        let dims = &network.tensors()[shape.weight].dims;
        let (size, split) = (dims.get(2).copied().unwrap_or(1), shape.split);
        let (kernel, taps) = (weight.len() / shape.filters, size * size);
        let local = |place: usize| pattern.survivors()[place] as usize - weight.start;
        let share = places.len() as f64 / weight.len() as f64;
        let whole = places.len() == weight.len();
        let filled = !whole && share >= crossover(lanes);
        let all: Vec<(usize, usize)> = match filled {
            true => (0..weight.len()).map(|local| (local, local)).collect(),
            false => places.clone().map(|place| (place, local(place))).collect(),
        };
        let survivors = all.into_iter().map(|(place, local)| {
            let (channel, row, column) = (local % kernel / taps, local % taps / size, local % size);
            Survivor {
                filter: local / kernel,
                channel: (channel * split + row % split) * split + column % split,
                row: row / split,
                column: column / split,
                place: place as u32,
            }
        });
        let mut moved: Vec<(u32, u32)> =
            places.clone().map(|place| (place as u32, local(place) as u32)).collect();
        let mut biases = vec![NONE; shape.filters];
        if let Some(bias) = shape.bias {
            let range = &network.tensors()[bias].range;
            for place in pattern.places(range) {
                let filter = pattern.survivors()[place] as usize - range.start;
                let here = (weight.len() + filter) as u32;
                biases[filter] = if filled { here } else { place as u32 };
                moved.push((place as u32, here));
            }
        }
        Lowering {
            shape,
            values: if filled { weight.len() + shape.filters } else { pattern.len() },
            filled: filled.then_some(moved),
            lanes,
            height: network.values[output].shape.height,
            input: &layout.values[input],
            output: &layout.values[output],
            input_gradient: &layout.gradients[input],
            output_gradient: &layout.gradients[output],
            survivors: survivors.collect(),
            dense: whole || filled,
            kernel,
            biases,
        }
    }

    fn conv(&self, seat: &Seat, backward: bool) -> Conv {
        let filters = seat.share(self.shape.filters);
        let (gradient, _) = self.output_gradient.part(&filters);
        let places = Places {
            targets: (0..filters.len()).map(|filter| gradient.row(filter, 0) as u32).collect(),
            row: gradient.columns(),
            len: gradient.len(),
        };
        let backward = backward.then(|| {
            let channels = seat.share(self.input.shape.channels);
            self.backward(&channels)
        });
        let filled = self.filled.clone().map(|places| Filled {
            places,
            values: vec![0.0; self.values],
            gradient: vec![0.0; self.values],
        });
        Conv { forward: self.forward(&filters), places, backward, filled }
    }

    /// The sums of `filters`.
    fn forward(&self, filters: &Range<usize>) -> Correlation {
        let (shape, input) = (self.shape, self.input);
        let (output, _) = self.output.part(filters);
        let grid = Grid {
            height: self.height,
            width: output.shape.width,
            source_row: input.columns(),
            target_row: output.columns(),
            strip: output.shape.height,
        };
        let reads = self.survivors.iter().map(|survivor| {
            let start = self.channel_start(input, survivor.channel);
            let border = shape.pad_top * input.columns() + shape.pad_left;
            let offset = start + survivor.row * input.columns() + survivor.column - border;
            Read {
                source: survivor.channel,
                target: survivor.filter,
                list: 0,
                tap: Tap { offset: offset as u32, weight: survivor.place },
            }
        });
        let list = List {
            sources: self.channels(),
            targets: shape.filters,
            kept: filters.clone(),
            lists: 1,
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
            row_shifts: vec![0],
            source_rows: self.height,
            column_shifts: vec![0],
            source_columns: output.shape.width,
            step: self.kernel,
            targets: (0..filters.len()).map(|filter| output.row(filter, 0) as u32).collect(),
            biases: self.biases[filters.clone()].to_vec(),
        };
        correlation.checked(self.values)
    }

    /// The gradient by `channels` of the input: input position i meets kernel position k at
    /// output position i + pad − k.
    fn backward(&self, channels: &Range<usize>) -> Correlation {
        let shape = self.shape;
        let (input, output) = (self.input_gradient, self.output_gradient);
        let (part, place) = input.part(channels);
        // All numbers of a flat value are channels.
        let each = self.channels() / input.shape.channels;
        let kept = channels.start * each..channels.end * each;
        let (height, width) = match shape.flat {
            true => (1, 1),
            false => (input.shape.height, input.shape.width),
        };
        let shift = |pad: usize, kernel: usize| pad as isize - kernel as isize;
        let shifts =
            |pad: usize, size: usize| (0..size).rev().map(|k| shift(pad, k)).collect::<Vec<_>>();
        let row_shifts = shifts(shape.pad_top, shape.height);
        let mut column_shifts = shifts(shape.pad_left, shape.width);
        // Telling taps apart by column pays where much of a row would be computed for
        // nothing; where targets share their reading, only in the widest blocks.
        let dense = self.dense && shape.split == 1;
        if dense && 1 << self.lanes < LANES || width * 5 < output.shape.width * 6 {
            column_shifts = vec![0];
        }
        let reads = self.survivors.iter().map(|survivor| {
            let down = shift(shape.pad_top, survivor.row);
            let right = shift(shape.pad_left, survivor.column);
            let start = output.row(survivor.filter, 0) as isize;
            let offset = start + down * output.columns() as isize + right;
            let row_shift = row_shifts.binary_search(&down).unwrap_or(0);
            let column_shift = column_shifts.binary_search(&right).unwrap_or(0);
            Read {
                source: survivor.filter,
                target: survivor.channel,
                list: column_shift * row_shifts.len() + row_shift,
                tap: Tap { offset: offset as u32, weight: survivor.place },
            }
        });
        let list = List {
            sources: shape.filters,
            targets: self.channels(),
            kept: kept.clone(),
            lists: column_shifts.len() * row_shifts.len(),
            per_source: self.bytes(row_shifts.len() * output.columns()),
            dense,
        };
        let (taps, starts, groups) = list.sorted(reads.collect());
        let target = |channel: usize| (self.channel_start(input, channel) - place.start) as u32;
        let correlation = Correlation {
            grid: Grid {
                height,
                width,
                source_row: output.columns(),
                target_row: input.columns(),
                strip: height,
            },
            source_len: output.len(),
            target_len: part.len(),
            taps,
            starts,
            groups,
            row_shifts,
            source_rows: output.shape.height,
            column_shifts,
            source_columns: output.shape.width,
            step: shape.height * shape.width,
            targets: kept.map(target).collect(),
            biases: vec![],
        };
        correlation.checked(self.values)
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
        (positions * size_of::<f32>()) << self.lanes
    }
}

/// One product of a correlation.
#[derive(Debug, Clone, Copy)]
struct Read {
    source: usize,
    target: usize,
    /// Number of its column and row shift.
    list: usize,
    tap: Tap,
}

/// How the reads of a correlation are sorted.
struct List {
    sources: usize,
    targets: usize,
    /// The targets that are computed. Blocks do not depend on which these are, so the order of
    /// their sums does not, either.
    kept: Range<usize>,
    /// Pairs of column and row shifts.
    lists: usize,
    /// Bytes that one position reads of one source channel.
    per_source: usize,
    dense: bool,
}

impl List {
    /// Taps in the order (block of sources, group of targets, shift), where each begins,
    /// and the groups. Sharers are represented by the first of them.
    fn sorted(&self, mut reads: Vec<Read>) -> (Vec<Tap>, Vec<u32>, Vec<Group>) {
        // Few taps are not worth many blocks: each costs a turn of loading and storing sums.
        let near = (NEAR / self.per_source).clamp(1, self.sources);
        let worth = reads.len() / (self.targets * WORTH);
        let blocks = self.sources.div_ceil(near).min(worth).max(1);
        let near = self.sources.div_ceil(blocks);
        let blocks = self.sources.div_ceil(near);
        let targets = self.kept.len();
        let shared = if self.dense { targets / SHARERS } else { 0 };
        let groups: Vec<Group> = (0..shared)
            .map(|group| Group { first: (group * SHARERS) as u32, shared: true })
            .chain(
                (shared * SHARERS..targets)
                    .map(|target| Group { first: target as u32, shared: false }),
            )
            .collect();
        let group = |target: usize| match target < shared * SHARERS {
            true => target.is_multiple_of(SHARERS).then_some(target / SHARERS),
            false => Some(target - shared * (SHARERS - 1)),
        };
        let place = |read: &Read| {
            group(read.target - self.kept.start)
                .map(|group| (read.source / near * groups.len() + group) * self.lists + read.list)
        };
        let mut starts = vec![0u32; blocks * groups.len() * self.lists + 1];
        reads.retain(|read| self.kept.contains(&read.target) && place(read).is_some());
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
