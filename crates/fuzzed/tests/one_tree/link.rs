//! A connection to a server: in the same process, without a socket; or over TCP.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use conn::{InFlight, Peer, Protocol, Reply, ToClient};

use crate::costs;

/// The longest time that a server may take. No operation of this test waits for another client.
const PATIENCE: Duration = Duration::from_secs(20);

pub enum Link {
    Here { protocol: Arc<dyn Protocol>, inbox: Arc<Mutex<VecDeque<u8>>> },
    There(TcpStream),
}

/// The other end of a new connection from this address.
pub fn peer(address: IpAddr) -> Peer {
    static PORT: AtomicU16 = AtomicU16::new(512);
    let port = PORT.fetch_add(1, Ordering::Relaxed);
    Peer {
        address: (address, port).into(),
        local: None,
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
        Self::Here { protocol, inbox }
    }

    /// To a server that runs.
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Self::There(stream)
    }

    /// Sends one whole message. A server in this process has answered it then.
    pub async fn put(&self, message: &[u8]) -> io::Result<()> {
        let (protocol, inbox) = match self {
            Self::Here { protocol, inbox } => (protocol, inbox),
            Self::There(stream) => return (&mut &*stream).write_all(message),
        };
        let length = protocol.message_length(message).map_err(io::Error::other)?;
        assert_eq!(length, Some(message.len()), "one whole message");
        let answer = protocol.answer(BytesMut::from(message), InFlight::default());
        costs::begin();
        let reply = tokio::time::timeout(PATIENCE, answer).await.map_err(|_| io::ErrorKind::TimedOut);
        costs::end();
        let reply = reply?;
        reply.into_iter().for_each(|reply| take(inbox, reply));
        Ok(())
    }

    /// The next bytes of the server.
    pub fn fetch(&self, length: usize) -> io::Result<Vec<u8>> {
        let inbox = match self {
            Self::Here { inbox, .. } => inbox,
            Self::There(stream) => {
                let mut bytes = vec![0; length];
                return (&mut &*stream).read_exact(&mut bytes).map(|()| bytes);
            }
        };
        let mut inbox = inbox.lock().expect("no panic");
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
        if let Self::Here { protocol, .. } = self {
            protocol.ended();
        }
    }
}
