//! RECLAIM_COMPLETE, the grace period and the leases of sessions, by RFC 8881 8.3, 8.4 and 18.51.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::*;
use crate::server::testing::Fake;
use crate::server::{CommonGrace, Company, HandleSecret, InMemory, LostServers, Phase, Service};

/// A run of a server whose clients are kept in this table.
fn run(clients: &Arc<InMemory>, epoch: u64) -> Client {
    let company = Company {
        network: Fake::silent(),
        clients: clients.clone(),
        epoch,
        grace: Duration::from_secs(600),
        ..Company::default()
    };
    let exports = vec![export("docs", 1, ExportOptions::default())];
    let service = Service::in_company(exports, HandleSecret::new([7; 16]), SystemTime::UNIX_EPOCH, company);
    service.set_versions(4..=4);
    service.set_minor_versions(&[1]);
    Client::new(&service)
}

#[test]
fn nothing_new_is_opened_before_reclaim_complete() {
    let session = Session::fresh(&client_1(), b"me", 1);
    let open = open_1(b"o", (3, 0), &unchecked(), b"f");
    assert_eq!(session.in_docs(std::slice::from_ref(&open)).0, 10013); // GRACE
    // Of one file system: that of the current handle.
    assert_eq!(session.call(&[words(&[58, 1])]).0, 10020);
    assert_eq!(session.in_docs(&[words(&[58, 1])]).0, 0);
    assert_eq!(session.call(&[words(&[58, 0])]).0, 0);
    assert_eq!(session.call(&[words(&[58, 0])]), (10054, words(&[58, 10054]))); // COMPLETE_ALREADY
    assert_eq!(session.in_docs(&[open]).0, 0);
}

#[test]
fn after_a_restart_a_client_reclaims_until_it_says_that_it_has_all() {
    let table = Arc::new(InMemory::default());
    let former = Session::of(&run(&table, 1), b"holder", 1);
    former.opened(b"o", (3, 0), b"f");

    let client = run(&table, 2);
    assert_eq!(status(&compound_1(&client, &[former.sequence([9, 0, 0, 0])])), 10052); // BADSESSION
    assert_eq!(status(&compound_1(&client, &[create_session(former.client_id, 2, 4096)])), 10022);
    let volume = client.service.export_named(b"docs").unwrap().volume.clone();
    let actor = crate::server::testing::actor(&vfs::Caller::new(1000, 100, &[]));
    volume.create(&actor, &volume.root().unwrap(), b"f", vfs::backend::NewKind::File, 0o644).unwrap();
    let lookup = [words(&[15]), opaque(b"f")].concat();
    let owner = [words(&[0, 0]), opaque(b"o")].concat();
    let reclaim = [words(&[18, 0, 3, 0]), owner, words(&[0, 1, 0])].concat();
    let session = Session::fresh(&client, b"holder", 1);
    assert_eq!(session.in_docs(&[lookup.clone(), reclaim.clone()]).0, 0);
    assert_eq!(session.call(&[words(&[58, 0])]).0, 0);
    assert_eq!(session.in_docs(&[lookup.clone(), reclaim.clone()]).0, 10033); // NO_GRACE
    // The grace period goes on for the others: GRACE. A client that held nothing: NO_GRACE.
    assert_eq!(session.in_docs(&[open_1(b"o", (3, 0), &unchecked(), b"g")]).0, 10013);
    let other = Session::fresh(&client, b"other", 1);
    assert_eq!(other.in_docs(&[lookup, reclaim]).0, 10033);
}

#[test]
fn a_silent_client_keeps_its_session_until_another_one_needs_its_files() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let _entered = runtime.enter(); // the watch of leases runs in it
    let client = client_1();
    let silent = Session::of(&client, b"silent", 1);
    let (state, handle) = silent.opened(b"o", (3, 3), b"f");
    let pass = |seconds| runtime.block_on(async { tokio::time::sleep(Duration::from_secs(seconds)).await });
    pass(100);
    assert_eq!(silent.at(&handle, &[read_1(&state)]).0, 0); // the lease of 45 s is over, but no other client needs the file
    let needy = Session::of(&client, b"needy", 1);
    let open = open_1(b"p", (1, 0), &words(&[0]), b"f");
    assert_eq!(needy.in_docs(std::slice::from_ref(&open)).0, 10015); // SHARE_DENIED
    pass(60);
    assert_eq!(needy.in_docs(&[open]).0, 0);
    assert_eq!(status(&compound_1(&client, &[silent.sequence([9, 0, 0, 0])])), 10052); // BADSESSION
    // A registration that is not confirmed within a lease is forgotten.
    let (id, ..) = exchanged(&client, b"waiting", 1, 0).unwrap();
    pass(60);
    assert_eq!(status(&compound_1(&client, &[create_session(id, 1, 4096)])), 10022);
}

/// The grace period that several servers have in common, as the test sets it.
struct Common {
    phase: Mutex<Phase>,
    reclaimed: Mutex<Vec<Vec<u8>>>,
}

impl CommonGrace for Common {
    fn phase(&self) -> Phase {
        *self.phase.lock()
    }

    fn has_reclaimed(&self, client: &[u8]) {
        self.reclaimed.lock().push(client.to_vec());
    }
}

#[test]
fn a_client_of_a_lost_server_reclaims_at_another_one() {
    let common = Arc::new(Common { phase: Mutex::new(Phase::Over), reclaimed: Mutex::default() });
    let company = Company { network: Fake::silent(), common: Some(common.clone()), ..Company::default() };
    let exports = vec![export("docs", 1, ExportOptions::default())];
    let service = Service::in_company(exports, HandleSecret::new([7; 16]), SystemTime::UNIX_EPOCH, company);
    service.set_versions(4..=4);
    service.set_minor_versions(&[1]);
    let client = Client::new(&service);
    let local = Session::of(&client, b"local", 1);
    local.opened(b"o", (3, 0), b"f");
    let lookup = [words(&[15]), opaque(b"f")].concat();
    let owner = [words(&[0, 0]), opaque(b"o")].concat();
    let reclaim = [lookup, [words(&[18, 0, 3, 0]), owner, words(&[0, 1, 0])].concat()];

    // The clients that may are not known yet: this one tries again, RFC 8881 15.1.1.3.
    *common.phase.lock() = Phase::Beginning;
    let moved = Session::fresh(&client, b"moved", 1);
    assert_eq!(moved.in_docs(&reclaim).0, 10008); // DELAY
    service.take_over(&LostServers {
        clients: vec![b"moved".to_vec(), b"local".to_vec()],
        ..LostServers::default()
    });
    *common.phase.lock() = Phase::Reclaiming;
    assert_eq!(moved.in_docs(&reclaim).0, 0);
    let other = Session::fresh(&client, b"other", 1);
    assert_eq!(other.in_docs(&reclaim).0, 10033); // NO_GRACE
    // A file that lost servers may have used waits; a new file has nothing that can be reclaimed.
    let existing = open_1(b"p", (1, 0), &words(&[0]), b"f");
    assert_eq!(local.in_docs(std::slice::from_ref(&existing)).0, 10013); // GRACE
    assert_eq!(local.in_docs(&[open_1(b"p", (1, 0), &unchecked(), b"new")]).0, 0);
    // Also a client that this server knew before its own server was lost.
    assert_eq!(local.in_docs(&reclaim).0, 0);
    for session in [&moved, &local] {
        assert_eq!(session.call(&[words(&[58, 0])]).0, 0);
        assert_eq!(session.in_docs(&reclaim).0, 10033);
    }
    assert_eq!(*common.reclaimed.lock(), [b"moved".to_vec(), b"local".to_vec()]);
    *common.phase.lock() = Phase::Ending;
    assert_eq!(local.in_docs(std::slice::from_ref(&existing)).0, 10013);
    *common.phase.lock() = Phase::Over;
    service.end_takeover();
    assert_eq!(local.in_docs(&[existing]).0, 0);
}
