//! The answer, in plain sentences.

use super::swatch;
use crate::html::Html;
use crate::telling::{Line, Telling, sparsity_name, tell};
use parsity_analysis::Answer;

pub(super) fn write(html: &mut Html, answer: &Answer) {
    let tellings = tell(answer);
    if tellings.is_empty() {
        html.leaf("p", &[], "There is nothing to tell yet: the study has no cells.");
    }
    for telling in &tellings {
        html.element("article", &[("class", "telling")], |html| write_telling(html, telling));
    }
    html.leaf(
        "p",
        &[("class", "small")],
        "The critical batch size is where linear scaling ends: c1/c2 of the law K(B) = c1/B + c2, \
         or max(c1/B, c2) where that describes the data clearly better. \
         Linear means at most 25 % more steps than c1/B; more workers no longer pay where steps are \
         within 25 % of their floor c2. In nine of ten studies, a 90 % interval holds the truth.",
    );
}

fn write_telling(html: &mut Html, telling: &Telling) {
    html.leaf("h3", &[], &telling.about);
    if let Some(progress) = &telling.progress {
        html.leaf("p", &[("class", "open")], progress);
    }
    html.element("dl", &[("class", "sparsities")], |html| {
        for line in &telling.parallelism {
            html.element("div", &[], |html| {
                html.element("dt", &[], |html| {
                    swatch(html, line.sparsity);
                    html.text(&sparsity_name(line.sparsity));
                });
                html.element("dd", &[], |html| {
                    write_line(html, line);
                    let ratio = telling.ratios.iter().find(|it| it.sparsity == line.sparsity);
                    if let Some(ratio) = ratio {
                        write_line(html, ratio);
                    }
                });
            });
        }
    });
}

fn write_line(html: &mut Html, line: &Line) {
    html.element("p", &[], |html| {
        let mut letters = line.number.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        html.leaf("strong", &[], &format!("{first}{}.", letters.as_str()));
        html.text(&format!(" {}", line.meaning));
    });
}
