//! The page, and the sentences that it opens with.

use crate::specimen::{facts, running, theory, theory_of_sgd};
use crate::trials::{searched, trials, watched, with_two_goals};
use parsity_analysis::{Answer, Standing, StudyRecords};
use parsity_report::{exhibits, opening, page};
use parsity_study::{Optimizer, Steps};

fn answer(study: &StudyRecords) -> Answer {
    Answer::of(std::slice::from_ref(study), &[])
}

fn told(study: &StudyRecords) -> String {
    opening(&answer(study)).join("\n")
}

fn page_of(studies: &[StudyRecords]) -> String {
    let runs = watched(&[0.0, 0.5, 0.7, 0.9]);
    let answer = Answer::of(studies, &runs);
    page(&answer, &exhibits(&answer, studies, &runs, &[]), &["fits.csv", "answer.json"])
}

fn planted(sizes: std::ops::RangeInclusive<u32>, steps: fn(f64) -> f64) -> StudyRecords {
    trials(facts("planted"), sizes, &[0.0], move |size, _| {
        let steps = (steps(f64::from(size)) as u64).next_multiple_of(16);
        Standing::Reached(Steps(steps))
    })
}

#[test]
fn a_planted_critical_batch_size_is_told_with_what_it_means() {
    let text = told(&planted(1..=14, |size| 40_000.0 / size * 1.6 + 1_280.0));
    assert!(text.contains("Dense: critical batch size 50"), "{text}");
    assert!(text.contains("Up to about B = 13"), "{text}");
    assert!(text.contains("twice the workers need half the steps; beyond about 200"), "{text}");
}

#[test]
fn what_was_not_measured_is_said_to_be_open() {
    let linear = told(&planted(1..=8, |size| 65_536.0 / size));
    assert!(linear.contains("critical batch size above"), "{linear}");
    assert!(linear.contains("where more workers no longer pay was not measured"), "{linear}");
    let flat = told(&planted(4..=10, |_| 1_600.0));
    assert!(flat.contains("critical batch size below"), "{flat}");
    assert!(flat.contains("No linear scaling was measured"), "{flat}");
    let few = told(&planted(4..=5, |size| 65_536.0 / size));
    assert!(few.contains("not enough data") && few.contains("there are 2 so far"), "{few}");
    let waiting = trials(facts("w"), 1..=4, &[0.0, 0.9], |_, _| Standing::Open(None));
    let waiting = told(&waiting);
    assert!(waiting.contains("Not done yet: 0 of 8 cells decided"), "{waiting}");
    assert!(waiting.contains("not enough data for a ratio"), "{waiting}");
}

#[test]
fn the_sparse_ratio_is_told_with_its_trend() {
    let text = told(&trials(facts("specimen"), 3..=14, &[0.0, 0.9], theory));
    assert!(text.contains("times the dense steps (90 % interval 3."), "{text}");
    assert!(text.contains("The ratio falls with batch size, from 4."), "{text}");
    assert!(text.contains("at B = 16,384"), "{text}");
}

#[test]
fn the_page_opens_with_the_same_words_as_the_terminal() {
    let study = trials(facts("specimen"), 3..=12, &[0.0, 0.9], theory);
    let text = page_of(std::slice::from_ref(&study));
    let start = text.split("id=\"claims\"").next().unwrap().to_lowercase().replace('\u{a0}', " ");
    for line in opening(&answer(&study)) {
        let words = line.trim().trim_start_matches("Dense: ").trim_start_matches("90 % sparse: ");
        assert!(start.contains(&words.to_lowercase()), "{words}");
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let studies = [
        trials(searched("a", Optimizer::Sgd), 3..=9, &[0.0, 0.9], theory_of_sgd),
        with_two_goals(trials(searched("b", Optimizer::Momentum), 3..=9, &[0.0, 0.9], theory)),
    ];
    let text = page_of(&studies);
    let outside = text.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=", "@import", "url(", "<script", "<link"] {
        assert!(!outside.contains(word), "{word}");
    }
}

#[test]
fn every_figure_has_words_numbers_and_files() {
    let study = trials(searched("specimen", Optimizer::Momentum), 3..=9, &[0.0, 0.9], theory);
    let text = page_of(std::slice::from_ref(&study));
    let figures: Vec<&str> = text.split("<figure ").skip(1).collect();
    assert_eq!(figures.len(), 7);
    for figure in figures {
        let figure = figure.split("</figure>").next().unwrap();
        let name = figure.split('"').nth(1).unwrap();
        for ending in ["csv", "svg", "png"] {
            assert!(figure.contains(&format!("href=\"{name}.{ending}\"")), "{name}");
        }
        for part in ["<desc>", "The figure in words", "Its numbers", "<table", "role=\"img\""] {
            assert!(figure.contains(part), "{name}: {part}");
        }
    }
}

#[test]
fn names_from_outside_cannot_become_markup() {
    let mut study = trials(facts("specimen"), 3..=9, &[0.0, 0.9], theory);
    study.facts.dataset = "<script>alert('x')</script>\" onload=\"y".to_owned();
    study.facts.model = "</title><b>".to_owned();
    let text = page_of(&[study]);
    assert!(!text.contains("<script>") && !text.contains("</title><b>"));
    assert!(!text.contains("onload=\"y"));
    assert!(text.contains("&lt;script&gt;"));
}

#[test]
fn every_element_is_closed_and_no_anchor_is_used_twice() {
    let study = trials(searched("specimen", Optimizer::Sgd), 3..=9, &[0.0, 0.9], running);
    let text = page_of(&[study]);
    let body = text.split("</style>").nth(1).unwrap();
    let mut open: Vec<&str> = vec!["html", "head"];
    for tag in body.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.starts_with('/'), tag.ends_with('/') || name == "meta") {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let mut anchors: Vec<&str> = body.split(" id=\"").skip(1).collect();
    anchors.iter_mut().for_each(|it| *it = it.split('"').next().unwrap());
    let count = anchors.len();
    anchors.sort_unstable();
    anchors.dedup();
    assert_eq!(anchors.len(), count);
    for target in body.split("href=\"#").skip(1) {
        assert!(anchors.contains(&target.split('"').next().unwrap()));
    }
}

#[test]
fn verdicts_are_words_and_not_colours_alone() {
    let study = trials(searched("specimen", Optimizer::Momentum), 3..=12, &[0.0, 0.9], theory);
    let text = page_of(&[study]);
    let claims = text.split("id=\"claims\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(claims.matches("class=\"claim\"").count(), 5);
    assert!(claims.contains("✓ holds") && claims.contains("? not enough data"));
    assert!(claims.contains("This takes the same study with SGD"), "{claims}");
}
