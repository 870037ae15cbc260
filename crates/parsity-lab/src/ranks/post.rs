//! Rank 0's letters: orders to groups, and who waits for which answer.

use super::carrying::Mail;
use super::letter::{Answer, Letter, Note, Order, name_of};
use crate::floor::Floor;
use crate::runner::Runner;
use parsity_study::{Outcome, TrialId};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// An answer and its enclosures.
type Reply = (Answer, Vec<Vec<u8>>);

/// The way from rank 0 to all groups.
#[derive(Debug)]
pub(crate) struct Post {
    outbox: Sender<Mail>,
    /// Ranks in a group.
    per_trial: usize,
    asked: Mutex<Asked>,
}

/// The questions without an answer.
#[derive(Debug, Default)]
struct Asked {
    count: u64,
    waiting: HashMap<u64, Sender<Reply>>,
}

impl Post {
    pub(super) fn new(outbox: Sender<Mail>, per_trial: usize) -> Self {
        Post { outbox, per_trial, asked: Mutex::default() }
    }

    /// Gives an order to all ranks of a group, and waits for the answer of its leader.
    pub(super) fn ask(&self, group: usize, order: &Order, enclosed: Vec<Vec<u8>>) -> Reply {
        wait(&self.begin(group, order, enclosed))
    }

    fn begin(&self, group: usize, order: &Order, enclosed: Vec<Vec<u8>>) -> Receiver<Reply> {
        let (sender, receiver) = channel();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.count += 1;
        let question = asked.count;
        asked.waiting.insert(question, sender);
        // Under the lock: all ranks of a group get their orders in the same order.
        for rank in group * self.per_trial..(group + 1) * self.per_trial {
            let (note, enclosed) = (Note::Order(order.clone()), enclosed.clone());
            self.send(Some((rank, Letter { question, note, enclosed })));
        }
        receiver
    }

    /// Gives an order to all ranks, to which there is no answer.
    pub(super) fn tell_all(&self, ranks: usize, order: &Order) {
        for rank in 0..ranks {
            let note = Note::Order(order.clone());
            self.send(Some((rank, Letter { question: 0, note, enclosed: vec![] })));
        }
    }

    /// Asks the carrier to look up.
    pub(super) fn nudge(&self) {
        self.send(None);
    }

    fn send(&self, mail: Mail) {
        self.outbox.send(mail).expect("the carrier stays until all have parted");
    }

    /// Gives an answer to whoever waits for it, or a checkpoint to the floor. True for the last
    /// word of a rank.
    pub(super) fn route(&self, letter: Letter, floor: &Floor<'_>) -> bool {
        let Letter { question, note, mut enclosed } = letter;
        match note {
            Note::Answer(Answer::Parted) => return true,
            // Here, so that whatever is sent after it is also seen after it.
            Note::Answer(Answer::Saved { trial }) => {
                let bytes = enclosed.pop().unwrap_or_default();
                if let Err(error) = floor.checkpoints.write(TrialId(trial), &bytes) {
                    floor.give_up(error);
                }
            }
            Note::Answer(answer) => {
                let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(sender) = asked.waiting.remove(&question) {
                    // Whoever asked waits for it.
                    let _ = sender.send((answer, enclosed));
                }
            }
            Note::Order(_) => {}
        }
        false
    }

    /// Lets the ranks where trials are awake forget them, and learns the digests of their
    /// weights.
    pub(crate) fn release(&self, over: &mut [(Runner, Outcome)]) {
        let ask = |runner: &mut Runner| {
            let group = runner.home.take()?;
            let order = Order::Release { trial: name_of(&runner.trial) };
            Some(self.begin(group, &order, vec![]))
        };
        let asked: Vec<_> = over.iter_mut().map(|(runner, _)| ask(runner)).collect();
        for ((runner, _), receiver) in over.iter_mut().zip(asked) {
            if let Some((Answer::Released { digest }, _)) = receiver.map(|it| wait(&it)) {
                runner.digest = digest;
            }
        }
    }
}

fn wait(receiver: &Receiver<Reply>) -> Reply {
    receiver.recv().expect("the carrier stays until all questions are answered")
}
