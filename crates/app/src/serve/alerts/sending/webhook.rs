//! One POST request with JSON.

use anyhow::ensure;
use hyper::Method;

use crate::serve::https::{self, HttpRequest};

/// Sends JSON to a URL, with these further headers. Redirects are not followed.
///
/// # Errors
/// The server cannot be reached, its certificate is not valid, or its answer is no success.
pub(crate) async fn post(url: &str, json: Vec<u8>, headers: &[(&str, String)]) -> anyhow::Result<()> {
    let headers = [&[("content-type", "application/json".to_owned())][..], headers].concat();
    let status =
        https::status(url, HttpRequest { method: Method::POST, headers: &headers, body: json }).await?;
    ensure!(status.is_success(), "the server answered {status}");
    Ok(())
}
