//! The bytes that trainings of a study take, by its network.

use parsity_engine::{LANES, Network, block_bytes, trial_bytes};
use parsity_study::{BatchSize, Memory, Sparsity, TrialBytes};

/// The memory of trainings of `network` on this grid.
pub fn memory_of(
    network: &Network,
    has_velocity: bool,
    batch_sizes: &[BatchSize],
    sparsities: &[Sparsity],
) -> Memory {
    let trial = |&sparsity: &Sparsity| {
        let survivors = sparsity.survivors(network.parameters());
        TrialBytes { sparsity, bytes: trial_bytes(survivors, has_velocity) as u64 }
    };
    let batches = batch_sizes.iter().map(|batch_size| batch_size.0 as usize);
    // Goal checks work on whole blocks, whatever the batch size.
    let block = batches.chain([LANES]).map(|batch| block_bytes(network, batch)).max();
    Memory {
        trial_bytes: sparsities.iter().map(trial).collect(),
        thread_bytes: block.unwrap_or(0) as u64,
    }
}
