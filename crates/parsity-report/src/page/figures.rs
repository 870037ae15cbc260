//! The figures, each with its words, its files and its numbers.

use super::data_table;
use crate::exhibits::Exhibit;
use crate::html::Html;

pub(super) fn write(html: &mut Html, exhibits: &[Exhibit], drawn: &[String]) {
    let mut heading = None;
    let several = exhibits.iter().any(|it| it.heading != exhibits[0].heading);
    for (exhibit, svg) in exhibits.iter().zip(drawn) {
        if several && heading != Some(&exhibit.heading) {
            html.leaf("h3", &[], &exhibit.heading);
            heading = Some(&exhibit.heading);
        }
        html.element("figure", &[("id", &exhibit.name)], |html| write_figure(html, exhibit, svg));
    }
}

fn write_figure(html: &mut Html, exhibit: &Exhibit, svg: &str) {
    let Exhibit { name, figure, .. } = exhibit;
    let label = format!("Figure: {}", figure.title);
    let region =
        [("class", "sheet"), ("tabindex", "0"), ("role", "region"), ("aria-label", &*label)];
    html.element("div", &region, |html| html.markup(svg));
    html.element("figcaption", &[], |html| {
        html.leaf("p", &[("class", "wide small")], "Scroll the figure sideways to see all of it.");
        html.element("p", &[("class", "files")], |html| {
            for ending in ["csv", "svg", "png"] {
                let file = format!("{name}.{ending}");
                html.leaf("a", &[("href", &file)], &ending.to_uppercase());
                html.text(" ");
            }
        });
        html.element("details", &[], |html| {
            html.leaf("summary", &[], "The figure in words");
            html.leaf("p", &[("class", "small")], &figure.description);
        });
        html.element("details", &[], |html| {
            html.leaf("summary", &[], "Its numbers");
            data_table(html, &format!("Numbers of: {}", figure.title), &figure.data);
        });
    });
}
