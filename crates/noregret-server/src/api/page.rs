//! The page at `/`, from inside the binary. It may load nothing but what is here, and talk to nobody but this server.

use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use noregret::report::page::{UPLOT_CSS, UPLOT_JS};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// What is served, where.
const FILES: [(&str, &str, &str); 9] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/assets/app.css", STYLE, include_str!("../page/app.css")),
    ("/assets/app.js", SCRIPT, include_str!("../page/app.js")),
    ("/assets/charts.js", SCRIPT, include_str!("../page/charts.js")),
    ("/assets/format.js", SCRIPT, include_str!("../page/format.js")),
    ("/assets/server.js", SCRIPT, include_str!("../page/server.js")),
    ("/assets/icon.svg", "image/svg+xml", include_str!("../page/icon.svg")),
    ("/assets/uplot.js", SCRIPT, UPLOT_JS),
    ("/assets/uplot.css", STYLE, UPLOT_CSS),
];

/// The page and its parts.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        let headers = [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY)];
        router.route(path, get(move || async move { (headers, text).into_response() }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_nothing_that_is_not_served_and_has_no_script_or_style_inside() {
        let page = FILES[0].2;
        let mut named = 0;
        for part in page.split(['"', '\'']).filter(|p| p.starts_with("/assets/")) {
            assert!(FILES.iter().any(|(path, ..)| *path == part), "{part}");
            named += 1;
        }
        assert_eq!(named, 5);
        for (path, kind, text) in FILES.iter().filter(|(_, kind, _)| *kind == SCRIPT) {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let name = line.rsplit("./").next().unwrap().trim_end_matches("\";");
                let served = format!("/assets/{name}");
                assert!(FILES.iter().any(|(path, ..)| *path == served), "{path} ({kind}): {line}");
            }
        }
        assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("<script>"));
        assert!(FILES.iter().all(|(path, _, text)| path.contains("icon") || !text.contains("http://")));
    }
}
