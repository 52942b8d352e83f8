//! A client of another protocol has a file in its cache. Commands wait until it gives the lease back.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use vfs::state::{
    BreakNotice, Caching, ClientId, Lease, LeaseRequest, Modes, OpenGuard, OpenRequest, Party, Stream, Style,
};
use vfs::{Caller, SetAttributes};

use super::*;

/// The other client, with the file open and a lease of everything, as SMB grants them.
struct Holder {
    _open: OpenGuard,
    lease: Lease,
    notices: mpsc::UnboundedReceiver<BreakNotice>,
}

impl Holder {
    fn new(server: &Server, name: &[u8]) -> Self {
        let volume = server.volume("share");
        let root = volume.root().unwrap();
        let file = volume.lookup(&Caller::root(), &root.object, name).unwrap().object.id();
        let party = Party::client(ClientId(1 << 40));
        let request = OpenRequest::new(party, Modes::READ.union(Modes::WRITE), Modes::NONE);
        let open = volume.state().open(file, Stream::Data, request).unwrap();
        let (notices, told) = mpsc::unbounded_channel();
        let request = LeaseRequest { party, want: Caching::ALL, style: Style::Bits, notices };
        let lease = volume.state().lease(file, &Stream::Data, &request).unwrap();
        assert_eq!(lease.caching(), Caching::ALL);
        Self { _open: open, lease, notices: told }
    }

    async fn gives_back(mut self, after: Duration) -> Self {
        let notice = self.notices.recv().await.unwrap();
        tokio::time::sleep(after).await;
        self.lease.acknowledge(notice.to).unwrap();
        self
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_ends_as_soon_as_the_lease_is_returned() {
    let (server, mut ada, v) = volume();
    ada.create_file(v, ROOT, "notes", false).await;
    ada.create_file(v, ROOT, "other", false).await;
    // The lease of another file takes longer, which delays only the command about that file.
    let other = tokio::spawn(Holder::new(&server, b"other").gives_back(Duration::from_millis(9_001)));
    let mut bob = server.log_in(BOB, Version::V3_4);
    let volume_of_bob = bob.open_volume("share");
    let renamed = tokio::spawn(async move { bob.rename(volume_of_bob, ROOT, "other", "another").await });
    let holder = tokio::spawn(Holder::new(&server, b"notes").gives_back(Duration::from_millis(7_003)));
    let start = Instant::now();
    assert_eq!(ada.rename(v, ROOT, "notes", "letters").await, 0);
    assert_eq!(start.elapsed().as_millis(), 7_003);
    drop(holder.await.unwrap());
    assert_eq!(renamed.await.unwrap(), 0);
    assert_eq!(start.elapsed().as_millis(), 9_001);
    drop(other.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn who_is_refused_recalls_no_lease() {
    let (server, mut ada, v) = volume();
    ada.create_file(v, ROOT, "notes", false).await;
    let tree = server.volume("share");
    let closed = SetAttributes { uid: Some(ADA.2), mode: Some(0o755), ..SetAttributes::default() };
    let root = tree.root().unwrap();
    root.object.set_attributes(&Caller::root(), &closed).unwrap();
    let notes = tree.lookup(&Caller::root(), &root.object, b"notes").unwrap();
    notes.object.set_attributes(&Caller::root(), &SetAttributes { mode: Some(0o600), ..closed }).unwrap();
    let mut holder = Holder::new(&server, b"notes");
    let mut bob = server.log_in(BOB, Version::V3_4);
    let theirs = bob.open_volume("share");
    let refused = ResultCode::ACCESS_DENIED.0;
    assert_eq!(bob.delete(theirs, ROOT, "notes").await, refused);
    assert_eq!(bob.rename(theirs, ROOT, "notes", "letters").await, refused);
    assert!(holder.notices.try_recv().is_err(), "the lease was recalled");
    assert_eq!(holder.lease.caching(), Caching::ALL);
}
