//! The client's side, as far as tests and measurements need it. It negotiates, logs in, signs and
//! seals. It sends whatever the test asks for, also what no proper client sends.
//!
//! ```text
//! Client ─► Link      a connection: TCP, or in a test the server itself
//!   │
//!   └─ Session        keys; one connection can have several, several connections can share one
//! ```

mod chain;
mod link;
pub(crate) mod login;
mod requests;
mod session;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use wire::{Malformed, Writer};

pub use self::chain::{Answer, FrameProtection, Proof, Request};
pub use self::link::{Link, Tcp};
pub use self::login::{Credentials, SetUp};
pub use self::requests::{open_request, read_request};
pub use self::session::Session;
use crate::server::login::crypto::preauth::PreauthHash;
use crate::wire::negotiate::{self, Response};
use crate::wire::negotiate_context::{Cipher, Context, POSIX, SHA_512, Signing};
use crate::wire::{Capabilities, Command, Dialect, Header, SecurityMode, Status};

/// Why something has failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection is over, or never came about.
    #[error(transparent)]
    Connection(#[from] io::Error),
    /// The server refused the request.
    #[error("{0:?}")]
    Refused(Status),
    /// The client cannot decode what the server sent.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The server's signature does not prove its identity.
    #[error("a signature that is wrong or missing")]
    Unproven,
}

/// What a client says of itself when it negotiates, MS-SMB2 2.2.3.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The versions it speaks.
    pub dialects: Vec<Dialect>,
    /// Its own number.
    pub guid: [u8; 16],
    /// What it can do.
    pub capabilities: Capabilities,
    /// Whether it signs.
    pub security_mode: SecurityMode,
    /// The ciphers of a 3.1.1 client. Empty: the request has no such context.
    pub ciphers: Vec<Cipher>,
    /// The signing algorithms of a 3.1.1 client. Empty: the request has no such context.
    pub signing: Vec<Signing>,
    /// A 3.1.1 client offers the POSIX extensions, as Linux does.
    pub posix: bool,
}

impl Default for Offer {
    fn default() -> Self {
        Self::of(Dialect::SMB_3_1_1)
    }
}

impl Offer {
    /// The offer of a client that speaks this dialect alone, and all that goes with it.
    pub fn of(dialect: Dialect) -> Self {
        Self {
            dialects: vec![dialect],
            guid: *b"a client's guid ",
            capabilities: Capabilities(0x7F),
            security_mode: SecurityMode::SIGNING_ENABLED,
            ciphers: vec![Cipher::AES_128_GCM],
            signing: vec![Signing::AES_GMAC],
            posix: false,
        }
    }

    fn request(&self) -> negotiate::Request {
        let mut contexts = Vec::new();
        if self.dialects.contains(&Dialect::SMB_3_1_1) {
            contexts.push(Context::PreauthIntegrity { hashes: vec![SHA_512], salt: vec![0x5A; 32] });
            if !self.ciphers.is_empty() {
                contexts.push(Context::Encryption(self.ciphers.clone()));
            }
            if !self.signing.is_empty() {
                contexts.push(Context::Signing(self.signing.clone()));
            }
            if self.posix {
                contexts.push(Context::Posix(POSIX.to_vec()));
            }
        }
        negotiate::Request {
            security_mode: self.security_mode,
            capabilities: self.capabilities,
            client_guid: self.guid,
            dialects: self.dialects.clone(),
            contexts,
        }
    }
}

/// One connection to a server.
pub struct Client<L> {
    /// The connection's transport.
    pub link: L,
    /// The id of the next message.
    pub next_id: u64,
    /// What the server has answered to NEGOTIATE.
    pub agreed: Option<Response>,
    preauth: PreauthHash,
    sessions: HashMap<u64, Arc<Session>>,
    /// Answers that no caller has asked for yet, and messages that the server sent on its own.
    inbox: VecDeque<Answer>,
}

impl<L: Link> Client<L> {
    /// A connection over which no message has been sent.
    pub fn new(link: L) -> Self {
        Self {
            link,
            next_id: 0,
            agreed: None,
            preauth: PreauthHash::new(),
            sessions: HashMap::new(),
            inbox: VecDeque::new(),
        }
    }

    /// NEGOTIATE.
    ///
    /// # Errors
    /// The server has refused, or hung up.
    pub async fn negotiate(&mut self, offer: &Offer) -> Result<&Response, Error> {
        let request = Request::new(Command::NEGOTIATE, |w| offer.request().encode(w));
        let (sent, answer) = self.exchange(request, FrameProtection::Plain).await?;
        answer.expect(Status::SUCCESS)?;
        self.preauth.update(&sent);
        self.preauth.update(&answer.message);
        let response = Response::decode(&answer.message)?;
        Ok(self.agreed.insert(response))
    }

    /// The dialect that was agreed on.
    pub fn dialect(&self) -> Dialect {
        self.agreed.as_ref().map_or(Dialect(0), |agreed| agreed.dialect)
    }

    /// Sends these requests in one frame. Returns their message ids.
    ///
    /// # Errors
    /// The connection is over.
    pub async fn send(
        &mut self,
        requests: Vec<Request>,
        how: FrameProtection<'_>,
    ) -> Result<Vec<u64>, Error> {
        let (ids, frame) = self.prepare(requests, how);
        self.link.send(&frame).await?;
        Ok(ids)
    }

    /// The frame of these requests, with message ids. The caller sends it.
    pub fn prepare(&mut self, mut requests: Vec<Request>, how: FrameProtection<'_>) -> (Vec<u64>, Vec<u8>) {
        for request in &mut requests {
            if request.header.command == Command::CANCEL {
                continue;
            }
            request.header.message_id = self.next_id;
            self.next_id = self.next_id.wrapping_add(request.header.credit_charge.max(1).into());
        }
        let ids = requests.iter().map(|request| request.header.message_id).collect();
        (ids, chain::frame(&requests, how))
    }

    /// The final answer to a message. Interim answers are skipped.
    ///
    /// # Errors
    /// The connection is over.
    pub async fn answer(&mut self, message_id: u64) -> Result<Answer, Error> {
        let is_it = |answer: &Answer| {
            answer.header.message_id == message_id && answer.header.status != Status::PENDING
        };
        self.wait_for(is_it).await
    }

    /// The next message for which `wanted` holds.
    ///
    /// # Errors
    /// The connection is over.
    pub async fn wait_for(&mut self, wanted: impl Fn(&Answer) -> bool) -> Result<Answer, Error> {
        loop {
            if let Some(at) = self.inbox.iter().position(&wanted) {
                return Ok(self.inbox.remove(at).expect("just found"));
            }
            let frame = self.link.receive().await?;
            let answers = chain::take_apart(frame, &self.sessions)?;
            self.inbox.extend(answers);
        }
    }

    /// A request and its answer.
    ///
    /// # Errors
    /// The connection is over.
    pub async fn call(&mut self, request: Request, how: FrameProtection<'_>) -> Result<Answer, Error> {
        let ids = self.send(vec![request], how).await?;
        self.answer(ids[0]).await
    }

    /// The same. Also returns the request as it was sent, from its header on.
    async fn exchange(
        &mut self,
        request: Request,
        how: FrameProtection<'_>,
    ) -> Result<(Vec<u8>, Answer), Error> {
        let (ids, frame) = self.prepare(vec![request], how);
        self.link.send(&frame).await?;
        let answer = self.answer(ids[0]).await?;
        Ok((frame[4..].to_vec(), answer))
    }
}

/// What `encode` writes.
fn encoded(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    encode(&mut w);
    w.into_bytes()
}

/// Room for a header.
const HEADER: usize = Header::LEN;
