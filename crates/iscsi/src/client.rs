//! An initiator for session tests and load tests of the server. It blocks, and works over any
//! stream of bytes. Several commands are in flight if the caller begins them before it waits. It
//! shares its codecs with the server: it exercises the server, and proves nothing about the
//! encoding.
//!
//! ```ignore
//! use iscsi::client::{Client, Login};
//! let stream = std::net::TcpStream::connect("127.0.0.1:3260").unwrap();
//! let mut client = Client::new(stream);
//! client.log_in(&Login::to("iqn.2026-11.example:share.disk")).unwrap();
//! client.until_ready(0).unwrap();
//! client.write(0, 0, &[7; 4096], true).unwrap();
//! assert_eq!(client.read(0, 0, 8).unwrap(), [7; 4096]);
//! ```

mod blocks;
mod chap;
mod login;
mod pdu;
mod task;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};

use wire::{Reader, Writer};

pub use self::blocks::command_16;
pub use self::chap::{Algorithm, Chap};
pub use self::login::{Login, NegotiatedParameters};
pub use self::pdu::Pdu;
pub use self::task::{Answer, Data};
use crate::wire::pdu::{
    Function, FunctionResult, LoginStatus, LogoutReason, LogoutRequest, LogoutResponse, LogoutResult, Lun,
    NO_TAG, NopIn, NopOut, Opcode, RejectReason, TaskRequest, TaskResponse, TextRequest, TextResponse,
};
use crate::wire::scsi::{Asc, Key, Status};

/// A stream of bytes to a target.
pub trait Link: Read + Write {}

impl<T: Read + Write> Link for T {}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection failed.
    #[error("the connection: {0}")]
    Io(#[from] io::Error),
    /// The target refused the login.
    #[error("the login is refused: {0:?}")]
    Login(LoginStatus),
    /// The target does not prove that it knows the secret.
    #[error("the target does not prove that it knows the secret")]
    Impostor,
    /// The target rejected a PDU.
    #[error("rejected: {0:?}")]
    Rejected(RejectReason),
    /// The command failed.
    #[error("{0:?}, {1:?}")]
    Command(Status, Option<(Key, Asc)>),
    /// The target's answer violates the protocol.
    #[error("not an answer: {0}")]
    Malformed(#[from] wire::Malformed),
}

impl Error {
    /// The sense of a command that failed with sense data.
    #[must_use]
    pub fn sense(&self) -> Option<(Key, Asc)> {
        match self {
            Self::Command(_, sense) => *sense,
            _ => None,
        }
    }

    /// The status of a command that failed.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Command(status, _) => Some(*status),
            _ => None,
        }
    }
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// The most unsolicited PDUs of the target that are kept.
const MAX_UNASKED: usize = 1024;

/// A connection of an initiator. It is also its session.
pub struct Client<L> {
    link: L,
    next_tag: u32,
    /// The number of the next command.
    pub cmd_sn: u32,
    /// The number that the next response must have.
    pub exp_stat_sn: u32,
    /// The last command that the target accepts, as it last said.
    pub max_cmd_sn: u32,
    /// The negotiated parameters.
    pub agreed: NegotiatedParameters,
    /// Unsolicited PDUs of the target: NOPs and asynchronous messages.
    pub unasked: VecDeque<Pdu>,
    /// Whether the client answers NOPs of the target.
    pub answers_nops: bool,
    tasks: BTreeMap<u32, task::InitiatorTask>,
}

impl<L: Link> Client<L> {
    /// A client that has sent nothing yet.
    pub fn new(link: L) -> Self {
        Self {
            link,
            next_tag: 1,
            cmd_sn: 1,
            exp_stat_sn: 0,
            max_cmd_sn: 1,
            agreed: NegotiatedParameters::default(),
            unasked: VecDeque::new(),
            answers_nops: true,
            tasks: BTreeMap::new(),
        }
    }

    /// The stream, for tests that violate the protocol.
    pub fn link(&mut self) -> &mut L {
        &mut self.link
    }

    /// The stream, to look at.
    pub fn link_ref(&self) -> &L {
        &self.link
    }

    /// A tag that no other task has.
    pub fn new_tag(&mut self) -> u32 {
        let tag = self.next_tag;
        self.next_tag = self.next_tag.wrapping_add(1) % NO_TAG;
        tag
    }

    /// Takes the number of the next command.
    pub fn take_cmd_sn(&mut self) -> u32 {
        let number = self.cmd_sn;
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        number
    }

    /// Sends a header of 48 bytes, the data, and the negotiated digests.
    ///
    /// # Errors
    /// See [`Error`], also for all functions below.
    pub fn send(&mut self, header: Writer, data: &[u8]) -> Result<()> {
        let bytes = pdu::frame(header.into_bytes(), data, self.agreed.header_digest, self.agreed.data_digest);
        Ok(self.link.write_all(&bytes)?)
    }

    /// Receives the next PDU of any kind.
    pub fn receive_any(&mut self) -> Result<Pdu> {
        let pdu = Pdu::read(&mut self.link, self.agreed.header_digest, self.agreed.data_digest)?;
        if let Some(numbers) = pdu.numbers() {
            self.max_cmd_sn = numbers.max_cmd_sn;
            if pdu.has_status() {
                self.exp_stat_sn = numbers.stat_sn.wrapping_add(1);
            }
        }
        Ok(pdu)
    }

    /// Receives the next PDU that answers a request. Answers NOPs of the target, and keeps other
    /// unsolicited PDUs.
    pub fn receive(&mut self) -> Result<Pdu> {
        loop {
            let pdu = self.receive_any()?;
            let is_unasked = match pdu.opcode() {
                Opcode::ASYNC_MESSAGE => true,
                Opcode::NOP_IN => pdu.task_tag() == NO_TAG,
                _ => false,
            };
            if !is_unasked {
                return Ok(pdu);
            }
            if pdu.opcode() == Opcode::NOP_IN && self.answers_nops {
                self.answer_nop(&pdu)?;
            }
            if self.unasked.len() < MAX_UNASKED {
                self.unasked.push_back(pdu);
            }
        }
    }

    fn answer_nop(&mut self, pdu: &Pdu) -> Result<()> {
        let nop = NopIn::decode(&mut Reader::new(&pdu.header))?;
        if nop.transfer_tag == NO_TAG {
            return Ok(());
        }
        let (cmd_sn, exp_stat_sn) = (self.cmd_sn, self.exp_stat_sn);
        let (lun, transfer_tag) = (nop.lun, nop.transfer_tag);
        let answer = NopOut { immediate: true, lun, task_tag: NO_TAG, transfer_tag, cmd_sn, exp_stat_sn };
        self.send(encoded(|w| answer.encode(0, w)), &[])
    }

    /// Receives the next PDU that answers a request, which must have this opcode.
    fn expect(&mut self, opcode: Opcode) -> Result<Pdu> {
        let pdu = self.receive()?;
        match pdu.opcode() {
            Opcode::REJECT => Err(Error::Rejected(pdu.reject_reason()?)),
            found if found == opcode => Ok(pdu),
            _ => Err(wire::Malformed("an answer to another question").into()),
        }
    }

    /// Sends NOP-Out and returns the data of its answer.
    pub fn ping(&mut self, data: &[u8]) -> Result<Vec<u8>> {
        let (task_tag, cmd_sn) = (self.new_tag(), self.take_cmd_sn());
        let lun = Lun::default();
        let exp_stat_sn = self.exp_stat_sn;
        let nop = NopOut { immediate: false, lun, task_tag, transfer_tag: NO_TAG, cmd_sn, exp_stat_sn };
        self.send(encoded(|w| nop.encode(data.len(), w)), data)?;
        Ok(self.expect(Opcode::NOP_IN)?.data)
    }

    /// Sends a Text Request of one PDU and returns the whole answer.
    pub fn text(&mut self, text: &[u8]) -> Result<Vec<u8>> {
        let (task_tag, cmd_sn) = (self.new_tag(), self.take_cmd_sn());
        let mut request = TextRequest {
            immediate: false,
            last: true,
            more: false,
            lun: Lun::default(),
            task_tag,
            transfer_tag: NO_TAG,
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.send(encoded(|w| request.encode(text.len(), w)), text)?;
        let mut whole = Vec::new();
        loop {
            let pdu = self.expect(Opcode::TEXT_RESPONSE)?;
            let response = TextResponse::decode(&mut Reader::new(&pdu.header))?;
            whole.extend_from_slice(&pdu.data);
            if response.last {
                return Ok(whole);
            }
            (request.transfer_tag, request.lun) = (response.transfer_tag, response.lun);
            (request.cmd_sn, request.exp_stat_sn) = (self.take_cmd_sn(), self.exp_stat_sn);
            self.send(encoded(|w| request.encode(0, w)), &[])?;
        }
    }

    /// Sends an immediate task management request; `task` is the tag of the task that it concerns.
    pub fn manage(&mut self, function: Function, lun: u16, task: u32) -> Result<FunctionResult> {
        let request = TaskRequest {
            immediate: true,
            function,
            lun: Lun::of(lun),
            task_tag: self.new_tag(),
            referenced_tag: task,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            ref_cmd_sn: self.tasks.get(&task).map_or(0, |task| task.cmd_sn),
            exp_data_sn: 0,
        };
        self.send(encoded(|w| request.encode(0, w)), &[])?;
        loop {
            let pdu = self.receive()?;
            match pdu.opcode() {
                Opcode::TASK_RESPONSE => {
                    return Ok(TaskResponse::decode(&mut Reader::new(&pdu.header))?.result);
                }
                Opcode::REJECT => return Err(Error::Rejected(pdu.reject_reason()?)),
                _ => self.take_in(pdu)?,
            }
        }
    }

    /// Ends the session.
    pub fn log_out(&mut self) -> Result<LogoutResult> {
        let request = LogoutRequest {
            immediate: false,
            reason: LogoutReason::CLOSE_SESSION,
            task_tag: self.new_tag(),
            cid: 0,
            cmd_sn: self.take_cmd_sn(),
            exp_stat_sn: self.exp_stat_sn,
        };
        self.send(encoded(|w| request.encode(0, w)), &[])?;
        let pdu = self.expect(Opcode::LOGOUT_RESPONSE)?;
        Ok(LogoutResponse::decode(&mut Reader::new(&pdu.header))?.result)
    }
}

fn encoded(encode: impl FnOnce(&mut Writer)) -> Writer {
    let mut w = Writer::new();
    encode(&mut w);
    w
}
