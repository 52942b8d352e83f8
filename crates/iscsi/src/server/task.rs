//! Commands under way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use conn::{InFlight, Reservation};
use lock::{Mutex, rank};
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use super::observed::Observed;
use super::scsi::{Command, LogicalUnit, Supported};
use super::transfer::{Piece, Transfer};
use crate::wire::pdu::{Lun, ScsiCommand};

/// A command's place among its session's: ordered ones are alone.
pub(super) enum Turn {
    /// Beside others.
    Shared(#[allow(dead_code, reason = "held")] OwnedRwLockReadGuard<()>),
    /// Alone.
    Alone(#[allow(dead_code, reason = "held")] OwnedRwLockWriteGuard<()>),
}

/// A SCSI command from its arrival to its response.
pub(super) struct Task {
    pub(super) tag: u32,
    pub(super) lun: Lun,
    pub(super) unit: Option<Arc<LogicalUnit>>,
    /// It counts for the command window.
    pub(super) numbered: bool,
    /// What the initiator expects to get (or to send), in bytes.
    pub(super) expects: u32,
    /// What the command needs of the initiator, in bytes.
    pub(super) needs: u64,
    pub(super) reads: bool,
    pub(super) state: Mutex<State, rank::IscsiTask>,
    /// Set if it is observed.
    pub(super) observed: OnceLock<Observed>,
    /// It has been called off, and is not answered.
    pub(super) aborted: Arc<AtomicBool>,
    /// Rung when that happens.
    pub(super) called_off: Notify,
    /// Rung when nothing is done for it any more.
    over: Notify,
    is_over: AtomicBool,
}

/// What changes about a task.
pub(super) struct State {
    pub(super) transfer: Transfer,
    /// What is to be done once its data are there.
    pub(super) work: Option<Work>,
    /// It is being done.
    pub(super) running: bool,
    pub(super) turn: Option<Turn>,
    /// Pieces that came before the command's turn.
    pub(super) early: Option<Vec<Piece>>,
    /// Bytes that were asked for and count against the connection's limit.
    pub(super) solicited: u64,
    /// Bytes of parameters that count against the connection's limit.
    pub(super) gathered: usize,
    /// Memory for parameters, and for pieces that came before the command's turn.
    pub(super) kept: Reservation,
}

/// A command that is ready but for its data.
pub(super) struct Work {
    pub(super) command: Command,
    pub(super) supported: &'static Supported,
}

impl Task {
    /// A task of a command that has just come. `needs`: bytes; `gathered`: those that count against the limit of the connection.
    pub(super) fn new(
        pdu: &ScsiCommand,
        unit: Option<Arc<LogicalUnit>>,
        (needs, gathered): (u64, usize),
        transfer: Transfer,
        work: Option<Work>,
        aborted: Arc<AtomicBool>,
    ) -> Arc<Self> {
        let (turn, early, solicited, running) = (None, Some(Vec::new()), 0, false);
        let kept = Reservation::default();
        let state = Mutex::new(State { transfer, work, running, turn, early, solicited, gathered, kept });
        Arc::new(Self {
            tag: pdu.task_tag,
            lun: pdu.lun,
            unit,
            numbered: !pdu.immediate,
            expects: if pdu.reads || pdu.writes { pdu.expected_length } else { 0 },
            needs,
            reads: pdu.reads,
            state,
            observed: OnceLock::new(),
            aborted,
            called_off: Notify::new(),
            over: Notify::new(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Says that the message is about the file of the task's unit.
    pub(super) async fn declare(&self, in_flight: &InFlight) {
        if let Some(unit) = &self.unit {
            in_flight.about(&unit.open.node().id()).await;
        }
    }

    /// Calls it off. What is being written for it is written first.
    pub(super) fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
        self.called_off.notify_one();
        self.end_if_idle();
    }

    /// A task that has been called off is over when it waits for its initiator alone.
    pub(super) fn end_if_idle(&self) {
        let mut state = self.state.lock();
        if !state.running && !state.transfer.is_writing() {
            (state.work, state.turn) = (None, None);
            drop(state);
            self.set_over();
        }
    }

    /// Whether it has been called off.
    pub(super) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }

    /// Nothing is done for it any more.
    pub(super) fn set_over(&self) {
        self.is_over.store(true, Ordering::Release);
        self.over.notify_waiters();
    }

    /// Waits for that.
    pub(super) async fn until_over(&self) {
        let over = self.over.notified();
        tokio::pin!(over);
        over.as_mut().enable();
        if !self.is_over.load(Ordering::Acquire) {
            over.await;
        }
    }
}
