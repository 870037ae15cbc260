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
    weights: Weights,
}

/// Where the weights of steps stand in the vector of values.
#[derive(Debug, Clone, PartialEq)]
enum Weights {
    /// One behind the other, from these places on, whatever the stretch is.
    Forward(Vec<u32>),
    /// One before the other, down to these places.
    Backward(Vec<u32>),
    /// Those that a stretch has at these places, others anywhere.
    Scattered(Vec<[u32; LONGEST]>),
}

impl Default for Weights {
    fn default() -> Self {
        Weights::Forward(vec![])
    }
}

impl Weights {
    /// Those of `stretches`, in a vector of `values`. (Survivors that are neighbours in their kernel's row
    /// are neighbours there, too; but where a stride was split off, what stands between them has
    /// gone elsewhere.)
    fn new(stretches: &[&[Tap]], values: usize) -> Self {
        let number = |taps: &[Tap], tap: usize| taps.get(tap).unwrap_or(&taps[0]).weight;
        let in_line = |step: i64| {
            let place = |taps: &&[Tap]| {
                let first = i64::from(taps[0].weight);
                let expected = (0..).map(|tap| first + tap * step);
                let in_line =
                    taps.iter().map(|tap| i64::from(tap.weight)).eq(expected.take(taps.len()));
                let lowest = first + (LONGEST as i64 - 1) * step.min(0);
                let fits = lowest >= 0 && lowest as usize + LONGEST <= values;
                (in_line && fits).then_some(lowest as u32)
            };
            stretches.iter().map(place).collect::<Option<Vec<u32>>>()
        };
        if let Some(places) = in_line(1) {
            return Weights::Forward(places);
        }
        if let Some(places) = in_line(-1) {
            return Weights::Backward(places);
        }
        let places = |taps: &&[Tap]| std::array::from_fn(|tap| number(taps, tap));
        Weights::Scattered(stretches.iter().map(places).collect())
    }
}

impl Steps {
    /// Those of `lists`, each with the kind of its stretches, for `1 << lanes` images and a vector of
    /// `values`.
    pub(super) fn new<'a>(
        lists: impl Iterator<Item = (usize, &'a [Tap])>,
        lanes: u32,
        values: usize,
    ) -> Self {
        let (mut stretches, mut starts) = (vec![], vec![0]);
        for (kind, taps) in lists {
            stretches.extend(taps.chunks(KINDS[kind].len()));
            starts.push(stretches.len() as u32);
        }
        let step = |taps: &&[Tap]| Step { offset: taps[0].offset << lanes, ..Step::default() };
        let mut steps: Vec<Step> = stretches.iter().map(step).collect();
        steps.extend([Step::default(); AHEAD]);
        Steps { steps, starts, weights: Weights::new(&stretches, values) }
    }

    /// Those of some lists that stand side by side.
    #[inline(always)]
    pub(super) fn of(&self, lists: Range<usize>) -> Range<usize> {
        match self.starts.is_empty() {
            true => 0..0,
            false => self.starts[lists.start] as usize..self.starts[lists.end] as usize,
        }
    }

    /// Takes over the weights.
    pub(crate) fn weigh(&mut self, values: &[f32]) {
        let line = |place: u32| -> [f32; LONGEST] {
            std::array::from_fn(|tap| values[place as usize..][..LONGEST][tap])
        };
        match &self.weights {
            Weights::Forward(places) => {
                for (step, &place) in self.steps.iter_mut().zip(places) {
                    step.weights = line(place);
                }
            }
            Weights::Backward(places) => {
                for (step, &place) in self.steps.iter_mut().zip(places) {
                    let [first, second, third] = line(place);
                    step.weights = [third, second, first];
                }
            }
            Weights::Scattered(places) => {
                for (step, places) in self.steps.iter_mut().zip(places) {
                    step.weights = places.map(|place| values[place as usize]);
                }
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
