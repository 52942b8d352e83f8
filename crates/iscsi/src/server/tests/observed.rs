//! Commands are observed with their disk and status.

use conn::observe::testing::Recorder;

use crate::server::testing::{Server, Way};

#[tokio::test]
async fn commands_are_observed_with_their_disk_and_status() {
    let recorder = Recorder::start();
    let server = Server::new().await;
    let mut ada = server.log_in("iqn.2026-11.test:ada").await;
    let disk = server
        .target
        .seen_by("iqn.2026-11.test:ada", [192, 0, 2, 1].into())
        .remove(0)
        .unit
        .identity()
        .name
        .clone();
    let read = [0x28, 0, 0, 0, 0, 0, 0, 0, 2, 0];
    let beyond = [0x28, 0, 0, 0, 0x10, 0, 0, 0, 1, 0];
    ada.command(&read, Way::In(1024)).await;
    ada.command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], Way::Out(&[7; 512])).await;
    ada.command(&beyond, Way::In(512)).await;
    ada.command(&[0xee, 0, 0, 0, 0, 0], Way::Nothing).await;
    let kept = recorder.of(ada.served.0.peer.address);
    let rows: Vec<_> = kept
        .iter()
        .map(|one| {
            (one.share.as_str(), one.command.as_str(), one.result.as_str(), one.bytes_in, one.bytes_out)
        })
        .collect();
    let disk = disk.as_str();
    let expected = [
        (disk, "TEST_UNIT_READY", "CHECK_CONDITION UNIT_ATTENTION 29h/00h", 0, 0),
        (disk, "READ_10", "GOOD", 0, 1024),
        (disk, "WRITE_10", "GOOD", 512, 0),
        (disk, "READ_10", "CHECK_CONDITION ILLEGAL_REQUEST 21h/00h", 0, 0),
        (disk, "operation code eeh", "CHECK_CONDITION ILLEGAL_REQUEST 20h/00h", 0, 0),
    ];
    assert_eq!(rows, expected);
    assert!(kept.iter().all(|one| one.protocol == "iscsi" && one.user == "iqn.2026-11.test:ada"));
}
