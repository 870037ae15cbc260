//! What a reader must know of a study to read its figures: the protocol, always printed.

use crate::numerals::grouped;
use parsity_study::{CheckEvery, ErrorRate, StudyFacts};

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
    vec![
        goals(&facts.goal_errors),
        format!("{} per cell", count_of(u64::from(facts.trials), "trial")),
        check_interval(&facts.check_every),
        format!("step budget {}", grouped(facts.step_budget.0)),
    ]
}

/// The goals: `goal error 0.02`, `goal errors 0.14 and 0.12`.
pub fn goals(goal_errors: &[ErrorRate]) -> String {
    let texts: Vec<String> = goal_errors.iter().map(ErrorRate::to_string).collect();
    match &texts[..] {
        [rest @ .., last] if !rest.is_empty() => {
            format!("goal errors {} and {last}", rest.join(", "))
        }
        only => format!("goal error {}", only.concat()),
    }
}

/// The check interval: `goal check every 16 steps, every 4 from B = 1,024`.
pub fn check_interval(check_every: &CheckEvery) -> String {
    let mut text = "goal check ".to_owned();
    for (index, range) in check_every.ranges().iter().enumerate() {
        text += &match (index, range.steps.0) {
            (0, 1) => "every step".to_owned(),
            (0, more) => format!("every {} steps", grouped(more)),
            (_, 1) => ", every step".to_owned(),
            (_, more) => format!(", every {}", grouped(more)),
        };
        if index > 0 {
            text += &format!(" from B = {}", grouped(u64::from(range.from_batch_size.0)));
        }
    }
    text
}

/// An optimizer as it is written in sentences: `SGD`, `momentum`, `Nesterov`.
pub fn optimizer_name(name: &str) -> String {
    match name {
        "sgd" => "SGD".to_owned(),
        "nesterov" => "Nesterov".to_owned(),
        other => other.to_owned(),
    }
}

/// A count of things: `1 trial`, `2 trials`.
pub fn count_of(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parsity_study::{BatchSize, CheckRange, Steps};

    #[test]
    fn all_goals_are_told() {
        let told =
            |errors: &[f64]| goals(&errors.iter().map(|&e| ErrorRate(e)).collect::<Vec<_>>());
        assert_eq!(told(&[0.02]), "goal error 0.02");
        assert_eq!(told(&[0.14, 0.12]), "goal errors 0.14 and 0.12");
        assert_eq!(told(&[0.3, 0.2, 0.1]), "goal errors 0.3, 0.2 and 0.1");
    }

    #[test]
    fn the_check_interval_is_told_for_every_batch_size() {
        let told = |ranges: &[(u32, u64)]| {
            let range = |&(from, steps)| CheckRange {
                from_batch_size: BatchSize(from),
                steps: Steps(steps),
            };
            check_interval(&CheckEvery::by_batch_size(ranges.iter().map(range).collect()).unwrap())
        };
        assert_eq!(told(&[(2, 16)]), "goal check every 16 steps");
        assert_eq!(told(&[(2, 1)]), "goal check every step");
        assert_eq!(
            told(&[(2, 16), (1024, 4)]),
            "goal check every 16 steps, every 4 from B = 1,024"
        );
        let three = "goal check every 1,000 steps, every 16 from B = 64, every step from B = 8,192";
        assert_eq!(told(&[(2, 1000), (64, 16), (8192, 1)]), three);
    }
}
