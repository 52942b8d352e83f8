use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use vfs::Payload;

use crate::listen::{Counters, Peer};
use crate::outbox::Outbox;
use crate::stall::{Serving, Watchdog};

/// One reply: bytes, then data that is perhaps still in the page cache, then zero bytes of padding.
#[derive(Debug, Default)]
pub struct Reply {
    /// Everything up to the data.
    pub head: Vec<u8>,
    /// The data.
    pub body: Option<Payload>,
    /// How many zero bytes follow the data.
    pub tail: usize,
}

/// An answer in the making. `None` when the message gets none.
pub type Answer = Pin<Box<dyn Future<Output = Option<Reply>> + Send>>;

/// What a protocol does with a connection's bytes.
pub trait Protocol: Send + Sync + 'static {
    /// The length of the message at the start of `bytes`, framing included: `Ok(None)` when more bytes are needed to
    /// tell, or a reason to end the connection. A message longer than the connection's limit must be refused here.
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str>;

    /// The answer to one whole message. Polled once on the thread that received it.
    fn answer(&self, message: Bytes) -> Answer;
}

/// Limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of replies that may wait for a client before no more of its messages are read.
    pub waiting_bytes: usize,
    /// Messages of one client that may be in the making at once.
    pub in_the_making: usize,
    /// How long a client may take nothing of the replies waiting for it.
    pub patience: Duration,
    /// How long a message may take to arrive in full.
    pub unfinished: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            waiting_bytes: 8 << 20,
            in_the_making: 256,
            patience: Duration::from_secs(60),
            unfinished: Duration::from_secs(30),
        }
    }
}

/// Bytes to read at once when nothing is known of what comes.
const READ_AHEAD: usize = 64 * 1024;
/// A buffer that has grown beyond this is not kept between messages that fit it.
const KEEP: usize = 2 << 20;

/// A connection being served, shared by whoever reads it now, the watchdog and answers in the making.
struct Connection<P> {
    protocol: P,
    outbox: Arc<Outbox>,
    limits: Limits,
    counters: Arc<Counters>,
    watchdog: Arc<Watchdog>,
    runtime: tokio::runtime::Handle,
    me: Weak<Self>,
    /// The reading side, while its reader answers a message.
    reading: Mutex<Option<BytesMut>>,
    /// Odd while a message is being answered.
    step: AtomicU64,
    watched: AtomicBool,
    in_the_making: AtomicUsize,
}

/// Serves one connection until either side ends it.
pub async fn serve<P: Protocol>(
    stream: TcpStream,
    peer: &Peer,
    protocol: P,
    limits: Limits,
    watchdog: Arc<Watchdog>,
) {
    let outbox = Arc::new(Outbox::new(stream));
    let connection = Arc::new_cyclic(|me| Connection {
        protocol,
        outbox: outbox.clone(),
        limits,
        counters: peer.counters.clone(),
        watchdog,
        runtime: tokio::runtime::Handle::current(),
        me: me.clone(),
        reading: Mutex::new(None),
        step: AtomicU64::new(0),
        watched: AtomicBool::new(false),
        in_the_making: AtomicUsize::new(0),
    });
    let (done, finished) = tokio::sync::oneshot::channel();
    let reader = connection.clone();
    tokio::spawn(reader.read(BytesMut::new(), Some(done)));
    drop(connection);
    tokio::select! {
        () = outbox.pump(limits.patience) => {}
        _ = finished => {}
    }
    outbox.close();
}

/// Dropped when the connection's reading has ended, whoever read last.
type Done = Option<tokio::sync::oneshot::Sender<()>>;
