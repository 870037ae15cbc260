//! HTML, written so that text can never become markup.
//!
//! Elements are opened and closed by the same call, and all text and all values of
//! attributes pass through one escape. Only figures, which escape their own text, go in as
//! they are.

use crate::svg::Escaped;

/// A document in the making.
#[derive(Debug, Default)]
pub struct Html(String);

/// Attributes: names, which are ours, with values, which may be anybody's.
pub type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// An element with whatever `inside` writes.
    pub fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Html),
    ) {
        self.open(tag, attributes);
        inside(self);
        self.0 += "</";
        self.0 += tag;
        self.0 += if is_inline(tag) { ">" } else { ">\n" };
    }

    /// An element of text.
    pub fn leaf(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(tag, attributes, |html| html.text(text));
    }

    /// An element that has no inside, such as `meta`.
    pub fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.0 += "<";
        self.0 += tag;
        for (name, value) in attributes {
            self.0 += " ";
            self.0 += name;
            self.0 += "=\"";
            self.text(value);
            self.0 += "\"";
        }
        self.0 += ">";
    }

    /// Text. No line ends between a number and its per cent sign.
    pub fn text(&mut self, text: &str) {
        self.0 += &Escaped(text).to_string().replace(" %", "\u{a0}%");
    }

    /// Markup that is safe: figures and style sheets of this crate.
    pub(crate) fn markup(&mut self, markup: &str) {
        self.0 += markup;
    }

    /// What was written, as a part of some document.
    pub(crate) fn fragment(self) -> String {
        self.0
    }

    /// The document, with its type in front.
    pub fn finish(self) -> String {
        format!("<!DOCTYPE html>\n{}", self.0)
    }
}

/// Whether a line break after the element would show.
fn is_inline(tag: &str) -> bool {
    matches!(tag, "a" | "abbr" | "b" | "code" | "em" | "span" | "strong" | "sub")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_break_out() {
        let mut html = Html::default();
        html.leaf("p", &[("title", "\"><script>")], "a < b & 'c' > \u{1}\"d\"");
        assert_eq!(
            html.finish(),
            "<!DOCTYPE html>\n<p title=\"&quot;&gt;&lt;script&gt;\">\
             a &lt; b &amp; &#39;c&#39; &gt;  &quot;d&quot;</p>\n"
        );
    }

    #[test]
    fn a_number_stays_with_its_per_cent_sign() {
        let mut html = Html::default();
        html.leaf("p", &[], "90 % of 100 steps");
        assert!(html.finish().contains("90\u{a0}% of 100 steps"));
    }

    #[test]
    fn elements_are_closed_by_the_call_that_opened_them() {
        let mut html = Html::default();
        html.element("ul", &[], |html| html.leaf("li", &[], "one"));
        assert_eq!(html.finish(), "<!DOCTYPE html>\n<ul><li>one</li>\n</ul>\n");
    }
}
