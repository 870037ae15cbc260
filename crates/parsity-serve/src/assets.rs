//! The files of the page, inside the program: nothing is read from disk, nothing is fetched.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// A file of the page.
pub(crate) struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

impl Asset {
    pub(crate) fn response(&self) -> Response {
        ([(header::CONTENT_TYPE, self.kind)], self.text).into_response()
    }
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page itself.
pub(crate) const PAGE: Asset = asset("index.html", HTML, include_str!("../assets/index.html"));
/// Its sign.
pub(crate) const ICON: Asset =
    asset("icon.svg", crate::reader::SVG, include_str!("../assets/icon.svg"));

const ALL: [Asset; 12] = [
    ICON,
    asset("report.css", CSS, parsity_report::page::STYLE),
    asset("dashboard.css", CSS, include_str!("../assets/dashboard.css")),
    asset("uPlot.css", CSS, include_str!("../assets/uplot/uPlot.min.css")),
    asset("uPlot.js", SCRIPT, include_str!("../assets/uplot/uPlot.iife.min.js")),
    asset("main.js", SCRIPT, include_str!("../assets/main.js")),
    asset("overview.js", SCRIPT, include_str!("../assets/overview.js")),
    asset("study.js", SCRIPT, include_str!("../assets/study.js")),
    asset("heat.js", SCRIPT, include_str!("../assets/heat.js")),
    asset("cell.js", SCRIPT, include_str!("../assets/cell.js")),
    asset("charts.js", SCRIPT, include_str!("../assets/charts.js")),
    asset("page.js", SCRIPT, include_str!("../assets/page.js")),
];

const fn asset(name: &'static str, kind: &'static str, text: &'static str) -> Asset {
    Asset { name, kind, text }
}

/// The file of that name.
pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    ALL.iter().find(|asset| asset.name == name)
}
