//! FPWriteExt whose data are written while they arrive.

use bytes::BytesMut;
use conn::{EarlyMessage, InFlight, Protocol};
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;
use vfs::state::{LockKind, Modes, Range};
use vfs::{Error, OpenOptions};
use wire::Writer;

use super::*;
use crate::server::frames::AfpProtocol;
use crate::wire::dsi::{Command, DsiHeader};

/// The length of the data.
const LENGTH: usize = 64 * 1024;

/// A frame of which the beginning has arrived.
struct HalfFrame {
    bytes: Vec<u8>,
    data_at: usize,
    served: AfpProtocol,
    early: Option<Box<dyn EarlyMessage>>,
}

impl HalfFrame {
    /// Begins a write of this data, of which the head has arrived.
    fn new(ada: &User, write: Write, data: &[u8]) -> Self {
        let mut body = Writer::new();
        body.u8(command::WRITE_EXT);
        write.encode(Width::Bits64, &mut body);
        let at = body.len();
        body.put(data);
        let (id, length) = (ada.client.next_id(), body.len() as u32);
        let mut w = Writer::new();
        DsiHeader { is_reply: false, command: Command::WRITE, id, code: at as u32, length }.encode(&mut w);
        w.put(body.as_bytes());
        let (bytes, data_at) = (w.into_bytes(), DsiHeader::LEN + at);
        let served = AfpProtocol(ada.client.connection.clone());
        let early = served.begin_early(&bytes[..data_at], bytes.len(), &InFlight::default());
        Self { bytes, data_at, served, early }
    }

    fn is_early(&self) -> bool {
        self.early.is_some()
    }

    /// So much of the data has arrived. False: no more is written early.
    fn arrive(&mut self, data: usize) -> bool {
        self.early.as_mut().unwrap().write(&self.bytes[..self.data_at + data])
    }

    /// All of it has arrived.
    async fn complete(self) -> ResultCode {
        let message = BytesMut::from(&self.bytes[..]);
        let answer = match self.early {
            Some(early) => early.answer(message, InFlight::default()),
            None => self.served.answer(message, InFlight::default()),
        };
        let reply = answer.await.unwrap().into_bytes().unwrap();
        ResultCode(DsiHeader::decode(&mut Reader::new(&reply)).unwrap().code as i32)
    }
}

fn to(fork: u16) -> Write {
    Write { from_end: false, fork, offset: 0, count: LENGTH as i64 }
}

/// How many bytes of the file are those of the write.
async fn written(ada: &mut User, fork: u16) -> usize {
    let (_, bytes) = ada.read_ext(fork, 0, LENGTH as i64).await;
    bytes.iter().take_while(|byte| **byte == 9).count()
}

#[tokio::test]
async fn the_beginning_of_a_write_is_written_while_the_rest_arrives() {
    let (_server, mut ada) = notes(&[7; LENGTH]).await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let mut frame = HalfFrame::new(&ada, to(fork), &[9; LENGTH]);
    assert!(frame.arrive(LENGTH / 2 + 100));
    assert_eq!(written(&mut ada, fork).await, LENGTH / 2);
    assert_eq!(frame.complete().await, ResultCode::NO_ERROR);
    assert_eq!(written(&mut ada, fork).await, LENGTH);
    // The connection ends in the middle of another one.
    let mut frame = HalfFrame::new(&ada, Write { offset: LENGTH as i64, ..to(fork) }, &[9; LENGTH]);
    assert!(frame.arrive(LENGTH / 2));
    drop(frame);
    let (_, bytes) = ada.read_ext(fork, LENGTH as i64, LENGTH as i64).await;
    assert_eq!(bytes, [9; LENGTH / 2]);
}

#[tokio::test]
async fn a_write_that_is_refused_writes_nothing_early() {
    let (_server, mut ada) = notes(&[7; LENGTH]).await;
    let (fork, reader) = (ada.open("notes", BOTH).await.unwrap(), ada.open("notes", READ).await.unwrap());
    let refused = |write: Write, data: usize| HalfFrame::new(&ada, write, &vec![9; data]);
    let cases = [
        (refused(to(reader), LENGTH), ResultCode::ACCESS_DENIED),
        (refused(to(77), LENGTH), ResultCode::PARAM_ERROR),
        (refused(to(fork), LENGTH - 1), ResultCode::PARAM_ERROR),
        (refused(Write { offset: -1, ..to(fork) }, LENGTH), ResultCode::PARAM_ERROR),
        (refused(Write { offset: i64::MAX - 5, ..to(fork) }, LENGTH), ResultCode::DISK_FULL),
    ];
    for (frame, code) in cases {
        assert!(!frame.is_early(), "{code:?}");
        assert_eq!(frame.complete().await, code);
    }
    assert_eq!(written(&mut ada, fork).await, 0);
}

#[tokio::test]
async fn what_counts_from_the_end_or_is_a_resource_fork_waits() {
    let (_server, mut ada) = notes(&[7; 10]).await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let frame = HalfFrame::new(&ada, Write { from_end: true, ..to(fork) }, &[9; LENGTH]);
    assert!(!frame.is_early());
    assert_eq!(frame.complete().await, ResultCode::NO_ERROR);
    let resource = ada.open_resource("notes", BOTH).await;
    assert!(!HalfFrame::new(&ada, to(resource), &[9; LENGTH]).is_early());
}

#[tokio::test]
async fn a_range_that_another_client_locks_meanwhile_refuses_the_write() {
    let (server, mut ada) = notes(&[7; LENGTH]).await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let mut frame = HalfFrame::new(&ada, to(fork), &[9; LENGTH]);
    assert!(frame.arrive(LENGTH / 2));
    let (volume, actor) = (server.volume("share"), somebody());
    let root = volume.root().unwrap();
    let file = volume.lookup(&actor.caller, &root.object, b"notes").unwrap();
    let options = OpenOptions::data(Modes::READ.union(Modes::WRITE));
    let other = volume.open(&actor, &file, options).await.unwrap();
    other.lock(Range::new(LENGTH as u64 - 1, 1).unwrap(), LockKind::Exclusive).await.unwrap();
    assert!(!frame.arrive(LENGTH * 3 / 4));
    assert_eq!(frame.complete().await, ResultCode::LOCK_ERROR);
    // The next one writes nothing.
    let mut frame = HalfFrame::new(&ada, Write { offset: 1, ..to(fork) }, &[8; LENGTH]);
    assert!(!frame.arrive(LENGTH / 2));
    assert_eq!(frame.complete().await, ResultCode::LOCK_ERROR);
    drop(other);
    assert_eq!(written(&mut ada, fork).await, LENGTH / 2);
}

#[tokio::test]
async fn a_full_disk_is_the_result_of_the_write() {
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let server = Server::on(disk.clone());
    make(&server.volume("share"), "notes", &[7; LENGTH]).await;
    let mut ada = User::of(&server, Version::V3_4);
    let fork = ada.open("notes", BOTH).await.unwrap();
    let mut frame = HalfFrame::new(&ada, to(fork), &[9; LENGTH]);
    disk.plan().fail(1, Some(Call::WriteAt), Error::NoSpace);
    assert!(!frame.arrive(LENGTH / 2));
    assert_eq!(frame.complete().await, ResultCode::DISK_FULL);
    assert_eq!(written(&mut ada, fork).await, 0);
}

#[tokio::test]
async fn a_fork_that_is_closed_meanwhile_is_the_result() {
    let (_server, mut ada) = notes(&[7; LENGTH]).await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    let mut frame = HalfFrame::new(&ada, to(fork), &[9; LENGTH]);
    assert!(frame.arrive(LENGTH / 2));
    assert_eq!(ada.close(fork).await, ResultCode::NO_ERROR);
    assert_eq!(frame.complete().await, ResultCode::PARAM_ERROR);
}

#[tokio::test]
async fn nothing_is_early_before_a_login() {
    let (server, ada) = notes(&[7; LENGTH]).await;
    let stranger = User { client: server.connect(), volume: ada.volume };
    assert!(!HalfFrame::new(&stranger, to(1), &[9; LENGTH]).is_early());
}
