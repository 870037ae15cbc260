//! Taps as the loop over them meets them, and a look ahead at where they read.
//!
//! A target that reads alone loads a number for every product. A machine has room for few loads
//! that wait for their address: where the address was itself loaded just before, everything behind
//! it stands still. So the address of a tap is worked out some taps before its turn, and its weight
//! stands beside its offset.

#![allow(unsafe_code)]

use super::taps::Tap;
use super::vector::{Vector, at_hand, at_once};
use std::ops::Range;

/// A tap with its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// What it reads, in numbers, relative to the first one of a tile.
    offset: u32,
    weight: f32,
}

/// Steps behind the last one that somebody may look at.
const AHEAD: usize = 6;

/// The steps of taps, and so many more that whoever looks ahead finds some.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    /// Those of `taps`, for `1 << lanes` images.
    pub(super) fn new(taps: &[Tap], lanes: u32) -> Self {
        let offsets = taps.iter().map(|tap| tap.offset << lanes).chain([0; AHEAD]);
        Steps(offsets.map(|offset| Step { offset, weight: 0.0 }).collect())
    }

    /// Takes over the weights of the taps at `places`, which are `taps`.
    pub(super) fn weigh(&mut self, places: Range<usize>, taps: &[Tap], values: &[f32]) {
        for (step, tap) in self.0[places].iter_mut().zip(taps) {
            step.weight = values[tap.weight as usize];
        }
    }

    /// Step number `step`.
    ///
    /// # Safety
    /// There are taps, and `step` is at most as many.
    #[inline(always)]
    pub(super) unsafe fn at(&self, step: usize) -> *const Step {
        // SAFETY: as the caller promises; there are more steps than taps.
        unsafe { self.0.as_ptr().add(step) }
    }
}

/// Steps two by two, of which the next addresses are known already.
pub(super) struct Ahead<'a> {
    steps: &'a Steps,
    source: *const f32,
    /// The next one, and where it and those after it read.
    step: *const Step,
    first: *const f32,
    second: *const f32,
    third: *const f32,
    fourth: *const f32,
}

impl<'a> Ahead<'a> {
    /// For tiles whose first number reads `source` with offset 0. It goes nowhere yet.
    #[inline(always)]
    pub(super) fn new(steps: &'a Steps, source: *const f32) -> Self {
        let (step, first) = (std::ptr::null(), std::ptr::null());
        Ahead { steps, source, step, first, second: first, third: first, fourth: first }
    }

    /// Step number `step` is the next one. Lists follow each other, so mostly it is already.
    ///
    /// # Safety
    /// There are taps, and `step` is at most as many.
    #[inline(always)]
    pub(super) unsafe fn go_to(&mut self, step: usize) {
        // SAFETY: as the caller promises; there are more steps than taps.
        unsafe {
            let step = self.steps.at(step);
            if step != self.step {
                self.step = step;
                self.first = at_hand(address(step, 0, self.source));
                self.second = at_hand(address(step, 1, self.source));
                self.third = at_hand(address(step, 2, self.source));
                self.fourth = at_hand(address(step, 3, self.source));
            }
        }
    }

    /// What the next two steps read, and their weights.
    ///
    /// # Safety
    /// It has gone somewhere, and there are two more steps.
    #[inline(always)]
    pub(super) unsafe fn take_two<V: Vector>(&mut self) -> [(*const f32, V); 2] {
        // SAFETY: as the caller promises; there are more steps than taps.
        unsafe {
            let weights = [(*self.step).weight, (*self.step.add(1)).weight];
            let taken = [(self.first, V::splat(weights[0])), (self.second, V::splat(weights[1]))];
            (self.first, self.second) = (self.third, self.fourth);
            // Before anything else: behind all that these two read, they would wait for their turn.
            self.third = at_once(address(self.step, 4, self.source));
            self.fourth = at_once(address(self.step, 5, self.source));
            self.step = self.step.add(2);
            taken
        }
    }

    /// What the next step reads, and its weight.
    ///
    /// # Safety
    /// It has gone somewhere, and there is another step.
    #[inline(always)]
    pub(super) unsafe fn take<V: Vector>(&mut self) -> (*const f32, V) {
        // SAFETY: as the caller promises; there are more steps than taps.
        unsafe {
            let taken = (self.first, V::splat((*self.step).weight));
            (self.first, self.second, self.third) = (self.second, self.third, self.fourth);
            self.fourth = at_hand(address(self.step, 4, self.source));
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
