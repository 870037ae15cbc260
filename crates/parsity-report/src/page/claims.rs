//! What the published study claims, with a verdict each.

use crate::facts::count_of;
use crate::html::Html;
use crate::numerals::estimated;
use parsity_analysis::{Answer, Claim, Evidence, Group, Statement, Verdict};

pub(super) fn write(html: &mut Html, answer: &Answer) {
    html.leaf(
        "p",
        &[],
        "Five claims of “Understanding the effects of data parallelism and sparsity on neural network \
         training” (ICLR 2021). A claim holds if every statement that it makes about these studies \
         does, by its whole 90 % interval; one statement that does not hold is enough to refute it; \
         what an interval leaves open stays open.",
    );
    for group in &answer.groups {
        if answer.groups.len() > 1 {
            html.leaf("h3", &[], &about_group(group));
        }
        html.element("ol", &[("class", "claims")], |html| {
            group.claims.iter().for_each(|claim| write_claim(html, claim));
        });
    }
}

/// What a group of studies has in common: `simple-cnn on MNIST, constant learning rate, …`.
pub(super) fn about_group(group: &Group) -> String {
    let studies: Vec<&str> = group.studies.iter().map(|it| it.study.as_str()).collect();
    format!(
        "{} on {}, {} learning rate, to an error of {}: {}",
        group.model,
        group.dataset,
        group.schedule,
        group.goal_error,
        studies.join(", ")
    )
}

fn write_claim(html: &mut Html, claim: &Claim) {
    html.element("li", &[], |html| {
        html.element("p", &[("class", "claim")], |html| {
            badge(html, claim.verdict);
            html.text(&format!("{}. {}.", claim.number, capitalized(claim.says)));
        });
        html.element("p", &[("class", "because")], |html| html.text(&because(claim)));
        if !claim.statements.is_empty() {
            html.element("details", &[], |html| {
                let count = count_of(claim.statements.len() as u64, "statement");
                html.leaf("summary", &[], &format!("{count}, with numbers"));
                html.element("ul", &[("class", "statements")], |html| {
                    claim.statements.iter().for_each(|it| write_statement(html, it));
                });
            });
        }
    });
}

fn write_statement(html: &mut Html, statement: &Statement) {
    html.element("li", &[], |html| {
        badge(html, statement.verdict);
        html.text(&format!("{}. ", statement.says));
        let evidence: Vec<String> = statement.evidence.iter().map(number).collect();
        html.leaf("span", &[("class", "small")], &evidence.join("; "));
    });
}

/// A verdict as a sign and words, so that it does not rest on colour.
fn badge(html: &mut Html, verdict: Verdict) {
    let (class, sign) = match verdict {
        Verdict::Holds => ("badge holds", "✓"),
        Verdict::DoesNotHold => ("badge fails", "✗"),
        Verdict::NotEnoughData => ("badge open", "?"),
    };
    html.leaf("span", &[("class", class)], &format!("{sign} {verdict}"));
    html.text(" ");
}

/// How the statements came out, and the number that decided.
fn because(claim: &Claim) -> String {
    if claim.statements.is_empty() {
        return match claim.number {
            4 => "This takes the same study with SGD and with an optimizer that has momentum."
                .to_owned(),
            2 | 3 => "This takes a dense and a sparse curve.".to_owned(),
            _ => "Nothing was measured that it is about.".to_owned(),
        };
    }
    let counts = [Verdict::Holds, Verdict::DoesNotHold, Verdict::NotEnoughData].map(|verdict| {
        (verdict, claim.statements.iter().filter(|it| it.verdict == verdict).count())
    });
    let words =
        counts.iter().filter(|(_, count)| *count > 0).map(|(verdict, count)| match verdict {
            Verdict::Holds if *count == 1 => "1 statement holds".to_owned(),
            Verdict::Holds => format!("{} hold", count_of(*count as u64, "statement")),
            Verdict::DoesNotHold if *count == 1 => "1 does not hold".to_owned(),
            Verdict::DoesNotHold => format!("{count} do not hold"),
            Verdict::NotEnoughData => format!("for {count} there is not enough data"),
        });
    let words: Vec<String> = words.collect();
    let deciding = claim.statements.iter().filter(|it| it.verdict == claim.verdict);
    let deciding = deciding.into_iter().find(|it| !it.evidence.is_empty());
    let example = deciding.map(|it| {
        let numbers: Vec<String> = it.evidence.iter().map(number).collect();
        format!(" Decisive: {}: {}.", it.says, numbers.join("; "))
    });
    format!("{}.{}", capitalized(&words.join(", ")), example.unwrap_or_default())
}

fn number(evidence: &Evidence) -> String {
    format!("{} {}", evidence.name, estimated(&evidence.estimate))
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + letters.as_str()
}
