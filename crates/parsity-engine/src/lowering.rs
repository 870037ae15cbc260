//! Where every survivor reads: a convolution that has met its pattern.
//!
//! The symbolic half of the work, done when a thread first meets a program; the numeric
//! half (`kernels`) only follows the lists that are made here.

mod ways;

use crate::conv::{Conv, InputGradient, Way, WeightGradient};
use crate::kernels::LANES;
use crate::kernels::correlation::piece;
use crate::kernels::flat::scores_by_taps;
use crate::kernels::frame::Frame;
use crate::kernels::products::Places;
use crate::kernels::pruned_gradient::Passage;
use crate::kernels::steps::Steps;
use crate::kernels::taps::{Correlation, Grid, Mask, NONE, Tap};
use crate::layout::{
    Layout, may_go_in_squares, may_visit_winners, pooled_at_once, rectified_before,
};
use crate::network::{ConvShape, Flow, Network, Op, Value};
use crate::pattern::Pattern;
use crate::program::Program;
use crate::reads::{List, Read, Sorted};
use crate::seats::Seat;
use crate::shape::Shape;
use crate::slabs::Cut;
use crate::survivor::{Kernel, Survivor};
use crate::thresholds::{along, crossover, winning};
use std::ops::Range;

/// Lowers every convolution of `program`, whose network was `cut`, as far as it is computed at `seat`.
pub(crate) fn lower(
    program: &Program,
    cut: &Cut,
    layout: &Layout,
    seat: &Seat,
) -> Vec<Option<Conv>> {
    let (network, pattern) = (&cut.network, program.pattern());
    let lower = |index: usize| match network.ops[index] {
        Op::Conv { input, output, shape, .. } => {
            let lanes = network.values[output].lanes;
            let flows = network.flows[index] != Flow::Stop;
            // Pooled tile by tile, targets that work alone are never slower.
            let alone = 1 << lanes == LANES && !flows && pooled_at_once(network, index).is_some();
            let squares = program.may_go_in_squares() && may_go_in_squares(network, index);
            let channels = network.values[input].shape.channels.min(shape.filters);
            // Neither is a layer ever filled up that sees whole images.
            let crossover = match alone || shape.flat {
                true => 1.0,
                false => crossover(lanes, squares.then_some(channels)),
            };
            let lowering =
                Lowering::new(network, pattern, layout, crossover, (input, output), shape);
            let kind = match shape.flat {
                true if lowering.share >= along(lanes) => Kind::Flat,
                false if squares && lowering.dense => Kind::Squares,
                _ => Kind::Taps,
            };
            let halo = cut.has_halo(input, output);
            let rectified = rectified_before(network, index).filter(|_| kind != Kind::Flat);
            let lowering = Lowering { rectified, kind, halo, ..lowering };
            let seen = may_visit_winners(network, index).map(|(_, frame)| frame);
            Some(lowering.conv(seat, flows, seen.filter(|_| program.may_visit_winners())))
        }
        _ => None,
    };
    (0..network.ops.len()).map(lower).collect()
}

/// Rows and columns of `value` that have a gradient: those of phases that lie inside of what was
/// split, and else all.
fn inside(network: &Network, value: usize) -> (usize, usize) {
    let Shape { height, width, .. } = network.values[value].shape;
    let split = network.ops.iter().find_map(|op| match *op {
        Op::Split { input, output, split } if output == value => Some((input, split)),
        _ => None,
    });
    let Some((whole, split)) = split else { return (height, width) };
    let along = |side: usize, pad: usize| (side + pad).div_ceil(split.stride);
    let whole = network.values[whole].shape;
    let (rows, columns) = (along(whole.height, split.pad_top), along(whole.width, split.pad_left));
    (rows.min(height), columns.min(width))
}

/// Which way a convolution is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Taps,
    Squares,
    Flat,
}

#[derive(Clone)]
struct Lowering<'a> {
    shape: ConvShape,
    /// The value that it reads.
    index: usize,
    values: usize,
    lanes: u32,
    /// Rows of the output.
    height: usize,
    input: &'a Value,
    output: &'a Value,
    gradients: &'a [Value],
    output_gradient: &'a Value,
    survivors: Vec<Survivor>,
    /// Rows and columns of the input whose gradient matters.
    flows_to: (usize, usize),
    /// The value that was rectified just before it, if its input gradient may go to that one's.
    rectified: Option<usize>,
    /// Whether rows of neighbouring slabs stand around the gradient of its output.
    halo: bool,
    /// Whether nothing was pruned.
    dense: bool,
    kind: Kind,
    /// The part of the weights that survives.
    share: f64,
    kernel: Kernel,
    /// Whether it is computed as if nothing had been pruned, though something was.
    filled: bool,
    biases: Vec<u32>,
    /// Places of those that have survived, and which of the tensor's numbers they are.
    weight_places: Range<usize>,
    locals: Vec<u32>,
    bias_places: Range<usize>,
    bias_locals: Vec<u32>,
}

impl<'a> Lowering<'a> {
    fn new(
        network: &'a Network,
        pattern: &Pattern,
        layout: &'a Layout,
        crossover: f64,
        (input, output): (usize, usize),
        shape: ConvShape,
    ) -> Self {
        let tensor = &network.tensors()[shape.weight];
        let places_of = |range: &Range<usize>| {
            let places = pattern.places(range);
            let locals = pattern.survivors()[places.clone()].iter();
            let locals: Vec<u32> = locals.map(|&index| index - range.start as u32).collect();
            (places, locals)
        };
        let (weight_places, locals) = places_of(&tensor.range);
        let bias_range = shape.bias.map_or(0..0, |bias| network.tensors()[bias].range.clone());
        let (bias_places, bias_locals) = places_of(&bias_range);
        let weights = tensor.range.len();
        let share = locals.len() as f64 / weights as f64;
        let whole = locals.len() == weights;
        let filled = !whole && share >= crossover;
        let kernel = Kernel {
            weights: weights / shape.filters,
            size: tensor.dims.get(2).copied().unwrap_or(1),
            split: shape.split,
        };
        let survivors = match filled {
            true => (0..weights).map(|local| kernel.survivor(local, local)).collect(),
            false => weight_places
                .clone()
                .zip(&locals)
                .map(|(place, &local)| kernel.survivor(place, local as usize))
                .collect(),
        };
        let mut biases = vec![NONE; shape.filters];
        for (place, &filter) in bias_places.clone().zip(&bias_locals) {
            let filter = filter as usize;
            biases[filter] = if filled { weights + filter } else { place } as u32;
        }
        Lowering {
            shape,
            index: input,
            values: if filled { weights + shape.filters } else { pattern.len() },
            filled,
            lanes: network.values[output].lanes,
            height: network.values[output].shape.height,
            input: &layout.values[input],
            output: &layout.values[output],
            gradients: &layout.gradients,
            output_gradient: &layout.gradients[output],
            survivors,
            flows_to: inside(network, input),
            rectified: None,
            halo: false,
            dense: whole || filled,
            kind: Kind::Taps,
            share,
            kernel,
            biases,
            weight_places,
            locals,
            bias_places,
            bias_locals,
        }
    }

    /// `seen` is what filters see, if gradients may be computed at winners.
    fn conv(&self, seat: &Seat, flows: bool, seen: Option<Frame>) -> Conv {
        let filters = seat.share(self.shape.filters);
        let channels = seat.share(self.input.shape.channels);
        // Of a layer that nothing flows on from, whatever survives.
        let enough = |least: f64| self.share >= if flows { least } else { 0.0 };
        let (weights, input) = winning(self.lanes, self.height * self.output.shape.width);
        let (weights_seen, input_seen) = (seen.filter(|_| enough(weights)), enough(input));
        let at_winners = weights_seen.is_some() && input_seen;
        let filled = self.filled.then(|| {
            // Going back, it needs the filters of all seats, unless these are laid out for winners.
            self.filled_with(if at_winners { filters.clone() } else { 0..self.shape.filters })
        });
        let forward = self.forward(&filters);
        let weights = match weights_seen {
            Some(seen) => WeightGradient::AtWinners(Box::new(self.at_winners(&filters, seen))),
            None => WeightGradient::Everywhere(self.places(&filters, &forward)),
        };
        let mut flows_to = self.index;
        let input = flows.then(|| match at_winners {
            true => InputGradient::AtWinners(self.filters(&channels)),
            false => {
                let backward;
                (flows_to, backward) = self.flow(&channels);
                InputGradient::Everywhere(Box::new(backward))
            }
        });
        let way = match self.kind {
            Kind::Taps => Way::Taps,
            Kind::Squares => Way::Squares(self.squares(&forward, &input, &filters, &channels)),
            Kind::Flat => Way::Flat(self.flat(filters, channels)),
        };
        Conv { forward, weights, input, flows_to, filled, way }
    }

    /// The gradient of what `filters` write.
    fn places(&self, filters: &Range<usize>, forward: &Correlation) -> Places {
        let (gradient, _) = self.output_gradient.part(filters);
        let pruned = !self.dense && self.kind == Kind::Taps;
        let passage = pruned.then(|| Passage::new(forward, self.channels(), self.lanes)).flatten();
        Places {
            targets: (0..filters.len()).map(|it| gradient.row(it, 0) as u32).collect(),
            row: gradient.columns(),
            rows: gradient.shape.height,
            len: gradient.len(),
            passage,
        }
    }

    /// The weights that have survived, whether or not it is filled up.
    fn layer_survivors(&self) -> impl Iterator<Item = Survivor> + Clone {
        let all = self.weight_places.clone().zip(&self.locals);
        all.map(|(place, &local)| self.kernel.survivor(place, local as usize))
    }

    /// The survivors, if they are visited one by one, or if `also`.
    fn taps(&self, also: bool) -> impl Iterator<Item = &Survivor> {
        self.survivors.iter().filter(move |_| self.kind == Kind::Taps || also)
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
        let also = self.kind == Kind::Flat && scores_by_taps(self.lanes);
        let reads = self.taps(also).map(|survivor| {
            let start = self.channel_start(input, survivor.channel);
            let border = shape.pad_top * input.columns() + shape.pad_left;
            let offset = start + survivor.row * input.columns() + survivor.column - border;
            Read {
                source: survivor.channel,
                target: survivor.filter,
                shift: 0,
                tap: Tap { offset: offset as u32, weight: survivor.place },
            }
        });
        let list = List {
            sources: self.channels(),
            targets: shape.filters,
            kept: filters.clone(),
            shifts: 1,
            stretches: self.takes_stretches(1),
            alike: shape.filters,
            per_source: match self.dense {
                true => self.bytes(shape.height * input.columns()),
                false => self.bytes(self.reach(&grid, input.columns(), false)),
            },
            dense: self.dense,
        };
        let Sorted { taps, starts, groups, blocks, rounds } = list.sorted(reads.collect());
        let correlation = Correlation {
            grid,
            source_len: input.len(),
            target_len: output.len(),
            taps,
            steps: Steps::default(),
            starts,
            groups,
            blocks,
            rounds,
            row_shifts: vec![0],
            source_rows: self.height,
            column_shifts: vec![0],
            source_columns: output.shape.width,
            step: self.kernel.weights,
            targets: (0..filters.len()).map(|filter| output.row(filter, 0) as u32).collect(),
            biases: self.biases[filters.clone()].to_vec(),
            mask: None,
        };
        correlation.checked(self.lanes, self.values)
    }

    /// The value to which the gradient by `channels` of the input goes, and that gradient. Where what
    /// it reads is a rectified copy, it goes to what was copied, masked; but then it may have to be
    /// added there, so that no sums can wait in that place for the next block of sources.
    fn flow(&self, channels: &Range<usize>) -> (usize, Correlation) {
        if let Some(rectified) = self.rectified {
            let backward = self.backward(channels, rectified);
            let at_once = self.kind == Kind::Squares || (!self.dense && backward.blocks == 1);
            if rectified == self.index || at_once {
                return (rectified, backward);
            }
        }
        (self.index, Lowering { rectified: None, ..self.clone() }.backward(channels, self.index))
    }

    /// The gradient by `channels` of the input, to that of value `to`: input position i meets kernel
    /// position k at output position i + pad − k.
    fn backward(&self, channels: &Range<usize>, to: usize) -> Correlation {
        let shape = self.shape;
        let (input, output) = (&self.gradients[to], self.output_gradient);
        let (part, place) = input.part(channels);
        // All numbers of a flat value are channels.
        let each = self.channels() / input.shape.channels;
        let kept = channels.start * each..channels.end * each;
        let (height, width) = match shape.flat {
            true => (1, 1),
            false => self.flows_to,
        };
        let shift = |pad: usize, kernel: usize| pad as isize - kernel as isize;
        let shifts =
            |pad: usize, size: usize| (0..size).rev().map(|k| shift(pad, k)).collect::<Vec<_>>();
        // Around a slab that has a halo there are other numbers than zeros.
        let row_shifts = match self.halo {
            true => vec![0],
            false => shifts(shape.pad_top, shape.height),
        };
        let mut column_shifts = shifts(shape.pad_left, shape.width);
        // Telling taps apart by column pays where much of a row would be computed for
        // nothing; where targets share their reading, only in the widest blocks.
        let dense = self.dense;
        if dense && 1 << self.lanes < LANES || width * 5 < output.shape.width * 6 {
            column_shifts = vec![0];
        }
        let reads = self.taps(false).map(|survivor| {
            let down = shift(shape.pad_top, survivor.row);
            let right = shift(shape.pad_left, survivor.column);
            let start = output.row(survivor.filter, 0) as isize;
            let offset = start + down * output.columns() as isize + right;
            let row_shift = row_shifts.binary_search(&down).unwrap_or(0);
            let column_shift = column_shifts.binary_search(&right).unwrap_or(0);
            Read {
                source: survivor.filter,
                target: survivor.channel,
                shift: column_shift * row_shifts.len() + row_shift,
                tap: Tap { offset: offset as u32, weight: survivor.place },
            }
        });
        let grid = Grid {
            height,
            width,
            source_row: output.columns(),
            target_row: input.columns(),
            strip: input.shape.height.min(height),
        };
        let list = List {
            sources: shape.filters,
            targets: self.channels(),
            kept: kept.clone(),
            shifts: column_shifts.len() * row_shifts.len(),
            stretches: self.takes_stretches(column_shifts.len()),
            // Those of one phase.
            alike: self.channels() / (shape.split * shape.split),
            per_source: match dense {
                true => self.bytes(shape.height * output.columns()),
                false => self.bytes(self.reach(&grid, output.columns(), column_shifts.len() > 1)),
            },
            dense,
        };
        let Sorted { taps, starts, groups, blocks, rounds } = list.sorted(reads.collect());
        let target = |channel: usize| (self.channel_start(input, channel) - place.start) as u32;
        let correlation = Correlation {
            grid,
            source_len: output.len(),
            target_len: part.len(),
            taps,
            steps: Steps::default(),
            starts,
            groups,
            blocks,
            rounds,
            row_shifts,
            source_rows: output.shape.height,
            column_shifts,
            source_columns: output.shape.width,
            step: self.kernel.size * self.kernel.size,
            targets: kept.clone().map(target).collect(),
            biases: vec![],
            mask: self.rectified.map(|_| Mask {
                places: kept.map(|it| self.channel_start(self.input, it) as u32).collect(),
                row: self.input.columns(),
                len: self.input.len(),
            }),
        };
        correlation.checked(self.lanes, self.values)
    }

    /// Whether taps that read side by side are taken together, if they are told apart by so many column
    /// shifts. What lies beside a position must be another vector. In a whole layer the order of
    /// taps does not depend on who works alone: that depends on the seat.
    fn takes_stretches(&self, column_shifts: usize) -> bool {
        !self.dense && 1 << self.lanes == LANES && column_shifts == 1
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

    /// Positions of a source channel, whose rows have `columns`, that a piece of rows reads, or that
    /// `whole` rows do.
    fn reach(&self, grid: &Grid, columns: usize, whole: bool) -> usize {
        let (rows, width) = piece(grid.width << self.lanes, whole);
        let rows = rows.min(grid.height) + self.shape.height - 1;
        let width = width.div_ceil(1 << self.lanes) + self.shape.width - 1;
        rows * width.min(columns)
    }

    fn bytes(&self, positions: usize) -> usize {
        (positions * size_of::<f32>()) << self.lanes
    }
}
