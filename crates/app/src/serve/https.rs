//! Requests to other servers by HTTP/1.1, over TLS for `https`. Redirects are not followed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, USER_AGENT};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Url;

/// The longest body of an answer that is read.
const LONGEST_ANSWER: usize = 256 << 10;

/// What is sent.
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    pub(crate) headers: &'a [(&'a str, String)],
    pub(crate) body: Vec<u8>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The status of the answer, whose body is of no interest.
///
/// # Errors
/// The server cannot be reached, its certificate is not valid, or it does not answer.
pub(crate) async fn status(url: &str, sent: HttpRequest<'_>) -> anyhow::Result<StatusCode> {
    let (answer, driver) = exchanged(url, sent, None).await?;
    driver.0.abort();
    Ok(answer.status())
}

/// The answer with its body. `issuers`: the certificates, PEM, by which the server is known; `None`: those that the host trusts.
///
/// # Errors
/// As [`status`], and if the body is too long.
pub(crate) async fn answer(
    url: &str,
    sent: HttpRequest<'_>,
    issuers: Option<&Path>,
) -> anyhow::Result<HttpAnswer> {
    let (answer, _driver) = exchanged(url, sent, issuers).await?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, LONGEST_ANSWER).collect().await;
    let body = body.map_err(|error| anyhow::anyhow!("the answer cannot be read: {error}"))?;
    Ok(HttpAnswer { status: head.status, headers: head.headers, body: body.to_bytes().to_vec() })
}

/// The task that moves the bytes of a connection, until this is dropped.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn exchanged(
    url: &str,
    sent: HttpRequest<'_>,
    issuers: Option<&Path>,
) -> anyhow::Result<(Response<Incoming>, Driver)> {
    let url = Url::parse(url).context("the URL is not valid")?;
    let host = url.host_str().context("the URL has no host")?;
    let port = url.port_or_known_default().context("the URL has no port")?;
    let at = (host.trim_matches(['[', ']']), port);
    let tcp = TcpStream::connect(at).await.with_context(|| format!("{host}:{port} cannot be reached"))?;
    match url.scheme() {
        "http" => exchange(tcp, &url, sent).await,
        "https" => {
            let name = ServerName::try_from(at.0.to_owned()).context("the host's name is not valid")?;
            let tls = connector(issuers)?.connect(name, tcp).await;
            exchange(tls.with_context(|| format!("no TLS with {host}:{port}"))?, &url, sent).await
        }
        other => bail!("{other} is not supported"),
    }
}

/// TLS with the certificates that the host trusts, or these.
fn connector(issuers: Option<&Path>) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    match issuers {
        Some(file) => _ = roots.add_parsable_certificates(conn::pem::certificates(file)?),
        None => _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    }
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

async fn exchange<S>(
    stream: S,
    url: &Url,
    sent: HttpRequest<'_>,
) -> anyhow::Result<(Response<Incoming>, Driver)>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driver = Driver(tokio::spawn(async move {
        let _ = connection.await; // the request fails with the reason
    }));
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let request = Request::builder().method(sent.method).uri(path);
    let request = sent.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    let request = request
        .header(HOST, host)
        .header(USER_AGENT, concat!("fourfold/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(Bytes::from(sent.body)))?;
    let answer = sender.send_request(request).await.context("the server did not answer")?;
    Ok((answer, driver))
}
