//! The files of the console, built into the program.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// What the page may do: its own files and requests to this server, no scripts in its text, no text as markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// A file of the console.
struct Asset {
    path: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal $media_type:literal,)+) => {
        &[$(Asset {
            path: concat!("/page/", $name),
            media_type: $media_type,
            bytes: include_bytes!(concat!("../page/", $name)),
        }),+]
    };
}

const ASSETS: &[Asset] = assets![
    "index.html" "text/html; charset=utf-8",
    "style.css" "text/css; charset=utf-8",
    "icon.svg" "image/svg+xml",
    "app.js" "text/javascript; charset=utf-8",
    "api.js" "text/javascript; charset=utf-8",
    "dom.js" "text/javascript; charset=utf-8",
    "chart.js" "text/javascript; charset=utf-8",
    "table.js" "text/javascript; charset=utf-8",
    "overview.js" "text/javascript; charset=utf-8",
    "shares.js" "text/javascript; charset=utf-8",
    "clients.js" "text/javascript; charset=utf-8",
    "files.js" "text/javascript; charset=utf-8",
    "findfiles.js" "text/javascript; charset=utf-8",
    "log.js" "text/javascript; charset=utf-8",
    "luns.js" "text/javascript; charset=utf-8",
    "snapshots.js" "text/javascript; charset=utf-8",
    "backups.js" "text/javascript; charset=utf-8",
    "images.js" "text/javascript; charset=utf-8",
    "benchmarks.js" "text/javascript; charset=utf-8",
    "advice.js" "text/javascript; charset=utf-8",
    "jobs.js" "text/javascript; charset=utf-8",
    "names.js" "text/javascript; charset=utf-8",
    "caches.js" "text/javascript; charset=utf-8",
    "streams.js" "text/javascript; charset=utf-8",
    "access.js" "text/javascript; charset=utf-8",
    "scrub.js" "text/javascript; charset=utf-8",
    "timeline.js" "text/javascript; charset=utf-8",
    "webhooks.js" "text/javascript; charset=utf-8",
    "adopt.js" "text/javascript; charset=utf-8",
    "accounts.js" "text/javascript; charset=utf-8",
    "folderrights.js" "text/javascript; charset=utf-8",
    "folders.js" "text/javascript; charset=utf-8",
    "newshare.js" "text/javascript; charset=utf-8",
    "people.js" "text/javascript; charset=utf-8",
    "rights.js" "text/javascript; charset=utf-8",
    "roles.js" "text/javascript; charset=utf-8",
    "settings.js" "text/javascript; charset=utf-8",
    "alerts.js" "text/javascript; charset=utf-8",
    "find.js" "text/javascript; charset=utf-8",
    "health.js" "text/javascript; charset=utf-8",
    "manager.js" "text/javascript; charset=utf-8",
    "password.js" "text/javascript; charset=utf-8",
    "places.js" "text/javascript; charset=utf-8",
    "replicate.js" "text/javascript; charset=utf-8",
    "restart.js" "text/javascript; charset=utf-8",
    "secondfactor.js" "text/javascript; charset=utf-8",
    "security.js" "text/javascript; charset=utf-8",
    "settingunits.js" "text/javascript; charset=utf-8",
    "setup.js" "text/javascript; charset=utf-8",
    "slowclients.js" "text/javascript; charset=utf-8",
    "slowest.js" "text/javascript; charset=utf-8",
];

/// One tag for all files: they belong together.
static TAG: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    ASSETS.iter().for_each(|asset| asset.bytes.hash(&mut hasher));
    format!("\"{:016x}\"", hasher.finish())
});

/// The file at a path; `/` is the page itself.
pub(crate) fn serve(path: &str, headers: &HeaderMap) -> Option<Response> {
    let path = if path == "/" { "/page/index.html" } else { path };
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == TAG.as_bytes());
    let body = if is_known { Body::empty() } else { Body::from(asset.bytes) };
    let status = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let mut response = (status, body).into_response();
    let fixed = [
        (header::CONTENT_TYPE, asset.media_type),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&TAG) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_only_files_that_are_there_and_no_other_places() {
        for asset in ASSETS {
            let text = std::str::from_utf8(asset.bytes).unwrap();
            for (what, before) in [("href", "href=\"/"), ("src", "src=\"/"), ("import", "from \"./")] {
                for rest in text.split(before).skip(1) {
                    let name = rest.split('"').next().unwrap();
                    let path = if what == "import" { format!("/page/{name}") } else { format!("/{name}") };
                    assert!(ASSETS.iter().any(|asset| asset.path == path), "{}: {path}", asset.path);
                }
            }
            let other = text.split("http://www.w3.org/").collect::<String>();
            assert!(!other.contains("http://") && !other.contains("https://"), "{}", asset.path);
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!text.contains(forbidden), "{} has {forbidden}", asset.path);
            }
        }
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/page")).unwrap();
        assert_eq!(folder.count(), ASSETS.len(), "each file is served");
    }

    #[test]
    fn the_files_are_small_and_sent_once() {
        assert!(ASSETS.iter().all(|asset| asset.bytes.len() <= 32 * 1024));
        let page = serve("/", &HeaderMap::new()).unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        let tag = page.headers()[header::ETAG].clone();
        let again = serve("/page/app.js", &[(header::IF_NONE_MATCH, tag)].into_iter().collect()).unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        for path in ["/page/", "/page/../api.rs", "/page/app.js/", "/index.html"] {
            assert!(serve(path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
