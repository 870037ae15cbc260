//! A weight that has survived: where it stands in its layer.

/// A survivor: filter, input channel, row and column of the kernel, place in the values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Survivor {
    pub(crate) filter: usize,
    pub(crate) channel: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) place: u32,
}

/// A filter as the tensor has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    /// Its weights.
    pub(crate) weights: usize,
    /// Rows and columns.
    pub(crate) size: usize,
    /// Its parts are dealt out to phases like the input.
    pub(crate) split: usize,
}

impl Kernel {
    /// Number `local` of the tensor, whose value stands at `place`.
    pub(crate) fn survivor(&self, place: usize, local: usize) -> Survivor {
        let Kernel { weights, size, split } = *self;
        let channels = weights / (size * size);
        let (channel, tap) = (local % weights / (size * size), local % (size * size));
        let (row, column) = (tap / size, tap % size);
        Survivor {
            filter: local / weights,
            channel: (row % split * split + column % split) * channels + channel,
            row: row / split,
            column: column / split,
            place: place as u32,
        }
    }
}
