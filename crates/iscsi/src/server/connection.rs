//! One TCP connection: PDUs in and out, RFC 7143 section 7 and 11.
//!
//! Numbered PDUs are ordered while `conn` hands the message over. Work that takes time happens in
//! the answer.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use conn::{Answer, InFlight, Limits, LoopStream, Peer, Protocol, Reservation, ToClient, Watchdog};
use lock::Mutex;
use tokio::sync::Semaphore;
use wire::Reader;

use super::command;
use super::full_feature;
use super::limits::{MAX_IMMEDIATE, MAX_LOGIN_DATA, MAX_READING_KIB, QUEUE_DEPTH};
use super::login::{Attempt, Parameters, Texts};
use super::login_phase;
use super::observed;
use super::sender::Sender;
use super::service::Service;
use super::session::{DecodedRequest, Session};
use super::solicited::SolicitedDataLimit;
use super::task::{ScsiTask, TaskState};
use crate::ranks;
use crate::wire::digest::crc32c_of_two;
use crate::wire::pdu::{BHS, Head, RequestFields, padding};
use crate::wire::scsi::Status;

/// How long the login of a client may take.
const LOGIN_WITHIN: Duration = Duration::from_secs(30);
/// Tags of recently aborted commands whose data may still arrive: as many as can be aborted at
/// once.
const ABORTED_KEPT: usize = QUEUE_DEPTH as usize + MAX_IMMEDIATE;

/// A connection.
pub(super) struct Connection {
    pub(super) service: Arc<Service>,
    pub(super) peer: Peer,
    pub(super) local: SocketAddr,
    pub(super) sender: Sender,
    /// The login in progress.
    pub(super) attempt: Mutex<Option<Attempt>, ranks::IscsiLogin>,
    /// Set by the login: the session, and the connection's place in it.
    pub(super) joined: OnceLock<SessionConnection>,
    pub(super) tasks: Mutex<Tasks, ranks::IscsiTasks>,
    pub(super) solicited: SolicitedDataLimit,
    /// Permits for long reads, one for each KiB.
    pub(super) reading: Semaphore,
    /// The time of the client's last PDU, in seconds of the service's clock.
    heard_s: AtomicU64,
    pub(super) pinged_s: AtomicU64,
    /// The initiator has logged out.
    logged_out: AtomicBool,
}

/// A connection of a session.
pub(super) struct SessionConnection {
    pub(super) session: Arc<Session>,
    /// Its number in the session (CID).
    pub(super) cid: u16,
    /// The parameters of this connection, as negotiated.
    pub(super) parameters: Parameters,
    /// The most data in a PDU that the initiator accepts. The initiator may declare it again.
    pub(super) their_max_data: AtomicU32,
    pub(super) texts: Mutex<Texts, ranks::IscsiTexts>,
}

impl SessionConnection {
    /// A connection that has just joined its session.
    pub(super) fn new(session: Arc<Session>, cid: u16, parameters: Parameters) -> Self {
        let their_max_data = AtomicU32::new(parameters.their_max_data);
        Self { session, cid, parameters, their_max_data, texts: Mutex::default() }
    }

    /// The most data in a PDU that the initiator accepts.
    pub(super) fn their_max_data(&self) -> u32 {
        self.their_max_data.load(Ordering::Relaxed)
    }
}

/// The commands in flight.
#[derive(Default)]
pub(super) struct Tasks {
    by_tag: HashMap<u32, Arc<ScsiTask>>,
    aborted: VecDeque<u32>,
    /// The connection or its session has ended: no command begins any more.
    ended: bool,
}

/// Serves one connection until either side ends it.
pub async fn serve_stream(service: Arc<Service>, stream: LoopStream, peer: Peer, watchdog: Arc<Watchdog>) {
    let Ok(local) = stream.local_addr() else { return };
    let local = SocketAddr::new(local.ip().to_canonical(), local.port());
    let connection = Connection::new(service, peer.clone(), local);
    let limits = Limits {
        acknowledges_at_once: true,
        begins_in_order: true,
        zeros_for_truncated: false, // a disk that has lost blocks reports an error, not zeros
        ..Limits::default()
    };
    conn::serve(stream, &peer, IscsiProtocol(connection), limits, watchdog).await;
}

impl Connection {
    /// A connection without a login.
    pub(super) fn new(service: Arc<Service>, peer: Peer, local: SocketAddr) -> Arc<Self> {
        let now = service.now_s();
        let gate: Arc<dyn super::login::Gate> = service.clone();
        let attempt = Attempt::new(gate, super::login::ConnectionEnds { address: peer.address, local });
        Arc::new(Self {
            service,
            peer,
            local,
            sender: Sender::default(),
            attempt: Mutex::new(Some(attempt)),
            joined: OnceLock::new(),
            tasks: Mutex::default(),
            solicited: SolicitedDataLimit::default(),
            reading: Semaphore::new(MAX_READING_KIB as usize),
            heard_s: AtomicU64::new(now),
            pinged_s: AtomicU64::new(0),
            logged_out: AtomicBool::new(false),
        })
    }

    /// The time of the client's last PDU.
    pub(super) fn heard_s(&self) -> u64 {
        self.heard_s.load(Ordering::Relaxed)
    }

    /// Notes that the initiator has logged out.
    pub(super) fn set_logged_out(&self) {
        self.logged_out.store(true, Ordering::Release);
    }

    /// Whether the initiator has logged out.
    pub(super) fn is_logged_out(&self) -> bool {
        self.logged_out.load(Ordering::Acquire)
    }

    /// The parts of a PDU, and whether its data match their digest; `None` if the header does not
    /// match.
    fn apart(&self, mut bytes: Bytes) -> Option<(DecodedRequest, bool)> {
        let head = Head::decode(&mut Reader::new(&bytes)).ok()?;
        let (header_digest, data_digest) = self.sender.digests();
        if bytes.len() != head.length(header_digest, data_digest) {
            return None; // it arrived before the digests were in force
        }
        let fields = RequestFields::decode(&mut Reader::new(&bytes)).ok()?;
        let header = bytes.split_to(BHS);
        let additional = bytes.split_to(head.additional);
        let digest = bytes.split_to(header_digest);
        if !digest.is_empty() && crc32c_of_two(&header, &additional) != *digest {
            return None;
        }
        let data = bytes.split_to(head.data);
        let filled = bytes.split_to(padding(head.data));
        let intact = head.data == 0 || data_digest == 0 || crc32c_of_two(&data, &filled) == *bytes;
        Some((
            DecodedRequest { head, fields, header, additional, data, _kept: Reservation::default() },
            intact,
        ))
    }

    /// The command with this tag.
    pub(super) fn task(&self, tag: u32) -> Option<Arc<ScsiTask>> {
        self.tasks.lock().by_tag.get(&tag).cloned()
    }

    /// Whether a command with this tag was aborted recently.
    pub(super) fn was_aborted(&self, tag: u32) -> bool {
        self.tasks.lock().aborted.contains(&tag)
    }

    /// Whether the connection or its session has ended: further PDUs are ignored.
    pub(super) fn is_ended(&self) -> bool {
        self.tasks.lock().ended
    }

    /// Registers a command. False if another command with its tag is in flight, or no command may
    /// begin any more.
    pub(super) fn enter(&self, task: &Arc<ScsiTask>) -> bool {
        let mut tasks = self.tasks.lock();
        if tasks.ended || tasks.by_tag.contains_key(&task.tag) {
            return false;
        }
        tasks.by_tag.insert(task.tag, task.clone());
        true
    }

    /// Removes a command whose response is next. False if it was aborted and gets no response.
    pub(super) fn leave(&self, task: &ScsiTask) -> bool {
        {
            let mut tasks = self.tasks.lock();
            // After an abort, another command may have the tag.
            if !tasks.by_tag.get(&task.tag).is_some_and(|other| std::ptr::eq(&raw const **other, task)) {
                return false;
            }
            tasks.by_tag.remove(&task.tag);
        }
        self.released(task);
        command::ask_waiting(self);
        true
    }

    /// Charges the memory of a command's data. If there is no memory, the connection ends.
    pub(super) fn keep(&self, state: &mut TaskState, bytes: usize) {
        match self.peer.memory.try_keep(bytes) {
            Some(kept) => state.kept.join(kept),
            None => {
                tracing::debug!(client = %self.peer.address, bytes, "no memory for data that came before their turn");
                self.sender.close();
            }
        }
    }

    /// Aborts the selected commands and returns them.
    pub(super) fn abort(&self, is_meant: impl Fn(&ScsiTask) -> bool) -> Vec<Arc<ScsiTask>> {
        let aborted: Vec<Arc<ScsiTask>> = {
            let mut tasks = self.tasks.lock();
            let meant = tasks.by_tag.values().filter(|task| is_meant(task)).cloned();
            let meant: Vec<_> = meant.collect();
            for task in &meant {
                tasks.by_tag.remove(&task.tag);
                tasks.aborted.push_back(task.tag);
            }
            let many = tasks.aborted.len().saturating_sub(ABORTED_KEPT);
            tasks.aborted.drain(..many);
            meant
        };
        aborted.iter().for_each(|task| task.abort());
        aborted.iter().for_each(|task| observed::end(self, task, (Status::TASK_ABORTED, None), 0));
        aborted.iter().for_each(|task| self.released(task));
        command::ask_waiting(self);
        aborted
    }

    /// Whether a selected command exists.
    pub(super) fn has(&self, is_meant: impl Fn(&ScsiTask) -> bool) -> bool {
        self.tasks.lock().by_tag.values().any(|task| is_meant(task))
    }

    /// Aborts all commands. No command begins any more.
    pub(super) fn end_tasks(&self) {
        self.tasks.lock().ended = true;
        self.abort(|_| true);
    }

    /// Releases the limits that a command counted for.
    fn released(&self, task: &ScsiTask) {
        if let Some(joined) = self.joined.get() {
            if task.numbered {
                joined.session.window.lock().over();
            } else {
                joined.session.immediate.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let (solicited, gathered) = {
            let mut state = task.state.lock();
            state.kept = Reservation::default();
            (std::mem::take(&mut state.solicited), std::mem::take(&mut state.gathered))
        };
        self.solicited.forget(task);
        self.solicited.give_back(solicited, gathered);
    }
}

/// The connection's interface to `conn`.
pub(super) struct IscsiProtocol(pub(super) Arc<Connection>);

impl Protocol for IscsiProtocol {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let Some(start) = bytes.get(..Head::NEEDS) else { return Ok(None) };
        let head = Head::decode(&mut Reader::new(start)).map_err(|_| "not a PDU")?;
        let joined = self.0.joined.get();
        let most = joined.map_or(MAX_LOGIN_DATA, |joined| joined.parameters.our_max_data as usize);
        if head.data > most {
            return Err("more data than was agreed on");
        }
        if joined.is_none() && head.additional > 0 {
            return Err("further headers before the login");
        }
        let (header_digest, data_digest) = self.0.sender.digests();
        Ok(Some(head.length(header_digest, data_digest)))
    }

    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer {
        let connection = &self.0;
        connection.heard_s.store(connection.service.now_s(), Ordering::Relaxed);
        if connection.is_ended() {
            return full_feature::nothing(); // sent before its sender knew, or after a logout
        }
        let Some((message, intact)) = connection.apart(message.freeze()) else {
            connection.sender.close(); // RFC 7143 7.8: after a wrong header digest nothing can be trusted
            return full_feature::nothing();
        };
        match connection.joined.get() {
            Some(joined) if intact => full_feature::take(connection, joined, message, in_flight),
            Some(joined) => full_feature::damaged(connection, joined, &message),
            None => login_phase::take(connection, message),
        }
    }

    fn began(&self, client: ToClient) {
        self.0.sender.begin(client);
        let connection = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(LOGIN_WITHIN).await;
            let Some(connection) = connection.upgrade() else { return };
            if connection.joined.get().is_none() {
                tracing::debug!(client = %connection.peer.address, "nobody has logged in within the time for it");
                connection.sender.close();
            }
        });
    }

    fn ended(&self) {
        self.0.end_tasks();
        if let Some(joined) = self.0.joined.get() {
            self.0.service.lost(&joined.session, &self.0);
        }
    }
}
