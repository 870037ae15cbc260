//! Neighbouring operations that go through large values strip by strip: what the first one leaves of a
//! few rows is still near when the next one comes, or need not be kept at all.

use super::{GRADIENTS, Pass, Workspace};
use crate::conv::{Way, WeightGradient};
use crate::layout::{Halving, halving, rows_near, strips};

impl Workspace {
    /// The halving that ends with operation `last`, if it is done in one go.
    pub(super) fn halving_to(&self, last: usize) -> Option<Halving> {
        halving(&self.cut.network, last).filter(|it| self.halves_at_once(it))
    }

    /// The same of one that begins with operation `index`, and the operation with which it ends.
    pub(super) fn halving_from(&self, index: usize) -> Option<(usize, Halving)> {
        let network = &self.cut.network;
        let ends = (index + 2..network.ops.len()).take(2);
        let mut found = ends.filter_map(|last| Some((last, self.halving_to(last)?)));
        found.find(|(last, it)| it.first(*last) == index)
    }

    /// How many rows convolution `index` writes, and how many of them it may write before what comes next
    /// reads these: all, unless it follows lists of taps.
    pub(super) fn rows_of_conv(&self, index: usize) -> (usize, usize) {
        let conv = self.convs[index].as_ref().expect("a convolution was lowered");
        let height = conv.forward.grid.height;
        let rows = rows_near(&self.layout.values[self.cut.network.ops[index].output()]);
        (height, if matches!(conv.way, Way::Taps) { rows } else { height })
    }

    /// Both gradients of convolution `index`, strip by strip: both read what its output's gradient is
    /// there, and what it has read itself. If a halving leads there, its gradient comes with them, and
    /// that by the phases is kept for a strip only. Returns the first operation that is done, or nothing if
    /// these go another way. `set` is as for `backward_conv`.
    pub(super) fn backward_strips(
        &mut self,
        index: usize,
        set: bool,
        values: &[f32],
        gradient: &mut [f32],
        watch: &mut impl FnMut(usize, Pass),
    ) -> Option<usize> {
        let before = index.checked_sub(1)?;
        let halving = self.halving_to(before);
        let rows = match &halving {
            Some(halving) => self.layout.gradients[halving.phases].shape.height,
            None => self.rows_of_both(index)?,
        };
        let op = self.cut.network.ops[index];
        let conv = self.convs[index].as_ref().expect("a convolution was lowered");
        let (own, height) = (conv.forward.grid.height, conv.everywhere()?.grid.height);
        let together = self.rows_of_both(index).is_some();
        self.flat[op.input()] = false;
        self.fill_halo(GRADIENTS, &op);
        let start = (set, self.finds_something(index));
        for strip in strips(height, rows) {
            if together || strip.start == 0 {
                let rows = if together { strip.clone() } else { 0..own };
                self.backward_weights(index, rows, gradient);
                watch(index, Pass::WeightGradient);
            }
            self.backward_conv(index, strip.clone(), start, values);
            watch(index, Pass::InputGradient);
            if let Some(halving) = &halving {
                self.backward_halving(halving, strip);
                watch(before, Pass::InputGradient);
            }
        }
        // What was added to a halved value has its gradient from that.
        Some(if halving.is_some() { before - 2 } else { index })
    }

    /// Rows of a strip of convolution `index`, if taps pass by for both of its gradients and its values
    /// are large. Seats exchange channels between the two.
    fn rows_of_both(&self, index: usize) -> Option<usize> {
        let conv = self.convs[index].as_ref()?;
        let WeightGradient::Everywhere(places) = &conv.weights else { return None };
        let rows = rows_near(&self.layout.values[self.cut.network.ops[index].input()]);
        let height = conv.forward.grid.height;
        let alike = conv.everywhere()?.grid.height == height;
        let by_taps = places.passage.is_some() && matches!(conv.way, Way::Taps);
        (by_taps && alike && rows < height && self.seat.is_alone()).then_some(rows)
    }
}
