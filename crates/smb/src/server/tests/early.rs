//! WRITE whose data are written while they arrive: MS-SMB2 3.3.5.13 for what refuses it.

use std::sync::Arc;

use bytes::BytesMut;
use conn::{EarlyMessage, InFlight, Protocol};
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;
use vfs::state::{ClientId, LockKind, Modes, Party, Range};
use vfs::{Actor, Caller, Error, OpenOptions};

use super::*;
use crate::server::ShareOptions;
use crate::server::frames::SmbProtocol;
use crate::server::testing::{ADA, share_of, volume, write_request};
use crate::wire::header::{Flags, Header};
use crate::wire::security::AccessMask;
use crate::wire::{FileKey, create, write};

/// The length of the data.
const LENGTH: usize = 64 * 1024;
/// Where they begin in a frame.
const DATA_AT: usize = 4 + write::Request::DATA_OFFSET;

/// A frame of which the beginning has arrived.
struct HalfFrame {
    bytes: Vec<u8>,
    served: SmbProtocol,
    early: Option<Box<dyn EarlyMessage>>,
}

impl HalfFrame {
    /// Begins a request that is alone in its frame and not signed.
    fn plain(ada: &mut User, request: Request) -> Self {
        let (_, frame) = ada.client.prepare(vec![request], FrameProtection::Plain);
        Self::of(ada, frame)
    }

    fn of(ada: &User, bytes: Vec<u8>) -> Self {
        let served = SmbProtocol(ada.client.link.connection.clone());
        let early = served.begin_early(&bytes[..DATA_AT], bytes.len(), &InFlight::default());
        Self { bytes, served, early }
    }

    fn is_early(&self) -> bool {
        self.early.is_some()
    }

    /// So much of the data has arrived. False: no more is written early.
    fn arrive(&mut self, data: usize) -> bool {
        self.early.as_mut().unwrap().write(&self.bytes[..DATA_AT + data])
    }

    /// All of it has arrived.
    async fn complete(self) -> Status {
        let message = BytesMut::from(&self.bytes[..]);
        let answer = match self.early {
            Some(early) => early.answer(message, InFlight::default()),
            None => self.served.answer(message, InFlight::default()),
        };
        let reply = answer.await.unwrap().into_bytes().unwrap();
        Header::decode(&reply[4..]).unwrap().status
    }
}

/// A WRITE of the data to the beginning of a file, which `change` changes.
fn request(ada: &User, file: FileKey, change: impl FnOnce(&mut write::Request)) -> Request {
    let mut request = write_request(file, 0);
    change(&mut request);
    ada.request(Command::WRITE, |w| request.encode(&[9; LENGTH], w))
}

async fn notes() -> (Arc<crate::server::Service>, User, FileKey) {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", &[7; LENGTH]).await;
    (service, ada, file)
}

/// How many bytes of the file are those of the write.
async fn written(ada: &mut User, file: FileKey) -> usize {
    let bytes = ada.read(file, 0, LENGTH as u32).await.unwrap();
    bytes.iter().take_while(|byte| **byte == 9).count()
}

#[tokio::test]
async fn the_beginning_of_a_write_is_written_while_the_rest_arrives() {
    let (_service, mut ada, file) = notes().await;
    let of = request(&ada, file, |_| ());
    let mut frame = HalfFrame::plain(&mut ada, of);
    assert!(frame.arrive(LENGTH / 2 + 100));
    assert_eq!(written(&mut ada, file).await, LENGTH / 2);
    assert_eq!(frame.complete().await, Status::SUCCESS);
    assert_eq!(written(&mut ada, file).await, LENGTH);
    // The connection ends in the middle of another one.
    let of = request(&ada, file, |request| request.offset = LENGTH as u64);
    let mut frame = HalfFrame::plain(&mut ada, of);
    assert!(frame.arrive(LENGTH / 2));
    drop(frame);
    let bytes = ada.read(file, LENGTH as u64, LENGTH as u32).await.unwrap();
    assert_eq!(bytes, [9; LENGTH / 2]);
}

#[tokio::test]
async fn what_is_signed_sealed_or_in_a_chain_waits() {
    let (_service, mut ada, file) = notes().await;
    let session = ada.session.clone();
    for how in [FrameProtection::Signed(&session), FrameProtection::Sealed(&session)] {
        let of = request(&ada, file, |_| ());
        let (_, frame) = ada.client.prepare(vec![of], how);
        let frame = HalfFrame::of(&ada, frame);
        assert!(!frame.is_early());
        drop(frame);
    }
    let chain = vec![request(&ada, file, |_| ()), request(&ada, file, |_| ())];
    let (_, frame) = ada.client.prepare(chain, FrameProtection::Plain);
    assert!(!HalfFrame::of(&ada, frame).is_early());
}

#[tokio::test]
async fn where_signing_is_required_nothing_is_early() {
    let service = service_with(|config| config.require_signing = true);
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", &[7; LENGTH]).await;
    let of = request(&ada, file, |_| ());
    let frame = HalfFrame::plain(&mut ada, of);
    assert!(!frame.is_early());
    assert_eq!(frame.complete().await, Status::ACCESS_DENIED);
    assert_eq!(written(&mut ada, file).await, 0);
}

#[tokio::test]
async fn a_write_that_is_refused_writes_nothing_early() {
    let (_service, mut ada, file) = notes().await;
    let only_reads = |request: &mut create::Request<'_>| request.desired_access = AccessMask::READ_DATA.0;
    let reader = ada.open("notes", only_reads).await.unwrap().file;
    let unknown = FileKey { persistent: 77, volatile: 77 };
    let cases = [
        (request(&ada, reader, |_| ()), Status::ACCESS_DENIED),
        (request(&ada, unknown, |_| ()), Status::FILE_CLOSED),
        (request(&ada, file, |request| request.channel = 1), Status::INVALID_PARAMETER),
        (request(&ada, file, |request| request.offset = i64::MAX as u64), Status::INVALID_PARAMETER),
    ];
    for (of, status) in cases {
        let frame = HalfFrame::plain(&mut ada, of);
        assert!(!frame.is_early(), "{status:?}");
        assert_eq!(frame.complete().await, status);
    }
    assert_eq!(written(&mut ada, file).await, 0);
}

#[tokio::test]
async fn what_must_be_on_the_disk_waits() {
    let (_service, mut ada, file) = notes().await;
    let of = request(&ada, file, |request| request.flags = write::Flags::WRITE_THROUGH);
    let frame = HalfFrame::plain(&mut ada, of);
    assert!(!frame.is_early());
    assert_eq!(frame.complete().await, Status::SUCCESS);
}

#[tokio::test]
async fn a_message_id_that_was_used_or_a_repetition_waits() {
    let (_service, mut ada, file) = notes().await;
    let of = request(&ada, file, |_| ());
    let frame = HalfFrame::plain(&mut ada, of);
    let bytes = frame.bytes.clone();
    assert_eq!(frame.complete().await, Status::SUCCESS);
    assert!(!HalfFrame::of(&ada, bytes).is_early());
    let mut of = request(&ada, file, |_| ());
    of.header.flags |= Flags::REPLAY;
    assert!(!HalfFrame::plain(&mut ada, of).is_early());
}

#[tokio::test]
async fn a_range_that_another_client_locks_meanwhile_refuses_the_write() {
    let (service, mut ada, file) = notes().await;
    let of = request(&ada, file, |_| ());
    let mut frame = HalfFrame::plain(&mut ada, of);
    assert!(frame.arrive(LENGTH / 2));
    let volume = volume(&service, "share");
    let actor = Actor::new(Caller::new(1000, 100, &[]), Party::client(ClientId::unused()));
    let found = volume.lookup(&actor.caller, &volume.root().unwrap().object, b"notes").unwrap();
    let both = Modes::READ.union(Modes::WRITE);
    let other = volume.open(&actor, &found, OpenOptions::data(both)).await.unwrap();
    other.lock(Range::new(LENGTH as u64 - 1, 1).unwrap(), LockKind::Exclusive).await.unwrap();
    assert!(!frame.arrive(LENGTH * 3 / 4));
    assert_eq!(frame.complete().await, Status::FILE_LOCK_CONFLICT);
    drop(other);
    assert_eq!(written(&mut ada, file).await, LENGTH / 2);
}

#[tokio::test]
async fn a_full_disk_is_the_result_of_the_write() {
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let share = share_of("disk", disk.clone(), ShareOptions::default());
    let service = service_with(|config| config.shares.push(share));
    let mut ada = User::with(&service, &Offer::default(), ADA, "disk").await;
    let file = ada.make("notes", &[7; LENGTH]).await;
    let of = request(&ada, file, |_| ());
    let mut frame = HalfFrame::plain(&mut ada, of);
    disk.plan().fail(1, Some(Call::WriteAt), Error::NoSpace);
    assert!(!frame.arrive(LENGTH / 2));
    assert_eq!(frame.complete().await, Status::DISK_FULL);
    assert_eq!(written(&mut ada, file).await, 0);
}

#[tokio::test]
async fn a_file_that_is_closed_meanwhile_is_the_result() {
    let (_service, mut ada, file) = notes().await;
    let of = request(&ada, file, |_| ());
    let mut frame = HalfFrame::plain(&mut ada, of);
    assert!(frame.arrive(LENGTH / 2));
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    assert_eq!(frame.complete().await, Status::FILE_CLOSED);
}
