//! Connections of the API, and their limits.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use lock::{Mutex, rank};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower::Service;

use crate::admitted::Acquainted;
use crate::tls::{self, Certificate};
use crate::{Api, api, console};

/// Connections at the same time. Further ones wait to be accepted.
const MOST_CONNECTIONS: usize = 256;
/// Connections of one address, or of one IPv6 network of 64 bits. Further ones are closed.
const MOST_OF_ADDRESS: usize = 64;
/// How long a TLS handshake may take, or the headers of a request; an idle connection is closed after it, too.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest life of a connection. A client opens another one.
const LONGEST_LIFE: Duration = Duration::from_secs(600);
/// The longest life of a connection without a request that has shown a token or a session,
const STRANGERS_LIFE: Duration = Duration::from_secs(60);
/// and how long its last requests may then take: longer than a login that waits.
const FAREWELL: Duration = Duration::from_secs(30);
/// The most bytes of a request's headers.
const MOST_HEADERS: usize = 16 * 1024;
/// Requests of one HTTP/2 connection at the same time.
const MOST_STREAMS: u32 = 16;
/// Bytes that HTTP/2 clients may send ahead.
const WINDOW: u32 = 64 * 1024;

/// Serves the API at these listeners until told to stop. Needs a tokio runtime.
///
/// # Errors
/// The certificate cannot be used. Without one, nothing is encrypted.
pub fn serve(
    listeners: Vec<TcpListener>,
    certificate: Option<&Certificate>,
    api: Api,
    stopping: &watch::Receiver<bool>,
) -> io::Result<()> {
    let tls = certificate.map(tls::acceptor).transpose()?;
    let api = Api { is_secure: tls.is_some(), ..api };
    tokio::spawn(console::look(api.clone(), stopping.clone()));
    let door = Arc::new(Door {
        router: api::router(api),
        tls,
        permits: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
        places: Mutex::default(),
    });
    for listener in listeners {
        tokio::spawn(accept(listener, door.clone(), stopping.clone()));
    }
    Ok(())
}

struct Door {
    router: Router,
    tls: Option<TlsAcceptor>,
    permits: Arc<Semaphore>,
    /// The addresses of the connections.
    places: Mutex<Vec<IpAddr>, rank::ApiConnections>,
}

/// A connection that counts.
struct Entered {
    door: Arc<Door>,
    place: IpAddr,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut places = self.door.places.lock();
        if let Some(at) = places.iter().position(|place| *place == self.place) {
            places.swap_remove(at);
        }
    }
}

impl Door {
    fn enter(self: &Arc<Self>, place: IpAddr, permit: OwnedSemaphorePermit) -> Option<Entered> {
        let place = auth::network(place);
        let mut places = self.places.lock();
        if places.iter().filter(|other| **other == place).count() >= MOST_OF_ADDRESS {
            return None;
        }
        places.push(place);
        drop(places);
        Some(Entered { door: self.clone(), place, _permit: permit })
    }
}

async fn accept(listener: TcpListener, door: Arc<Door>, mut stopping: watch::Receiver<bool>) {
    loop {
        let Ok(permit) = door.permits.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stop| *stop) => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "the API cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await; // out of descriptors
                continue;
            }
        };
        let Some(entered) = door.enter(peer.ip(), permit) else {
            tracing::debug!(%peer, "too many connections of one address to the API");
            continue;
        };
        let mut stopping = stopping.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = converse(&entered, stream, peer) => {}
                () = tokio::time::sleep(LONGEST_LIFE) => {}
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        });
    }
}

async fn converse(entered: &Entered, stream: TcpStream, peer: SocketAddr) {
    let router = &entered.door.router;
    let ended = match &entered.door.tls {
        None => answer(stream, peer, router, STRANGERS_LIFE).await,
        Some(tls) => match tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
            Ok(Ok(stream)) => answer(stream, peer, router, STRANGERS_LIFE).await,
            Ok(Err(error)) => Err(error.into()),
            Err(late) => Err(late.into()),
        },
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a connection to the API ended");
    }
}

type Ended = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Answers the requests of a connection.
pub(crate) async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    router: &Router,
    strangers_life: Duration,
) -> Ended {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(MOST_HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE)
        .max_header_list_size(MOST_HEADERS as u32)
        .max_concurrent_streams(MOST_STREAMS)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW);
    let (router, acquainted) = (router.clone(), Acquainted::default());
    let told = acquainted.clone();
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (mut router, told) = (router.clone(), told.clone());
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(told);
            let response: Result<Response<Body>, Infallible> = router.call(request).await;
            response
        }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let stranger = async {
        tokio::time::sleep(strangers_life).await;
        if acquainted.is() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = &mut connection => return ended,
        () = stranger => connection.as_mut().graceful_shutdown(),
    }
    tokio::time::timeout(FAREWELL, connection).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_has_the_connections_of_one_address() {
        let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let door = Arc::new(Door { router: Router::new(), tls: None, permits, places: Mutex::default() });
        let enter = |address: &str| {
            let permit = door.permits.clone().try_acquire_owned().unwrap();
            door.enter(address.parse().unwrap(), permit)
        };
        let mut entered: Vec<Entered> =
            (0..MOST_OF_ADDRESS).map(|host| enter(&format!("2001:db8::{host:x}")).unwrap()).collect();
        assert!(enter("2001:db8::ffff").is_none());
        assert!(enter("2001:db8:0:1::1").is_some(), "another network");
        assert!(enter("192.0.2.7").is_some());
        entered.pop();
        assert!(enter("2001:db8::ffff").is_some());
    }
}
