//! A client for session tests and measurements. It blocks, and sends one request after another, or
//! several at a time if the caller sends them before it receives. It shares its codecs with the
//! server: it exercises the server, and proves nothing about the encoding.
//!
//! ```ignore
//! use afp::client::{Client, ClientLogin};
//! let stream = std::net::TcpStream::connect("127.0.0.1:548").unwrap();
//! let mut client = Client::open(stream).unwrap();
//! client.log_in("AFP3.4", &ClientLogin::Cleartext { name: "ada", password: "secret" }).unwrap();
//! let share = client.open_volume("share").unwrap();
//! let file = client.create(share, "notes").unwrap();
//! # let _ = file;
//! ```

mod dhx2;
mod dialect;
mod files;
mod forks;
mod randnum;

use std::io::{self, Read, Write};

use wire::{Reader, Writer};

pub use self::dialect::Dialect;
pub use self::files::{EntryOfList, ROOT};
pub use self::forks::ForkId;
use crate::wire::dsi::{Command, DsiHeader, Options};
use crate::wire::strings::pascal;
use crate::wire::volume::OpenVol;
use crate::wire::{ResultCode, VolumeBitmap, command};

/// A stream of bytes to a server.
pub trait Link: Read + Write {}

impl<T: Read + Write> Link for T {}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection failed.
    #[error("the connection: {0}")]
    Io(#[from] io::Error),
    /// The server returned an error.
    #[error("the server says {0:?}")]
    Refused(ResultCode),
    /// The server's answer violates the protocol.
    #[error("not an answer: {0}")]
    Malformed(#[from] wire::Malformed),
}

impl Error {
    /// The server's result code, if there is one.
    #[must_use]
    pub fn code(&self) -> Option<ResultCode> {
        match self {
            Self::Refused(code) => Some(*code),
            Self::Io(_) | Self::Malformed(_) => None,
        }
    }
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// The method of a login.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "named in full")]
pub enum ClientLogin<'a> {
    Guest,
    Cleartext { name: &'a str, password: &'a str },
    Dhx2 { name: &'a str, password: &'a str },
    Randnum { name: &'a str, password: &'a str },
    TwoWayRandnum { name: &'a str, password: &'a str },
}

/// A frame from the server.
#[derive(Debug, Clone)]
pub struct ServerFrame {
    /// Its header.
    pub header: DsiHeader,
    /// The bytes after the header.
    pub payload: Vec<u8>,
}

impl ServerFrame {
    /// The result code of a reply.
    #[must_use]
    pub fn code(&self) -> ResultCode {
        ResultCode(self.header.code as i32)
    }

    /// The payload of a successful reply.
    ///
    /// # Errors
    /// The server returned an error.
    pub fn well(self) -> Result<Vec<u8>> {
        match self.code() {
            ResultCode::NO_ERROR => Ok(self.payload),
            code => Err(Error::Refused(code)),
        }
    }
}

/// A client.
pub struct Client<L> {
    link: L,
    next_id: u16,
    dialect: Dialect,
    /// The server's options when the session was opened.
    pub options: Options,
    /// Unsolicited frames: attentions and tickles.
    pub unasked: Vec<ServerFrame>,
}

/// The most unsolicited frames that are kept.
const MAX_UNASKED: usize = 1024;
/// The most room that is made for a frame before its bytes arrive.
const MAX_ROOM: usize = 2 << 20;

impl<L: Link> Client<L> {
    /// A client that has sent nothing yet.
    pub fn new(link: L) -> Self {
        Self {
            link,
            next_id: 1,
            dialect: Dialect::default(),
            options: Options::default(),
            unasked: Vec::new(),
        }
    }

    /// Opens a DSI session.
    ///
    /// # Errors
    /// See [`Error`], also for all functions below.
    pub fn open(link: L) -> Result<Self> {
        let mut client = Self::new(link);
        let mut w = Writer::new();
        Options { attention_quantum: Some(1024), ..Options::default() }.encode(&mut w);
        let answer = client.ask(Command::OPEN_SESSION, 0, w.as_bytes())?.well()?;
        client.options = Options::decode(&mut Reader::new(&answer))?;
        Ok(client)
    }

    /// The stream, for tests that violate the protocol.
    pub fn link(&mut self) -> &mut L {
        &mut self.link
    }

    /// The stream, to look at.
    pub fn link_ref(&self) -> &L {
        &self.link
    }

    /// Sends a frame and returns its id.
    pub fn send(&mut self, command: Command, code: u32, payload: &[u8]) -> Result<u16> {
        let (bytes, id) = self.head_of(command, code, payload, 0);
        self.link.write_all(&bytes)?;
        Ok(id)
    }

    /// The beginning of a frame, and its id. The caller sends it, and `more` bytes behind it, which
    /// need not be copied.
    pub fn head_of(&mut self, command: Command, code: u32, payload: &[u8], more: usize) -> (Vec<u8>, u16) {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let length = (payload.len() + more) as u32;
        let mut w = Writer::new();
        DsiHeader { is_reply: false, command, id, code, length }.encode(&mut w);
        w.put(payload);
        (w.into_bytes(), id)
    }

    /// Receives the next reply. Keeps unsolicited frames, and does not answer them.
    pub fn receive(&mut self) -> Result<ServerFrame> {
        loop {
            let frame = self.receive_any()?;
            if frame.header.is_reply {
                return Ok(frame);
            }
            if self.unasked.len() < MAX_UNASKED {
                self.unasked.push(frame);
            }
        }
    }

    /// Receives the next frame of any kind.
    pub fn receive_any(&mut self) -> Result<ServerFrame> {
        let mut header = [0; DsiHeader::LEN];
        self.link.read_exact(&mut header)?;
        let header = DsiHeader::decode(&mut Reader::new(&header))?;
        let length = header.length as usize;
        // One long read takes a third less of a processor than `read_to_end`, which begins with short ones.
        let mut payload = vec![0; length.min(MAX_ROOM)];
        self.link.read_exact(&mut payload)?;
        let rest = length - payload.len();
        if (&mut self.link).take(rest as u64).read_to_end(&mut payload)? != rest {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(ServerFrame { header, payload })
    }

    /// Sends a frame and waits for its answer.
    pub fn ask(&mut self, command: Command, code: u32, payload: &[u8]) -> Result<ServerFrame> {
        let id = self.send(command, code, payload)?;
        let answer = self.receive()?;
        match answer.header.id == id {
            true => Ok(answer),
            false => Err(wire::Malformed("an answer to another question").into()),
        }
    }

    /// Sends a command: its number, followed by the output of `body`.
    pub fn call(&mut self, number: u8, body: impl FnOnce(&mut Writer)) -> Result<ServerFrame> {
        self.ask(Command::COMMAND, 0, message(number, body).as_bytes())
    }

    /// Sends a command with data after it (DSI write).
    pub fn call_with_data(
        &mut self,
        number: u8,
        body: impl FnOnce(&mut Writer),
        data: &[u8],
    ) -> Result<ServerFrame> {
        let mut w = message(number, body);
        let at = w.len() as u32;
        w.put(data);
        self.ask(Command::WRITE, at, w.as_bytes())
    }

    /// The block of server information (DSI GetStatus).
    pub fn status(&mut self) -> Result<Vec<u8>> {
        self.ask(Command::GET_STATUS, 0, &[])?.well()
    }

    /// Logs in. The version decides the dialect of all further commands.
    pub fn log_in(&mut self, version: &str, login: &ClientLogin<'_>) -> Result<()> {
        self.dialect = Dialect::of(version);
        let put: Box<dyn Fn(&mut Writer)> = match *login {
            ClientLogin::Dhx2 { name, password } => return self.log_in_by_dhx2(version, name, password),
            ClientLogin::Randnum { name, password } => {
                return self.log_in_by_randnum(version, name, password, false);
            }
            ClientLogin::TwoWayRandnum { name, password } => {
                return self.log_in_by_randnum(version, name, password, true);
            }
            ClientLogin::Guest => Box::new(|w| pascal::put(w, b"No User Authent")),
            ClientLogin::Cleartext { name, password } => Box::new(move |w| cleartext(name, password, w)),
        };
        let answer = self.call(command::LOGIN, |w| {
            pascal::put(w, version.as_bytes());
            put(w);
        })?;
        answer.well().map(drop)
    }

    /// Opens a volume and returns its number.
    pub fn open_volume(&mut self, name: &str) -> Result<u16> {
        let name = self.dialect.name(name);
        let request = OpenVol { bitmap: VolumeBitmap::ID, name: name.path().bytes, password: None };
        let reply = self.call(command::OPEN_VOL, |w| request.encode(w))?.well()?;
        let mut r = Reader::new(&reply);
        r.skip(2)?;
        Ok(r.u16_be()?)
    }

    /// The names of the volumes that this user may see.
    pub fn volumes(&mut self) -> Result<Vec<Vec<u8>>> {
        let reply = self.call(command::GET_SRVR_PARMS, |w| w.u8(0))?.well()?;
        let mut r = Reader::new(&reply);
        r.skip(4)?; // the server's time
        let count = r.u8()?;
        let mut names = Vec::new();
        for _ in 0..count {
            r.skip(1)?; // flags
            names.push(pascal::read(&mut r)?.to_vec());
        }
        Ok(names)
    }

    /// Sends a DSI tickle.
    pub fn tickle(&mut self) -> Result<()> {
        self.send(Command::TICKLE, 0, &[]).map(drop)
    }
}

fn message(number: u8, body: impl FnOnce(&mut Writer)) -> Writer {
    let mut w = Writer::new();
    w.u8(number);
    body(&mut w);
    w
}

/// The user name, a padding byte up to an even offset, eight bytes of password.
fn cleartext(name: &str, password: &str, w: &mut Writer) {
    pascal::put(w, b"Cleartxt Passwrd");
    pascal::put(w, name.as_bytes());
    if !w.len().is_multiple_of(2) {
        w.u8(0);
    }
    let mut bytes = [0; 8];
    let length = password.len().min(bytes.len());
    bytes[..length].copy_from_slice(&password.as_bytes()[..length]);
    w.put(&bytes);
}
