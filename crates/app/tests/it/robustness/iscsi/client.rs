//! An initiator that waits for each answer, with a timeout for every wait.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ::iscsi::client::{Client, Error, Login};

/// The timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The disk of all tests.
pub(crate) const TARGET: &str = "iqn.2026-11.invalid:share.disk";
/// How many blocks of 512 bytes it has.
pub(crate) const BLOCKS: u64 = 64 * 2048;

pub(crate) type Iscsi = Client<TcpStream>;

pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Whether the server closes the connection within this time; data that it still sends are ignored.
pub(crate) fn is_closed_within(stream: &mut TcpStream, time: Duration) -> bool {
    stream.set_read_timeout(Some(time)).unwrap();
    let closed = loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) => break !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    };
    let _ = stream.set_read_timeout(Some(PATIENCE)); // the connection may be over
    closed
}

/// A port of an initiator that is unique in this process: a session of the same port would replace
/// the other.
pub(crate) fn isid() -> [u8; 6] {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let [a, b, c, d] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    [0x80, a, b, c, d, 0] // RFC 7143 11.12.5: random
}

/// A session that is ready for commands.
pub(crate) fn enter(port: u16) -> Iscsi {
    try_enter(port).unwrap()
}

/// The same for a server that may be about to stop.
pub(crate) fn try_enter(port: u16) -> Result<Iscsi, Error> {
    enter_with(port, &login())
}

/// A login to the disk, with a port of its own.
pub(crate) fn login() -> Login<'static> {
    Login { isid: isid(), ..Login::to(TARGET) }
}

pub(crate) fn enter_with(port: u16, login: &Login<'_>) -> Result<Iscsi, Error> {
    let mut client = log_in(port, login)?;
    client.until_ready(0)?;
    Ok(client)
}

/// Only the login.
pub(crate) fn log_in(port: u16, login: &Login<'_>) -> Result<Iscsi, Error> {
    let mut client = Client::new(connect(port)?);
    client.log_in(login)?;
    Ok(client)
}
