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
