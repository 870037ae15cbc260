//! From the store to all that an answer is made of.

use crate::error::LabError;
use crate::lower::lower_model;
use crate::memory::memory_of;
use crate::store::{Store, StoredStudy};
use crate::survivors::count_survivors;
use parsity_study::{Evidence, Memory, Optimizer, SmoothnessRun, Start, StudyRecords};

/// What `store` knows of `studies`, without the observations of their trials.
pub fn gather(store: &Store, studies: &[StoredStudy]) -> Result<Evidence, LabError> {
    let mut evidence = Evidence::default();
    let Evidence { studies: all, smoothness, survivors } = &mut evidence;
    for study in studies {
        let (facts, cells) = (study.facts.clone(), study.cells());
        let known = |it: &SmoothnessRun| it.dataset == facts.dataset && it.model == facts.model;
        if !smoothness.iter().any(known) {
            smoothness.extend(store.smoothness(&facts.dataset, &facts.model)?);
        }
        survivors.extend(count_survivors(store, study)?);
        let (records, memory) = (store.records(study, false)?, memory(store, study)?);
        all.push(StudyRecords { facts, cells, records, memory });
    }
    Ok(evidence)
}

fn memory(store: &Store, study: &StoredStudy) -> Result<Option<Memory>, LabError> {
    let Some(start) = Start::recall(&store.question(study)?.0) else { return Ok(None) };
    let network = lower_model(start.model())?;
    let has_velocity = study.facts.optimizer != Optimizer::Sgd.name();
    Ok(Some(memory_of(&network, has_velocity, &study.batch_sizes, &study.sparsities)))
}
