//! Requests of a browser that has a session: whether they come from the console itself.
//!
//! A page of another site can have a browser send requests with its cookies. The cookie is `SameSite=Strict`; in addition
//! the headers must say that the request comes from this server's own page.

use axum::http::{HeaderMap, Method, Uri, header};

/// The header that the console sends with each change. A page of another site cannot add it without asking first (CORS),
/// which this server never permits.
pub(crate) const HEADER: &str = "x-fourfold-console";

/// Whether a request with a cookie comes from the console.
///
/// # Errors
/// It does not; the text says why.
pub(crate) fn check(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_change = !matches!(*method, Method::GET | Method::HEAD);
    match text("sec-fetch-site") {
        None | Some("same-origin") => {}
        Some("none") if !is_change => {}
        Some(_) => return Err("the request comes from another site"),
    }
    if let Some(origin) = text(header::ORIGIN.as_str()) {
        let host = uri.authority().map(axum::http::uri::Authority::as_str).or_else(|| text("host"));
        let place = origin.split_once("://").map(|(_, place)| place);
        if place.is_none() || place != host {
            return Err("the request comes from another origin");
        }
    }
    if is_change && !headers.contains_key(HEADER) {
        return Err("a change with a session needs the header `X-Fourfold-Console: 1`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn result(method: Method, uri: &str, headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let header =
            |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        check(&method, &uri.parse().unwrap(), &headers.iter().map(header).collect())
    }

    #[test]
    fn only_the_own_page_changes_anything() {
        let host = ("host", "nas.local:8443");
        let mark = (HEADER, "1");
        let own = ("origin", "https://nas.local:8443");
        assert_eq!(result(Method::POST, "/v1/reload", &[host, mark, own]), Ok(()));
        assert_eq!(result(Method::POST, "https://nas.local:8443/v1/reload", &[mark, own]), Ok(()), "HTTP/2");
        assert!(result(Method::POST, "/v1/reload", &[host, own]).is_err());
        for origin in
            ["https://evil.example", "null", "https://nas.local", "https://nas.local:8443.evil.example"]
        {
            assert!(
                result(Method::POST, "/v1/reload", &[host, mark, ("origin", origin)]).is_err(),
                "{origin}"
            );
            assert!(result(Method::GET, "/v1/status", &[host, ("origin", origin)]).is_err(), "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert!(result(Method::GET, "/v1/status", &[host, ("sec-fetch-site", site)]).is_err(), "{site}");
        }
        assert_eq!(result(Method::GET, "/v1/status", &[host, ("sec-fetch-site", "none")]), Ok(()), "typed");
        assert!(result(Method::POST, "/v1/reload", &[host, mark, ("sec-fetch-site", "none")]).is_err());
        assert_eq!(
            result(Method::POST, "/v1/reload", &[host, mark, ("sec-fetch-site", "same-origin")]),
            Ok(())
        );
    }
}
