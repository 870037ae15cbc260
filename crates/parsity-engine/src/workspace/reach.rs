//! Which channels of a value are here, and how those come that other seats have computed.

use super::{CODES, VALUES, Workspace};
use crate::kernels::slabs;
use crate::network::{Network, Op, Value};
use std::ops::Range;

impl Workspace {
    /// The channels of a value that are computed here, or all of them, as a value of their
    /// own, and the numbers where that stands.
    pub(super) fn cut(&self, value: &Value, all: bool) -> (Value, Range<usize>) {
        let channels = value.shape.channels;
        let channels = if all { 0..channels } else { self.seat.share(channels) };
        let (part, place) = value.part(&channels);
        (part, place.start << value.lanes..place.end << value.lanes)
    }

    /// Where the codes of the channels stand that are computed here.
    pub(super) fn first_code(&self, output: usize) -> usize {
        let Value { shape, lanes, .. } = self.cut.network.values[output];
        (self.seat.share(shape.channels).start * shape.height * shape.width) << lanes
    }

    /// Gets the channels of a value, or of its gradient with its codes, that other seats have
    /// computed.
    pub(super) fn gather(&mut self, kind: usize, index: usize) {
        let network = &self.cut.network;
        let (value, numbers, codes) = match kind {
            VALUES => (&network.values[index], &mut self.values[index], &mut [][..]),
            _ => {
                let (numbers, codes) = (&mut self.gradients[index], &mut self.codes[index]);
                (&network.gradients[index], numbers, &mut codes[..])
            }
        };
        let mut whole = std::mem::replace(&mut self.whole[kind][index], true);
        if !codes.is_empty() {
            whole &= std::mem::replace(&mut self.whole[CODES][index], true);
        }
        if !whole {
            self.seat.exchange(value, numbers, codes);
        }
    }

    /// Gives slabs the rows around them that the convolution `op` reads of its input, or its input
    /// gradient of the gradient of its output, in the channels that are here.
    pub(super) fn fill_halo(&mut self, kind: usize, op: &Op) {
        let Op::Conv { input, output, shape, .. } = *op else { return };
        if !self.cut.has_halo(input, output) {
            return;
        }
        let [from, to] = [input, output].map(|it| self.cut.network.values[it].shape);
        let (ring, value, index) = match kind {
            VALUES => (shape.reads_around(from, to), &self.layout.values[input], input),
            _ => {
                let ring = shape.gradient_reads_around(from, to);
                (ring, &self.layout.gradients[output], output)
            }
        };
        let (value, place) = self.cut(value, self.whole[kind][index]);
        let numbers = match kind {
            VALUES => &mut self.values[index][place],
            _ => &mut self.gradients[index][place],
        };
        slabs::fill_halo(self.cut.images, &value, numbers, ring.top, ring.bottom);
    }
}

/// Which channels an operation reads for those that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The same ones.
    Own,
    /// All of them: a convolution.
    All,
    /// Others. It is a small operation: every seat does all of it. (But a shortcut is added by each seat to
    /// its own channels.)
    Other,
}

impl Reach {
    pub(super) fn of(network: &Network, op: &Op) -> Self {
        let channels = |value: usize| network.values[value].shape.channels;
        match op {
            Op::Conv { .. } => Reach::All,
            _ if channels(op.input()) == channels(op.output()) => Reach::Own,
            _ => Reach::Other,
        }
    }
}
