//! Requests are observed with their share and status.

use conn::observe::testing::Recorder;

use crate::server::testing::{User, service};
use crate::wire::{Command, Status, flush};

#[tokio::test]
async fn each_request_of_a_chain_is_observed() {
    let recorder = Recorder::start();
    let mut ada = User::new(&service()).await;
    let file = ada.make("notes", b"abc").await;
    assert_eq!(ada.read(file, 0, 3).await.unwrap(), b"abc");
    assert_eq!(ada.read(file, 9, 3).await.unwrap_err(), Status::END_OF_FILE);
    let client = ada.client.link.connection.peer.address;
    let before = recorder.of(client).len();
    let flush = |ada: &User| {
        let encode = |w: &mut wire::Writer| flush::Request { reserved: 0, file }.encode(w);
        crate::client::Request::new(Command::FLUSH, encode).on(ada.session.id, ada.tree)
    };
    let chain = vec![flush(&ada), flush(&ada)];
    for id in ada.start_chain(chain).await {
        assert_eq!(ada.answer(id).await.status(), Status::SUCCESS);
    }
    let kept = recorder.of(client);
    let chain: Vec<_> =
        kept[before..].iter().map(|one| (one.command.as_str(), one.bytes_in, one.bytes_out)).collect();
    assert_eq!(chain, [("FLUSH", 88, 68), ("FLUSH", 88, 68)]); // MS-SMB2 2.2.17 and 2.2.18 after headers of 64 bytes
    let counts = recorder.counts(client);
    let count = |command: &str, result: &str| {
        counts.get(&["smb", "ada", "share", command, result].map(String::from)).copied().unwrap_or(0)
    };
    assert_eq!(
        (count("READ", "SUCCESS"), count("READ", "END_OF_FILE"), count("FLUSH", "SUCCESS")),
        (1, 1, 2)
    );
    assert!(kept.iter().any(|one| one.command == "NEGOTIATE" && one.user.is_empty()));
    let told = |command: &str| {
        let last = kept.iter().rfind(|one| one.command == command).unwrap();
        (last.user.as_str(), last.share.as_str(), last.result.as_str())
    };
    assert_eq!(told("SESSION_SETUP"), ("ada", "", "SUCCESS"));
    assert_eq!(told("TREE_CONNECT"), ("ada", "share", "SUCCESS"));
    let mut cancel = ada.request(Command::CANCEL, |w| crate::wire::cancel::Request.encode(w));
    (cancel.header.message_id, cancel.header.credits) = (99_999, 0); // no such request waits
    ada.start_chain(vec![cancel]).await;
    assert_eq!(ada.read(file, 0, 3).await.unwrap(), b"abc");
    let kept = recorder.of(client);
    let cancel = kept.iter().find(|one| one.command == "CANCEL").unwrap();
    assert_eq!((cancel.user.as_str(), cancel.bytes_in, cancel.bytes_out), ("ada", 68, 0)); // MS-SMB2 2.2.30: no response
}
