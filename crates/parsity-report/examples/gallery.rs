//! Draws and tells made-up studies in every state, to look at:
//! `cargo run -p parsity-report --example gallery -- <folder>`.

#[path = "../tests/telling/specimen.rs"]
mod specimen;

use parsity_analysis::Standing;
use parsity_report::{steps_list, steps_matrix, write_report};
use specimen::{facts, running, study, theory, with_looser_goal};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder for the gallery")?;
    let usual = [0.0, 0.5, 0.7, 0.9];
    let all = 1..=14;
    let studies = [
        ("full", study(all.clone(), &usual, theory)),
        ("running", study(all.clone(), &usual, running)),
        ("six-sparsities", study(all.clone(), &[0.0, 0.5, 0.7, 0.9, 0.95, 0.99], theory)),
        ("even-sparsities", study(all.clone(), &[0.0, 0.2, 0.4, 0.6, 0.8, 0.9], theory)),
        ("small", study(3..=8, &[0.0, 0.9], theory)),
        ("one-curve", study(4..=10, &[0.7], theory)),
        ("two-points", study(6..=7, &[0.0], theory)),
        ("one-point", study(6..=6, &[0.0], theory)),
        ("one-batch-size", study(6..=6, &usual, theory)),
        ("never-reached", study(1..=6, &usual, |_, _| Standing::NotReached)),
        ("waiting", study(all, &usual, |_, _| Standing::Open(None))),
        ("empty", Vec::new()),
    ];
    let two_goals = with_looser_goal("two-goals", &studies[0].1);
    let studies = studies.map(|(name, summaries)| (facts(name), summaries));
    for (facts, summaries) in studies.into_iter().chain([two_goals]) {
        let folder = Path::new(&folder).join(&facts.name);
        write_report(&folder, &facts, &summaries)?;
        std::fs::write(folder.join("matrix.txt"), steps_matrix(&summaries, false))?;
        std::fs::write(folder.join("list.txt"), steps_list(&summaries, true))?;
    }
    Ok(())
}
