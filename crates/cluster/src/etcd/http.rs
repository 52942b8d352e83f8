//! HTTP to one member of etcd.

use std::error::Error;
use std::io;

use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, AlertDescription, CertificateError};

/// The longest answer: the keys of a cluster are some kilobytes.
const MAX_ANSWER: usize = 4 << 20;

type Failure = Box<dyn Error + Send + Sync>;

/// A kept connection.
pub(super) struct EtcdConnection {
    host: String,
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl EtcdConnection {
    /// Connects to `host:port`, in clear without `tls`.
    pub(super) async fn open(host: &str, tls: Option<&TlsConnector>) -> Result<Self, Failure> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        match tls {
            None => Self::over(host, stream).await,
            Some(tls) => Self::over(host, tls.connect(name(host)?, stream).await?).await,
        }
    }

    async fn over(
        host: &str,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection to etcd has ended");
            }
        });
        Ok(Self { host: host.to_owned(), sender, driver })
    }

    /// Returns the status and the body of the answer. `token`: that of a login.
    pub(super) async fn post(
        &mut self,
        path: &str,
        token: Option<&str>,
        json: String,
    ) -> Result<(u16, Bytes), Failure> {
        let mut request =
            Request::post(path).header(HOST, &self.host).header(CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request.body(Full::new(Bytes::from(json)))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status().as_u16();
        Ok((status, Limited::new(answer.into_body(), MAX_ANSWER).collect().await?.to_bytes()))
    }
}

impl Drop for EtcdConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The name or address of `host:port`, as it is in the certificate.
fn name(host: &str) -> Result<ServerName<'static>, Failure> {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    Ok(ServerName::try_from(name.trim_matches(['[', ']']).to_owned())?)
}

/// What has failed, with its causes; for the usual errors of certificates, in words for administrators.
pub(super) fn describe(error: &(dyn Error + 'static)) -> String {
    let (mut causes, mut last) = (vec![error], error);
    while let Some(cause) = last.source() {
        causes.push(cause);
        last = cause;
    }
    let of_tls = causes.iter().find_map(|error| match error.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()),
        None => error.downcast_ref(),
    });
    if let Some(said) = of_tls.and_then(in_words) {
        return said.to_owned();
    }
    causes.iter().map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn in_words(error: &rustls::Error) -> Option<&'static str> {
    use CertificateError as Certificate;
    Some(match error {
        rustls::Error::InvalidCertificate(Certificate::UnknownIssuer) => {
            "its certificate is of an issuer that this server does not trust (`cluster-etcd-ca`)"
        }
        rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => "its certificate is not for the name or address that `cluster` has",
        rustls::Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        rustls::Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateRequired
            | AlertDescription::CertificateExpired,
        ) => "it does not accept the certificate of this server (`cluster-etcd-certificate`)",
        rustls::Error::InvalidMessage(_) => "it does not speak TLS: write `etcd://` instead of `etcds://`",
        _ => return None,
    })
}
