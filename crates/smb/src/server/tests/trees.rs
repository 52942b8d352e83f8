//! Paths that lead from the share's own tree into another one, which is attached to it.

use std::num::NonZeroU64;
use std::sync::Arc;

use vfs::backend::forest::{Forest, Offer, Tree};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, NewKind, Stability};
use vfs::{Caller, Volume, VolumeOptions};

use crate::server::testing::{User, service_with};
use crate::server::{Share, ShareKind, ShareOptions};
use crate::wire::Status;
use crate::wire::create::{self, Disposition};
use crate::wire::security::AccessMask;

/// A store with `folder/notes` in it.
fn store(content: &[u8]) -> Arc<Memory> {
    let (memory, root) = (Memory::ticking(), Caller::root());
    let folder = memory.root().unwrap().object.create(&root, b"folder", NewKind::Folder, 0o777).unwrap();
    let notes = folder.object.create(&root, b"notes", NewKind::File, 0o777).unwrap();
    notes.object.write_at(&root, 0, content, Stability::File).unwrap();
    Arc::new(memory)
}

/// A client of a share in which each folder has `~snapshot\one`.
async fn user() -> User {
    let offer = Offer { hidden: vec![b"~snapshot".to_vec()], listed: None };
    let forest = Forest::new(store(b"now"), offer).unwrap();
    let then = Tree::new(NonZeroU64::MIN, store(b"then")).read_only().with_own_device();
    forest.offer(b"one", Arc::new(then), vfs::Time::default()).unwrap();
    let volume = Arc::new(Volume::new(Arc::new(forest), VolumeOptions::default()));
    let kind = ShareKind::Disk { volume, serial: 1, created: vfs::Time::default() };
    let share =
        Share { name: "share".into(), comment: String::new(), kind, options: ShareOptions::default() };
    User::new(&service_with(|config| config.shares[0] = Arc::new(share))).await
}

fn to_read(create: &mut create::Request<'_>) {
    create.disposition = Disposition::OPEN;
    create.desired_access = AccessMask::READ_DATA.union(AccessMask::READ_ATTRIBUTES).0;
}

#[tokio::test]
async fn a_path_leads_into_a_snapshot_from_each_folder() {
    let mut ada = user().await;
    for path in ["folder\\~snapshot\\one\\notes", "~snapshot\\one\\folder\\notes"] {
        let file = ada.open(path, to_read).await.unwrap().file;
        assert_eq!(ada.read(file, 0, 100).await, Ok(b"then".to_vec()), "{path}");
        assert_eq!(ada.close(file).await, Status::SUCCESS);
    }
    let live = ada.open("folder\\notes", to_read).await.unwrap().file;
    assert_eq!(ada.read(live, 0, 100).await, Ok(b"now".to_vec()));
    let missing = ada.open("folder\\~snapshot\\two\\notes", to_read).await;
    assert_eq!(missing.unwrap_err(), Status::OBJECT_PATH_NOT_FOUND);
}

#[tokio::test]
async fn a_snapshot_is_not_changed_through_a_writable_share() {
    let mut ada = user().await;
    let notes = "folder\\~snapshot\\one\\notes";
    let open = |access: AccessMask| {
        move |create: &mut create::Request<'_>| {
            to_read(create);
            create.desired_access = access.0;
        }
    };
    for access in [AccessMask::WRITE_DATA, AccessMask::DELETE, AccessMask::WRITE_ATTRIBUTES] {
        let refused = ada.open(notes, open(access)).await.map(drop);
        assert!(
            matches!(refused, Err(Status::ACCESS_DENIED | Status::MEDIA_WRITE_PROTECTED)),
            "{access:?}: {refused:?}"
        );
    }
    let new = |create: &mut create::Request<'_>| create.disposition = Disposition::CREATE;
    for path in ["folder\\~snapshot\\one\\new", "folder\\~snapshot\\new"] {
        let refused = ada.open(path, new).await.map(drop);
        assert!(
            matches!(refused, Err(Status::ACCESS_DENIED | Status::MEDIA_WRITE_PROTECTED)),
            "{path}: {refused:?}"
        );
    }
}
