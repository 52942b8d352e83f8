//! One POST request, by HTTP/1.1, over TLS for `https`.

use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Url;

/// Sends JSON to a URL, with these further headers. Redirects are not followed.
///
/// # Errors
/// The server cannot be reached, its certificate is not valid, or its answer is no success.
pub(crate) async fn post(url: &str, json: Vec<u8>, headers: &[(&str, String)]) -> anyhow::Result<()> {
    let url = Url::parse(url).context("the URL is not valid")?;
    let host = url.host_str().context("the URL has no host")?;
    let port = url.port_or_known_default().context("the URL has no port")?;
    let at = (host.trim_matches(['[', ']']), port);
    let tcp = TcpStream::connect(at).await.with_context(|| format!("{host}:{port} cannot be reached"))?;
    match url.scheme() {
        "http" => exchange(tcp, &url, json, headers).await,
        "https" => {
            let name = ServerName::try_from(at.0.to_owned()).context("the host's name is not valid")?;
            let tls = connector()?.connect(name, tcp).await;
            exchange(tls.with_context(|| format!("no TLS with {host}:{port}"))?, &url, json, headers).await
        }
        other => bail!("{other} is not supported"),
    }
}

/// TLS with the certificates that the host trusts.
fn connector() -> anyhow::Result<TlsConnector> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    ensure!(
        !roots.is_empty(),
        "this host trusts no issuer of certificates; install the package ca-certificates"
    );
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn exchange<S>(stream: S, url: &Url, json: Vec<u8>, headers: &[(&str, String)]) -> anyhow::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let request = Request::post(path);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    let request = request
        .header(HOST, host)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("fourfold/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(Bytes::from(json)))?;
    let answered = sender.send_request(request).await;
    driver.abort(); // the body of the answer is of no interest
    let status = answered.context("the server did not answer")?.status();
    ensure!(status.is_success(), "the server answered {status}");
    Ok(())
}
