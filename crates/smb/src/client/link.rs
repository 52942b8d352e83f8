//! The way to a server.

use std::future::Future;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, ToSocketAddrs};

use crate::wire::frame;

/// Carries frames to a server and back.
pub trait Link: Send {
    /// Sends a frame, its prefix included.
    fn send(&mut self, frame: &[u8]) -> impl Future<Output = io::Result<()>> + Send;

    /// The next frame from the server, without its prefix.
    fn receive(&mut self) -> impl Future<Output = io::Result<Vec<u8>>> + Send;
}

/// Direct TCP, MS-SMB2 2.1.
pub struct Tcp(TcpStream);

impl Tcp {
    /// Connects.
    ///
    /// # Errors
    /// The server does not accept the connection.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }
}

impl Link for Tcp {
    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.write_all(frame).await
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut prefix = [0; frame::PREFIX_LEN];
        self.0.read_exact(&mut prefix).await?;
        let length = frame::decode(prefix).map_err(|error| io::Error::other(error.to_string()))?;
        let mut message = vec![0; length];
        self.0.read_exact(&mut message).await?;
        Ok(message)
    }
}
