//! Checkpoints: where a trial stood, in a file of its own beside the store.
//!
//! A checkpoint saves work, never a result: a trial without one starts again from its
//! seed and comes to the same weights. So a file that is not whole (the machine went down
//! while it was written), or that another version wrote, is no error: it is not used.

use crate::error::LabError;
use crate::goal_check::GoalCheck;
use parsity_engine::Session;
use parsity_study::{ErrorRate, Observation, Steps, TrialId};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the files say they are; those of another version are not used.
const FORMAT: &str = concat!("parsity checkpoint 1 of ", env!("CARGO_PKG_VERSION"));

/// All that a trial needs to go on, besides what follows from its seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) progress: Progress,
    pub(crate) weights: Vec<f32>,
    pub(crate) velocity: Vec<f32>,
    pub(crate) check: GoalCheck,
}

/// How far a trial has got.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Progress {
    pub(crate) steps: Steps,
    /// The sum of training losses since the last goal check.
    pub(crate) losses: f64,
    /// The steps to each goal reached so far.
    pub(crate) reached: Vec<Steps>,
    /// Images looked at in goal checks.
    pub(crate) evaluated: u64,
    pub(crate) seconds: f64,
    pub(crate) observations: Vec<Observation>,
}

/// The checkpoints that belong to a store.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// In the folder beside `store`.
    pub(crate) fn beside(store: &Path) -> Self {
        let mut name = store.as_os_str().to_owned();
        name.push(".checkpoints");
        Checkpoints { folder: PathBuf::from(name) }
    }

    fn path(&self, trial: TrialId) -> PathBuf {
        self.folder.join(format!("{trial}.safetensors"))
    }

    /// Writes the checkpoint of a trial. An older one is replaced as a whole.
    pub(crate) fn save(&self, trial: TrialId, checkpoint: &Checkpoint) -> Result<(), LabError> {
        self.write(trial, &to_bytes(trial, checkpoint))
    }

    /// Writes a checkpoint that was made into bytes elsewhere.
    pub(crate) fn write(&self, trial: TrialId, bytes: &[u8]) -> Result<(), LabError> {
        let path = self.path(trial);
        let made = fs::create_dir_all(&self.folder);
        let written = made.and_then(|()| write(&path, bytes));
        written.map_err(|source| LabError::CannotSave { path, source })
    }

    /// The checkpoint of a trial, if there is one that is whole.
    pub(crate) fn load(&self, trial: TrialId) -> Option<Checkpoint> {
        from_bytes(trial, &self.read(trial)?)
    }

    /// The bytes of the checkpoint of a trial, if there is one; whether it is whole is for
    /// `from_bytes` to say.
    pub(crate) fn read(&self, trial: TrialId) -> Option<Vec<u8>> {
        fs::read(self.path(trial)).ok()
    }

    /// Removes the checkpoint of a trial that has ended, if there is one.
    pub(crate) fn forget(&self, trial: TrialId) {
        // What stays behind is never read again: a trial with a record does not run.
        let _ = fs::remove_file(self.path(trial));
    }

    /// Removes the folder, if it is empty.
    pub(crate) fn tidy(&self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// A checkpoint as the bytes of its file.
pub(crate) fn to_bytes(trial: TrialId, checkpoint: &Checkpoint) -> Vec<u8> {
    let Checkpoint { progress, weights, velocity, check } = checkpoint;
    let seen = &progress.observations;
    let counts = [progress.steps.0, progress.evaluated, check.hard as u64];
    let sums = [progress.losses, progress.seconds];
    let tensors = [
        ("counts", Dtype::U64, bytes(counts, u64::to_le_bytes)),
        ("sums", Dtype::F64, bytes(sums, f64::to_le_bytes)),
        ("reached", Dtype::U64, bytes(progress.reached.iter().map(|it| it.0), u64::to_le_bytes)),
        ("observed.step", Dtype::U64, bytes(seen.iter().map(|it| it.step.0), u64::to_le_bytes)),
        ("observed.loss", Dtype::F64, bytes(seen.iter().map(|it| it.loss), f64::to_le_bytes)),
        ("observed.error", Dtype::F64, bytes(seen.iter().map(|it| it.error.0), f64::to_le_bytes)),
        ("observed.exact", Dtype::U8, seen.iter().map(|it| u8::from(it.exact)).collect()),
        ("weights", Dtype::F32, bytes(weights.iter().copied(), f32::to_le_bytes)),
        ("velocity", Dtype::F32, bytes(velocity.iter().copied(), f32::to_le_bytes)),
        ("images", Dtype::U32, bytes(check.images.iter().copied(), u32::to_le_bytes)),
    ];
    let digest = digest(tensors.iter().map(|(_, _, bytes)| bytes.as_slice()));
    let views = tensors.iter().map(|(name, dtype, bytes)| {
        let length = bytes.len() * 8 / dtype.bitsize();
        (
            *name,
            TensorView::new(*dtype, vec![length], bytes).expect("the length is that of the bytes"),
        )
    });
    let about = [("format", FORMAT.to_owned()), ("trial", trial.to_string()), ("sha256", digest)];
    let about: HashMap<String, String> =
        about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    serialize(views, Some(about)).expect("the names differ and the lengths fit")
}

/// The checkpoint of a trial, if these are its bytes and none is missing.
pub(crate) fn from_bytes(trial: TrialId, bytes: &[u8]) -> Option<Checkpoint> {
    let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
    let about = header.metadata().as_ref()?;
    let is_ours = about.get("format")? == FORMAT && *about.get("trial")? == trial.to_string();
    let file = SafeTensors::deserialize(bytes).ok()?;
    let data = |name: &str| file.tensor(name).ok().map(|view| view.data());
    let all = NAMES.iter().map(|name| data(name)).collect::<Option<Vec<_>>>()?;
    if !is_ours || *about.get("sha256")? != digest(all.into_iter()) {
        return None;
    }
    let counts = numbers(data("counts")?, u64::from_le_bytes);
    let sums = numbers(data("sums")?, f64::from_le_bytes);
    let (&[steps, evaluated, hard], &[losses, seconds]) = (&counts[..], &sums[..]) else {
        return None;
    };
    let (step, exact) =
        (numbers(data("observed.step")?, u64::from_le_bytes), data("observed.exact")?);
    let loss = numbers(data("observed.loss")?, f64::from_le_bytes);
    let error = numbers(data("observed.error")?, f64::from_le_bytes);
    let observations = step.iter().zip(loss).zip(error).zip(exact);
    let observations = observations.map(|(((&step, loss), error), &exact)| Observation {
        step: Steps(step),
        loss,
        error: ErrorRate(error),
        exact: exact == 1,
    });
    let reached = numbers(data("reached")?, u64::from_le_bytes);
    Some(Checkpoint {
        progress: Progress {
            steps: Steps(steps),
            losses,
            reached: reached.into_iter().map(Steps).collect(),
            evaluated,
            seconds,
            observations: observations.collect(),
        },
        weights: numbers(data("weights")?, f32::from_le_bytes),
        velocity: numbers(data("velocity")?, f32::from_le_bytes),
        check: GoalCheck {
            images: numbers(data("images")?, u32::from_le_bytes),
            hard: hard as usize,
        },
    })
}

/// The tensors of a checkpoint, in the order in which they are digested.
const NAMES: [&str; 10] = [
    "counts",
    "sums",
    "reached",
    "observed.step",
    "observed.loss",
    "observed.error",
    "observed.exact",
    "weights",
    "velocity",
    "images",
];

fn bytes<T, const N: usize>(
    numbers: impl IntoIterator<Item = T>,
    to_bytes: impl Fn(T) -> [u8; N],
) -> Vec<u8> {
    numbers.into_iter().flat_map(to_bytes).collect()
}

fn numbers<T, const N: usize>(bytes: &[u8], from_bytes: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|chunk| from_bytes(*chunk)).collect()
}

fn digest<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    parts.for_each(|part| hash.update(part));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of numbers, as 64 hexadecimal digits.
pub(crate) fn digest_of(weights: &[f32]) -> String {
    digest(std::iter::once(bytes(weights.iter().copied(), f32::to_le_bytes).as_slice()))
}

/// Saves where a single training stands, in a file of its own. `losses` is the sum since the
/// last goal check.
pub fn save_training(
    path: &Path,
    training: TrialId,
    session: &Session,
    losses: f64,
) -> Result<(), LabError> {
    let steps = Steps(session.steps());
    let checkpoint = Checkpoint {
        progress: Progress { steps, losses, ..Progress::default() },
        weights: session.weights().to_vec(),
        velocity: session.velocity().to_vec(),
        check: GoalCheck::new(&[]),
    };
    write(path, &to_bytes(training, &checkpoint))
        .map_err(|source| LabError::CannotSave { path: path.to_owned(), source })
}

/// Takes a single training up where its file says, if there is one; returns the sum of losses
/// since the last goal check.
pub fn resume_training(
    path: &Path,
    training: TrialId,
    session: &mut Session,
) -> Result<Option<f64>, LabError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::io("reading", path)(error)),
    };
    let kept = from_bytes(training, &bytes)
        .filter(|kept| session.resume(kept.progress.steps.0, &kept.weights, &kept.velocity));
    match kept {
        Some(kept) => Ok(Some(kept.progress.losses)),
        None => Err(LabError::OtherCheckpoint { path: path.to_owned() }),
    }
}

/// Writes a file as a whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    fs::write(&name, bytes)?;
    fs::rename(&name, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIAL: TrialId = TrialId([7; 16]);

    fn checkpoint(observations: u64) -> Checkpoint {
        let observation = |step| Observation {
            step: Steps(step),
            loss: 1.0 / step as f64,
            error: ErrorRate(0.3),
            exact: step % 2 == 0,
        };
        Checkpoint {
            progress: Progress {
                steps: Steps(37),
                losses: 0.1 + 0.2,
                reached: vec![Steps(16)],
                evaluated: 1234,
                seconds: 0.75,
                observations: (1..=observations).map(observation).collect(),
            },
            weights: vec![1.5, -0.0, f32::MIN_POSITIVE],
            velocity: vec![],
            check: GoalCheck { images: vec![5, 3, 4], hard: 2 },
        }
    }

    #[test]
    fn a_checkpoint_comes_back_as_it_went() {
        let folder = tempfile::tempdir().expect("a folder");
        let checkpoints = Checkpoints::beside(&folder.path().join("s.sqlite"));
        assert_eq!(checkpoints.load(TRIAL), None);
        for observations in [0, 3] {
            let written = checkpoint(observations);
            checkpoints.save(TRIAL, &written).expect("the folder can be written to");
            assert_eq!(checkpoints.load(TRIAL), Some(written));
        }
        checkpoints.tidy();
        assert!(checkpoints.folder.exists(), "a folder with a checkpoint must stay");
        checkpoints.forget(TRIAL);
        checkpoints.tidy();
        assert!(!checkpoints.folder.exists());
    }

    #[test]
    fn no_byte_may_be_missing_or_different() {
        let whole = to_bytes(TRIAL, &checkpoint(2));
        assert!(from_bytes(TRIAL, &whole).is_some());
        assert!(from_bytes(TrialId([8; 16]), &whole).is_none(), "it is of another trial");
        for length in 0..whole.len() {
            assert!(from_bytes(TRIAL, &whole[..length]).is_none(), "{length} bytes");
        }
        for place in 8..whole.len() {
            let mut other = whole.clone();
            other[place] ^= 1;
            let read = from_bytes(TRIAL, &other);
            // Blanks behind the header mean nothing.
            assert!(read.is_none() || read == Some(checkpoint(2)), "byte {place}");
        }
    }
}
