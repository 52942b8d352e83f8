//! Named pipes through the harness.

use crate::server::testing::{User, read_request, service};
use crate::wire::{Command, Status, close};

#[tokio::test]
async fn there_are_four_pipes() {
    let mut ada = User::new(&service()).await;
    ada.tree = ada.enter("IPC$").await.unwrap();
    for name in ["srvsvc", "WKSSVC", "lsarpc", "samr"] {
        assert!(ada.open(name, |_| ()).await.is_ok(), "{name}");
    }
    assert_eq!(ada.open("spoolss", |_| ()).await.err(), Some(Status::OBJECT_NAME_NOT_FOUND));
}

#[tokio::test]
async fn a_read_of_an_empty_pipe_waits_until_the_pipe_is_closed() {
    let mut ada = User::new(&service()).await;
    ada.tree = ada.enter("IPC$").await.unwrap();
    let pipe = ada.open("srvsvc", |_| ()).await.unwrap().file;
    let request = read_request(pipe, 0, 1024);
    let id = ada.start(Command::READ, |w| request.encode(w)).await;
    ada.told_to_wait(id).await;
    let close = close::Request { flags: close::Flags::NONE, file: pipe };
    assert_eq!(ada.call(Command::CLOSE, |w| close.encode(w)).await.status(), Status::SUCCESS);
    assert_eq!(ada.answer(id).await.status(), Status::PIPE_DISCONNECTED);
}

/// `bytes` as a fragment of connection-oriented DCE RPC, C706 12.6.4: the length is in bytes 8 and 9.
fn fragment(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut all = vec![5, 0, kind, 3, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    all.extend(bytes);
    let length = all.len() as u16;
    all[8..10].copy_from_slice(&length.to_le_bytes());
    all
}

/// The answers are made of sessions, shares and opens, while the pipe is held.
#[tokio::test]
async fn calls_ask_the_server_for_what_its_clients_have() {
    let mut ada = User::new(&service()).await;
    ada.tree = ada.enter("IPC$").await.unwrap();
    let pipe = ada.open("srvsvc", |_| ()).await.unwrap().file;
    // srvsvc 4b324fc8-1670-01d3-1278-5a47bf6ee188 version 3 in NDR.
    let mut bind = vec![0xd0, 0x16, 0xd0, 0x16, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0];
    bind.extend(b"\xc8\x4f\x32\x4b\x70\x16\xd3\x01\x12\x78\x5a\x47\xbf\x6e\xe1\x88\x03\0\0\0");
    bind.extend(b"\x04\x5d\x88\x8a\xeb\x1c\xc9\x11\x9f\xe8\x08\0\x2b\x10\x48\x60\x02\0\0\0");
    assert_eq!(ada.write(pipe, 0, &fragment(11, &bind)).await, Status::SUCCESS);
    ada.read(pipe, 0, 4096).await.unwrap();
    // NetrShareEnum with level 1 and NetrSessionEnum with level 10, MS-SRVS 3.1.4.8 and 3.1.4.5: no names, an empty container.
    for (operation, names, level, wanted) in [(15, 1, 1, "share"), (12, 3, 10, "ada")] {
        let mut call = vec![0, 0, 0, 0, 0, 0, operation, 0];
        call.extend(vec![0; 4 * names]);
        call.extend([
            level, 0, 0, 0, level, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
        ]);
        call.extend([0; 4]);
        assert_eq!(ada.write(pipe, 0, &fragment(0, &call)).await, Status::SUCCESS);
        let results = ada.read(pipe, 0, 4096).await.unwrap();
        let wanted: Vec<u8> = wanted.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(results.windows(wanted.len()).any(|found| found == wanted), "{operation}: {results:x?}");
    }
}
