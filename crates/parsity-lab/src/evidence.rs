//! From the store to all that an answer is made of.

use crate::error::LabError;
use crate::store::{Store, StoredStudy};
use crate::survivors::count_survivors;
use parsity_study::{Evidence, SmoothnessRun, StudyRecords};

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
        all.push(StudyRecords { facts, cells, records: store.records(study, false)? });
    }
    Ok(evidence)
}
