//! An AFP client that waits for each answer, with a timeout for every wait.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use ::afp::client::{Client, ClientLogin, Error, ForkId, ROOT};
use ::afp::wire::{DirBitmap, FileBitmap, ResultCode};

use crate::robustness::server::USER;

/// The timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(20);

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

/// A user's session with the share open.
pub(crate) struct Afp {
    pub(crate) client: Client<TcpStream>,
    pub(crate) volume: u16,
}

impl Afp {
    /// Logs in as [`USER`] with AFP 3.4, in the share "share".
    pub(crate) fn enter(port: u16) -> Self {
        Self::enter_with(port, "AFP3.4", "share")
    }

    /// The same for a server that may be about to stop.
    pub(crate) fn try_enter(port: u16) -> Result<Self, Error> {
        Self::try_enter_with(port, "AFP3.4", "share")
    }

    pub(crate) fn enter_with(port: u16, version: &str, share: &str) -> Self {
        Self::try_enter_with(port, version, share).unwrap()
    }

    fn try_enter_with(port: u16, version: &str, share: &str) -> Result<Self, Error> {
        let mut client = Client::open(connect(port)?)?;
        client.log_in(version, &ClientLogin::Cleartext { name: USER.0, password: USER.1 })?;
        let volume = client.open_volume(share)?;
        Ok(Self { client, volume })
    }

    /// Makes a file with this content, and leaves it open.
    pub(crate) fn make(&mut self, name: &str, content: &[u8]) -> ForkId {
        self.client.create(self.volume, name).unwrap();
        let fork = self.client.open_data(self.volume, name).unwrap();
        if !content.is_empty() {
            self.client.write(fork, 0, content).unwrap();
        }
        fork
    }

    /// The content of a fork of a file.
    pub(crate) fn content(&mut self, name: &str, resource: bool) -> Result<Vec<u8>, ResultCode> {
        let access = ::afp::wire::fork::AccessMode::READ;
        let fork = self.client.open_fork((self.volume, ROOT, name), resource, access);
        let fork = fork.map_err(|error| error.code().expect("an answer"))?;
        let content = self.client.read(fork, 0, 1 << 20).map_err(|error| error.code().expect("an answer"));
        self.client.close(fork).unwrap();
        content
    }

    /// Requests the parameters of the share's folder: the simplest request of a session.
    pub(crate) fn parameters_of_root(&mut self) {
        let (is_folder, bytes) =
            self.client.parameters((self.volume, ROOT, ""), FileBitmap::empty(), DirBitmap::DIR_ID).unwrap();
        assert!(is_folder);
        assert_eq!(bytes, ROOT.to_be_bytes());
    }
}
