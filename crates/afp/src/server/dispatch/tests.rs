mod versions;

use conn::observe::testing::Recorder;

use crate::server::config::Version;
use crate::server::testing::{ADA, Server};
use crate::wire::directory::{OfPlace, Place};
use crate::wire::fork::OneFork;
use crate::wire::{Path, command};

#[tokio::test]
async fn commands_are_observed_with_their_volume_and_result() {
    let (recorder, server) = (Recorder::start(), Server::new());
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("share");
    for name in [&b"notes"[..], b"notes", b"letters"] {
        let place = OfPlace { place: Place { volume, folder: 2, path: Path::utf8(name) } };
        ada.call(command::CREATE_DIR, |w| place.encode(w)).await;
    }
    ada.call(command::FLUSH_FORK, |w| OneFork { fork: 99 }.encode(w)).await;
    ada.call(250, |_| ()).await;
    let client = ada.connection.peer.address;
    let row = |share: &str, command: &str, result: &str, count: usize| {
        (["afp", "ada", share, command, result].map(String::from), count)
    };
    let expected = [
        row("share", "CREATE_DIR", "NO_ERROR", 2),
        row("share", "CREATE_DIR", "OBJECT_EXISTS", 1),
        row("", "FLUSH_FORK", "PARAM_ERROR", 1),
        row("", "250", "CALL_NOT_SUPPORTED", 1),
    ];
    assert_eq!(recorder.counts(client), expected.into());
    let kept = recorder.of(client);
    assert_eq!((kept[0].failed, kept[1].failed), (false, true));
    assert!(kept[0].bytes_in > 5 && kept[0].bytes_out == 4, "the number of the folder: {:?}", kept[0]);
}
