//! One connection over TCP: a task takes its messages one after another, and sends answers and notices. So signatures are made in
//! the order in which messages leave.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use conn::{Answer, InFlight, Limits, LoopStream, Peer, Protocol, Reply, ToClient, Watchdog};
use tokio::sync::{mpsc, oneshot};
use wire::Reader;

use super::association::Association;
use super::{Interface, Rpc};
use crate::wire::rpc::pdu::{HEADER, Header};

/// The most messages of a client that wait for its task. No message is longer than 64 KiB.
const MAX_WAITING: usize = 4;
/// How many bytes of answers may wait for a client before no more of its messages are read.
const MAX_ANSWERS: usize = 256 << 10;
/// How long a client may take nothing of them, and how long a message may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Serves one connection until either side ends it.
pub async fn serve(
    rpc: Arc<Rpc>,
    serves: Interface,
    stream: LoopStream,
    peer: Peer,
    watchdog: Arc<Watchdog>,
) {
    let (messages, received) = mpsc::unbounded_channel();
    let to_client = Arc::new(OnceLock::new());
    let frames = Frames { messages, to_client: to_client.clone() };
    let limits = Limits {
        waiting_bytes: MAX_ANSWERS,
        in_flight: MAX_WAITING,
        send_timeout: TIMEOUT,
        receive_timeout: TIMEOUT,
        begins_in_order: true,
        ..Limits::default()
    };
    let association = Association::new(rpc, serves, peer.address, Instant::now());
    tokio::select! {
        () = conn::serve(stream, &peer, frames, limits, watchdog) => {}
        () = run(association, received, &peer, &to_client) => {}
    }
}

/// Until the connection ends, or the client breaks the protocol: then it ends when the client has the answers.
async fn run(
    mut association: Association,
    mut received: mpsc::UnboundedReceiver<IncomingMessage>,
    peer: &Peer,
    to_client: &OnceLock<ToClient>,
) {
    let woken = association.woken();
    loop {
        let due = tokio::time::Instant::from_std(association.due());
        let answers = tokio::select! {
            message = received.recv() => match message {
                Some((message, _answered)) => association.receive(message.to_vec(), Instant::now()).await,
                None => break,
            },
            () = woken.notified() => Ok(association.notices(Instant::now())),
            () = tokio::time::sleep_until(due) => match association.is_idle(Instant::now()) {
                true => Err(Vec::new()),
                false => Ok(association.notices(Instant::now())),
            },
        };
        peer.memory.logged_in(association.has_user());
        let is_over = answers.is_err();
        let (Ok(answers) | Err(answers)) = answers;
        let Some(to_client) = to_client.get() else { break };
        for head in answers {
            to_client.send(Reply { head, ..Reply::default() });
        }
        if is_over {
            to_client.finish();
            break;
        }
    }
    drop(association); // what it has registered ends before its client has taken the last answer
    std::future::pending().await
}

/// A message, and what is dropped when the task has answered it.
type IncomingMessage = (BytesMut, oneshot::Sender<()>);

/// The connection as `conn` sees it: messages go to the task, and are in flight until it has answered them.
struct Frames {
    messages: mpsc::UnboundedSender<IncomingMessage>,
    to_client: Arc<OnceLock<ToClient>>,
}

impl Protocol for Frames {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        if bytes.len() < HEADER {
            return Ok(None);
        }
        let header = Header::decode(&mut Reader::new(bytes)).map_err(|_| "not a message of DCE/RPC")?;
        Ok(Some(header.length.into()))
    }

    fn answer(&self, message: BytesMut, _: InFlight) -> Answer {
        let (answered, is_answered) = oneshot::channel();
        let _ = self.messages.send((message, answered)); // if the task has ended, so does the connection
        Box::pin(async move {
            let _ = is_answered.await; // it is dropped, never sent
            None
        })
    }

    fn began(&self, client: ToClient) {
        let _ = self.to_client.set(client); // a connection begins once
    }
}
