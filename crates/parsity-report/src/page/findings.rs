//! What is suspicious, each with what to do next.

use crate::facts::count_of;
use crate::html::Html;
use crate::telling::about_goal;
use parsity_analysis::{Answer, Finding};

/// As many are shown at once; the rest is a click away.
const AT_ONCE: usize = 6;

pub(super) fn write(html: &mut Html, answer: &Answer) {
    let goals =
        answer.studies.iter().flat_map(|study| study.goals.iter().map(move |it| (study, it)));
    let goals: Vec<_> = goals.filter(|(_, goal)| !goal.findings.is_empty()).collect();
    if goals.is_empty() {
        html.leaf("p", &[], "Nothing suspicious was found.");
    }
    for (study, goal) in goals {
        html.leaf("h3", &[], &about_goal(&study.facts, goal));
        let (first, rest) = goal.findings.split_at(AT_ONCE.min(goal.findings.len()));
        write_list(html, first);
        if !rest.is_empty() {
            html.element("details", &[], |html| {
                let more = format!("{} more", count_of(rest.len() as u64, "finding"));
                html.leaf("summary", &[], &more);
                write_list(html, rest);
            });
        }
    }
    html.element("p", &[("class", "files")], |html| {
        html.leaf("a", &[("href", "findings.csv")], "CSV");
    });
}

fn write_list(html: &mut Html, findings: &[Finding]) {
    html.element("ul", &[("class", "findings")], |html| {
        for finding in findings {
            html.element("li", &[], |html| {
                with_code(html, &finding.to_string());
                html.text(". ");
                html.element("span", &[("class", "next")], |html| {
                    html.text("Next: ");
                    with_code(html, &finding.next_action());
                    html.text(".");
                });
            });
        }
    });
}

/// Text in which what stands between backquotes is code.
fn with_code(html: &mut Html, text: &str) {
    for (index, piece) in text.split('`').enumerate() {
        match index % 2 {
            0 => html.text(piece),
            _ => html.leaf("code", &[], piece),
        }
    }
}
