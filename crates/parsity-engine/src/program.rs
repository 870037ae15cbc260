//! A network that has met its pattern.

use crate::network::Network;
use crate::pattern::Pattern;
use std::sync::Arc;

/// A network with a pattern: what is trained. How it runs is worked out by each thread
/// that meets it, so that a waiting trial holds nothing but its numbers and its pattern.
#[derive(Debug)]
pub struct Program {
    network: Arc<Network>,
    pattern: Arc<Pattern>,
    everywhere: bool,
}

impl Program {
    /// `network` with `pattern`, which must be of its parameters.
    pub fn new(network: Arc<Network>, pattern: Arc<Pattern>) -> Self {
        assert_eq!(pattern.parameters(), network.parameters(), "the pattern is of another network");
        Program { network, pattern, everywhere: false }
    }

    /// The same, but gradients visit all positions, also those that a max-pool has ruled out, and
    /// every weight is multiplied with all that it reads: slower, and of other bits. It is what the
    /// speed of sparse networks is measured against.
    pub fn everywhere(network: Arc<Network>, pattern: Arc<Pattern>) -> Self {
        Program { everywhere: true, ..Program::new(network, pattern) }
    }

    /// Whether gradients may pass over positions that a max-pool has ruled out.
    pub(crate) fn may_visit_winners(&self) -> bool {
        !self.everywhere
    }

    /// Whether whole kernels may be computed with fewer multiplications than they have weights.
    pub(crate) fn may_go_in_squares(&self) -> bool {
        !self.everywhere
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Which parameters exist.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Bytes that a trial of it needs.
    pub fn trial_bytes(&self, has_velocity: bool) -> usize {
        trial_bytes(self.pattern.len(), has_velocity)
    }
}

/// Bytes that a trial with `survivors` parameters needs: weights, gradient, velocity if the
/// optimizer has one, and the pattern.
pub fn trial_bytes(survivors: usize, has_velocity: bool) -> usize {
    let vectors = 2 + usize::from(has_velocity);
    survivors * (vectors * size_of::<f32>() + size_of::<u32>())
}
