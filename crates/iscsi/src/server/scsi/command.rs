//! One command on its way through the device server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use vfs::Payload;

use super::{LogicalUnit, Nexus};
use crate::server::target::{Seen, Target};
use crate::wire::Malformed;
use crate::wire::scsi::{Asc, Sense, Status};

/// A command with everything found out about it.
pub(crate) struct Command {
    /// Where it was sent.
    pub(crate) target: Arc<Target>,
    /// What the initiator sees there.
    pub(crate) seen: Arc<[Seen]>,
    /// What it is for. `None`: there is nothing under that number.
    pub(crate) unit: Option<Arc<LogicalUnit>>,
    /// Who asks.
    pub(crate) nexus: Arc<Nexus>,
    /// The descriptor block: 16 bytes or, of variable length, more. Shorter ones have zeros behind them.
    pub(crate) cdb: Bytes,
    /// What the initiator has sent for [`Needs::Parameters`] (fewer bytes if it had no more) or [`Needs::Exactly`].
    pub(crate) data: Bytes,
    /// This initiator may not write to this unit, or nobody may.
    pub(crate) read_only: bool,
    /// Its tag, which is of this nexus alone.
    pub(crate) tag: u32,
    /// Set when it has been called off: whoever works long looks.
    pub(crate) aborted: Arc<AtomicBool>,
}

impl Command {
    /// The logical unit, for commands that make no sense without one.
    pub(crate) fn unit(&self) -> Result<&Arc<LogicalUnit>, Refusal> {
        self.unit.as_ref().ok_or(Refusal::Check(Sense::illegal(Asc::LOGICAL_UNIT_NOT_SUPPORTED)))
    }

    /// Whether what writes is refused: here, to this initiator, or as somebody has set SWP (SPC-4 7.5.8).
    pub(crate) fn is_protected(&self) -> bool {
        self.read_only || self.unit.as_ref().is_some_and(|unit| unit.modes.write_protected())
    }

    /// Refuses what would write where this initiator may not.
    pub(crate) fn may_write(&self) -> Result<(), Refusal> {
        if self.is_protected() {
            Err(Sense::new(crate::wire::scsi::Key::DATA_PROTECT, Asc::WRITE_PROTECTED).into())
        } else {
            Ok(())
        }
    }

    /// Refuses what would keep others from writing, to who may only read where they may write.
    pub(crate) fn may_reserve(&self) -> Result<(), Refusal> {
        let may = !self.read_only || self.unit.as_ref().is_some_and(|unit| unit.options.read_only);
        if may { Ok(()) } else { self.may_write() }
    }

    /// Whether it has been called off.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }
}

/// What a command wants of the initiator before it can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing.
    Nothing,
    /// So many bytes, and all of them at once, in [`Command::data`].
    Parameters(usize),
    /// The same for commands about blocks: an initiator that expects to send more or less is refused.
    Exactly(usize),
    /// So many bytes, which are written to this place of the unit (in bytes) as they arrive, before it runs.
    Blocks { offset: u64, length: u64 },
}

/// What a command answers when all is well.
#[derive(Debug)]
pub(crate) struct Good {
    /// GOOD or CONDITION MET.
    pub(crate) status: Status,
    /// Data for the initiator, not longer than its allocation length.
    pub(crate) data: Payload,
}

impl Good {
    /// Nothing but GOOD.
    pub(crate) fn nothing() -> Self {
        Self::data(Vec::new())
    }

    /// These bytes.
    pub(crate) fn data(bytes: Vec<u8>) -> Self {
        Self { status: Status::GOOD, data: Payload::Bytes(bytes) }
    }

    /// The first of these bytes, as many as the initiator has room for.
    pub(crate) fn cut(mut bytes: Vec<u8>, allocation_length: usize) -> Self {
        bytes.truncate(allocation_length);
        Self::data(bytes)
    }
}

/// How a command ends that does not end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// CHECK CONDITION, and why.
    Check(Sense),
    /// Another status, which says it all.
    Status(Status),
}

impl From<Sense> for Refusal {
    fn from(sense: Sense) -> Self {
        Self::Check(sense)
    }
}

/// A command that is too short for what it says it is.
impl From<Malformed> for Refusal {
    fn from(_: Malformed) -> Self {
        Self::Check(Sense::illegal(Asc::INVALID_FIELD_IN_CDB))
    }
}

/// How a command ends.
pub(crate) type Outcome = Result<Good, Refusal>;

/// A command that is being done.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// What others' reservations mean for a command, SPC-4 table 65 and SBC-3 table 13; for RESERVE, SPC-2 table 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Always allowed.
    Never,
    /// Refused only while another has reserved the unit with RESERVE: TEST UNIT READY, RECEIVE COPY RESULTS.
    Reserve,
    /// Refused while another has reserved the unit for all access: READ, VERIFY, MODE SENSE.
    Reads,
    /// Refused while another has reserved the unit at all: WRITE, MODE SELECT.
    Writes,
    /// As [`Conflict::Writes`] unless this byte of the command, as far as the mask goes, is the value; then never.
    WritesUnless { byte: usize, mask: u8, value: u8 },
    /// Refused while anybody has reserved the unit with RESERVE, also the one who did: PERSISTENT RESERVE IN and OUT.
    Persistent,
}

impl Conflict {
    /// START STOP UNIT: starting is always allowed.
    pub(crate) const START_STOP: Self = Self::WritesUnless { byte: 4, mask: 0xf1, value: 0x01 };
    /// PREVENT ALLOW MEDIUM REMOVAL: allowing is always allowed.
    pub(crate) const PREVENT_ALLOW: Self = Self::WritesUnless { byte: 4, mask: 0x03, value: 0x00 };
}

/// A command that is supported: the one place that says so.
pub(crate) struct Supported {
    /// The first byte.
    pub(crate) opcode: u8,
    /// The service action, where the operation code has several: bits 0 to 4 of byte 1, or bytes 8 and 9 of a command of
    /// variable length.
    pub(crate) action: Option<u16>,
    /// Which bits of the command count, SPC-4 6.34.3: as long as the command, the operation code first.
    pub(crate) usage: &'static [u8],
    /// What others' reservations mean for it.
    pub(crate) conflict: Conflict,
    /// What it wants of the initiator. Checks all that can be checked before data move.
    pub(crate) needs: fn(&Command) -> Result<Needs, Refusal>,
    /// Does it.
    pub(crate) run: for<'a> fn(&'a Command) -> Running<'a>,
}

impl Supported {
    /// [`Supported::needs`] of commands that bring no data.
    pub(crate) fn nothing(_: &Command) -> Result<Needs, Refusal> {
        Ok(Needs::Nothing)
    }
}
