//! Slow operations: logged with where their time went, if `slow-operation` is set; and the slowest ones of the last seconds,
//! while `fourfold status --watch` asks for them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use admin::Settings;
use admin::control::SlowOperation;
use conn::observe::{self, EndedOperation, Observer, Switch, Wants};
use lock::Mutex;
use vfs::noted::{OperationTrace, Paths};
use wire::{ClientAddress, ClientIp};

use crate::ranks;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;

/// Lines in the log within [`PERIOD`].
const LINES: u32 = 20;
const PERIOD: Duration = Duration::from_secs(60);
/// The slowest operations that are kept for a view.
const MOST_KEPT: usize = 16;
/// How long a view may be silent until nothing is kept for it.
const WATCHED_FOR: Duration = Duration::from_secs(10);

/// The slow operations of the server.
pub(crate) struct Slow {
    shared: Arc<SlowRecorder>,
    switch: Option<Switch>,
}

#[derive(Default)]
struct SlowRecorder {
    /// From how many milliseconds an operation is logged; 0: never.
    threshold: AtomicU64,
    /// The operations that were logged or would have been.
    count: AtomicU64,
    /// Whether a view asks for the slowest.
    is_asked: AtomicBool,
    state: Mutex<SlowState, ranks::SlowOperations>,
}

#[derive(Default)]
struct SlowState {
    /// When the period of the limit began.
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
    /// The slowest since the last question, the slowest first.
    kept: Vec<SlowOperation>,
    /// When a view asked last.
    asked: Option<Instant>,
}

impl SlowState {
    /// Whether a line may be written, and how many were left out before it.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= PERIOD) {
            (self.since, self.lines) = (Some(now), 0);
        }
        if self.lines >= LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }

    fn keep(&mut self, operation: SlowOperation) {
        let place = self.kept.partition_point(|other| other.micros >= operation.micros);
        if place < MOST_KEPT {
            self.kept.insert(place, operation);
            self.kept.truncate(MOST_KEPT);
        }
    }
}

/// Whether an operation waits for something that another client does, as it should.
fn waits_by_design(operation: &EndedOperation<'_>) -> bool {
    matches!((operation.protocol, operation.command), ("smb", "CHANGE_NOTIFY" | "LOCK") | ("nfs", "NLM LOCK"))
}

struct Ear(Arc<SlowRecorder>);

impl Observer for Ear {
    fn ended(&self, operation: &EndedOperation<'_>, took: Duration) {
        self.ended_with(operation, took, &OperationTrace::default());
    }

    fn ended_with(&self, operation: &EndedOperation<'_>, took: Duration, noted: &OperationTrace) {
        if !waits_by_design(operation) {
            self.0.hear(operation, took, noted, Instant::now());
        }
    }
}

fn described(operation: &EndedOperation<'_>, took: Duration, noted: &OperationTrace) -> SlowOperation {
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let outcome = &operation.outcome;
    let known = noted.leases + noted.permits + noted.queue + noted.disk;
    SlowOperation {
        protocol: operation.protocol.to_owned(),
        client: SocketAddr::new(operation.client.ip().to_canonical(), operation.client.port()),
        user: outcome.user.to_owned(),
        share: outcome.share.to_owned(),
        command: operation.command.to_owned(),
        path: noted.files.first().map(|file| file.path.text().into_owned()).unwrap_or_default(),
        result: outcome.result.to_owned(),
        micros: micros(took),
        leases_micros: micros(noted.leases),
        permits_micros: micros(noted.permits),
        queue_micros: micros(noted.queue),
        disk_micros: micros(noted.disk),
        other_micros: micros(took.saturating_sub(known)),
    }
}

impl SlowRecorder {
    fn hear(&self, operation: &EndedOperation<'_>, took: Duration, noted: &OperationTrace, now: Instant) {
        let threshold = self.threshold.load(Ordering::Relaxed);
        let is_slow = threshold > 0 && took.as_millis() >= u128::from(threshold);
        if !is_slow && !self.is_asked.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state.lock();
        if state.asked.is_some() {
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            let is_among = state.kept.len() < MOST_KEPT
                || state.kept.last().is_some_and(|fastest| fastest.micros < micros);
            if is_among {
                state.keep(described(operation, took, noted));
            }
        }
        if !is_slow {
            return;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let Some(left_out) = state.admit(now) else { return };
        drop(state);
        let slow = described(operation, took, noted);
        tracing::warn!(
            target: "slow",
            protocol = slow.protocol,
            address = %ClientIp(slow.client.ip()),
            port = ClientAddress(slow.client).port(),
            user = slow.user,
            share = slow.share,
            command = slow.command,
            path = slow.path,
            result = slow.result,
            micros = slow.micros,
            leases = slow.leases_micros,
            permits = slow.permits_micros,
            queue = slow.queue_micros,
            disk = slow.disk_micros,
            other = slow.other_micros,
            left_out,
            "an operation was slow"
        );
    }
}

impl Slow {
    /// As the settings want it.
    pub(crate) fn new(settings: &Settings) -> Self {
        let shared = Arc::<SlowRecorder>::default();
        let slow = Self { switch: observe::add(Box::new(Ear(shared.clone()))), shared };
        slow.apply(settings);
        slow
    }

    fn apply(&self, settings: &Settings) {
        let threshold = settings.server.told.slow_operation.map_or(0, |limit| limit.as_millis());
        self.shared.threshold.store(u64::try_from(threshold).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.turn();
    }

    /// Observes while a threshold is set or a view asks.
    fn turn(&self) {
        let is_asked = self.shared.state.lock().asked.is_some();
        let is_on = is_asked || self.shared.threshold.load(Ordering::Relaxed) > 0;
        let wants = is_on.then_some(Wants { files: Some(Paths::Later), times: true });
        self.switch.iter().for_each(|switch| switch.turn(wants));
    }

    /// The slowest operations since the last question. The first question begins to keep them.
    pub(crate) fn slowest(&self, now: Instant) -> Vec<SlowOperation> {
        let mut state = self.shared.state.lock();
        let is_first = state.asked.replace(now).is_none();
        self.shared.is_asked.store(true, Ordering::Relaxed);
        let kept = std::mem::take(&mut state.kept);
        drop(state);
        if is_first {
            self.turn();
        }
        kept
    }

    /// Stops keeping operations for a view that does not ask any more.
    pub(crate) fn tend(&self, now: Instant) {
        let mut state = self.shared.state.lock();
        if state.asked.is_some_and(|asked| now.duration_since(asked) >= WATCHED_FOR) {
            (state.asked, state.kept) = (None, Vec::new());
            self.shared.is_asked.store(false, Ordering::Relaxed);
            drop(state);
            self.turn();
        }
    }
}

impl Component for Slow {
    fn count(&self, held: &mut ResourceCounts) {
        held.slow = self.shared.count.load(Ordering::Relaxed);
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        self.apply(&current.settings);
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use conn::observe::Outcome;
    use vfs::noted::{Act, FileNote};

    use super::*;

    fn hear(shared: &SlowRecorder, command: &str, millis: u64, now: Instant) {
        let outcome = Outcome { user: "ada", share: "video", result: "SUCCESS", ..Outcome::default() };
        let client = "192.0.2.7:51234".parse().unwrap();
        let operation = EndedOperation { protocol: "smb", client, command, outcome };
        let file = FileNote { act: Act::Read, path: "film".into(), to: None, inode: None };
        let disk = Duration::from_millis(millis / 2);
        let noted = OperationTrace { files: vec![file], disk, ..OperationTrace::default() };
        shared.hear(&operation, Duration::from_millis(millis), &noted, now);
    }

    #[test]
    fn the_slowest_are_kept_for_a_view_while_it_asks() {
        let slow = Slow { shared: Arc::default(), switch: None };
        let now = Instant::now();
        hear(&slow.shared, "READ", 50, now);
        assert!(slow.slowest(now).is_empty(), "nothing was kept before");
        (0..40).for_each(|millis| hear(&slow.shared, "READ", millis, now));
        hear(&slow.shared, "WRITE", 30, now);
        let kept = slow.slowest(now + Duration::from_secs(2));
        assert_eq!(kept.len(), MOST_KEPT);
        assert_eq!((kept[0].micros, kept[0].disk_micros, kept[0].other_micros), (39_000, 19_000, 20_000));
        assert_eq!((kept[0].path.as_str(), kept[0].share.as_str()), ("film", "video"));
        assert!(kept.is_sorted_by(|one, other| one.micros >= other.micros));
        assert!(slow.slowest(now + Duration::from_secs(4)).is_empty(), "each is shown once");
        slow.tend(now + Duration::from_secs(15));
        hear(&slow.shared, "READ", 50, now);
        assert!(slow.shared.state.lock().kept.is_empty(), "the view has gone");
    }

    #[test]
    fn slow_operations_are_counted_and_their_lines_limited() {
        let (shared, now) = (SlowRecorder::default(), Instant::now());
        hear(&shared, "READ", 5000, now);
        assert_eq!(shared.count.load(Ordering::Relaxed), 0, "it is off");
        shared.threshold.store(1000, Ordering::Relaxed);
        (0..50).for_each(|_| hear(&shared, "READ", 1000, now));
        hear(&shared, "READ", 999, now);
        assert_eq!(shared.count.load(Ordering::Relaxed), 50);
        let mut state = shared.state.lock();
        assert_eq!((state.lines, state.left_out), (LINES, 30));
        assert_eq!(state.admit(now + Duration::from_secs(59)), None);
        assert_eq!(state.admit(now + Duration::from_secs(60)), Some(31));
    }

    #[test]
    fn operations_that_wait_for_other_clients_are_not_slow() {
        let client = "192.0.2.7:51234".parse().unwrap();
        let of =
            |protocol, command| EndedOperation { protocol, client, command, outcome: Default::default() };
        assert!(waits_by_design(&of("smb", "CHANGE_NOTIFY")) && !waits_by_design(&of("smb", "READ")));
    }
}
