//! A session: one initiator port at one target, over one connection or several.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use auth::LoginRecord;
use bytes::Bytes;
use conn::Reservation;
use lock::{Mutex, RwLock};

use super::connection::Connection;
use super::login::Parameters;
use super::scsi::{Ending, InitiatorPort, LogicalUnit, Nexus, UnitSession};
use super::target::{Target, VisibleUnit};
use super::task::ScsiTask;
use super::transfer::Bursts;
use super::window::CommandWindow;
use crate::ranks;
use crate::wire::pdu::{Head, Lun, Opcode, RequestFields};
use crate::wire::scsi::Asc;

/// A received request, decoded into its parts.
pub(super) struct DecodedRequest {
    pub(super) head: Head,
    pub(super) fields: RequestFields,
    /// The 48 bytes.
    pub(super) header: Bytes,
    pub(super) additional: Bytes,
    pub(super) data: Bytes,
    /// Memory for it while it is kept.
    pub(super) _kept: Reservation,
}

impl DecodedRequest {
    /// A copy that is kept, with memory for its data. The message itself would keep all bytes that were received with it.
    pub(super) fn copy(&self, kept: Reservation) -> Self {
        let [header, additional, data] =
            [&self.header, &self.additional, &self.data].map(|bytes| Bytes::copy_from_slice(bytes));
        Self { head: self.head, fields: self.fields, header, additional, data, _kept: kept }
    }

    /// The unit of a SCSI command; `None` for other requests.
    pub(super) fn unit_of_command(&self) -> Option<Lun> {
        (self.head.opcode == Opcode::SCSI_COMMAND).then_some(self.fields.lun)
    }
}

/// A request that arrived before its turn, and its connection.
pub(super) type EarlyRequest = (Arc<Connection>, DecodedRequest);

/// A session.
pub(super) struct Session {
    /// The target's number of the session.
    pub(super) tsih: u16,
    pub(super) nexus: Arc<Nexus>,
    /// `None` for discovery sessions.
    pub(super) target: Option<Arc<Target>>,
    /// The authenticated account.
    pub(super) user: Option<String>,
    /// The initiator's displayed name.
    pub(super) alias: Option<String>,
    /// The negotiated parameters.
    pub(super) parameters: Parameters,
    pub(super) since: SystemTime,
    pub(super) window: Mutex<CommandWindow<EarlyRequest>, ranks::IscsiWindow>,
    /// Held by a thread while it begins commands.
    pub(super) beginning: Mutex<(), ranks::IscsiBeginning>,
    /// Ordered commands wait for the commands before them, and the commands after them wait for
    /// them. The control mode page says that each session's commands are a separate task set (TST).
    pub(super) order: Arc<tokio::sync::RwLock<()>>,
    /// Immediate commands in flight.
    pub(super) immediate: AtomicUsize,
    connections: Mutex<Vec<(u16, Arc<Connection>)>, ranks::IscsiConnections>,
    /// The units that the initiator sees, and the target's generation that they belong to.
    seen: RwLock<(Option<u64>, Arc<[VisibleUnit]>), ranks::IscsiSeenUnits>,
    me: Weak<Self>,
    ended: AtomicBool,
    /// Logs the session's end.
    record: Mutex<Option<LoginRecord>, auth::LoginRecords>,
}

impl Session {
    /// A session without connections. `first` is the number of its first command.
    pub(super) fn new(
        tsih: u16,
        nexus: Nexus,
        target: Option<Arc<Target>>,
        (user, alias): (Option<String>, Option<String>),
        parameters: Parameters,
        first: u32,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            tsih,
            nexus: Arc::new(nexus),
            target,
            user,
            alias,
            parameters,
            since: SystemTime::now(),
            window: Mutex::new(CommandWindow::new(first)),
            beginning: Mutex::default(),
            order: Arc::default(),
            immediate: AtomicUsize::new(0),
            connections: Mutex::default(),
            seen: RwLock::new((None, [].into())),
            me: me.clone(),
            ended: AtomicBool::new(false),
            record: Mutex::default(),
        })
    }

    /// The negotiated parameters of bursts.
    pub(super) fn bursts(&self) -> Bursts {
        let agreed = &self.parameters;
        Bursts {
            immediate: agreed.immediate_data,
            initial_r2t: agreed.initial_r2t,
            first: u64::from(agreed.first_burst),
            most: agreed.max_burst,
            outstanding: usize::from(agreed.max_r2t),
        }
    }

    /// ExpCmdSN and MaxCmdSN.
    pub(super) fn numbers(&self) -> (u32, u32) {
        self.window.lock().numbers()
    }

    /// The units that the initiator sees now. It begins to receive the events of new units.
    pub(super) fn seen(&self) -> Arc<[VisibleUnit]> {
        let Some(target) = &self.target else { return [].into() };
        let generation = target.generation();
        {
            let seen = self.seen.read();
            if seen.0 == Some(generation) {
                return seen.1.clone();
            }
        }
        let mut seen = self.seen.write();
        if self.ended.load(Ordering::Acquire) {
            return [].into(); // its units have forgotten it
        }
        let now: Arc<[VisibleUnit]> = target.seen_by(&self.nexus.initiator.name, self.nexus.host).into();
        let had = |one: &VisibleUnit, all: &[VisibleUnit]| {
            all.iter().any(|other| Arc::ptr_eq(&other.unit, &one.unit))
        };
        let me: Weak<dyn UnitSession> = self.me.clone();
        let had_disk =
            |one: &VisibleUnit| seen.1.iter().any(|other| other.unit.identity.naa == one.unit.identity.naa);
        for new in now.iter().filter(|one| !had(one, &seen.1)) {
            new.unit.holders.arrive(me.clone());
            // The same disk as another unit: another server of the cluster serves it from now on.
            let is_moved = new.unit.is_shared && had_disk(new);
            let what = if is_moved { Asc::ASYMMETRIC_ACCESS_STATE_CHANGED } else { Asc::POWER_ON_OR_RESET };
            new.unit.attentions.raise(&self.nexus.initiator, what);
        }
        for gone in seen.1.iter().filter(|one| !had(one, &now)) {
            gone.unit.nexus_lost(&me, &self.nexus);
        }
        *seen = (Some(generation), now.clone());
        now
    }

    /// Adds a connection. An existing connection with its number ends. `None`: too many
    /// connections.
    pub(super) fn join(&self, cid: u16, connection: &Arc<Connection>) -> Option<()> {
        let mut connections = self.connections.lock();
        if self.ended.load(Ordering::Acquire) {
            return None;
        }
        let same = connections.iter().position(|(other, _)| *other == cid);
        let before = same.map(|at| connections.remove(at).1);
        if connections.len() >= usize::from(self.parameters.max_connections) {
            return None;
        }
        connections.push((cid, connection.clone()));
        drop(connections);
        if let Some(before) = before {
            before.end_tasks();
            before.set_logged_out();
            before.sender.close();
        }
        Some(())
    }

    /// Removes a connection. True if it was the last one.
    pub(super) fn part(&self, connection: &Arc<Connection>) -> bool {
        self.window.lock().call_off(|(other, _)| Arc::ptr_eq(other, connection));
        let mut connections = self.connections.lock();
        connections.retain(|(_, other)| !Arc::ptr_eq(other, connection));
        connections.is_empty()
    }

    /// All connections.
    pub(super) fn connections(&self) -> Vec<Arc<Connection>> {
        self.connections.lock().iter().map(|(_, connection)| connection.clone()).collect()
    }

    /// The connection with this number.
    pub(super) fn connection(&self, cid: u16) -> Option<Arc<Connection>> {
        self.connections.lock().iter().find(|(other, _)| *other == cid).map(|(_, it)| it.clone())
    }

    /// Keeps the login record, which will log the end.
    pub(super) fn record(&self, record: LoginRecord) {
        *self.record.lock() = Some(record);
    }

    /// Ends the session: its commands are aborted, and its units forget it. False if it was over
    /// before.
    pub(super) fn end(&self) -> bool {
        if self.ended.swap(true, Ordering::AcqRel) {
            return false;
        }
        let record = self.record.lock().take();
        drop(record);
        for connection in std::mem::take(&mut *self.connections.lock()) {
            connection.1.end_tasks();
            connection.1.sender.finish();
        }
        self.window.lock().call_off(|_| true);
        let me: Weak<dyn UnitSession> = self.me.clone();
        let seen = std::mem::replace(&mut *self.seen.write(), (None, [].into()));
        seen.1.iter().for_each(|seen| seen.unit.nexus_lost(&me, &self.nexus));
        true
    }
}

impl UnitSession for Session {
    fn initiator(&self) -> &InitiatorPort {
        &self.nexus.initiator
    }

    fn port(&self) -> u16 {
        self.nexus.port
    }

    fn abort_tasks(&self, unit: &LogicalUnit, except: Option<u32>) -> Ending {
        let seen = self.seen.read().1.clone();
        let number =
            seen.iter().find(|seen| std::ptr::eq(&raw const *seen.unit, unit)).map(|seen| seen.number);
        let is_meant = |task: &ScsiTask| task.lun.number() == number && Some(task.tag) != except;
        let connections = if number.is_some() { self.connections() } else { Vec::new() };
        let aborted: Vec<_> = connections.iter().flat_map(|connection| connection.abort(is_meant)).collect();
        Box::pin(async move {
            for task in aborted {
                task.until_over().await;
            }
        })
    }
}
