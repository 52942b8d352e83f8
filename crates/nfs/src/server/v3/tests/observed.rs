//! Calls are observed with their export and status.

use conn::observe::testing::Recorder;

use super::*;
use crate::server::testing::{SHARE, service};

#[test]
fn calls_are_observed_with_their_export_and_status() {
    let recorder = Recorder::start();
    let client = Client::new(&service()).at([192, 0, 2, 77]);
    let share = Session::mounted(client, SHARE);
    let root = share.root.clone();
    share.attributes(&root);
    share.attributes(&root);
    assert_eq!(share.lookup(&root, b"none").unwrap_err().status, Status::NOENT);
    let counts = recorder.counts(([192, 0, 2, 77], 700).into());
    let row = |command: &str, result: &str, count: usize| {
        (["nfs", "uid 1000", SHARE, command, result].map(String::from), count)
    };
    let expected = [row("MOUNT MNT", "OK", 1), row("GETATTR", "OK", 2), row("LOOKUP", "NOENT", 1)];
    assert_eq!(counts, expected.into());
    let kept = recorder.of(([192, 0, 2, 77], 700).into());
    assert_eq!(kept[1].bytes_out, 4 + 84, "RFC 1813 3.3.1: the status and a fattr3");
    assert!(kept.iter().all(|one| one.failed == (one.result == "NOENT")));
}
