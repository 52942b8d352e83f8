//! Calls are observed with their export and status.

use bytes::Bytes;
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

#[tokio::test]
async fn repeated_calls_and_refused_credentials_are_observed() {
    let recorder = Recorder::start();
    let client = Client::new(&service()).at([192, 0, 2, 78]);
    let head = |xid: u32, procedure: u32, flavor: u32| {
        // RFC 5531 9: xid, CALL, RPC version, program, version, procedure, credential, verifier
        [xid, 0, 2, 100_003, 3, procedure, flavor, 0, 0, 0].map(u32::to_be_bytes).concat()
    };
    let remove = |xid| {
        let handle_and_name = [4_u32, 0x6161_6161, 1, 0x6200_0000].map(u32::to_be_bytes).concat();
        Bytes::from([head(xid, 12, 0), handle_and_name].concat())
    };
    let first = client.send(remove(1)).await.unwrap();
    assert_eq!(client.send(remove(1)).await, Some(first));
    let strange = head(2, 0, 77); // an unknown flavour
    assert!(client.send(strange.into()).await.is_some());
    let kept = recorder.of(([192, 0, 2, 78], 700).into());
    let told: Vec<_> = kept.iter().map(|one| (one.command.as_str(), one.result.as_str())).collect();
    assert_eq!(told[1..], [("REMOVE", "repeated"), ("NULL", "AUTH_TOOWEAK")]);
    assert_eq!(kept[0].bytes_out, kept[1].bytes_out);
    assert!(!kept[1].failed && kept[2].failed);
}
