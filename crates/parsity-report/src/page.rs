//! The page: one HTML file that answers the study, with nothing to fetch.
//!
//! Its parts stand in the order in which a reader asks: the answer, what the published study
//! claims, figures, the numbers, what is suspicious, how it was measured.

mod claims;
mod figures;
mod findings;
mod method;
mod opening;
mod steps;

use crate::data::Data;
use crate::exhibits::Exhibit;
use crate::html::Html;
use crate::palette::{Colour, on_dark, sparsity_colour};
use parsity_analysis::Answer;
use parsity_study::Sparsity;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The style of the page, for screens and paper.
pub const STYLE: &str = include_str!("page/style.css");

/// The parts of the page: their anchors and headings.
const PARTS: [(&str, &str); 6] = [
    ("answer", "The answer"),
    ("claims", "Published claims"),
    ("figures", "Figures"),
    ("steps", "Steps-to-result"),
    ("findings", "Findings"),
    ("method", "How it was measured"),
];

/// The page of `answer` with its figures; `files` are the other files of the report.
pub fn page(answer: &Answer, exhibits: &[Exhibit], files: &[&str]) -> String {
    let drawn: Vec<String> = exhibits.iter().map(|it| crate::svg::svg(&it.figure)).collect();
    let names: Vec<&str> = answer.studies.iter().map(|it| it.facts.name.as_str()).collect();
    let names = names.join(", ");
    let mut html = Html::default();
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| {
            html.open("meta", &[("charset", "utf-8")]);
            let viewport = "width=device-width, initial-scale=1";
            html.open("meta", &[("name", "viewport"), ("content", viewport)]);
            html.open("meta", &[("name", "color-scheme"), ("content", "light dark")]);
            html.leaf("title", &[], &format!("{names} · Parsity report"));
            let colours = dark_rules(&dark_colours(answer, &drawn));
            html.element("style", &[], |html| html.markup(&format!("{STYLE}{colours}")));
        });
        html.element("body", &[], |html| {
            html.leaf("a", &[("class", "skip"), ("href", "#answer")], "Skip to the answer");
            html.element("header", &[], |html| header(html, answer, &names));
            html.element("main", &[], |html| {
                part(html, 0, |html| opening::write(html, answer));
                part(html, 1, |html| claims::write(html, answer));
                part(html, 2, |html| figures::write(html, exhibits, &drawn));
                part(html, 3, |html| steps::write(html, answer));
                part(html, 4, |html| findings::write(html, answer));
                part(html, 5, |html| method::write(html, answer, files));
            });
            let made = format!("Made by Parsity {}.", env!("CARGO_PKG_VERSION"));
            html.element("footer", &[], |html| html.leaf("p", &[], &made));
        });
    });
    html.finish()
}

fn header(html: &mut Html, answer: &Answer, names: &str) {
    html.leaf("p", &[("class", "eyebrow")], "Parsity report");
    html.leaf("h1", &[], "How far does data parallelism go?");
    let studies = if answer.studies.len() == 1 { "study" } else { "studies" };
    let lede = format!(
        "Training steps to a goal error, by batch size and sparsity, with every metaparameter \
         tuned anew for each pair: {studies} {names}."
    );
    html.leaf("p", &[("class", "lede")], &lede);
    html.element("nav", &[("aria-label", "Parts of the report")], |html| {
        for (anchor, heading) in PARTS {
            html.leaf("a", &[("href", &format!("#{anchor}"))], heading);
        }
    });
}

fn part(html: &mut Html, index: usize, inside: impl FnOnce(&mut Html)) {
    let (anchor, heading) = PARTS[index];
    let label = format!("{anchor}-heading");
    html.element("section", &[("id", anchor), ("aria-labelledby", &label)], |html| {
        html.leaf("h2", &[("id", &label)], heading);
        inside(html);
    });
}

/// A part of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Its anchor.
    pub anchor: &'static str,
    /// Its heading.
    pub heading: &'static str,
    /// What stands under the heading, as HTML in which all text is escaped.
    pub html: String,
}

/// The parts of the page that are text and tables, for a page that draws its figures itself.
pub fn parts(answer: &Answer, files: &[&str]) -> Vec<Part> {
    let write = |index: usize, write: &dyn Fn(&mut Html)| {
        let (anchor, heading) = PARTS[index];
        let mut html = Html::default();
        write(&mut html);
        Part { anchor, heading, html: html.fragment() }
    };
    vec![
        write(0, &|html| opening::write(html, answer)),
        write(1, &|html| claims::write(html, answer)),
        write(3, &|html| steps::write(html, answer)),
        write(4, &|html| findings::write(html, answer)),
        write(5, &|html| method::write(html, answer, files)),
    ]
}

/// What stands on a dark screen for each colour of the sparsities of `answer` and of figures
/// that were drawn. Their files and prints keep the colours of paper.
pub fn dark_colours(answer: &Answer, drawn: &[String]) -> BTreeMap<String, String> {
    let curves = answer.studies.iter().flat_map(|study| &study.goals);
    let curves = curves.flat_map(|goal| &goal.curves.curves);
    let mut colours: BTreeSet<String> =
        curves.map(|curve| sparsity_colour(curve.sparsity).to_string()).collect();
    for figure in drawn {
        let quoted = figure.split("=\"#").skip(1).filter_map(|rest| rest.get(..6));
        colours.extend(quoted.map(|digits| format!("#{digits}")));
    }
    let dark = |colour: String| Some((on_dark(Colour::parse(&colour)?).to_string(), colour));
    colours.into_iter().filter_map(dark).map(|(dark, colour)| (colour, dark)).collect()
}

/// The rules that give figures those colours.
fn dark_rules(colours: &BTreeMap<String, String>) -> String {
    let rules = colours.iter().map(|(colour, dark)| {
        format!(
            "svg [fill=\"{colour}\"]{{fill:{dark}}}svg [stroke=\"{colour}\"]{{stroke:{dark}}}\n"
        )
    });
    let rules: String = rules.collect();
    format!("@media screen and (prefers-color-scheme: dark){{\n{rules}}}\n")
}

/// The mark that stands for a sparsity in texts and tables.
fn swatch(html: &mut Html, sparsity: Sparsity) {
    html.markup(&format!(
        "<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\">\
         <circle cx=\"5\" cy=\"5\" r=\"5\" fill=\"{}\"/></svg>",
        sparsity_colour(sparsity)
    ));
}

/// A table that scrolls by itself where it is wider than the page, and can be reached by
/// keyboard for that. The first `words` columns hold words, the others numbers.
fn table(
    html: &mut Html,
    label: &str,
    words: usize,
    head: impl FnOnce(&mut Html),
    body: impl FnOnce(&mut Html),
) {
    let class = format!("words-{words}");
    let region =
        [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", label)];
    html.element("div", &region, |html| {
        html.element("table", &[("class", &class)], |html| {
            html.element("thead", &[], |html| html.element("tr", &[], head));
            html.element("tbody", &[], body);
        });
    });
}

/// More rows than this are left to the file.
const MOST_ROWS: usize = 400;

/// The rows of `data` as a table.
fn data_table(html: &mut Html, label: &str, data: &Data) {
    let columns = data.columns.iter().map(|name| name.replace('_', " "));
    let columns: Vec<String> = columns.collect();
    table(
        html,
        label,
        0,
        |html| columns.iter().for_each(|name| html.leaf("th", &[("scope", "col")], name)),
        |html| {
            for row in data.rows.iter().take(MOST_ROWS) {
                html.element("tr", &[], |html| {
                    row.iter().for_each(|field| html.leaf("td", &[], field));
                });
            }
        },
    );
    if data.rows.len() > MOST_ROWS {
        let more =
            format!("The file has all {} rows.", crate::numerals::grouped(data.rows.len() as u64));
        html.leaf("p", &[("class", "small")], &more);
    }
}
