use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::testing::Recorder;
use super::*;

/// Keeps the fields of the events of one target.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Fields(Vec<String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push(format!("{field}={value:?}"));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "fourfold::operation" && *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        let fields: Vec<String> = fields.0.into_iter().filter(|field| !field.starts_with("micros")).collect();
        self.0.lock().unwrap().push(fields.join(" "));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// One test, because whether operations are observed is one fact of the process.
#[test]
fn operations_go_to_the_observer_and_the_log() {
    assert!(begin().is_none(), "nothing observes");
    follow_log();
    assert!(begin().is_none(), "the log does not show operations");
    let log = Log::default();
    let _default = tracing::subscriber::set_default(log.clone());
    follow_log();
    let operation = Operation {
        protocol: "smb",
        client: "192.0.2.7:51234".parse().unwrap(),
        user: "ada",
        share: "drafts",
        command: "READ",
        result: "SUCCESS",
        failed: false,
        bytes_in: 117,
        bytes_out: 4112,
    };
    begin().unwrap().end(&operation);
    let recorder = Recorder::start();
    let denied = Operation { result: "ACCESS_DENIED", failed: true, ..operation };
    begin().unwrap().end(&denied);
    assert_eq!(
        log.0.lock().unwrap()[0],
        "message=ended protocol=\"smb\" address=192.0.2.7 port=51234 user=\"ada\" share=\"drafts\" \
         command=\"READ\" result=\"SUCCESS\" bytes_in=117 bytes_out=4112"
    );
    assert_eq!(log.0.lock().unwrap().len(), 2);
    let kept = recorder.of(operation.client);
    assert_eq!((kept.len(), kept[0].failed, kept[0].result.as_str()), (1, true, "ACCESS_DENIED"));
    assert!(!set(Box::new(Another)), "only one");
}

struct Another;

impl Observer for Another {
    fn ended(&self, _: &Operation<'_>, _: Duration) {}
}
