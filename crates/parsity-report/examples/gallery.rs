//! Draws and tells made-up studies in every state, to look at:
//! `cargo run -p parsity-report --example gallery -- <folder>`.

#[path = "../tests/telling/specimen.rs"]
#[allow(dead_code)]
mod specimen;
#[path = "../tests/telling/trials.rs"]
mod trials;

use parsity_analysis::{Answer, Standing, StudyRecords, summarize};
use parsity_report::{steps_list, steps_matrix, write_report};
use parsity_study::{Optimizer, Steps};
use specimen::{facts, running, theory, theory_of_sgd, theory_with};
use std::error::Error;
use std::path::Path;
use trials::{pruned, searched, trials, watched, with_two_goals};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder for the gallery")?;
    let usual = [0.0, 0.5, 0.7, 0.9];
    let all = 1..=14;
    let six = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9];
    let studies: [StudyRecords; 10] = [
        trials(searched("full", Optimizer::Momentum), all.clone(), &usual, theory),
        trials(searched("running", Optimizer::Sgd), all.clone(), &usual, running),
        trials(facts("six-sparsities"), all.clone(), &six, theory),
        trials(searched("small", Optimizer::Sgd), 3..=8, &[0.0, 0.9], theory),
        trials(searched("one-curve", Optimizer::Nesterov), 4..=10, &[0.7], theory),
        trials(facts("two-points"), 6..=7, &[0.0], theory),
        trials(facts("one-batch-size"), 6..=6, &usual, theory),
        trials(facts("never-reached"), 1..=6, &usual, |_, _| Standing::NotReached),
        trials(facts("waiting"), all.clone(), &usual, |_, _| Standing::Open(None)),
        trials(facts("linear"), 1..=8, &[0.0, 0.9], |size, _| {
            Standing::Reached(Steps(4_096 / u64::from(size) * 16))
        }),
    ];
    let two_goals =
        with_two_goals(trials(searched("two-goals", Optimizer::Sgd), 2..=9, &[0.0, 0.9], theory));
    for study in studies.into_iter().chain([two_goals]) {
        let folder = Path::new(&folder).join(&study.facts.name);
        let summaries = summarize(&study.facts, &study.cells, &study.records);
        let answer = Answer::of(std::slice::from_ref(&study), &[]);
        let survivors = [pruned(&study.facts.name, &usual[1..])];
        write_report(&folder, &answer, &[study], &[], &survivors)?;
        std::fs::write(folder.join("matrix.txt"), steps_matrix(&summaries, false))?;
        std::fs::write(folder.join("list.txt"), steps_list(&summaries, true))?;
    }
    let compared = [
        trials(searched("made-sgd", Optimizer::Sgd), all.clone(), &usual, theory_of_sgd),
        trials(searched("made-momentum", Optimizer::Momentum), all.clone(), &usual, theory),
        trials(searched("made-nesterov", Optimizer::Nesterov), all, &usual, |size, share| {
            theory_with(size, share, 0.8)
        }),
    ];
    let runs = watched(&usual);
    let answer = Answer::of(&compared, &runs);
    write_report(&Path::new(&folder).join("compared"), &answer, &compared, &runs, &[])?;
    Ok(())
}
