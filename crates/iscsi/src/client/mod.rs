//! An initiator for session tests and for whoever wants to know how the server holds up: blocking, over any stream of bytes,
//! with several commands under way where a caller begins them before it waits. It shares its codecs with the server: it
//! drives, and proves nothing about bytes.
//!
//! ```no_run
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
pub use self::login::{Agreed, Login};
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
    /// The connection.
    #[error("the connection: {0}")]
    Io(#[from] io::Error),
    /// The login was refused.
    #[error("the login is refused: {0:?}")]
    Login(LoginStatus),
    /// The target does not know the secret.
    #[error("the target does not prove that it knows the secret")]
    Impostor,
    /// A PDU was not taken.
    #[error("rejected: {0:?}")]
    Rejected(RejectReason),
    /// The command did not end well.
    #[error("{0:?}, {1:?}")]
    Command(Status, Option<(Key, Asc)>),
    /// The target answers something that is not of the protocol.
    #[error("not an answer: {0}")]
    Malformed(#[from] wire::Malformed),
}

impl Error {
    /// Why the command did not end well, if that is it.
    #[must_use]
    pub fn sense(&self) -> Option<(Key, Asc)> {
        match self {
            Self::Command(_, sense) => *sense,
            _ => None,
        }
    }

    /// The command's status, if it is that.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Command(status, _) => Some(*status),
            _ => None,
        }
    }
}

/// What a call gives.
pub type Result<T> = std::result::Result<T, Error>;

/// The most PDUs that the target sends unasked and that are kept.
const MAX_UNASKED: usize = 1024;

/// A connection of an initiator, which is its session, too.
pub struct Client<L> {
    link: L,
    next_tag: u32,
    /// The number of the next command.
    pub cmd_sn: u32,
    /// The number that the next response is to have.
    pub exp_stat_sn: u32,
    /// The last command that the target takes, as it last said.
    pub max_cmd_sn: u32,
    /// What the login has settled.
    pub agreed: Agreed,
    /// What the target has sent unasked: NOPs and asynchronous messages.
    pub unasked: VecDeque<Pdu>,
    /// Whether NOPs of the target are answered.
    pub answers_nops: bool,
    tasks: BTreeMap<u32, task::Task>,
}

impl<L: Link> Client<L> {
    /// A client that has said nothing yet.
    pub fn new(link: L) -> Self {
        Self {
            link,
            next_tag: 1,
            cmd_sn: 1,
            exp_stat_sn: 0,
            max_cmd_sn: 1,
            agreed: Agreed::default(),
            unasked: VecDeque::new(),
            answers_nops: true,
            tasks: BTreeMap::new(),
        }
    }

    /// The stream, to do what no client should.
    pub fn link(&mut self) -> &mut L {
        &mut self.link
    }

    /// A tag that no other task has.
    pub fn new_tag(&mut self) -> u32 {
        let tag = self.next_tag;
        self.next_tag = self.next_tag.wrapping_add(1) % NO_TAG;
        tag
    }

    /// The number of the next command, which it has then.
    pub fn take_cmd_sn(&mut self) -> u32 {
        let number = self.cmd_sn;
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        number
    }

    /// Sends a header of 48 bytes, with data behind it and the digests that were agreed on.
    ///
    /// # Errors
    /// See [`Error`], as for all below.
    pub fn send(&mut self, header: Writer, data: &[u8]) -> Result<()> {
        let bytes = pdu::frame(header.into_bytes(), data, self.agreed.header_digest, self.agreed.data_digest);
        Ok(self.link.write_all(&bytes)?)
    }

    /// The next PDU of any kind, as it is.
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

    /// The next PDU that was asked for. Answers NOPs of the target, and keeps what it sends unasked.
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
        let (nop, _) = NopIn::decode(&mut Reader::new(&pdu.header))?;
        if nop.transfer_tag == NO_TAG {
            return Ok(());
        }
        let (cmd_sn, exp_stat_sn) = (self.cmd_sn, self.exp_stat_sn);
        let (lun, transfer_tag) = (nop.lun, nop.transfer_tag);
        let answer = NopOut { immediate: true, lun, task_tag: NO_TAG, transfer_tag, cmd_sn, exp_stat_sn };
        self.send(encoded(|w| answer.encode(0, w)), &[])
    }

    /// The next PDU that was asked for, which must be this one.
    fn expect(&mut self, opcode: Opcode) -> Result<Pdu> {
        let pdu = self.receive()?;
        match pdu.opcode() {
            Opcode::REJECT => Err(Error::Rejected(pdu.reject_reason()?)),
            found if found == opcode => Ok(pdu),
            _ => Err(wire::Malformed("an answer to another question").into()),
        }
    }

    /// NOP-Out and its answer: these bytes back.
    pub fn ping(&mut self, data: &[u8]) -> Result<Vec<u8>> {
        let (task_tag, cmd_sn) = (self.new_tag(), self.take_cmd_sn());
        let lun = Lun::default();
        let exp_stat_sn = self.exp_stat_sn;
        let nop = NopOut { immediate: false, lun, task_tag, transfer_tag: NO_TAG, cmd_sn, exp_stat_sn };
        self.send(encoded(|w| nop.encode(data.len(), w)), data)?;
        Ok(self.expect(Opcode::NOP_IN)?.data)
    }

    /// A Text Request of one PDU and the whole answer to it.
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
            let (response, _) = TextResponse::decode(&mut Reader::new(&pdu.header))?;
            whole.extend_from_slice(&pdu.data);
            if response.last {
                return Ok(whole);
            }
            (request.transfer_tag, request.lun) = (response.transfer_tag, response.lun);
            (request.cmd_sn, request.exp_stat_sn) = (self.take_cmd_sn(), self.exp_stat_sn);
            self.send(encoded(|w| request.encode(0, w)), &[])?;
        }
    }

    /// Task management, at once; `task` is the tag of the one that it is about.
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
        self.send(encoded(|w| request.encode(w)), &[])?;
        loop {
            let pdu = self.receive()?;
            match pdu.opcode() {
                Opcode::TASK_RESPONSE => {
                    return Ok(TaskResponse::decode(&mut Reader::new(&pdu.header))?.0.result);
                }
                Opcode::REJECT => return Err(Error::Rejected(pdu.reject_reason()?)),
                _ => self.take_in(&pdu)?,
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
        self.send(encoded(|w| request.encode(w)), &[])?;
        let pdu = self.expect(Opcode::LOGOUT_RESPONSE)?;
        Ok(LogoutResponse::decode(&mut Reader::new(&pdu.header))?.0.result)
    }
}

/// A header.
fn encoded(encode: impl FnOnce(&mut Writer)) -> Writer {
    let mut w = Writer::new();
    encode(&mut w);
    w
}
