//! A connection to a server in the same process, without a socket.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use conn::{InFlight, Peer, Protocol, Reply, ToClient};

/// The longest time that a server may take. No operation of this test waits for another client.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Link {
    protocol: Arc<dyn Protocol>,
    inbox: Arc<Mutex<VecDeque<u8>>>,
}

/// The other end of a new connection from this address.
pub fn peer(address: IpAddr) -> Peer {
    static PORT: AtomicU16 = AtomicU16::new(512);
    let port = PORT.fetch_add(1, Ordering::Relaxed);
    Peer {
        address: (address, port).into(),
        since: SystemTime::now(),
        counters: Arc::default(),
        memory: Arc::default(),
    }
}

impl Link {
    pub fn new(protocol: impl Protocol) -> Self {
        let inbox: Arc<Mutex<VecDeque<u8>>> = Arc::default();
        let told = inbox.clone();
        let protocol: Arc<dyn Protocol> = Arc::new(protocol);
        protocol.began(ToClient::of(move |reply| reply.map(|reply| take(&told, reply)).is_some()));
        Self { protocol, inbox }
    }

    /// Sends one whole message and waits for its answer.
    pub async fn put(&self, message: &[u8]) -> io::Result<()> {
        let length = self.protocol.message_length(message).map_err(io::Error::other)?;
        assert_eq!(length, Some(message.len()), "one whole message");
        let answer = self.protocol.answer(BytesMut::from(message), InFlight::default());
        let reply = tokio::time::timeout(PATIENCE, answer).await.map_err(|_| io::ErrorKind::TimedOut)?;
        reply.into_iter().for_each(|reply| take(&self.inbox, reply));
        Ok(())
    }

    /// The next bytes of the server.
    pub fn fetch(&self, length: usize) -> io::Result<Vec<u8>> {
        let mut inbox = self.inbox.lock().expect("no panic");
        if inbox.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(inbox.drain(..length).collect())
    }
}

fn take(inbox: &Mutex<VecDeque<u8>>, reply: Reply) {
    inbox.lock().expect("no panic").extend(reply.into_bytes().expect("data that can be read"));
}

impl Drop for Link {
    fn drop(&mut self) {
        self.protocol.ended();
    }
}
