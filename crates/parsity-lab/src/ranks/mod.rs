//! A study over ranks: processes that were started together, by MPI or, in tests, as threads.
//!
//! ```text
//! rank 0    Floor ── Errand per lane ── Post ─┐               the store, the races, all files
//!                                             ├─ orders, answers ─ carry
//! all ranks Crew ── lanes with their teams ───┘               the trials that are awake
//! ```
//!
//! Rank 0 owns the store and the races; trials are trained by the crews of all ranks, its own
//! included. A trial stays on the ranks where it is awake; only its progress travels, and now
//! and then its checkpoint, which rank 0 keeps. Ranks that train one trial together form a
//! *group*; the first one of a group *leads*: it answers.

mod carrying;
mod crew;
mod errand;
mod letter;
mod post;

pub(crate) use post::Post;

use crate::bench::Bench;
use crate::error::LabError;
use crate::run::{Asked, Event, Options, Staff, Summary};
use crate::store::Store;
use carrying::carry;
use crew::Crew;
use errand::Errand;
use letter::{Note, Order};
use parsity_engine::Comm;
use parsity_study::Study;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

/// This process among the ranks that carry out a study.
#[derive(Debug)]
pub struct Ranks {
    /// The wire to all of them.
    pub world: Box<dyn Comm>,
    /// Wires between those that train a trial together, if each does not do so alone.
    pub group: Option<Group>,
}

/// The wires of a group: neighbouring ranks, all groups of the same size.
#[derive(Debug)]
pub struct Group {
    /// For gradients and goal checks.
    pub team: Box<dyn Comm>,
    /// To stop at the same step.
    pub halt: Box<dyn Comm>,
}

impl Ranks {
    /// How many ranks train a trial together.
    fn per_trial(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.team.size())
    }

    /// How many trials a group trains at the same time. Ranks that share a trial have one.
    fn lanes(&self, options: &Options) -> usize {
        if self.group.is_some() { 1 } else { options.threads }
    }
}

/// Trains all trials of `study` that have no record yet, as rank 0; the others [`serve`].
pub fn run_over(
    ranks: Ranks,
    study: &Study,
    bench: &Bench,
    store: &mut Store,
    options: &Options,
    stop: &AtomicBool,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Summary, LabError> {
    let (outbox, mail) = channel();
    let (per_trial, lanes) = (ranks.per_trial(), ranks.lanes(options));
    let post = Post::new(outbox.clone(), per_trial);
    let groups = ranks.world.size() / per_trial;
    let staff = Staff { groups, lanes, post: Some(&post) };
    let asked = Asked { study, bench, options, stop, watch };
    asked.carry_out(store, staff, |floor, starts| {
        let (mut world, teams) = crew::teams(ranks, options);
        let crew = Crew::new(study, bench, options, teams.group, outbox);
        let working = AtomicUsize::new(groups * lanes);
        let (post, working, checkpoints) = (&post, &working, floor.checkpoints);
        std::thread::scope(|scope| {
            let crew = &crew;
            for mut team in teams.lanes {
                scope.spawn(move || crew.work(&mut team));
            }
            for lane in 0..groups * lanes {
                let group = lane / lanes;
                scope.spawn(move || {
                    floor.work(group, &mut Errand { group, post, checkpoints, starts });
                    working.fetch_sub(1, Ordering::Release);
                    post.nudge();
                });
            }
            let (mut halted, mut dismissed, mut gone) = (false, false, 0);
            let size = world.size();
            carry(&mut *world, &mail, |letter| {
                if let Some((_, letter)) = letter {
                    match letter.note {
                        Note::Order(_) => crew.deliver(letter),
                        Note::Answer(_) => gone += usize::from(post.route(letter, floor)),
                    }
                }
                if !halted && floor.is_ending() {
                    halted = true;
                    post.tell_all(size, &Order::Halt);
                }
                if !dismissed && working.load(Ordering::Acquire) == 0 {
                    dismissed = true;
                    post.tell_all(size, &Order::Dismiss);
                }
                gone < size
            });
        });
    })
}

/// Trains what rank 0 asks for, until it asks for nothing more. `study` and `options` are those
/// of rank 0.
pub fn serve(ranks: Ranks, study: &Study, bench: &Bench, options: &Options) {
    let (outbox, mail) = channel();
    let (mut world, teams) = crew::teams(ranks, options);
    let crew = Crew::new(study, bench, options, teams.group, outbox);
    std::thread::scope(|scope| {
        for mut team in teams.lanes {
            let crew = &crew;
            scope.spawn(move || crew.work(&mut team));
        }
        carry(&mut *world, &mail, |letter| {
            if let Some((_, letter)) = letter {
                crew.deliver(letter);
            }
            !crew.is_dismissed()
        });
    });
}
