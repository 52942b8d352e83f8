//! Requests into a frame, a frame into answers.

use std::collections::HashMap;
use std::sync::Arc;

use wire::{Malformed, Writer};

use super::{Error, HEADER, Session, encoded};
use crate::wire::frame::Kind;
use crate::wire::header::Id;
use crate::wire::transform::Transform;
use crate::wire::{Command, Flags, Header, Status};

/// How a frame is protected.
#[derive(Clone, Copy)]
pub enum FrameProtection<'a> {
    /// Not at all.
    Plain,
    /// Each request with a signature.
    Signed(&'a Session),
    /// Encrypted as a whole.
    Sealed(&'a Session),
}

/// A request on its way. All of its header can be changed, the message id excepted.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its header.
    pub header: Header,
    /// What follows.
    pub body: Vec<u8>,
}

impl Request {
    /// A request outside of any session.
    pub fn new(command: Command, encode: impl FnOnce(&mut Writer)) -> Self {
        let mut header = Header::request(command, 0);
        header.credits = 64;
        Self { header, body: encoded(encode) }
    }

    /// The same in a session and a tree.
    #[must_use]
    pub fn on(mut self, session_id: u64, tree: u32) -> Self {
        self.header.session_id = session_id;
        self.header.id = Id::Sync { reserved: 0, tree };
        self
    }

    /// The same, about what the one before in the chain was about.
    #[must_use]
    pub fn related(mut self) -> Self {
        self.header.flags |= Flags::RELATED;
        self.on(u64::MAX, u32::MAX)
    }

    /// The same, paid with this many credits.
    #[must_use]
    pub fn charge(mut self, credits: u16) -> Self {
        self.header.credit_charge = credits;
        self
    }
}

/// What the client knows about the sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    None,
    /// Its signature is right.
    Signed,
    /// Its signature is wrong.
    Wrong,
    /// Signed in a session that this client does not know yet.
    Unknown,
    /// It came encrypted.
    Sealed,
}

/// A message of the server.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its header.
    pub header: Header,
    /// All of it, from its header on.
    pub message: Vec<u8>,
    /// The proof of its sender.
    pub proof: Proof,
    /// How many messages precede it in its frame.
    pub position: usize,
}

impl Answer {
    /// Its status.
    pub fn status(&self) -> Status {
        self.header.status
    }

    /// Fails unless it has this status.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn expect(&self, status: Status) -> Result<(), Error> {
        if self.header.status == status { Ok(()) } else { Err(Error::Refused(self.header.status)) }
    }
}

/// These requests as one frame.
pub(super) fn frame(requests: &[Request], how: FrameProtection<'_>) -> Vec<u8> {
    let room = if matches!(how, FrameProtection::Sealed(_)) { Transform::LEN } else { 0 };
    let mut bytes = vec![0; 4 + room];
    for (at, request) in requests.iter().enumerate() {
        let start = bytes.len();
        let mut header = request.header;
        let signs = matches!(how, FrameProtection::Signed(_)) && header.command != Command::NEGOTIATE;
        if signs {
            header.flags |= Flags::SIGNED;
        }
        let is_last = at + 1 == requests.len();
        let length = HEADER + request.body.len();
        header.next_command = if is_last { header.next_command } else { length.next_multiple_of(8) as u32 };
        let mut w = Writer::onto(bytes);
        header.encode(&mut w);
        w.put(&request.body);
        w.zeros(if is_last { 0 } else { length.next_multiple_of(8) - length });
        bytes = w.into_bytes();
        if let FrameProtection::Signed(session) = how {
            session.signer.sign(&mut bytes[start..]);
        }
    }
    if let FrameProtection::Sealed(session) = how
        && let Some(sealer) = &session.sealer
    {
        sealer.seal(session.id, &mut bytes[4..]);
    }
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// The messages of a frame.
pub(super) fn take_apart(
    mut frame: Vec<u8>,
    sessions: &HashMap<u64, Arc<Session>>,
) -> Result<Vec<Answer>, Error> {
    let is_sealed = Kind::of(&frame) == Some(Kind::Transform);
    if is_sealed {
        let transform = Transform::decode(&frame)?;
        let session = sessions.get(&transform.session_id).ok_or(Error::Unproven)?;
        let sealer = session.sealer.as_ref().ok_or(Error::Unproven)?;
        sealer.open(&mut frame).map_err(|_| Error::Unproven)?;
        frame.drain(..Transform::LEN);
    }
    let mut answers = Vec::new();
    loop {
        let header = Header::decode(&frame)?;
        let next = header.next_command as usize;
        if next > frame.len() || (1..HEADER).contains(&next) {
            return Err(Malformed("a chain that leads out of its frame").into());
        }
        let rest = frame.split_off(if next == 0 { frame.len() } else { next });
        let proof = match sessions.get(&header.session_id) {
            _ if is_sealed => Proof::Sealed,
            _ if !header.flags.contains(Flags::SIGNED) => Proof::None,
            None => Proof::Unknown,
            Some(session) if session.signer.verify(&frame) => Proof::Signed,
            Some(_) => Proof::Wrong,
        };
        answers.push(Answer { header, message: frame, proof, position: answers.len() });
        if next == 0 {
            return Ok(answers);
        }
        frame = rest;
    }
}
