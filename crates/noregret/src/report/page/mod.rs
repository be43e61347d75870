//! Pages and pictures of runs: one HTML file that needs no network, and charts for papers.

mod chart;
mod figure;
mod font;
mod png;

pub use chart::{Axis, Chart, Series, svg};
pub use figure::{audit_figure, runs_figure};
pub use png::png;

use serde_json::{Value, json};

/// uPlot, which draws the curves of pages: its script.
pub const UPLOT_JS: &str = include_str!("vendor/uPlot.iife.min.js");

/// Its styles.
pub const UPLOT_CSS: &str = include_str!("vendor/uPlot.min.css");

/// What a page shows.
pub struct Page<'a> {
    /// The heading.
    pub title: &'a str,
    /// A sentence below it.
    pub subtitle: &'a str,
    /// Summaries of `learn`, each with a `name` and perhaps an `audit`.
    pub runs: &'a [Value],
    /// The object of `audit`, for its curve.
    pub audit: Option<&'a Value>,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page as one file: styles, scripts and data inside.
///
/// ```
/// use noregret::report::page::{Page, html};
/// let text = html(&Page { title: "a < b", subtitle: "", runs: &[], audit: None });
/// assert!(text.contains("a &lt; b") && !text.contains("{{"));
/// ```
pub fn html(page: &Page<'_>) -> String {
    let data = json!({"runs": page.runs, "audit": page.audit}).to_string();
    // Inside a script element nothing but its end tag is special.
    let data = data.replace('<', "\\u003c");
    let parts: [(&str, &str); 7] = [
        ("uplot.css", UPLOT_CSS),
        ("page.css", include_str!("page.css")),
        ("uplot.js", UPLOT_JS),
        ("page.js", include_str!("page.js")),
        ("title", &escaped(page.title)),
        ("subtitle", &escaped(page.subtitle)),
        ("data", &data),
    ];
    let mut out = String::new();
    let mut rest = include_str!("page.html");
    // One walk over the template, so that nothing inside a part is taken for a place.
    while let Some(at) = rest.find("{{") {
        out += &rest[..at];
        let end = rest[at..].find("}}").map_or(rest.len(), |e| at + e);
        let name = &rest[at + 2..end];
        out += parts.iter().find(|(n, _)| *n == name).map_or("", |(_, text)| text);
        rest = rest.get(end + 2..).unwrap_or("");
    }
    out + rest
}
