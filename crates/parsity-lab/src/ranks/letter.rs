//! What ranks write to each other, and how it is put on a wire that carries numbers.

use crate::checkpoint::Progress;
use crate::runner::{Runner, Work};
use parsity_study::{Cell, Observation, Outcome, Steps, Trial};
use serde::{Deserialize, Serialize};

/// A trial of the study that all ranks have: its cell and its index.
pub(super) type Name = (Cell, u32);

/// The name of a trial.
pub(super) fn name_of(trial: &Trial) -> Name {
    (trial.cell, trial.index)
}

/// What rank 0 asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Order {
    /// The saliencies of a trial.
    Score { trial: Name, threads: usize },
    /// One more interval of a trial. It is awake there, or else is woken: with a checkpoint,
    /// if there is one, and its saliencies, if it is sparse, as enclosures.
    Advance {
        trial: Name,
        threads: usize,
        /// Observations that rank 0 has.
        known: usize,
        wake: Option<Wake>,
    },
    /// The digest of a trial's weights; it can be forgotten.
    Release { trial: Name },
    /// Stop in the middle of intervals.
    Halt,
    /// Save what is awake, and part.
    Dismiss,
}

/// How a trial is woken.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Wake {
    /// Whether rank 0 does not know yet what its checkpoint says.
    pub(super) unread: bool,
}

/// What the leader of a group answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The saliencies are enclosed.
    Scored,
    /// Stopped on the way.
    Stopped(Option<Report>),
    /// The interval is over, and with it perhaps the trial.
    Advanced { report: Report, outcome: Option<Outcome> },
    /// The program failed.
    Failed { message: String },
    /// The trial is forgotten; this was its digest.
    Released { digest: Option<String> },
    /// Without being asked: the checkpoint of the trial with this id is enclosed.
    Saved { trial: [u8; 16] },
    /// The last word, of every rank.
    Parted,
}

/// How far a trial has got: what rank 0 does not know yet.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    steps: Steps,
    reached: Vec<Steps>,
    evaluated: u64,
    seconds: f64,
    /// How many earlier observations still hold.
    kept: usize,
    observations: Vec<Observation>,
    work: (u64, u64),
    digest: Option<String>,
    /// Whether it is awake there; else it is over, or waits in its checkpoint.
    pub(super) awake: bool,
}

impl Report {
    /// Of a trial of which `known` observations are known.
    pub(super) fn of(runner: &Runner, known: usize, awake: bool) -> Self {
        let Progress { steps, reached, evaluated, seconds, observations, .. } = &runner.progress;
        // One whose checkpoint was not whole has begun again.
        let kept = if observations.len() < known { 0 } else { known };
        Report {
            steps: *steps,
            reached: reached.clone(),
            evaluated: *evaluated,
            seconds: *seconds,
            kept,
            observations: observations[kept..].to_vec(),
            work: (runner.work.steps, runner.work.evaluated),
            digest: if awake { None } else { runner.digest() },
            awake,
        }
    }

    /// Brings what rank 0 knows of a trial up to date; it is awake in `group`, if it is.
    pub(super) fn apply(self, runner: &mut Runner, group: usize) {
        let progress = &mut runner.progress;
        (progress.steps, progress.reached) = (self.steps, self.reached);
        (progress.evaluated, progress.seconds) = (self.evaluated, self.seconds);
        progress.observations.truncate(self.kept);
        progress.observations.extend(self.observations);
        let (steps, evaluated) = self.work;
        runner.work = Work { steps, evaluated };
        runner.unread = false;
        runner.digest = self.digest;
        runner.home = self.awake.then_some(group);
    }
}

/// What a letter says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Note {
    Order(Order),
    Answer(Answer),
}

/// A note with the number of its question, and enclosures.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) question: u64,
    pub(super) note: Note,
    pub(super) enclosed: Vec<Vec<u8>>,
}

impl Letter {
    /// As numbers, whose bits are its bytes.
    pub(super) fn pack(&self) -> Vec<f32> {
        let lengths: Vec<usize> = self.enclosed.iter().map(Vec::len).collect();
        let head = serde_json::to_vec(&(self.question, &self.note, lengths));
        let head = head.expect("notes are plain values");
        let mut bytes = (head.len() as u32).to_le_bytes().to_vec();
        bytes.extend(head);
        self.enclosed.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        to_numbers(&bytes)
    }

    /// The letter that was packed.
    pub(super) fn unpack(numbers: &[f32]) -> Letter {
        let bytes = to_bytes(numbers);
        let (head, mut rest) = split(&bytes);
        // Ranks have the same version: that was checked before the first letter.
        let (question, note, lengths): (u64, Note, Vec<usize>) =
            serde_json::from_slice(head).expect("a letter of the same version can be read");
        let mut enclosed = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (part, more) = rest.split_at(length);
            enclosed.push(part.to_vec());
            rest = more;
        }
        Letter { question, note, enclosed }
    }
}

fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (length, rest) = bytes.split_at(4);
    let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
    rest.split_at(length as usize)
}

/// Numbers with these bits; the length is a multiple of four.
pub(super) fn to_numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|word| f32::from_bits(u32::from_le_bytes(*word))).collect()
}

/// The bits of numbers.
pub(super) fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_bits().to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parsity_study::{BatchSize, Sparsity};

    #[test]
    fn a_letter_arrives_as_it_was_written() {
        let cell = Cell { batch_size: BatchSize(8), sparsity: Sparsity::new(0.9).unwrap() };
        for enclosed in [vec![], vec![vec![1, 2, 3]], vec![vec![], vec![0xff; 9]]] {
            let order = Order::Release { trial: (cell, 7) };
            let letter = Letter { question: u64::MAX, note: Note::Order(order), enclosed };
            let read = Letter::unpack(&letter.pack());
            assert_eq!((read.question, &read.enclosed), (u64::MAX, &letter.enclosed));
            assert!(
                matches!(read.note, Note::Order(Order::Release { trial }) if trial == (cell, 7))
            );
        }
    }
}
