//! One command in the device server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use vfs::Payload;

use super::{LogicalUnit, Nexus};
use crate::server::target::{Target, VisibleUnit};
use crate::wire::Malformed;
use crate::wire::scsi::{Asc, Sense, Status};

/// A command and its context.
pub(crate) struct CommandContext {
    /// The target that received it.
    pub(crate) target: Arc<Target>,
    /// The units that the initiator sees there.
    pub(crate) seen: Arc<[VisibleUnit]>,
    /// The unit that it addresses. `None`: there is no unit with that number.
    pub(crate) unit: Option<Arc<LogicalUnit>>,
    /// The sender.
    pub(crate) nexus: Arc<Nexus>,
    /// The descriptor block: 16 bytes or, with a variable length, more. Shorter ones are padded
    /// with zeros.
    pub(crate) cdb: Bytes,
    /// The data that the initiator has sent for [`Needs::Parameters`] (fewer bytes if it had no
    /// more) or [`Needs::Exactly`].
    pub(crate) data: Bytes,
    /// The unit is read-only for this initiator or for all.
    pub(crate) read_only: bool,
    /// Its tag, which is unique in this nexus.
    pub(crate) tag: u32,
    /// Set when the command is aborted: long commands check it regularly.
    pub(crate) aborted: Arc<AtomicBool>,
}

impl CommandContext {
    /// The logical unit, for commands that need one.
    pub(crate) fn unit(&self) -> Result<&Arc<LogicalUnit>, CommandRefusal> {
        self.unit.as_ref().ok_or(CommandRefusal::Check(Sense::illegal(Asc::LOGICAL_UNIT_NOT_SUPPORTED)))
    }

    /// Whether writes are refused: by the unit, for this initiator, or because an initiator has set
    /// SWP (SPC-4 7.5.8).
    pub(crate) fn is_protected(&self) -> bool {
        self.read_only || self.unit.as_ref().is_some_and(|unit| unit.modes.write_protected())
    }

    /// Refuses a write that this initiator may not make.
    pub(crate) fn may_write(&self) -> Result<(), CommandRefusal> {
        if self.is_protected() {
            Err(Sense::new(crate::wire::scsi::Key::DATA_PROTECT, Asc::WRITE_PROTECTED).into())
        } else {
            Ok(())
        }
    }

    /// Refuses a reservation that would stop other initiators' writes, if this initiator may only
    /// read and others may write.
    pub(crate) fn may_reserve(&self) -> Result<(), CommandRefusal> {
        let may = !self.read_only || self.unit.as_ref().is_some_and(|unit| unit.options.read_only);
        if may { Ok(()) } else { self.may_write() }
    }

    /// Whether it is aborted.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }
}

/// The data that a command needs from the initiator before it can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// No data.
    Nothing,
    /// This many bytes, complete, in [`CommandContext::data`].
    Parameters(usize),
    /// The same for commands about blocks: if the initiator expects to send more or less, the
    /// command is refused.
    Exactly(usize),
    /// This many bytes. They are written to this offset of the unit (in bytes) as they arrive,
    /// before the command runs.
    Blocks { offset: u64, length: u64 },
}

/// The result of a successful command.
#[derive(Debug)]
pub(crate) struct Good {
    /// GOOD or CONDITION MET.
    pub(crate) status: Status,
    /// Data for the initiator, not longer than its allocation length.
    pub(crate) data: Payload,
}

impl Good {
    /// GOOD, without data.
    pub(crate) fn nothing() -> Self {
        Self::data(Vec::new())
    }

    /// GOOD, with these bytes.
    pub(crate) fn data(bytes: Vec<u8>) -> Self {
        Self { status: Status::GOOD, data: Payload::Bytes(bytes) }
    }

    /// GOOD, with the first of these bytes, up to the allocation length.
    pub(crate) fn cut(mut bytes: Vec<u8>, allocation_length: usize) -> Self {
        bytes.truncate(allocation_length);
        Self::data(bytes)
    }
}

/// The result of a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandRefusal {
    /// CHECK CONDITION with this sense data.
    Check(Sense),
    /// Another status, without sense data.
    Status(Status),
}

impl From<Sense> for CommandRefusal {
    fn from(sense: Sense) -> Self {
        Self::Check(sense)
    }
}

/// A command that is shorter than its operation code requires.
impl From<Malformed> for CommandRefusal {
    fn from(_: Malformed) -> Self {
        Self::Check(Sense::illegal(Asc::INVALID_FIELD_IN_CDB))
    }
}

/// The result of a command.
pub(crate) type Outcome = Result<Good, CommandRefusal>;

/// A running command.
pub(crate) type ScsiFuture<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// How other initiators' reservations affect a command, SPC-4 table 65 and SBC-3 table 13; for
/// RESERVE, SPC-2 table 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// The command is always allowed.
    Never,
    /// Refused only while another initiator has reserved the unit with RESERVE: TEST UNIT READY,
    /// RECEIVE COPY RESULTS.
    Reserve,
    /// Refused while another initiator has reserved the unit for all access: READ, VERIFY, MODE
    /// SENSE.
    Reads,
    /// Refused while another initiator has reserved the unit at all: WRITE, MODE SELECT.
    Writes,
    /// As [`Conflict::Writes`], except if this byte of the command under this mask has this value:
    /// then the command is always allowed.
    WritesUnless { byte: usize, mask: u8, value: u8 },
    /// Refused while any initiator, also the sender, has reserved the unit with RESERVE: PERSISTENT
    /// RESERVE IN and OUT.
    Persistent,
}

impl Conflict {
    /// START STOP UNIT: starting is always allowed.
    pub(crate) const START_STOP: Self = Self::WritesUnless { byte: 4, mask: 0xf1, value: 0x01 };
    /// PREVENT ALLOW MEDIUM REMOVAL: allowing is always allowed.
    pub(crate) const PREVENT_ALLOW: Self = Self::WritesUnless { byte: 4, mask: 0x03, value: 0x00 };
}

/// A supported command: the only place with its properties.
pub(crate) struct CommandDefinition {
    /// The operation code (first byte).
    pub(crate) opcode: u8,
    /// The service action, if the operation code has several: bits 0 to 4 of byte 1, or bytes 8 and
    /// 9 of a command of variable length.
    pub(crate) action: Option<u16>,
    /// The bits of the command that the server evaluates, SPC-4 6.34.3: as long as the command,
    /// with the operation code first.
    pub(crate) usage: &'static [u8],
    /// How other initiators' reservations affect it.
    pub(crate) conflict: Conflict,
    /// The data that it needs from the initiator. Checks all that can be checked before data are
    /// transferred.
    pub(crate) needs: fn(&CommandContext) -> Result<Needs, CommandRefusal>,
    /// Executes it.
    pub(crate) run: RunCommand,
}

/// Executes a command.
pub(crate) type RunCommand = for<'a> fn(&'a CommandContext) -> ScsiFuture<'a>;

impl CommandDefinition {
    /// A command without a service action and without data from the initiator. `usage` begins with its operation code.
    pub(crate) const fn new(usage: &'static [u8], conflict: Conflict, run: RunCommand) -> Self {
        Self { opcode: usage[0], action: None, usage, conflict, needs: |_| Ok(Needs::Nothing), run }
    }

    /// As it is with this service action.
    pub(crate) const fn of_action(self, action: u16) -> Self {
        Self { action: Some(action), ..self }
    }

    /// As it is with these data from the initiator.
    pub(crate) const fn needing(self, needs: fn(&CommandContext) -> Result<Needs, CommandRefusal>) -> Self {
        Self { needs, ..self }
    }
}
