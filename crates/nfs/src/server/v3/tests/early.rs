//! WRITE whose data are written while they arrive, RFC 1813 3.3.7.

use bytes::Bytes;
use conn::InFlight;
use vfs::backend::faulty::{Call, Faulty};
use vfs::state::{LockKind, Modes, Range};
use vfs::{Caller, OpenOptions};
use wire::{Reader, Writer};

use super::*;
use crate::server::rpc;
use crate::server::testing::actor;
use crate::server::v3::EarlyFileWrite;
use crate::wire::rpc::{RecordMark, ReplyHeader};
use crate::wire::xdr::{Decode, arguments};

/// The length of the data.
const LENGTH: usize = 64 * 1024;

/// A call of which the beginning has arrived.
struct HalfCall<'s> {
    session: &'s Session,
    message: Bytes,
    early: Option<(usize, EarlyFileWrite)>,
}

impl<'s> HalfCall<'s> {
    /// Of a WRITE to the beginning of a file, whose head has arrived.
    fn new(session: &'s Session, file: &[u8], change: impl FnOnce(&mut write::Request<'_>)) -> Self {
        let (count, stable) = (LENGTH as u32, StableHow::UNSTABLE);
        let data = Opaque(&[9; LENGTH][..]);
        let mut request = write::Request { file: Opaque(file), offset: 0, count, stable, data };
        change(&mut request);
        let mut w = Writer::new();
        request.encode(&mut w);
        let (_, message) = session.client.message((PROGRAM, VERSION, Procedure::WRITE.0), w.as_bytes());
        let arrived = &message[..message.len() - request.data.len()];
        let place = (&session.client.service, session.client.origin, &Arc::default());
        let early = rpc::begin_early(place, (arrived, message.len()), &InFlight::default());
        Self { session, message, early }
    }

    fn is_early(&self) -> bool {
        self.early.is_some()
    }

    /// So much of the data has arrived. False: no more is written early.
    fn arrive(&mut self, data: usize) -> bool {
        let (data_at, early) = self.early.as_mut().unwrap();
        early.write(&self.message[*data_at..][..data])
    }

    /// All of it has arrived.
    fn complete(self) -> write::Res {
        let client = &self.session.client;
        let (early, in_flight) = (self.early.map(|(_, early)| early), InFlight::default());
        let service = client.service.clone();
        let answer = rpc::answer(service, client.origin, Arc::default(), self.message, early, in_flight);
        let reply = now(answer).unwrap().into_bytes().unwrap();
        let mut reader = Reader::new(&reply[RecordMark::SIZE..]);
        ReplyHeader::decode(&mut reader).unwrap();
        arguments::<write::Res>(&mut reader).unwrap()
    }
}

/// How many bytes of the file are those of the write.
fn written(s: &Session, file: &[u8]) -> usize {
    s.content(file).iter().take_while(|byte| **byte == 9).count()
}

fn notes() -> (Session, Handle) {
    let s = Session::new();
    let file = s.file("notes", &[7; LENGTH]);
    (s, file)
}

#[test]
fn the_beginning_of_a_write_is_written_while_the_rest_arrives() {
    let (s, file) = notes();
    let before = s.attributes(&file);
    let mut call = HalfCall::new(&s, &file, |_| ());
    assert!(call.arrive(LENGTH / 2 + 100));
    assert_eq!(written(&s, &file), LENGTH / 2);
    let ok = call.complete().unwrap();
    // Otherwise the client takes its own write for one of another client.
    assert_wcc(&ok.wcc, &before, &s.attributes(&file));
    assert_eq!((ok.count, written(&s, &file)), (LENGTH as u32, LENGTH));
    // The connection ends in the middle of another one.
    let mut call = HalfCall::new(&s, &file, |request| request.offset = LENGTH as u64);
    assert!(call.arrive(LENGTH / 2));
    drop(call);
    assert_eq!(s.content(&file)[LENGTH..], [9; LENGTH / 2]);
}

#[test]
fn a_write_that_is_refused_writes_nothing_early() {
    let (s, file) = notes();
    let stranger = s.user(1001);
    let folder = s.folder("folder");
    let mut stale = file.clone();
    *stale.last_mut().unwrap() ^= 1;
    let cases = [
        (HalfCall::new(&stranger, &file, |_| ()), Status::ACCES),
        (HalfCall::new(&s, &folder, |_| ()), Status::ISDIR),
        (HalfCall::new(&s, &stale, |_| ()), Status::BADHANDLE),
        (HalfCall::new(&s, &file, |request| request.offset = u64::MAX), Status::FBIG),
        (HalfCall::new(&s, &file, |request| request.count = LENGTH as u32 + 1), Status::INVAL),
    ];
    for (call, status) in cases {
        assert!(!call.is_early(), "{status:?}");
        assert_eq!(call.complete().unwrap_err().status, status);
    }
    assert_eq!(written(&s, &file), 0);
}

#[test]
fn what_must_be_on_the_disk_waits() {
    let (s, file) = notes();
    for level in [StableHow::DATA_SYNC, StableHow::FILE_SYNC] {
        let call = HalfCall::new(&s, &file, |request| request.stable = level);
        assert!(!call.is_early());
        call.complete().unwrap();
    }
}

#[test]
fn a_range_that_another_client_locks_meanwhile_refuses_the_write() {
    let export = export("share", 1, Arc::new(Memory::ticking()));
    let volume = export.volume.clone();
    let s = Session::with(vec![export]);
    let file = s.file("notes", &[7; LENGTH]);
    let found = volume.lookup(&Caller::root(), &volume.root().unwrap().object, b"notes").unwrap();
    let both = OpenOptions::data(Modes::READ.union(Modes::WRITE));
    let other = now(volume.open(&actor(&Caller::root()), &found, both)).unwrap();
    let mut call = HalfCall::new(&s, &file, |_| ());
    assert!(call.arrive(LENGTH / 2));
    let range = Range::new(LENGTH as u64 - 1, 1).unwrap();
    now(other.lock(range, LockKind::Exclusive)).unwrap();
    assert!(!call.arrive(LENGTH * 3 / 4));
    now(other.unlock(range)).unwrap();
    // The lock came and went: all of it is judged and written again.
    assert_eq!(call.complete().unwrap().count, LENGTH as u32);
    assert_eq!(written(&s, &file), LENGTH);
    now(other.lock(range, LockKind::Exclusive)).unwrap();
    assert!(!HalfCall::new(&s, &file, |request| request.offset = 1).arrive(LENGTH / 2));
}

#[test]
fn a_full_disk_is_the_result_of_the_write() {
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let s = Session::over(disk.clone());
    let file = s.file("notes", &[7; LENGTH]);
    let mut call = HalfCall::new(&s, &file, |_| ());
    disk.plan().fail(1, Some(Call::WriteAt), vfs::Error::NoSpace);
    assert!(!call.arrive(LENGTH / 2));
    assert_eq!(call.complete().unwrap_err().status, Status::NOSPC);
    assert_eq!(written(&s, &file), 0);
}
