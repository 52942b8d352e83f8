//! Registration, leases and the grace period, by RFC 7530 9.1.1, 9.5, 9.6 and 16.33.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::*;
use crate::server::testing::Fake;
use crate::server::{Company, HandleSecret, InMemory, Service};

fn renew(client: &Client, id: u64) -> Vec<u8> {
    compound(client, 1, &[words(&[30]), id.to_be_bytes().to_vec()].concat())
}

fn set_client_id(name: &[u8], verifier: u8) -> Vec<u8> {
    let callback = [words(&[1]), opaque(b"tcp"), opaque(b"192.0.2.1.0.1"), words(&[7])].concat();
    [words(&[35]), vec![verifier; 8], opaque(name), callback].concat()
}

const RENEWED: [u32; 5] = [0, 0, 1, 30, 0];

#[test]
fn a_client_that_restarts_loses_what_it_held() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (3, 3), b"f");
    assert_eq!(renew(&client, id), words(&RENEWED));
    // Only a confirmation ends the former run.
    assert_eq!(compound(&client, 1, &set_client_id(b"me", 2))[..4], words(&[0]));
    assert_eq!(renew(&client, id), words(&RENEWED));
    let newer = registered(&client, b"me", 2);
    assert_ne!(id, newer);
    assert_eq!(renew(&client, id), words(&[10011, 0, 1, 30, 10011])); // EXPIRED
    let read = [words(&[25]), state.to_vec(), words(&[0, 0, 1])].concat();
    assert_eq!(at(&client, &handle, &[read]).0, 10011);
    opened(&client, newer, b"o", (3, 3), b"f");
}

#[test]
fn a_confirmation_needs_its_verifier_and_may_be_repeated() {
    let client = client();
    let reply = compound(&client, 1, &set_client_id(b"me", 1));
    let (id, confirm) = (reply[20..28].to_vec(), reply[28..36].to_vec());
    let ask = |confirm: &[u8]| compound(&client, 1, &[&words(&[36])[..], &id, confirm].concat());
    assert_eq!(ask(&[0; 8]), words(&[10022, 0, 1, 36, 10022])); // STALE_CLIENTID
    assert_eq!(renew(&client, u64::from_be_bytes(id[..].try_into().unwrap()))[..4], words(&[10022]));
    assert_eq!(ask(&confirm), words(&[0, 0, 1, 36, 0]));
    assert_eq!(ask(&confirm), words(&[0, 0, 1, 36, 0]));
    // The same run of the client keeps its number.
    let again = compound(&client, 1, &set_client_id(b"me", 1));
    assert_eq!(again[20..28], id);
    assert_eq!(ask(&again[28..36]), words(&[0, 0, 1, 36, 0]));
}

#[test]
fn another_user_may_not_take_the_name_of_a_client_that_holds_something() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let other = client.clone().user(2000);
    assert_eq!(compound(&other, 1, &set_client_id(b"me", 9))[..4], words(&[0])); // it holds nothing
    opened(&client, id, b"o", (3, 0), b"f");
    // CLID_INUSE, and where the client can be called.
    let in_use = [words(&[10017, 0, 1, 35, 10017]), opaque(b"tcp"), opaque(b"127.0.0.1.0.1")].concat();
    assert_eq!(compound(&other, 1, &set_client_id(b"me", 9)), in_use);
}

#[test]
fn a_silent_client_keeps_its_files_until_another_one_needs_them() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let _entered = runtime.enter(); // the watch of leases runs in it
    let client = client();
    let silent = registered(&client, b"silent", 1);
    let (state, handle) = opened(&client, silent, b"o", (3, 3), b"f");
    let pass = |seconds| runtime.block_on(async { tokio::time::sleep(Duration::from_secs(seconds)).await });
    pass(100);
    // The lease of 45 s is over, but no client has asked for the file.
    let read = [words(&[25]), state.to_vec(), words(&[0, 0, 1])].concat();
    assert_eq!(at(&client, &handle, std::slice::from_ref(&read)).0, 0);
    let id = registered(&client, b"needy", 1);
    let needy = |sequence| open(id, b"p", sequence, (1, 0), &words(&[0]), b"f");
    assert_eq!(in_docs(&client, &[needy(1)]).0, 10015); // heard just now
    pass(60);
    assert_eq!(in_docs(&client, &[needy(2)]).0, 0);
    assert_eq!(at(&client, &handle, &[read]).0, 10011); // EXPIRED
    assert_eq!(renew(&client, silent), words(&[10011, 0, 1, 30, 10011]));
}

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
    Client::new(&service)
}

#[test]
fn after_a_restart_clients_that_held_something_reclaim_and_others_wait() {
    let table = Arc::new(InMemory::default());
    let former = run(&table, 1);
    let id = registered(&former, b"holder", 1);
    let (state, _) = opened(&former, id, b"o", (3, 0), b"f");
    let idle = registered(&former, b"idle", 1);

    let client = run(&table, 2);
    // What the former run gave is stale.
    assert_eq!(renew(&client, idle), words(&[10022, 0, 1, 30, 10022]));
    let close = [words(&[4, 3]), state.to_vec()].concat();
    assert_eq!(in_docs(&client, &[close]).0, 10023);
    let (holder, idle) = (registered(&client, b"holder", 1), registered(&client, b"idle", 1));
    // GRACE for a new open. The memory of this share is new, so a file is put there by version 3's means.
    assert_eq!(in_docs(&client, &[open(holder, b"o", 1, (3, 0), &unchecked(), b"f")]).0, 10013);
    let volume = client.service.export_named(b"docs").unwrap().volume.clone();
    let actor = crate::server::testing::actor(&vfs::Caller::new(1000, 100, &[]));
    volume.create(&actor, &volume.root().unwrap(), b"f", vfs::backend::NewKind::File, 0o644).unwrap();
    let lookup = [words(&[15]), opaque(b"f")].concat();
    let reclaim = |id: u64, sequence| {
        let owner = [id.to_be_bytes().to_vec(), opaque(b"o")].concat();
        [words(&[18, sequence, 3, 0]), owner, words(&[0, 1, 0])].concat() // NOCREATE, CLAIM_PREVIOUS, no delegation
    };
    // Not a client that held nothing: NO_GRACE.
    assert_eq!(in_docs(&client, &[lookup.clone(), reclaim(idle, 1)]).0, 10033);
    let (status, results) = in_docs(&client, &[lookup, reclaim(holder, 2)]);
    // OPEN4_RESULT_LOCKTYPE_POSIX alone: no confirmation, RFC 7530 9.1.11. No attributes were set, and no delegation.
    assert_eq!((status, &results[results.len() - 12..]), (0, &words(&[4, 0, 0])[..]));
}

#[test]
fn without_former_clients_there_is_no_grace_period() {
    let client = run(&Arc::new(InMemory::default()), 5);
    let id = registered(&client, b"me", 1);
    opened(&client, id, b"o", (3, 0), b"f");
    let owner = [id.to_be_bytes().to_vec(), opaque(b"o")].concat();
    let reclaim = [words(&[18, 3, 3, 0]), owner, words(&[0, 1, 0])].concat();
    let lookup = [words(&[15]), opaque(b"f")].concat();
    assert_eq!(in_docs(&client, &[lookup, reclaim]).0, 10033);
}

/// A client of the second run that reclaims a write delegation of `f` which it had in the first one: its id, the stateid, the handle. It has used the sequence number 1, and cannot be called. `meanwhile` happens before it reclaims.
fn reclaims_a_delegation<T>(
    client: &Client,
    meanwhile: impl FnOnce(&Arc<vfs::Volume>, &vfs::Actor, &vfs::backend::Found) -> T,
) -> (u64, StateBytes, Vec<u8>, T) {
    let volume = client.service.export_named(b"docs").unwrap().volume.clone();
    let actor = crate::server::testing::actor(&vfs::Caller::new(1000, 100, &[]));
    let made =
        volume.create(&actor, &volume.root().unwrap(), b"f", vfs::backend::NewKind::File, 0o666).unwrap();
    let kept = meanwhile(&volume, &actor, &made.found);
    let id = registered(client, b"holder", 1);
    let owner = [id.to_be_bytes().to_vec(), opaque(b"o")].concat();
    let reclaim = [words(&[18, 1, 3, 0]), owner, words(&[0, 1, 2])].concat(); // OPEN_DELEGATE_WRITE
    let lookup = [words(&[15]), opaque(b"f")].concat();
    let (status, results) = in_docs(client, &[lookup, reclaim, words(&[10])]);
    // LOOKUP, OPEN: the stateid, change_info4, the flags, no attributes.
    let given = &results[8 + 8 + 16 + 20 + 8..];
    assert_eq!((status, &given[..4]), (0, &words(&[2])[..]));
    assert_eq!(
        given[20..24],
        words(&[1]),
        "RFC 7530 10.2.1: the delegation is given, and recalled by its flag"
    );
    let handle_at = results.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap() + 12;
    let handle = results[handle_at..].to_vec();
    (id, given[4..20].try_into().unwrap(), handle, kept)
}

/// LOCK of the first ten bytes by a new owner.
fn lock((id, owner): (u64, &[u8]), open: &[u8], sequence: u32) -> Vec<u8> {
    let locker =
        [words(&[1, sequence]), open.to_vec(), words(&[1]), id.to_be_bytes().to_vec(), opaque(owner)];
    [words(&[12, 2, 0, 0, 0, 0, 10]), locker.concat()].concat()
}

/// Linux's client would forget the locks in its cache if its delegation were refused.
#[test]
fn a_delegation_is_reclaimed_by_a_client_that_cannot_be_called_and_its_locks_bind_in_the_grace_period() {
    let table = Arc::new(InMemory::default());
    let former = run(&table, 1);
    opened(&former, registered(&former, b"holder", 1), b"o", (3, 0), b"f");
    let client = run(&table, 2);
    let (id, delegation, handle, file) = reclaims_a_delegation(&client, |_, _, found| found.object.id());
    // It tells the server of an open and a lock in its cache, and returns the delegation.
    let owner = [id.to_be_bytes().to_vec(), opaque(b"o")].concat();
    let current = [words(&[18, 2, 3, 0]), owner, words(&[0, 2]), delegation.to_vec(), opaque(b"f")].concat();
    let (status, results) = in_docs(&client, &[current]);
    assert_eq!((status, &results[..12]), (0, &words(&[18, 0, 2])[..]));
    let open = results[8..24].to_vec();
    assert_eq!(at(&client, &handle, &[lock((id, b"l"), &open, 3)]).0, 0);
    assert_eq!(at(&client, &handle, &[[words(&[8]), delegation.to_vec()].concat()]).0, 0);
    // Without the delegation, another lock has to wait for the end of the grace period. The first one binds.
    assert_eq!(at(&client, &handle, &[lock((id, b"m"), &open, 4)]).0, 10013);
    let export = client.service.export_named(b"docs").unwrap();
    let owner = vfs::state::LockOwner::named(vfs::state::ClientId::unused(), b"another");
    let range = vfs::state::Range::new(0, 1).unwrap();
    let (kind, flavour) = (vfs::state::LockKind::Exclusive, vfs::state::Flavour::Mandatory);
    let wanted = vfs::state::Lock { owner, range, kind, flavour };
    let held = export.volume.state().test(file, &vfs::state::Stream::Data, &wanted).unwrap();
    assert!(held.is_some());
}

#[test]
fn a_delegation_of_a_file_that_another_client_uses_by_now_is_given_to_be_returned() {
    let table = Arc::new(InMemory::default());
    let former = run(&table, 1);
    opened(&former, registered(&former, b"holder", 1), b"o", (3, 0), b"f");
    let client = run(&table, 2);
    let options = || vfs::OpenOptions { granted: true, ..vfs::OpenOptions::data(vfs::state::Modes::WRITE) };
    let (_, delegation, handle, _open) = reclaims_a_delegation(&client, |volume, actor, found| {
        now(volume.open(actor, found, options())).expect("another client's open")
    });
    let give_back = || [words(&[8]), delegation.to_vec()].concat();
    assert_eq!(at(&client, &handle, &[give_back()]).0, 0);
    assert_eq!(at(&client, &handle, &[give_back()]).0, 10025); // BAD_STATEID
}
