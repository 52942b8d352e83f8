//! HTTP to one member of etcd.

use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// The longest answer: the keys of a cluster are some kilobytes.
const MAX_ANSWER: usize = 4 << 20;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A kept connection.
pub(super) struct Connection {
    host: String,
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Connection {
    pub(super) async fn open(host: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection to etcd has ended");
            }
        });
        Ok(Self { host: host.to_owned(), sender, driver })
    }

    /// Returns the status and the body of the answer.
    pub(super) async fn post(&mut self, path: &str, json: String) -> Result<(u16, Bytes), Failure> {
        let request = Request::post(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(json)))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status().as_u16();
        Ok((status, Limited::new(answer.into_body(), MAX_ANSWER).collect().await?.to_bytes()))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
