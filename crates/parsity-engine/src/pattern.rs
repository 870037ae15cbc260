//! Which parameters exist.
//!
//! After pruning there is no mask: the survivors' indices are the pattern, and weights,
//! gradients and momenta are vectors parallel to it.

use crate::network::Network;

/// The survivors of a network's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    survivors: Vec<u32>,
    parameters: usize,
}

impl Pattern {
    /// Nothing is pruned.
    pub fn dense(parameters: usize) -> Self {
        Pattern { survivors: (0..parameters as u32).collect(), parameters }
    }

    /// The `count` parameters of highest saliency; ties go to the lower index.
    pub fn of_highest(saliencies: &[f32], count: usize) -> Self {
        let mut survivors: Vec<u32> = (0..saliencies.len() as u32).collect();
        let count = count.min(survivors.len());
        if count < survivors.len() {
            survivors.select_nth_unstable_by(count, |&a, &b| {
                let by_saliency = saliencies[b as usize].total_cmp(&saliencies[a as usize]);
                by_saliency.then(a.cmp(&b))
            });
            survivors.truncate(count);
            survivors.sort_unstable();
        }
        Pattern { survivors, parameters: saliencies.len() }
    }

    /// How many parameters survive.
    pub fn len(&self) -> usize {
        self.survivors.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.survivors.is_empty()
    }

    /// How many parameters there were before pruning.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Indices of the survivors in the flat vector of parameters, ascending.
    pub fn survivors(&self) -> &[u32] {
        &self.survivors
    }

    /// The survivors with indices in `range`, as a range of places in the pattern.
    pub fn places(&self, range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let before = |end: usize| self.survivors.partition_point(|&index| (index as usize) < end);
        before(range.start)..before(range.end)
    }

    /// How many parameters of each tensor of `network` survive.
    pub fn survivors_per_tensor(&self, network: &Network) -> Vec<usize> {
        network.tensors().iter().map(|tensor| self.places(&tensor.range).len()).collect()
    }

    /// The survivors' entries of a vector over all parameters.
    pub fn gather(&self, all: &[f32]) -> Vec<f32> {
        self.survivors.iter().map(|&index| all[index as usize]).collect()
    }

    /// A vector over all parameters with the survivors' `values`, and zeros.
    pub fn scatter(&self, values: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; self.parameters];
        for (&index, &value) in self.survivors.iter().zip(values) {
            all[index as usize] = value;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pruning_keeps_exactly_the_requested_count() {
        let saliencies: Vec<f32> = (0..1000).map(|i| ((i * 7919) % 1009) as f32).collect();
        for count in [0, 1, 17, 999, 1000] {
            assert_eq!(Pattern::of_highest(&saliencies, count).len(), count);
        }
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        let pattern = Pattern::of_highest(&[1.0, 3.0, 1.0, 2.0, 1.0], 3);
        assert_eq!(pattern.survivors(), [0, 1, 3]);
    }

    #[test]
    fn survivors_come_back_where_they_were() {
        let pattern = Pattern::of_highest(&[5.0, 0.0, 7.0, 6.0], 2);
        assert_eq!(pattern.gather(&[1.0, 2.0, 3.0, 4.0]), [3.0, 4.0]);
        assert_eq!(pattern.scatter(&[3.0, 4.0]), [0.0, 0.0, 3.0, 4.0]);
        assert_eq!(pattern.places(&(0..3)), 0..1);
    }
}
