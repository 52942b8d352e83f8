//! Connections of the API, and their limits.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::Service;

use crate::admitted::Standing;
use crate::certificate::LiveCertificate;
use crate::door::{ConnectionGuard, Door, MOST_CONNECTIONS};
use crate::tls::Certificate;
use crate::{Api, api, console, redirect};

/// Connections that were told to end, and have not yet. Further ones wait to be accepted.
const MOST_ENDING: usize = 64;
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
    let addresses = || listeners.iter().filter_map(|one| one.local_addr().ok()).map(|one| one.ip()).collect();
    let live = certificate.map(|files| LiveCertificate::new(files, addresses())).transpose()?.map(Arc::new);
    let api = Api { is_secure: live.is_some(), certificate: live.clone(), ..api };
    tokio::spawn(console::look(api.clone(), stopping.clone()));
    let shared = Arc::new(ServerContext {
        router: api::router(api),
        tls: live,
        door: Door::default(),
        permits: Arc::new(Semaphore::new(MOST_CONNECTIONS + MOST_ENDING)),
    });
    for listener in listeners {
        tokio::spawn(accept(listener, shared.clone(), stopping.clone()));
    }
    Ok(())
}

/// What all connections share.
struct ServerContext {
    router: Router,
    tls: Option<Arc<LiveCertificate>>,
    door: Door,
    /// Bound the descriptors, which a connection has until its task ends.
    permits: Arc<Semaphore>,
}

async fn accept(listener: TcpListener, shared: Arc<ServerContext>, mut stopping: watch::Receiver<bool>) {
    loop {
        let Ok(permit) = shared.permits.clone().acquire_owned().await else { return };
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
        let Some(entered) = shared.door.enter(peer.ip()) else {
            tracing::debug!(%peer, "too many connections to the API have shown tokens");
            continue;
        };
        let (shared, mut stopping) = (shared.clone(), stopping.clone());
        tokio::spawn(async move {
            let _permit = permit;
            tokio::select! {
                () = converse(&shared, &entered, stream, peer) => {}
                () = entered.must_leave() => {
                    tracing::debug!(%peer, "a connection to the API ended for another one");
                }
                () = lived(&entered) => {}
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        });
    }
}

/// Waits for the end of the longest life of a connection, and then for that of the files that it sends or receives.
async fn lived(entered: &ConnectionGuard) {
    tokio::time::sleep(LONGEST_LIFE).await;
    while entered.standing().is_transferring() {
        tokio::time::sleep(PATIENCE).await;
    }
}

async fn converse(shared: &ServerContext, entered: &ConnectionGuard, stream: TcpStream, peer: SocketAddr) {
    let (router, standing) = (&shared.router, entered.standing());
    let ended = match &shared.tls {
        None => answer(stream, (peer, standing), router, STRANGERS_LIFE).await,
        // The connection counts among those without a token, with their limits.
        Some(_) if in_clear(&stream).await => {
            answer(stream, (peer, standing), &redirect::router(), PATIENCE).await
        }
        Some(tls) => match tokio::time::timeout(PATIENCE, tls.acceptor().accept(stream)).await {
            // In a box, so that a client that never finishes the handshake does not have the memory of one that has.
            Ok(Ok(stream)) => Box::pin(answer(stream, (peer, standing), router, STRANGERS_LIFE)).await,
            Ok(Err(error)) => Err(error.into()),
            Err(late) => Err(late.into()),
        },
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a connection to the API ended");
    }
}

/// Whether the client begins in clear. One that sends nothing fails at the handshake.
async fn in_clear(stream: &TcpStream) -> bool {
    matches!(tokio::time::timeout(PATIENCE, redirect::is_in_clear(stream)).await, Ok(Ok(true)))
}

type ConnectionResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Answers the requests of a connection.
pub(crate) async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    (peer, standing): (SocketAddr, &Standing),
    router: &Router,
    strangers_life: Duration,
) -> ConnectionResult {
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
    let (router, told) = (router.clone(), standing.clone());
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (mut router, told) = (router.clone(), told.clone());
        async move {
            let _in_flight = told.busy();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(told.clone());
            let response: Result<Response<Body>, Infallible> = router.call(request).await;
            response
        }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let stranger = async {
        tokio::time::sleep(strangers_life).await;
        if standing.is_known() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = &mut connection => return ended,
        () = stranger => connection.as_mut().graceful_shutdown(),
    }
    tokio::time::timeout(FAREWELL, connection).await?
}
