use std::io::{self, Write};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;

use super::testing::Recorder;
use super::*;

/// The lines of the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Starts a log with this filter, for this thread.
    fn start(&self, filter: &str) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let lines = tracing_subscriber::fmt::layer().without_time().with_ansi(false);
        let filter: Targets = filter.parse().unwrap();
        let lines = lines.with_writer(move || log.clone());
        tracing::subscriber::set_default(tracing_subscriber::registry().with(filter).with(lines))
    }

    /// The lines since the last call, without the durations.
    fn take(&self) -> Vec<String> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap();
        let words = |line: &str| {
            let words = line.split_whitespace().filter(|word| !word.starts_with("micros"));
            words.collect::<Vec<_>>().join(" ")
        };
        text.lines().map(words).collect()
    }
}

fn read() -> Option<RunningOperation> {
    begin("smb", "192.0.2.7:51234".parse().unwrap(), || "READ".into())
}

/// One test, because whether operations are observed is one fact of the process.
#[tokio::test]
async fn operations_are_spans_and_go_to_the_observer_and_the_log() {
    assert!(read().is_none(), "nothing observes");
    let log = Log::default();
    let quiet = log.start("info");
    follow_log();
    assert!(read().is_none(), "the log does not show operations");
    within(None, async { tracing::warn!("a disk is slow") }).await;
    assert_eq!(log.take(), ["WARN conn::observe::tests: a disk is slow"]);
    drop(quiet);

    let _default = log.start("info,fourfold::operation=debug");
    follow_log();
    let (user, share) = ("ada", "drafts");
    let outcome = Outcome { user, share, result: "SUCCESS", failed: false, bytes_in: 117, bytes_out: 4112 };
    let begun = read().unwrap();
    within(Some(&begun), async { tracing::warn!("a disk is slow") }).await;
    begun.end(&outcome);
    tracing::warn!("afterwards");
    let client = "address=192.0.2.7 port=51234";
    let expected = [
        &format!(
            "WARN operation{{protocol=\"smb\" {client} command=\"READ\"}}: conn::observe::tests: a disk is slow"
        ),
        &format!(
            "DEBUG fourfold::operation: ended protocol=\"smb\" {client} user=\"ada\" share=\"drafts\" \
             command=\"READ\" result=\"SUCCESS\" bytes_in=117 bytes_out=4112"
        ),
        "WARN conn::observe::tests: afterwards",
    ];
    assert_eq!(log.take(), expected);

    // What ends while a part of it still runs: that part has all fields.
    let begun = read().unwrap();
    begun.end(&outcome);
    within(Some(&begun), async { tracing::warn!("late") }).await;
    let late = log.take().pop().unwrap();
    assert!(late.contains("user=\"ada\" share=\"drafts\" result=\"SUCCESS\""), "{late}");

    let recorder = Recorder::start();
    read().unwrap().end(&Outcome { result: "ACCESS_DENIED", failed: true, ..outcome });
    let kept = recorder.of("192.0.2.7:51234".parse().unwrap());
    assert_eq!((kept.len(), kept[0].failed, kept[0].result.as_str()), (1, true, "ACCESS_DENIED"));
    let counts = Arc::new(AtomicUsize::new(0));
    let switch = add(Box::new(CountingObserver(counts.clone()))).unwrap();
    read().unwrap().end(&outcome);
    assert_eq!(counts.load(Ordering::Relaxed), 0, "it is off");
    switch.turn(Some(Wants { files: Some(Paths::AtOnce), times: true }));
    read().unwrap().end(&outcome);
    switch.turn(None);
    read().unwrap().end(&outcome);
    assert_eq!(counts.load(Ordering::Relaxed), 1);
    let more = (0..10).filter(|_| add(Box::new(CountingObserver(counts.clone()))).is_some()).count();
    assert_eq!(more, MOST_OBSERVERS - 2, "there is a limit");
}

struct CountingObserver(Arc<AtomicUsize>);

impl Observer for CountingObserver {
    fn ended(&self, _: &EndedOperation<'_>, _: Duration) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
