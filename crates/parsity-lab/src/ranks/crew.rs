//! The crew of a rank: trains the trials that are awake here, as rank 0 orders.

use super::carrying::Mail;
use super::letter::{
    Answer, Letter, Name, Note, Order, Report, Wake, name_of, to_bytes, to_numbers,
};
use super::{Group, Ranks};
use crate::bench::Bench;
use crate::checkpoint::{self, Checkpoint};
use crate::error::LabError;
use crate::hands::Teams;
use crate::run::Options;
use crate::runner::{Interval, Means, Runner, Shelf};
use crate::starts::{begin, score};
use parsity_engine::{Comm, Reduction, Session, Team};
use parsity_study::{Study, Trial, TrialId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ranks that train together ask each other only every so many steps whether to go on.
const ASK_EVERY: u64 = 8;

/// Those who train on this rank.
pub(super) struct Crew<'a> {
    study: &'a Study,
    bench: &'a Bench,
    options: &'a Options,
    /// Whether it answers for its group.
    leads: bool,
    outbox: Sender<Mail>,
    /// Trials that are awake and wait for their next interval.
    waiting: Mutex<HashMap<Name, Runner>>,
    /// Where orders are put, until all is done.
    queue: Mutex<Option<Sender<Letter>>>,
    orders: Mutex<Receiver<Letter>>,
    halted: AtomicBool,
    agreement: Option<Mutex<Agreement>>,
}

/// How ranks that train together stop at the same step: the leader says so to all.
struct Agreement {
    comm: Box<dyn Comm>,
    asked: u64,
    go_on: bool,
}

/// What the lanes of a crew work with.
pub(super) struct Lanes {
    /// A team for each.
    pub(super) lanes: Vec<Teams>,
    /// The wire of a group, to stop together.
    pub(super) group: Option<Box<dyn Comm>>,
}

/// Takes ranks apart: the wire to all, and what lanes work with.
pub(super) fn teams(ranks: Ranks, options: &Options) -> (Box<dyn Comm>, Lanes) {
    let lanes = match ranks.group {
        None => {
            let lanes = (0..options.threads).map(|_| Teams::new()).collect();
            Lanes { lanes, group: None }
        }
        Some(Group { team, halt }) => {
            let team = Team::connected(options.threads, team, Reduction::Exact);
            Lanes { lanes: vec![Teams::Shared(team)], group: Some(halt) }
        }
    };
    (ranks.world, lanes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Crew<'a> {
    pub(super) fn new(
        study: &'a Study,
        bench: &'a Bench,
        options: &'a Options,
        group: Option<Box<dyn Comm>>,
        outbox: Sender<Mail>,
    ) -> Self {
        let (queue, orders) = channel();
        let leads = group.as_ref().is_none_or(|comm| comm.rank() == 0);
        let agreement = |comm| Mutex::new(Agreement { comm, asked: 0, go_on: true });
        Crew {
            study,
            bench,
            options,
            leads,
            outbox,
            waiting: Mutex::default(),
            queue: Mutex::new(Some(queue)),
            orders: Mutex::new(orders),
            halted: AtomicBool::new(false),
            agreement: group.map(agreement),
        }
    }

    /// Takes an order: what is quick is done at once, the rest by a lane.
    pub(super) fn deliver(&self, letter: Letter) {
        match letter.note {
            Note::Order(Order::Halt) => self.halted.store(true, Ordering::Relaxed),
            Note::Order(Order::Dismiss) => self.part(),
            // The answer to the last interval was sent when the trial was back. Those who do
            // not lead may still be at it.
            Note::Order(Order::Release { trial }) if self.leads => {
                let digest = lock(&self.waiting).remove(&trial).and_then(|it| it.digest());
                self.answer(letter.question, Answer::Released { digest }, vec![]);
            }
            _ => {
                if let Some(queue) = &*lock(&self.queue) {
                    queue.send(letter).expect("the other end is in this crew");
                }
            }
        }
    }

    /// Whether no more orders will come.
    pub(super) fn is_dismissed(&self) -> bool {
        lock(&self.queue).is_none()
    }

    /// Saves what is awake, and says that this was all.
    fn part(&self) {
        let shelf = Satchel { crew: self, saliencies: None, checkpoint: None };
        for (_, mut runner) in lock(&self.waiting).drain() {
            // Whether it can be saved is rank 0's business.
            let _ = runner.save(&shelf);
        }
        *lock(&self.queue) = None;
        self.send(0, Answer::Parted, vec![]);
    }

    fn answer(&self, question: u64, answer: Answer, enclosed: Vec<Vec<u8>>) {
        if self.leads {
            self.send(question, answer, enclosed);
        }
    }

    fn send(&self, question: u64, answer: Answer, enclosed: Vec<Vec<u8>>) {
        let letter = Letter { question, note: Note::Answer(answer), enclosed };
        self.outbox.send(Some((0, letter))).expect("the carrier stays until this rank has parted");
    }

    /// The day of a lane.
    pub(super) fn work(&self, teams: &mut Teams) {
        loop {
            // The lock is held while one lane waits for an order; the others wait for the lock.
            let next = lock(&self.orders).recv();
            let Ok(Letter { question, note: Note::Order(order), enclosed }) = next else { return };
            match order {
                Order::Score { trial, threads } => {
                    let trial = self.study.trial(trial.0, trial.1);
                    let go_on = || self.may_go_on();
                    match score(self.bench, &trial, teams.team(threads), &go_on) {
                        Some(scores) => {
                            self.answer(question, Answer::Scored, vec![to_bytes(&scores)]);
                        }
                        None => self.answer(question, Answer::Stopped(None), vec![]),
                    }
                }
                Order::Advance { trial, threads, known, wake } => {
                    let answer = self.advance(trial, threads, known, wake, enclosed, teams);
                    self.answer(question, answer, vec![]);
                }
                Order::Release { trial } => drop(lock(&self.waiting).remove(&trial)),
                Order::Halt | Order::Dismiss => {}
            }
        }
    }

    /// Trains a trial for one interval.
    fn advance(
        &self,
        name: Name,
        threads: usize,
        known: usize,
        wake: Option<Wake>,
        enclosed: Vec<Vec<u8>>,
        teams: &mut Teams,
    ) -> Answer {
        let awake = lock(&self.waiting).remove(&name);
        let mut runner = match (wake, awake) {
            (None, Some(runner)) => runner,
            (wake, _) => {
                let mut runner = Runner::new(self.study.trial(name.0, name.1));
                runner.unread = wake.is_none_or(|wake| wake.unread);
                runner
            }
        };
        let mut enclosed = enclosed.into_iter();
        let checkpoint = enclosed.next().filter(|bytes| !bytes.is_empty());
        let saliencies = enclosed.next().filter(|bytes| !bytes.is_empty());
        let saliencies = saliencies.map(|bytes| to_numbers(&bytes));
        let shelf = Satchel { crew: self, saliencies, checkpoint };
        let go_on = || self.may_go_on();
        let means = Means {
            shelf: &shelf,
            bench: self.bench,
            save_every: self.options.save_every,
            measures: self.options.measures,
            go_on: &go_on,
        };
        let advanced = teams.advance(&mut runner, &means, threads);
        match advanced {
            Ok(Some((_, Some(message)))) => Answer::Failed { message },
            Ok(Some((Interval::Ended(outcome), None))) => {
                let report = Report::of(&runner, known, false);
                Answer::Advanced { report, outcome: Some(outcome) }
            }
            Ok(Some((Interval::Open, None))) => {
                let report = self.lay_down(runner, known, &means);
                Answer::Advanced { report, outcome: None }
            }
            Ok(None) => Answer::Stopped(Some(Report::of(&runner, known, false))),
            Err(error) => Answer::Failed { message: error.to_string() },
        }
    }

    /// Lets a trial wait: awake if there is room for it, else in its checkpoint. Those who do
    /// not lead keep it until they are told.
    fn lay_down(&self, mut runner: Runner, known: usize, means: &Means<'_>) -> Report {
        let mut waiting = lock(&self.waiting);
        let resident: usize = waiting.values().map(Runner::bytes).sum();
        let stays = !self.leads || resident + runner.bytes() <= self.options.memory;
        // Whether it can be saved is rank 0's business.
        let _ = match stays {
            true => runner.save_if_due(means),
            false => runner.park(means.shelf),
        };
        let report = Report::of(&runner, known, stays);
        if stays {
            waiting.insert(name_of(&runner.trial), runner);
        }
        report
    }

    /// Whether intervals are to be trained to their end; the same on all ranks of a group.
    fn may_go_on(&self) -> bool {
        let go_on = !self.halted.load(Ordering::Relaxed);
        match &self.agreement {
            None => go_on,
            Some(agreement) => lock(agreement).ask(go_on),
        }
    }
}

impl Agreement {
    fn ask(&mut self, go_on: bool) -> bool {
        self.asked += 1;
        if self.go_on && self.asked.is_multiple_of(ASK_EVERY) {
            let mut said = [f32::from(go_on)];
            self.comm.broadcast(&mut said);
            self.go_on = said[0] == 1.0;
        }
        self.go_on
    }
}

/// What came with an order to wake a trial, and the way back for its checkpoints.
struct Satchel<'a> {
    crew: &'a Crew<'a>,
    saliencies: Option<Vec<f32>>,
    checkpoint: Option<Vec<u8>>,
}

impl Shelf for Satchel<'_> {
    fn session(
        &self,
        trial: &Trial,
        _: &mut Team,
        _: &dyn Fn() -> bool,
    ) -> Result<Option<Session>, LabError> {
        Ok(Some(begin(self.crew.bench, trial, self.saliencies.as_deref())))
    }

    fn load(&self, trial: TrialId) -> Option<Checkpoint> {
        checkpoint::from_bytes(trial, self.checkpoint.as_deref()?)
    }

    fn save(&self, trial: TrialId, checkpoint: &Checkpoint) -> Result<(), LabError> {
        if self.crew.leads {
            let bytes = checkpoint::to_bytes(trial, checkpoint);
            self.crew.send(0, Answer::Saved { trial: trial.0 }, vec![bytes]);
        }
        Ok(())
    }
}
