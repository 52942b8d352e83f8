//! Delegations and removals by other clients, by other protocols and by local programs: no delegation outlives its file, and none
//! is granted on a file that is losing its name. The memory of these tests uses the numbers of files again, as ext4 does.

use std::sync::Arc;
use std::time::Duration;

use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Beside, Caller, FileId, OpenOptions, Volume};

use super::delegations::{Calls, callable, give_back, two};
use super::*;
use crate::wire::v4::types::Status;

const READ: u32 = 1;
const WANT_READ: u32 = 0x100;
const WANT_NONE: u32 = 0x400;
const STALE: u32 = 70;
const BAD_STATEID: u32 = 10025;

struct Scene {
    holder: Session,
    calls: Calls,
    rival: Session,
    volume: Arc<Volume>,
}

impl Scene {
    /// A client that answers its calls, another one, and the volume for the other protocols.
    async fn new() -> Self {
        let (one, other) = two(&client_1());
        let (holder, calls) = callable(&one, b"holder", Status::OK).await;
        let rival = Session::of(&other, b"rival", 1);
        let volume = one.service.export_named(b"docs").expect("a share").volume.clone();
        Self { holder, calls, rival, volume }
    }

    /// A file that the holder has closed and keeps a delegation of: its stateid and its handle.
    async fn delegated(&self, name: &[u8]) -> (StateBytes, Vec<u8>) {
        let (kind, state, handle) = self.holder.delegated(READ | WANT_READ, name).await;
        assert_eq!(kind, 1);
        let (_, results) = self.holder.opens(READ, name).await;
        let close = close_1(&results[8..24]);
        assert_eq!(self.holder.at(&handle, &[close]).0, 0);
        (state, handle)
    }

    fn number_of(&self, name: &[u8]) -> FileId {
        let root = self.volume.root().unwrap();
        self.volume.lookup(&Caller::root(), &root.object, name).unwrap().object.id()
    }

    /// As a local program removes a file.
    fn remove_locally(&self, name: &[u8]) {
        self.volume.root().unwrap().object.remove(&Caller::root(), name).unwrap();
    }

    /// The rival makes a file that gets this number, and does not wait for the holder's lease.
    async fn makes_with(&self, number: FileId, name: &[u8]) {
        let begun = tokio::time::Instant::now();
        let mut status = self.rival.delegated_status(name).await;
        while status == 10008 {
            assert!(
                begun.elapsed() < Duration::from_secs(3),
                "it waits for a delegation of a file that is gone"
            );
            status = self.rival.delegated_status(name).await;
        }
        assert_eq!((status, self.number_of(name)), (0, number));
    }
}

impl Session {
    /// OPEN for writing that makes a file.
    async fn delegated_status(&self, name: &[u8]) -> u32 {
        let open = open_1(b"owner", (3, 0), &unchecked(), name);
        self.later(&[words(&[24]), look_up(b"docs"), open]).await.0
    }
}

/// SMB's FILE_DELETE_ON_CLOSE: the file is removed when this open is closed.
async fn opened_to_remove(volume: &Arc<Volume>, name: &[u8]) -> vfs::Open {
    let root = volume.root().unwrap();
    let found = volume.lookup(&Caller::root(), &root.object, name).unwrap();
    let actor = Actor::new(Caller::root(), Party::client(ClientId::unused()));
    let place = Some(Beside { folder: &root.object, name });
    let options = OpenOptions { place, remove_on_close: true, ..OpenOptions::data(Modes::DELETE) };
    volume.open(&actor, &found, options).await.unwrap()
}

fn get_attributes() -> Vec<u8> {
    words(&[9, 1, 0x10])
}

#[tokio::test(start_paused = true)]
async fn a_file_is_recalled_before_its_last_close_removes_it() {
    let scene = Scene::new().await;
    let (state, handle) = scene.delegated(b"plan").await;
    let number = scene.number_of(b"plan");
    let volume = scene.volume.clone();
    let removing = tokio::spawn(async move { opened_to_remove(&volume, b"plan").await });
    while scene.calls.lock().len() < 2 {
        tokio::task::yield_now().await; // CB_RECALL
    }
    assert!(!removing.is_finished(), "it waits for the holder");
    assert_eq!(scene.holder.at(&handle, &[get_attributes(), give_back(&state)]).0, 0, "the file is there");
    removing.await.unwrap().close().await.unwrap();
    scene.makes_with(number, b"next").await;
}

#[tokio::test(start_paused = true)]
async fn what_a_local_program_removes_is_in_nobodys_way() {
    let scene = Scene::new().await;
    let (state, handle) = scene.delegated(b"plan").await;
    let number = scene.number_of(b"plan");
    scene.remove_locally(b"plan");
    scene.makes_with(number, b"next").await;
    assert_eq!(scene.holder.at(&handle, &[give_back(&state)]).0, 0, "it returns what it has");
    let put = [words(&[22]), opaque(&handle)].concat();
    assert_eq!(scene.holder.later(&[put, give_back(&state)]).await.0, STALE);
    // The new file of the same number is delegated to the same client.
    scene.holder.delegated(READ | WANT_READ, b"other").await;
}

#[tokio::test(start_paused = true)]
async fn the_holder_learns_that_its_file_is_gone() {
    let scene = Scene::new().await;
    let (state, handle) = scene.delegated(b"plan").await;
    scene.remove_locally(b"plan");
    // Linux asks for attributes before it returns the delegation.
    assert_eq!(scene.holder.at(&handle, &[get_attributes(), give_back(&state)]).0, STALE);
    let test = [words(&[55, 1]), state.to_vec()].concat();
    assert_eq!(scene.holder.call(&[test]).1, words(&[55, 0, 1, BAD_STATEID]), "it has none any more");
    assert_eq!(scene.volume.state().totals().leases, 0);
}

#[tokio::test(start_paused = true)]
async fn a_number_that_is_used_again_can_be_delegated_again() {
    let scene = Scene::new().await;
    scene.delegated(b"plan").await;
    let number = scene.number_of(b"plan");
    scene.remove_locally(b"plan");
    let (kind, ..) = scene.holder.delegated(READ | WANT_READ, b"next").await;
    assert_eq!((kind, scene.number_of(b"next")), (1, number), "not the former one, and not none");
    assert_eq!(scene.volume.state().totals().leases, 1);
}

#[tokio::test(start_paused = true)]
async fn a_file_without_a_name_is_not_delegated() {
    let scene = Scene::new().await;
    let (_, handle) = scene.holder.opened(b"o", (READ | WANT_NONE, 0), b"plan");
    let want = || [[words(&[22]), opaque(&handle)].concat(), words(&[56, WANT_READ, 4])];
    scene.remove_locally(b"plan");
    let (status, reply) = scene.holder.later(&want()).await;
    assert_eq!((status, &reply[8..20]), (0, &words(&[56, 0, 3])[..]), "none: CONTENTION");
    assert_eq!(reply[20..24], words(&[1]));
}
