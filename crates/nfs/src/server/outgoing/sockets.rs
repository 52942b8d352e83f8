//! Calls to other hosts, over the host's own sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UdpSocket, UnixStream};
use tokio::time::timeout;

use super::{CallEndpoint, CallNetwork, ExchangeFuture};
use crate::wire::rpc::RecordMark;

/// How long each datagram waits for its reply before it is sent again.
const PATIENCE: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// The longest time of a connection, including connecting, asking and answering.
const WHOLE: Duration = Duration::from_secs(5);
/// The longest reply that is accepted.
const LONGEST: usize = 64 * 1024;
/// rpcbind and some lock managers trust only calls from privileged ports.
const RESERVED: std::ops::RangeInclusive<u16> = 900..=1023;
const RESERVED_TRIES: usize = 8;

/// The host's own network.
#[derive(Debug, Default)]
pub struct HostSockets;

impl CallNetwork for HostSockets {
    fn exchange<'a>(&'a self, to: &'a CallEndpoint, message: Vec<u8>) -> ExchangeFuture<'a> {
        Box::pin(async move {
            match to {
                CallEndpoint::Udp(to) => by_datagram(*to, &message).await,
                CallEndpoint::Tcp(to) => in_time(async { over(connect(*to).await?, &message).await }).await,
                CallEndpoint::Unix(to) => {
                    in_time(async { over(UnixStream::connect(to).await?, &message).await }).await
                }
            }
        })
    }

    /// Asks the routing table with a socket that sends nothing.
    fn address_towards(&self, peer: IpAddr) -> Option<IpAddr> {
        let socket = std::net::UdpSocket::bind(SocketAddr::new(any(peer), 0)).ok()?;
        socket.connect(SocketAddr::new(peer, super::super::portmap::PORT)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    }
}

async fn in_time(exchange: impl Future<Output = io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
    timeout(WHOLE, exchange).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn by_datagram(to: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let socket = datagrams(to.ip()).await?;
    socket.connect(to).await?; // from here on the socket receives only from that address
    for patience in PATIENCE {
        socket.send(message).await?;
        if let Ok(reply) = timeout(patience, reply_to(message, &socket)).await {
            return reply;
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

async fn reply_to(message: &[u8], socket: &UdpSocket) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; LONGEST];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if length >= 4 && buffer[..4] == message[..4] {
            buffer.truncate(length);
            return Ok(buffer);
        }
    }
}

/// One record out, one record in.
async fn over(mut stream: impl AsyncRead + AsyncWrite + Unpin, message: &[u8]) -> io::Result<Vec<u8>> {
    // Messages of this server are short.
    let mark = RecordMark { last: true, len: message.len() as u32 };
    stream.write_all(&[&mark.to_bytes()[..], message].concat()).await?;
    let mut reply = Vec::new();
    loop {
        let mut mark = [0; RecordMark::SIZE];
        stream.read_exact(&mut mark).await?;
        let mark = RecordMark::from_bytes(mark);
        let (start, length) = (reply.len(), mark.len as usize);
        if start + length > LONGEST || (length == 0 && !mark.last) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        reply.resize(start + length, 0);
        stream.read_exact(&mut reply[start..]).await?;
        if mark.last {
            let ours = reply.get(..4) == message.get(..4);
            return if ours { Ok(reply) } else { Err(io::ErrorKind::InvalidData.into()) };
        }
    }
}

async fn datagrams(to: IpAddr) -> io::Result<UdpSocket> {
    for port in reserved_ports() {
        if let Ok(socket) = UdpSocket::bind(SocketAddr::new(any(to), port)).await {
            return Ok(socket);
        }
    }
    UdpSocket::bind(SocketAddr::new(any(to), 0)).await
}

async fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    for port in reserved_ports() {
        let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if socket.bind(SocketAddr::new(any(to.ip()), port)).is_ok() {
            return socket.connect(to).await;
        }
    }
    TcpStream::connect(to).await
}

/// A few reserved ports, in varying order. A process without the privilege gets an error for the
/// first one.
fn reserved_ports() -> impl Iterator<Item = u16> {
    let mut bytes = [0; 2 * RESERVED_TRIES];
    getrandom::fill(&mut bytes).unwrap_or_default();
    let spread = RESERVED.end() - RESERVED.start() + 1;
    let pairs = (0..RESERVED_TRIES).map(move |at| u16::from_ne_bytes([bytes[2 * at], bytes[2 * at + 1]]));
    pairs.map(move |random| RESERVED.start() + random % spread)
}

fn any(family_of: IpAddr) -> IpAddr {
    match family_of {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}
