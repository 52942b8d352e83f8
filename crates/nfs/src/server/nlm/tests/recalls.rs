//! A client of another protocol holds a lease. Calls wait for it inside the server, because Linux
//! repeats a call only after 5 s.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use vfs::state::{
    BreakNotice, Caching, Cause, ClientId, Flavour, Lease, LeaseRequest, Lock, LockKind, LockOwner, Modes,
    OpenGuard, OpenRequest, Party, Range, State, Stream, Style,
};

use vfs::backend::NewKind;
use vfs::{Caller, Error, FileId, PermittedActor, SetAttributes};

use super::bench::{ALL, Bench, bench, superuser, volume};
use crate::wire::nlm::NlmStat;
use crate::wire::v3;
use crate::wire::v3::types::{DirOpArgs, Status};
use crate::wire::v3::write::StableHow;
use crate::wire::xdr::Opaque;

const OTHER: ClientId = ClientId(1 << 40);

/// The other client, with the file open and a lease of everything.
struct Holder {
    state: State,
    _open: OpenGuard,
    lease: Lease,
    notices: mpsc::UnboundedReceiver<BreakNotice>,
}

impl Holder {
    fn new(bench: &Bench) -> Self {
        let volume = volume(&bench.service);
        let (root, by) = (volume.root().unwrap(), superuser());
        let file = volume.lookup(&by.caller, &root.object, b"file").unwrap().object.id();
        Self::of(bench, file)
    }

    fn of(bench: &Bench, file: FileId) -> Self {
        let volume = volume(&bench.service);
        let (state, party) = (volume.state().clone(), Party::client(OTHER));
        let modes = Modes::READ.union(Modes::WRITE);
        let open = state.open(file, Stream::Data, OpenRequest::new(party, modes, Modes::NONE)).unwrap();
        let (sender, notices) = mpsc::unbounded_channel();
        let request = LeaseRequest { party, want: Caching::ALL, style: Style::Bits, notices: sender };
        let lease = state.lease(file, &Stream::Data, &request).unwrap();
        assert_eq!(lease.caching(), Caching::ALL);
        Self { state, _open: open, lease, notices }
    }

    /// After the recall the holder takes a lock that the server did not know of, and gives the
    /// lease back.
    async fn gives_back(mut self, after: Duration) -> Self {
        let notice = self.notices.recv().await.unwrap();
        tokio::time::sleep(after).await;
        let lock = Lock {
            owner: LockOwner { client: OTHER, open: None, opaque: b"other".as_slice().into() },
            range: Range::new(0, 10).unwrap(),
            kind: LockKind::Exclusive,
            flavour: Flavour::Mandatory,
        };
        self.state.lock(notice.file, &Stream::Data, lock).unwrap();
        self.lease.acknowledge(notice.to).unwrap();
        self
    }
}

async fn write(bench: &Bench, offset: u64) -> Status {
    let data = Opaque::new(b"x".as_slice());
    let request = v3::write::Request {
        file: Opaque::new(&bench.handle),
        offset,
        count: 1,
        stable: StableHow::UNSTABLE,
        data,
    };
    let answer = bench.one.call((v3::PROGRAM, 3, v3::Procedure::WRITE.0), &request).await;
    answer.value::<v3::write::Res>().map_or_else(|fail| fail.status, |_| Status::OK)
}

#[tokio::test(start_paused = true)]
async fn a_lock_waits_for_the_lease_and_meets_the_locks_behind_it() {
    let bench = bench().await;
    let holder = tokio::spawn(Holder::new(&bench).gives_back(Duration::from_millis(200)));
    let start = Instant::now();
    assert_eq!(bench.lock(&bench.one, ALL.range(5, 5)).await, NlmStat::DENIED);
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(bench.lock(&bench.one, ALL.range(10, 5)).await, NlmStat::GRANTED);
    drop(holder.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn so_does_a_test() {
    let bench = bench().await;
    let holder = tokio::spawn(Holder::new(&bench).gives_back(Duration::from_millis(200)));
    assert_eq!(bench.test(&bench.one, ALL.range(5, 5)).await, NlmStat::DENIED);
    drop(holder.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_write_waits_for_the_lease() {
    let bench = bench().await;
    let holder = tokio::spawn(Holder::new(&bench).gives_back(Duration::from_millis(200)));
    assert_eq!(write(&bench, 20).await, Status::OK);
    drop(holder.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_recall_of_another_file_delays_nothing() {
    let bench = bench().await;
    let (volume, by) = (volume(&bench.service), superuser());
    let root = volume.root().unwrap();
    let made = volume.create(&by, &root, b"other", NewKind::File, 0o644).unwrap();
    let other = Holder::of(&bench, made.found.object.id());
    assert_eq!(
        PermittedActor::by_server(&volume, &by).recall(made.found.object.id(), Cause::Write),
        Err(Error::LeaseRecall(made.found.object.id()))
    );
    let holder = tokio::spawn(Holder::new(&bench).gives_back(Duration::from_millis(200)));
    let start = Instant::now();
    assert_eq!(write(&bench, 20).await, Status::OK);
    assert_eq!(start.elapsed().as_millis(), 200);
    // A mandatory lock of the other client: it may last, and NFS3ERR_JUKEBOX would have the client wait without end.
    assert_eq!(write(&bench, 5).await, Status::ACCES);
    assert_eq!(start.elapsed().as_millis(), 300);
    drop((other, holder.await.unwrap()));
}

/// RFC 1813 3.3.12: the file is named by its folder and its name there.
#[tokio::test(start_paused = true)]
async fn a_removal_waits_for_the_lease_of_the_file() {
    let bench = bench().await;
    let start = Instant::now();
    let holder = tokio::spawn(Holder::new(&bench).gives_back(Duration::from_millis(200)));
    let folder = bench.one.mount("share").await.unwrap();
    let object = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(b"file") };
    let request = v3::remove::Request { object };
    let answer = bench.one.call((v3::PROGRAM, 3, v3::Procedure::REMOVE.0), &request).await;
    assert!(answer.value::<v3::remove::Res>().is_ok());
    assert_eq!(start.elapsed().as_millis(), 200);
    drop(holder.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn after_a_second_the_client_is_told_to_ask_again() {
    let bench = bench().await;
    let holder = Holder::new(&bench);
    let start = Instant::now();
    assert_eq!(write(&bench, 20).await, Status::JUKEBOX);
    assert_eq!(start.elapsed().as_secs(), 1);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::DENIED_GRACE_PERIOD);
    assert_eq!(start.elapsed().as_secs(), 2);
    drop(holder);
}

#[tokio::test(start_paused = true)]
async fn attributes_wait_until_what_is_cached_elsewhere_is_written() {
    let bench = bench().await;
    let attributes = async || {
        let request = v3::getattr::Request { object: Opaque::new(&bench.handle) };
        let answer = bench.one.call((v3::PROGRAM, 3, v3::Procedure::GETATTR.0), &request).await;
        answer.value::<v3::getattr::Res>().map(|ok| ok.attributes).map_err(|fail| fail.status)
    };
    let before = attributes().await.unwrap();
    let holder = Holder::new(&bench);
    // The reply to another call must not have outdated attributes.
    let request = v3::access::Request { object: Opaque::new(&bench.handle), access: 1 };
    let answer = bench.one.call((v3::PROGRAM, 3, v3::Procedure::ACCESS.0), &request).await;
    assert_eq!(answer.value::<v3::access::Res>().unwrap().attributes, None);
    let holder = tokio::spawn(async {
        let mut holder = holder;
        let notice = holder.notices.recv().await.unwrap();
        assert!(!notice.to.intersects(Caching::WRITE) && notice.to.intersects(Caching::READ));
        tokio::time::sleep(Duration::from_millis(200)).await;
        holder.lease.acknowledge(notice.to).unwrap();
        holder
    });
    let (start, now) = (Instant::now(), attributes().await.unwrap());
    assert_eq!((start.elapsed().as_millis(), now.size), (200, before.size));
    let answer = bench.one.call((v3::PROGRAM, 3, v3::Procedure::ACCESS.0), &request).await;
    assert!(answer.value::<v3::access::Res>().unwrap().attributes.is_some());
    drop(holder.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn who_is_refused_recalls_no_lease() {
    let bench = bench().await;
    let volume = volume(&bench.service);
    let found = volume.lookup(&Caller::root(), &volume.root().unwrap().object, b"file").unwrap();
    let closed = SetAttributes { uid: Some(0), mode: Some(0o600), ..SetAttributes::default() };
    volume.set_attributes(&superuser(), &found, &closed).unwrap();
    let mut holder = Holder::new(&bench);
    assert_eq!(bench.test(&bench.one, ALL).await, NlmStat::FAILED);
    assert_eq!(bench.lock(&bench.one, ALL).await, NlmStat::FAILED);
    assert!(holder.notices.try_recv().is_err(), "the lease was recalled");
}
