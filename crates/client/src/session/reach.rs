//! How clients reach servers.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use crate::{Error, Result};

/// A way that connections take instead of the direct one, such as a slow link.
pub trait Detour: std::fmt::Debug + Send + Sync {
    /// Connects to an address (`host:port`) within the timeout. `open` makes the connection on the thread that calls it.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    fn connect(
        &self,
        address: &str,
        timeout: Duration,
        open: &(dyn Fn(SocketAddr) -> io::Result<TcpStream> + Sync),
    ) -> Result<TcpStream>;
}

/// The way to servers.
#[derive(Debug, Clone)]
pub struct Reach {
    /// How long a connection, and then each answer, may take.
    pub timeout: Duration,
    /// The way that all connections take.
    pub detour: Option<Arc<dyn Detour>>,
    /// The longest TCP segment in both directions, if it is limited.
    pub segment: Option<u32>,
}

impl Reach {
    /// The direct way.
    #[must_use]
    pub fn direct(timeout: Duration) -> Self {
        Self { timeout, detour: None, segment: None }
    }

    /// The timeout, for messages.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.timeout.as_secs().max(1)
    }

    /// Connects to the first address of a host that accepts.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub fn connect(&self, address: &str) -> Result<TcpStream> {
        if let Some(detour) = &self.detour {
            return detour.connect(address, self.timeout, &|address| self.open(address));
        }
        let unreachable = |error| Error::Unreachable(address.to_owned(), error);
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in address.to_socket_addrs().map_err(unreachable)? {
            match self.open(address) {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(unreachable(failed))
    }

    fn open(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let Some(segment) = self.segment else {
            return TcpStream::connect_timeout(&address, self.timeout);
        };
        let domain = socket2::Domain::for_address(address);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
        socket.set_tcp_mss(segment)?; // before the connection: both ends keep to it
        socket.connect_timeout(&address.into(), self.timeout)?;
        Ok(socket.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_a_connection_can_be_limited() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let reach = Reach { segment: Some(536), ..Reach::direct(Duration::from_secs(5)) };
        let stream = reach.connect(&address).unwrap();
        let far = listener.accept().unwrap().0;
        for end in [&stream, &far] {
            assert!(socket2::SockRef::from(end).tcp_mss().unwrap() <= 536);
        }
    }
}
