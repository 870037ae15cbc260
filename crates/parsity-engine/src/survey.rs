//! A survey: gradients over many examples, such as a whole split.
//!
//! Apart from the session, because it trains nothing, and from pruning, because smoothness
//! needs it, too. The sum is taken in f64 over fixed chunks, so it depends neither on the
//! number of threads nor on how many examples there are besides.

use crate::examples::Material;
use crate::program::Program;
use crate::team::Team;
use std::sync::Arc;

/// Examples per call of the team: between two calls it can be stopped.
const CHUNK: usize = 3_200;

/// The examples that are gone through, and who does it.
pub struct Survey<'a> {
    /// All examples.
    pub material: &'a Arc<Material>,
    /// Indices of those that count.
    pub split: &'a [u32],
    /// Who computes.
    pub team: &'a mut Team,
    /// Asked now and then; a no ends the survey.
    pub go_on: &'a dyn Fn() -> bool,
}

impl Survey<'_> {
    /// Adds the gradient of `scale` × (sum of losses) over `examples` to `sum`; returns the
    /// sum of losses, or `None` if it was stopped. The values are lent, not changed.
    pub(crate) fn add_gradient(
        &mut self,
        program: &Arc<Program>,
        values: &mut Vec<f32>,
        examples: &[u32],
        scale: f32,
        sum: &mut [f64],
    ) -> Option<f64> {
        let mut losses = 0.0;
        for chunk in examples.chunks(CHUNK) {
            if !(self.go_on)() {
                return None;
            }
            let mut indices = chunk.to_vec();
            let (loss, gradient) =
                self.team.gradient(program, self.material, values, &mut indices, scale);
            losses += loss;
            for (sum, &part) in sum.iter_mut().zip(gradient.iter()) {
                *sum += f64::from(part);
            }
        }
        Some(losses)
    }

    /// The mean loss over `examples` and its gradient by the survivors; `None` if it was
    /// stopped.
    pub(crate) fn mean_gradient(
        &mut self,
        program: &Arc<Program>,
        values: &mut Vec<f32>,
        examples: &[u32],
    ) -> Option<(f64, Vec<f64>)> {
        let mut gradient = vec![0.0; values.len()];
        let losses = self.add_gradient(program, values, examples, 1.0, &mut gradient)?;
        let size = examples.len() as f64;
        gradient.iter_mut().for_each(|sum| *sum /= size);
        Some((losses / size, gradient))
    }
}
