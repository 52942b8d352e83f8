//! A connection by DCE/RPC over TCP. Every wait has a limit.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dcerpc::Syntax;
use dcerpc::client::{self, Answer};
use dcerpc::pdu::{HEADER, Header};
use wire::Malformed;

use super::keys::Seal;

/// How long a controller may take to connect.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// How long it may take for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// The longest answer. A user in 10,000 groups has 80 KiB of numbers, or 400 KiB of SIDs.
const LONGEST_ANSWER: usize = 1 << 20;

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The connection has ended, or no answer has come in time.
    Broken(String),
    /// The controller refuses the call: a status of C706 E, or of Windows.
    Fault(u32),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(why) => f.write_str(why),
            Self::Fault(status) => write!(f, "it refuses the call with the status {status:#x}"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(match error.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => "no answer in time".into(),
            std::io::ErrorKind::UnexpectedEof => "it has closed the connection".into(),
            _ => error.to_string(),
        })
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self::Broken(malformed.to_string())
    }
}

/// A connection that is bound to an interface.
pub(super) struct Association {
    stream: TcpStream,
    seal: Option<Seal>,
    call: u32,
}

impl Association {
    /// Connects, and binds. With a seal, all calls are encrypted; `token` is what the bind says of this server then.
    pub(super) fn open(
        address: SocketAddr,
        interface: Syntax,
        sealed: Option<(Seal, &[u8])>,
    ) -> Result<Self, Failure> {
        let stream = TcpStream::connect_timeout(&address, CONNECT_WITHIN)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        let (seal, token) = sealed.unzip();
        let mut association = Self { stream, seal, call: 1 };
        association.stream.write_all(&client::bind(association.call, interface, token))?;
        let (header, body) = association.fragment(Instant::now() + ANSWER_WITHIN)?;
        match Answer::decode(&header, &body)? {
            Answer::Bound => Ok(association),
            Answer::NotBound(reason) => {
                Err(Failure::Broken(format!("it does not have the interface (reason {reason})")))
            }
            Answer::Fault(status) => Err(Failure::Fault(status)),
            Answer::Response(_) => Err(Failure::Broken("an answer that nothing asked for".into())),
        }
    }

    /// Calls an operation. After a [`Failure::Broken`] the association must be dropped: its messages are out of order.
    pub(super) fn call(&mut self, operation: u16, stub: &[u8]) -> Result<Vec<u8>, Failure> {
        if stub.len() > client::LONGEST_STUB {
            return Err(Failure::Broken("a question that is too long".into()));
        }
        let until = Instant::now() + ANSWER_WITHIN;
        self.call = self.call.wrapping_add(1);
        let request = self.request(operation, stub)?;
        self.stream.write_all(&request)?;
        let mut answer = Vec::new();
        loop {
            let (header, body) = self.fragment(until)?;
            let part = match Answer::decode(&header, &body)? {
                Answer::Response(part) if header.call == self.call => part,
                Answer::Fault(status) => return Err(Failure::Fault(status)),
                _ => return Err(Failure::Broken("an answer to another question".into())),
            };
            let mut data = part.data.to_vec();
            if let Some(seal) = &mut self.seal
                && !seal.open(&mut data, part.token)
            {
                return Err(Failure::Broken("an answer that was not sealed by it".into()));
            }
            data.truncate(data.len().saturating_sub(part.padding));
            answer.extend(data);
            if answer.len() > LONGEST_ANSWER {
                return Err(Failure::Broken("an answer that is too long".into()));
            }
            if client::is_last(&header) {
                return Ok(answer);
            }
        }
    }

    fn request(&mut self, operation: u16, stub: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(seal) = &mut self.seal else { return Ok(client::request(self.call, operation, stub)) };
        let mut confounder = [0; 8];
        getrandom::fill(&mut confounder).map_err(|error| Failure::Broken(error.to_string()))?;
        let mut is_sealed = true;
        let request = client::sealed_request((self.call, operation), stub, |data| {
            let token = seal.seal(data, confounder);
            is_sealed = token.is_some();
            token.unwrap_or_default()
        });
        match is_sealed {
            true => Ok(request),
            false => Err(Failure::Broken("nothing can be encrypted".into())),
        }
    }

    fn fragment(&mut self, until: Instant) -> Result<(Header, Vec<u8>), Failure> {
        let mut header = [0; HEADER];
        self.read(&mut header, until)?;
        let header = client::answer_header(&header)?;
        let mut body = vec![0; usize::from(header.length) - HEADER];
        self.read(&mut body, until)?;
        Ok((header, body))
    }

    /// Fills the buffer before a point in time, however slowly bytes come.
    fn read(&mut self, buffer: &mut [u8], until: Instant) -> std::io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut buffer[filled..]) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
