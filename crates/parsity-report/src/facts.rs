//! What a reader must know of a study to read its figures: the protocol, always printed.

use crate::numerals::grouped;
use parsity_study::StudyFacts;

/// What is trained, in short phrases.
pub fn workload(facts: &StudyFacts) -> Vec<String> {
    vec![
        facts.name.clone(),
        facts.dataset.clone(),
        facts.model.clone(),
        facts.optimizer.clone(),
        format!("{} learning rate", facts.schedule),
    ]
}

/// How it is measured, in short phrases.
pub fn protocol(facts: &StudyFacts) -> Vec<String> {
    let interval = match facts.check_every.0 {
        1 => "step".to_owned(),
        more => format!("{} steps", grouped(more)),
    };
    let trials = if facts.trials == 1 { "trial" } else { "trials" };
    vec![
        format!("goal error {}", facts.goal_error),
        format!("{} {trials} per cell", grouped(u64::from(facts.trials))),
        format!("goal check every {interval}"),
        format!("step budget {}", grouped(facts.step_budget.0)),
    ]
}
