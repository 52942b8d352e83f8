//! The audit log: which client did what to which file, as lines of JSON in a file. docs/logs.md describes them.
//!
//! ```text
//! operation ends ─► rule of its share ─► bounded queue ─► a thread: sums up, writes, rotates
//! ```
//!
//! An operation never waits for the file. If the queue is full, its lines are dropped and counted. The thread exists while
//! a share is audited.

mod line;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use admin::{AuditScope, Settings};
use conn::observe::{self, EndedOperation, Observer, Switch, Wants};
use lock::{Mutex, RwLock};
use vfs::noted::{OperationTrace, Paths};

use self::line::Line;
use self::writer::{Place, Writer};
use crate::ranks;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;

/// The most lines that wait to be written.
const MOST_WAITING: usize = 8192;
/// The most bytes of paths and names in them.
const MOST_BYTES: usize = 8 << 20;

/// Counters of the audit log since the process began.
#[derive(Debug, Default)]
pub(crate) struct AuditCounters {
    /// Lines in the file.
    written: AtomicU64,
    /// Lines that did not fit in the queue, or could not be written.
    lost: AtomicU64,
    /// Bytes of the lines in the queue.
    waiting: AtomicUsize,
}

/// Which shares are audited, and where the lines go.
#[derive(Default)]
struct AuditRules {
    /// By the names that protocols use for a share: its name in the settings and what is audited.
    shares: HashMap<String, (Arc<str>, AuditScope)>,
    lines: Option<SyncSender<Line>>,
}

#[derive(Default)]
struct AuditRecorder {
    rules: RwLock<AuditRules, ranks::AuditRules>,
    counters: Arc<AuditCounters>,
}

/// The audit log of the server.
pub(crate) struct Audit {
    shared: Arc<AuditRecorder>,
    switch: Option<Switch>,
    /// The thread that writes, and where it does.
    thread: Mutex<Option<(JoinHandle<()>, Place)>, ranks::AuditThread>,
}

struct Ear(Arc<AuditRecorder>);

impl Observer for Ear {
    fn ended(&self, _: &EndedOperation<'_>, _: Duration) {}

    fn ended_with(&self, operation: &EndedOperation<'_>, _: Duration, noted: &OperationTrace) {
        self.0.hear(operation, noted);
    }
}

impl AuditRecorder {
    fn hear(&self, operation: &EndedOperation<'_>, noted: &OperationTrace) {
        if noted.files.is_empty() {
            return;
        }
        let rules = self.rules.read();
        let (Some((share, audited)), Some(lines)) =
            (rules.shares.get(operation.outcome.share), rules.lines.as_ref())
        else {
            return;
        };
        let failed = operation.outcome.failed;
        let is_wanted = |note: &&vfs::noted::FileNote| {
            *audited == AuditScope::All || *audited == AuditScope::Changes && note.act.is_change(failed)
        };
        for note in noted.files.iter().filter(is_wanted) {
            let line = Line::of(operation, share.clone(), note, SystemTime::now());
            let bytes = line.bytes();
            let counters = &self.counters;
            let fits = counters.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST_BYTES;
            if !fits || lines.try_send(line).is_err() {
                counters.waiting.fetch_sub(bytes, Ordering::Relaxed);
                counters.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Audit {
    /// The audit log as the settings want it.
    pub(crate) fn new(settings: &Settings) -> Self {
        let shared = Arc::<AuditRecorder>::default();
        let switch = observe::add(Box::new(Ear(shared.clone())));
        let audit = Self { shared, switch, thread: Mutex::default() };
        audit.apply(settings);
        audit
    }

    /// Audits the shares that the settings name from now on.
    fn apply(&self, settings: &Settings) {
        let told = &settings.server.told;
        let place =
            Place { path: told.audit_log.clone(), size: told.audit_log_size, older: told.audit_log_files };
        let audited = settings.shares.iter().filter(|share| share.audit != AuditScope::Nothing);
        let named = audited.flat_map(|share| {
            let name: Arc<str> = share.name.as_str().into();
            [(share.name.clone(), (name.clone(), share.audit)), (share.flat_name(), (name, share.audit))]
        });
        let shares: HashMap<_, _> = named.collect();
        let is_on = !shares.is_empty();
        let mut thread = self.thread.lock();
        let keeps = thread.as_ref().is_some_and(|(_, now)| is_on && *now == place);
        self.shared.rules.write().shares = shares;
        if !keeps {
            self.end(&mut thread);
            if is_on {
                *thread = self.start(place);
            }
        }
        let wants = thread.is_some().then_some(Wants { files: Some(Paths::AtOnce), times: false });
        self.switch.iter().for_each(|switch| switch.turn(wants));
    }

    fn start(&self, place: Place) -> Option<(JoinHandle<()>, Place)> {
        let (lines, queue) = sync_channel(MOST_WAITING);
        let writer = Writer::new(place.clone(), self.shared.counters.clone());
        let spawned = std::thread::Builder::new().name("audit".into()).spawn(move || writer.run(&queue));
        match spawned {
            Ok(thread) => {
                self.shared.rules.write().lines = Some(lines);
                Some((thread, place))
            }
            Err(error) => {
                tracing::error!(%error, "the audit log cannot be written: its thread does not start");
                None
            }
        }
    }

    /// Ends the thread, once it has written what waits.
    fn end(&self, thread: &mut Option<(JoinHandle<()>, Place)>) {
        self.shared.rules.write().lines = None;
        if let Some((thread, _)) = thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the audit log has panicked");
        }
    }

    /// Writes what waits, and audits nothing from now on.
    pub(crate) fn stop(&self) {
        self.switch.iter().for_each(|switch| switch.turn(None));
        self.end(&mut self.thread.lock());
    }
}

impl Component for Audit {
    fn count(&self, held: &mut ResourceCounts) {
        let AuditCounters { written, lost, .. } = &*self.shared.counters;
        held.audit = (written.load(Ordering::Relaxed), lost.load(Ordering::Relaxed));
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.apply(&current.settings);
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
