//! One training run: weights, momenta and the step they stand at.
//!
//! A session is a small value that any team can advance; it owns no threads and no
//! activations. It cannot fail: `step` returns a loss, finite or not.

use crate::batches::Batches;
use crate::examples::Material;
use crate::optimizer::{Optimizer, Schedule};
use crate::program::Program;
use crate::seats::Seat;
use crate::team::{Look, Team};
use crate::walls::walls;
use crate::workspace::{Question, Workspace, images};
use std::sync::Arc;

/// A training run in progress.
#[derive(Debug, Clone)]
pub struct Session {
    program: Arc<Program>,
    material: Arc<Material>,
    weights: Vec<f32>,
    velocity: Vec<f32>,
    optimizer: Optimizer,
    schedule: Schedule,
    batches: Batches,
    batch: Vec<u32>,
    steps: u64,
}

impl Session {
    /// A run of `program` from the weights `parameters` (one per parameter of the
    /// network; pruned ones are not looked at).
    pub fn new(
        program: Arc<Program>,
        material: Arc<Material>,
        parameters: &[f32],
        optimizer: Optimizer,
        schedule: Schedule,
        batches: Batches,
    ) -> Self {
        assert_eq!(
            material.examples().shape(),
            program.network().input(),
            "images of another shape"
        );
        let weights = program.pattern().gather(parameters);
        let velocity = vec![0.0; if optimizer.has_velocity() { weights.len() } else { 0 }];
        let batch = Vec::with_capacity(batches.batch_size());
        Session {
            program,
            material,
            weights,
            velocity,
            optimizer,
            schedule,
            batches,
            batch,
            steps: 0,
        }
    }

    /// Trains one step; returns the mean loss of its batch before the update.
    pub fn step(&mut self, team: &mut Team) -> f64 {
        self.batches.fill(self.steps, &mut self.batch);
        let size = self.batch.len() as f64;
        let scale = (1.0 / size) as f32;
        let (program, material) = (&self.program, &self.material);
        let (loss, gradient) =
            team.gradient(program, material, &mut self.weights, &mut self.batch, scale);
        let rate = self.schedule.rate(self.steps);
        self.optimizer.update(rate, &gradient, &mut self.weights, &mut self.velocity);
        self.steps += 1;
        loss / size
    }

    /// How many of the examples `indices` are classified wrongly. The list is lent to
    /// the team's threads and comes back unchanged.
    pub fn count_errors(&mut self, indices: &mut Vec<u32>, team: &mut Team) -> usize {
        self.look(indices, usize::MAX, team).found
    }

    /// Looks at the examples `indices` in order until more than `most` were found that are
    /// classified wrongly. The list is lent to the team's threads and comes back unchanged.
    pub fn look<'a>(
        &mut self,
        indices: &mut Vec<u32>,
        most: usize,
        team: &'a mut Team,
    ) -> Look<'a> {
        let (program, material) = (&self.program, &self.material);
        team.look(program, material, &mut self.weights, indices, Question::IsWrong, most)
    }

    /// Whether the network is dead: some layer that everything runs through does not fire for
    /// any of `others` or of the training split, and never will again. If so, it tells all
    /// those examples the same scores after any further training. And how many examples were
    /// looked at to find out.
    pub fn has_collapsed(&mut self, others: &[u32], team: &mut Team) -> (bool, usize) {
        let rate = self.schedule.highest_from(self.steps);
        let mut seen = 0;
        for wall in walls(self.program.network()) {
            let below = self.program.pattern().places(&(0..wall.parameters)).end;
            let velocity = self.velocity.get(..below).unwrap_or_default();
            if !self.optimizer.rests(rate, &self.weights[..below], velocity) {
                continue;
            }
            let mut examples = [others, self.batches.split()].concat();
            let (program, material) = (&self.program, &self.material);
            let question = Question::Wakes { rectifier: wall.rectifier };
            let look = team.look(program, material, &mut self.weights, &mut examples, question, 0);
            seen += look.seen;
            if look.found == 0 {
                return (true, seen);
            }
        }
        (false, seen)
    }

    /// Goes to where another session of the same trial was after `steps`, with its weights
    /// and velocity. False, and nothing changes, if those are not of this program.
    pub fn resume(&mut self, steps: u64, weights: &[f32], velocity: &[f32]) -> bool {
        if weights.len() != self.weights.len() || velocity.len() != self.velocity.len() {
            return false;
        }
        self.weights.copy_from_slice(weights);
        self.velocity.copy_from_slice(velocity);
        self.steps = steps;
        true
    }

    /// The mean loss over `examples` and its gradient by the survivors.
    pub fn gradient(&mut self, examples: &[u32], team: &mut Team) -> (f64, Vec<f32>) {
        let size = examples.len() as f64;
        let (program, material) = (&self.program, &self.material);
        let mut indices = examples.to_vec();
        let (loss, gradient) =
            team.gradient(program, material, &mut self.weights, &mut indices, (1.0 / size) as f32);
        (loss / size, gradient.to_vec())
    }

    /// The class scores of each of `examples`.
    pub fn scores(&self, examples: &[u32]) -> Vec<Vec<f32>> {
        let images = images(self.program.network(), examples.len());
        let mut workspace = Workspace::new(&self.program, images, Seat::alone());
        let blocks = examples.chunks(1 << images);
        blocks.flat_map(|block| workspace.scores(&self.material, &self.weights, block)).collect()
    }

    /// Steps trained so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The survivors' weights.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The accumulated gradients; empty for SGD.
    pub fn velocity(&self) -> &[f32] {
        &self.velocity
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let numbers = self.weights.len() + self.velocity.len() + self.program.pattern().len();
        numbers * size_of::<f32>() + self.batches.bytes() + self.batch.capacity() * size_of::<u32>()
    }

    /// The examples it trains with.
    pub(crate) fn material(&self) -> &Arc<Material> {
        &self.material
    }

    /// Indices of those that batches are made of.
    pub(crate) fn split(&self) -> &[u32] {
        self.batches.split()
    }

    /// The program it trains.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
}
