//! What a client gets that speaks HTTP in clear at the port of HTTPS: the way to it.
//!
//! The first byte tells: a TLS connection begins with a record of the handshake (22, RFC 8446 5.1), a request of HTTP with a letter.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpStream;

/// The type of a TLS record with a message of the handshake, RFC 8446 5.1.
const HANDSHAKE: u8 = 22;
/// The longest host or path in a redirect, in bytes.
const LONGEST: usize = 2048;

/// Whether the client begins in clear. A client that sends nothing has to be given up by the caller.
pub(crate) async fn is_in_clear(stream: &TcpStream) -> std::io::Result<bool> {
    let mut first = [0];
    let length = stream.peek(&mut first).await?;
    Ok(length > 0 && first[0] != HANDSHAKE)
}

/// Answers each request by the same place over HTTPS.
pub(crate) fn router() -> Router {
    Router::new().fallback(redirect)
}

async fn redirect(request: Request) -> Response {
    let close = (header::CONNECTION, HeaderValue::from_static("close"));
    match place(&request) {
        Some(place) => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, place), close]).into_response(),
        None => {
            let hint = "this port speaks HTTPS: begin the address with https:// (what was sent has crossed the network in clear)\n";
            (StatusCode::BAD_REQUEST, [close], hint).into_response()
        }
    }
}

/// The place over HTTPS. None for requests that send something, which they should not do in clear.
fn place(request: &Request) -> Option<HeaderValue> {
    if !matches!(*request.method(), Method::GET | Method::HEAD)
        || request.headers().contains_key(header::AUTHORIZATION)
    {
        return None;
    }
    let host = request.headers().get(header::HOST)?.to_str().ok()?;
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    let path = request.uri().path_and_query()?.as_str();
    if host.is_empty()
        || !host.chars().all(is_of_host)
        || host.len() > LONGEST
        || path.len() > LONGEST
        || !path.starts_with('/')
    {
        return None;
    }
    HeaderValue::try_from(format!("https://{host}{path}")).ok()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn asked(method: &str, uri: &str, host: &str) -> Option<String> {
        let request = Request::builder().method(method).uri(uri).header(header::HOST, host);
        place(&request.body(Body::empty()).unwrap()).map(|place| place.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_page_leads_to_the_same_place_over_https() {
        assert_eq!(asked("GET", "/", "nas:8443"), Some("https://nas:8443/".into()));
        assert_eq!(asked("HEAD", "/v1/x?a=b", "[::1]:8443"), Some("https://[::1]:8443/v1/x?a=b".into()));
        assert_eq!(asked("GET", "http://other/x", "nas"), Some("https://nas/x".into()));
    }

    #[test]
    fn what_sends_secrets_or_names_no_host_is_refused() {
        for (method, uri, host) in [
            ("POST", "/v1/login", "nas"),
            ("GET", "/", ""),
            ("GET", "/", "evil/@x"),
            ("GET", "/", "a b"),
            ("OPTIONS", "*", "nas"),
        ] {
            assert_eq!(asked(method, uri, host), None, "{method} {uri} {host}");
        }
        let with_token =
            Request::builder().uri("/").header("host", "nas").header("authorization", "Bearer x");
        assert_eq!(place(&with_token.body(Body::empty()).unwrap()), None);
    }
}
