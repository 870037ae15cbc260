//! Taps as the loop over them meets them, and a look ahead at where they read.
//!
//! A target that reads alone loads about a number for every product. A machine has room for few loads
//! that wait for their address: where the address was itself loaded just before, everything behind
//! it stands still. So the address of a stretch of taps is worked out some stretches before its turn,
//! and its weights stand beside its offset.

#![allow(unsafe_code)]

use super::stretches::{KINDS, LONGEST};
use super::taps::Tap;
use super::vector::at_once;
use std::ops::Range;

/// A stretch of taps with their weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Step {
    /// What its first tap reads, in numbers, relative to the first one of a tile.
    offset: u32,
    pub(super) weights: [f32; LONGEST],
}

/// Steps behind the last one that somebody may look at.
const AHEAD: usize = 5;

/// The stretches of lists of taps, and so many steps more that whoever looks ahead finds some.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// Those of each list: `starts[i]..starts[i + 1]`.
    starts: Vec<u32>,
}

impl Steps {
    /// Those of `lists`, each with the kind of its stretches, for `1 << lanes` images.
    pub(super) fn new<'a>(lists: impl Iterator<Item = (usize, &'a [Tap])>, lanes: u32) -> Self {
        let (mut steps, mut starts) = (vec![], vec![0]);
        for (kind, taps) in lists {
            let stretches = taps.chunks(KINDS[kind].len());
            steps.extend(
                stretches.map(|taps| Step { offset: taps[0].offset << lanes, ..Step::default() }),
            );
            starts.push(steps.len() as u32);
        }
        steps.extend([Step::default(); AHEAD]);
        Steps { steps, starts }
    }

    /// Those of some lists that stand side by side.
    #[inline(always)]
    pub(super) fn of(&self, lists: Range<usize>) -> Range<usize> {
        match self.starts.is_empty() {
            true => 0..0,
            false => self.starts[lists.start] as usize..self.starts[lists.end] as usize,
        }
    }

    /// Takes over the weights of a list's `taps`.
    pub(super) fn weigh(&mut self, list: usize, kind: usize, taps: &[Tap], values: &[f32]) {
        let steps = self.of(list..list + 1);
        let stretches = taps.chunks(KINDS[kind].len());
        for (step, taps) in self.steps[steps].iter_mut().zip(stretches) {
            for (weight, tap) in step.weights.iter_mut().zip(taps) {
                *weight = values[tap.weight as usize];
            }
        }
    }
}

/// Steps one by one, of which the next addresses are known already.
pub(super) struct Ahead<'a> {
    steps: &'a Steps,
    source: *const f32,
    /// The next one, and where it and those after it read.
    step: *const Step,
    next: [*const f32; 4],
}

impl<'a> Ahead<'a> {
    /// For tiles whose first number reads `source` with offset 0. It goes nowhere yet.
    #[inline(always)]
    pub(super) fn new(steps: &'a Steps, source: *const f32) -> Self {
        Ahead { steps, source, step: std::ptr::null(), next: [std::ptr::null(); 4] }
    }

    /// Step number `step` is the next one. Lists follow each other, so mostly it is already.
    ///
    /// # Safety
    /// There are steps, and `step` is at most as many.
    #[inline(always)]
    pub(super) unsafe fn go_to(&mut self, step: usize) {
        // SAFETY: as the caller promises; there are some more behind the last one.
        unsafe {
            let step = self.steps.steps.as_ptr().add(step);
            if step != self.step {
                self.step = step;
                for next in 0..4 {
                    self.next[next] = at_once(address(step, next, self.source));
                }
            }
        }
    }

    /// What the next step reads, and its weights.
    ///
    /// # Safety
    /// It has gone somewhere, and there is another step.
    #[inline(always)]
    pub(super) unsafe fn take(&mut self) -> (*const f32, &'a [f32; LONGEST]) {
        // SAFETY: as the caller promises; there are some more behind the last one.
        unsafe {
            let taken = (self.next[0], &(*self.step).weights);
            let [_, first, second, third] = self.next;
            // Before anything else: behind all that this one reads, it would wait for its turn.
            self.next = [first, second, third, at_once(address(self.step, 4, self.source))];
            self.step = self.step.add(1);
            taken
        }
    }
}

/// Where the step that is `next` steps behind `step` reads.
///
/// # Safety
/// There is such a step.
#[inline(always)]
unsafe fn address(step: *const Step, next: usize, source: *const f32) -> *const f32 {
    // SAFETY: as the caller promises. Nobody looks there who does not know that a tap does.
    unsafe { source.wrapping_add((*step.add(next)).offset as usize) }
}
