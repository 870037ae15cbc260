//! The answer in plain sentences: the opening of the page, and what a terminal prints.
//!
//! One place for the words, so that both say the same. What the data do not bear out is said
//! to be open, with what is missing.

use crate::facts::{count_of, optimizer_name};
use crate::numerals::{about, estimated, estimated_in, grouped};
use parsity_analysis::answer::{SparsityRatios, SparsityRegions};
use parsity_analysis::{
    Answer, FittedCurve, GoalAnswer, Law, Measured, RatioLine, Regions, StudyAnswer,
};
use parsity_study::{Sparsity, StudyFacts};

/// What is told of one study, towards one goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Telling {
    /// What it is about.
    pub about: String,
    /// How far the study is, if it is not done.
    pub progress: Option<String>,
    /// Sparsity by sparsity: how far data parallelism goes.
    pub parallelism: Vec<Line>,
    /// Of each pruned network, what its steps are compared with the dense ones.
    pub ratios: Vec<Line>,
}

/// A sentence or two about one sparsity.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The sparsity.
    pub sparsity: Sparsity,
    /// The number that matters most, with its interval.
    pub number: String,
    /// What it means.
    pub meaning: String,
}

/// The tellings of all studies and goals, in their order.
pub fn tell(answer: &Answer) -> Vec<Telling> {
    let each =
        answer.studies.iter().flat_map(|study| study.goals.iter().map(move |it| (study, it)));
    each.map(|(study, goal)| tell_goal(study, goal)).collect()
}

/// The tellings as lines for a terminal.
pub fn opening(answer: &Answer) -> Vec<String> {
    let mut lines = Vec::new();
    for telling in tell(answer) {
        lines.push(telling.about);
        lines.extend(telling.progress.map(|it| format!("  {it}")));
        for line in telling.parallelism.iter().chain(&telling.ratios) {
            let name = sparsity_name(line.sparsity);
            lines.push(format!("  {name}: {}.", line.number));
            lines.push(format!("    {}", line.meaning));
        }
    }
    lines
}

/// A sparsity at the start of a sentence: `Dense`, `90 % sparse`.
pub fn sparsity_name(sparsity: Sparsity) -> String {
    if sparsity == Sparsity::DENSE { "Dense".to_owned() } else { format!("{sparsity} sparse") }
}

/// A study towards a goal: `mnist-sgd: simple-cnn on MNIST with SGD, to an error of 0.02`.
pub fn about_goal(facts: &StudyFacts, goal: &GoalAnswer) -> String {
    format!(
        "{}: {} on {} with {}, to an error of {}",
        facts.name,
        facts.model,
        facts.dataset,
        optimizer_name(&facts.optimizer),
        goal.goal_error
    )
}

fn tell_goal(study: &StudyAnswer, goal: &GoalAnswer) -> Telling {
    let cells = goal.cells.len();
    let decided = goal.cells.iter().filter(|cell| cell.summary.is_decided()).count();
    let progress = (decided < cells).then(|| {
        format!(
            "Not done yet: {} of {} decided, and only those count here.",
            grouped(decided as u64),
            count_of(cells as u64, "cell")
        )
    });
    let regions = |sparsity| goal.regions.iter().find(|it| it.sparsity == sparsity);
    let parallelism = goal.curves.curves.iter();
    let parallelism = parallelism.map(|curve| parallelism_of(curve, regions(curve.sparsity)));
    Telling {
        about: about_goal(&study.facts, goal),
        progress,
        parallelism: parallelism.collect(),
        ratios: goal.ratios.iter().map(ratio_of).collect(),
    }
}

fn parallelism_of(curve: &FittedCurve, regions: Option<&SparsityRegions>) -> Line {
    let sparsity = curve.sparsity;
    let (Some(law), Some(regions)) = (&curve.law, regions) else {
        let known =
            curve.readings.iter().filter(|it| matches!(it.steps, Measured::Interval { .. }));
        let meaning = format!(
            "A scaling law takes steps at three batch sizes, and {} so far.",
            match known.count() {
                0 => "there are none".to_owned(),
                1 => "there is one".to_owned(),
                some => format!("there are {some}"),
            }
        );
        return Line { sparsity, number: "not enough data".to_owned(), meaning };
    };
    let critical = law.critical_batch_size();
    let number = match (critical.low > 0.0, critical.high.is_finite()) {
        (true, true) => format!("critical batch size {}", estimated(&critical)),
        (true, false) => format!("critical batch size above {}", about(critical.low)),
        (false, true) => format!("critical batch size below {}", about(critical.high)),
        (false, false) => "critical batch size not known".to_owned(),
    };
    Line { sparsity, number, meaning: meaning_of(curve, law, &regions.regions) }
}

/// What the regions mean for somebody who adds workers, as far as they were measured.
fn meaning_of(curve: &FittedCurve, law: &Law, regions: &Regions) -> String {
    let sizes = || curve.readings.iter().map(|reading| reading.batch_size);
    let smallest = sizes().fold(f64::INFINITY, f64::min);
    let largest = sizes().fold(0.0, f64::max);
    let critical = law.critical_batch_size();
    let (linear, maximal) = (regions.linear_up_to.value, regions.maximal_from.value);
    let gain = if critical.low <= 0.0 {
        "No linear scaling was measured".to_owned()
    } else if linear < smallest {
        format!(
            "Even at B = {}, twice the workers save less than half the steps",
            grouped(smallest as u64)
        )
    } else if linear > largest {
        format!(
            "Up to B = {}, the largest measured, twice the workers need half the steps",
            grouped(largest as u64)
        )
    } else {
        format!("Up to about B = {}, twice the workers need half the steps", about(linear))
    };
    let end = if !critical.high.is_finite() {
        "where more workers no longer pay was not measured".to_owned()
    } else if maximal > largest {
        format!(
            "more workers should no longer pay beyond about B = {}, which was not measured",
            about(maximal)
        )
    } else if maximal < smallest {
        "more workers do not pay at any batch size".to_owned()
    } else if maximal == linear {
        "beyond it, more workers no longer pay".to_owned()
    } else {
        format!("beyond about {} more workers no longer pay", about(maximal))
    };
    format!("{gain}; {end}.")
}

fn ratio_of(ratios: &SparsityRatios) -> Line {
    let sparsity = ratios.sparsity;
    let Some(line) = ratios.ratios.line else {
        let meaning = "A comparison with the dense network takes steps of both at three batch \
                       sizes."
            .to_owned();
        return Line { sparsity, number: "not enough data for a ratio".to_owned(), meaning };
    };
    let number = estimated_in(&line.mean, " times the dense steps");
    Line { sparsity, number, meaning: trend_of(&line, ratios) }
}

fn trend_of(line: &RatioLine, ratios: &SparsityRatios) -> String {
    let points = &ratios.ratios.points;
    let ends = points.first().zip(points.last()).map(|(a, b)| [a.batch_size, b.batch_size]);
    let [first, last] = ends.unwrap_or_default().map(|size| grouped(size as u64));
    let from_to = format!(
        "from {} at B = {first} to {} at B = {last}",
        about(line.at_smallest.value),
        about(line.at_largest.value)
    );
    if line.over_all.high < 1.0 {
        format!("The ratio falls with batch size, {from_to}.")
    } else if line.over_all.low > 1.0 {
        format!("The ratio grows with batch size, {from_to}.")
    } else {
        "Whether the ratio changes with batch size is open.".to_owned()
    }
}
