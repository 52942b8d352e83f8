//! Forwards a connection from the near end of a link to a server that does not listen there.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes that are forwarded at once.
const BLOCK: usize = 256 << 10;

/// Waits at the near end for one connection, and forwards it. Returns where it waits.
pub(super) fn start(near: Ipv4Addr, server: SocketAddr, timeout: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((near, 0))?;
    let at = listener.local_addr()?;
    std::thread::Builder::new().spawn(move || {
        // The client notices that its connection ends, and says so.
        let _ = accept(&listener, timeout).and_then(|client| forward(client, server, timeout));
    })?;
    Ok(at)
}

/// The next connection, within a time.
pub(super) fn accept(listener: &TcpListener, timeout: Duration) -> io::Result<TcpStream> {
    let limit = Timespec::try_from(timeout).map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&limit))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(listener.accept()?.0),
    }
}

fn forward(client: TcpStream, server: SocketAddr, timeout: Duration) -> io::Result<()> {
    let server = TcpStream::connect_timeout(&server, timeout)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    let there = std::thread::Builder::new().spawn(move || pump(&from, &to))?;
    pump(&server, &client);
    let _ = there.join();
    Ok(())
}

/// Copies until the end, then closes the way.
fn pump(mut from: &TcpStream, mut to: &TcpStream) {
    let mut block = vec![0; BLOCK];
    while let Ok(count @ 1..) = from.read(&mut block) {
        if to.write_all(&block[..count]).is_err() {
            // The other direction ends, too.
            let _ = from.shutdown(Shutdown::Both);
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_forwarded_until_their_ends() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let limit = Duration::from_secs(5);
        let at = start(Ipv4Addr::LOCALHOST, server.local_addr().unwrap(), limit).unwrap();
        let mut client = TcpStream::connect(at).unwrap();
        client.write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut far = accept(&server, limit).unwrap();
        let mut said = String::new();
        far.read_to_string(&mut said).unwrap();
        far.write_all(b"answer").unwrap();
        drop(far);
        let mut heard = String::new();
        client.read_to_string(&mut heard).unwrap();
        assert_eq!((said.as_str(), heard.as_str()), ("question", "answer"));
    }

    #[test]
    fn a_connection_that_does_not_come_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = accept(&listener, Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
