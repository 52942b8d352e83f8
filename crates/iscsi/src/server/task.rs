//! Commands in flight.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use conn::observe::RunningOperation;
use conn::{InFlight, Reservation};
use lock::Mutex;
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use super::scsi::{CommandContext, CommandDefinition, LogicalUnit};
use super::transfer::{DataTransfer, Piece};
use crate::ranks;
use crate::wire::pdu::{Lun, ScsiCommand};

/// A command's place in the order of its session: ordered commands run alone.
pub(super) enum Turn {
    /// Runs at the same time as others.
    Shared(#[allow(dead_code, reason = "held")] OwnedRwLockReadGuard<()>),
    /// Alone.
    Alone(#[allow(dead_code, reason = "held")] OwnedRwLockWriteGuard<()>),
}

/// A SCSI command from its arrival to its response.
pub(super) struct ScsiTask {
    pub(super) tag: u32,
    pub(super) lun: Lun,
    pub(super) unit: Option<Arc<LogicalUnit>>,
    /// It counts in the command window.
    pub(super) numbered: bool,
    /// The data that the initiator expects to receive (or to send), in bytes.
    pub(super) expects: u32,
    /// The data that the command needs from the initiator, in bytes.
    pub(super) needs: u64,
    pub(super) reads: bool,
    pub(super) state: Mutex<TaskState, ranks::IscsiTask>,
    /// Set if it is observed.
    pub(super) begun: OnceLock<RunningOperation>,
    /// It has been called off, and is not answered.
    pub(super) aborted: Arc<AtomicBool>,
    /// Signalled by the abort.
    pub(super) called_off: Notify,
    /// Signalled when all its work has ended.
    over: Notify,
    is_over: AtomicBool,
}

/// The changeable state of a task.
pub(super) struct TaskState {
    pub(super) transfer: DataTransfer,
    /// The work that begins once its data are there.
    pub(super) work: Option<WaitingCommand>,
    /// The work runs.
    pub(super) running: bool,
    pub(super) turn: Option<Turn>,
    /// Pieces that arrived before the command's turn.
    pub(super) early: Option<Vec<Piece>>,
    /// Solicited bytes that count against the connection's limit.
    pub(super) solicited: u64,
    /// Bytes of parameters that count against the connection's limit.
    pub(super) gathered: usize,
    /// Memory for parameters, and for pieces that arrived before the command's turn.
    pub(super) kept: Reservation,
}

/// A command that waits only for its data.
pub(super) struct WaitingCommand {
    pub(super) command: CommandContext,
    pub(super) supported: &'static CommandDefinition,
}

impl ScsiTask {
    /// The task of a new command. `needs` is in bytes; `gathered` are the bytes that count against
    /// the connection's limit.
    pub(super) fn new(
        pdu: &ScsiCommand,
        unit: Option<Arc<LogicalUnit>>,
        (needs, gathered): (u64, usize),
        transfer: DataTransfer,
        work: Option<WaitingCommand>,
        aborted: Arc<AtomicBool>,
    ) -> Arc<Self> {
        let (turn, early, solicited, running) = (None, Some(Vec::new()), 0, false);
        let kept = Reservation::default();
        let state = Mutex::new(TaskState { transfer, work, running, turn, early, solicited, gathered, kept });
        Arc::new(Self {
            tag: pdu.task_tag,
            lun: pdu.lun,
            unit,
            numbered: !pdu.immediate,
            expects: if pdu.reads || pdu.writes { pdu.expected_length } else { 0 },
            needs,
            reads: pdu.reads,
            state,
            begun: OnceLock::new(),
            aborted,
            called_off: Notify::new(),
            over: Notify::new(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Says that the message is about the file of the task's unit.
    pub(super) async fn declare(&self, in_flight: &InFlight) {
        if let Some(Ok(open)) = self.unit.as_ref().map(|unit| unit.open()) {
            in_flight.about(&open.node().id()).await;
        }
    }

    /// Calls it off. What is being written for it is written first.
    pub(super) fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
        self.called_off.notify_one();
        self.end_if_idle();
    }

    /// An aborted task is over if it only waits for its initiator.
    pub(super) fn end_if_idle(&self) {
        let mut state = self.state.lock();
        if !state.running && !state.transfer.is_writing() {
            (state.work, state.turn) = (None, None);
            drop(state);
            self.set_over();
        }
    }

    /// Whether it is aborted.
    pub(super) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }

    /// All its work has ended.
    pub(super) fn set_over(&self) {
        self.is_over.store(true, Ordering::Release);
        self.over.notify_waiters();
    }

    /// Waits until all its work has ended.
    pub(super) async fn until_over(&self) {
        let over = self.over.notified();
        tokio::pin!(over);
        over.as_mut().enable();
        if !self.is_over.load(Ordering::Acquire) {
            over.await;
        }
    }
}
