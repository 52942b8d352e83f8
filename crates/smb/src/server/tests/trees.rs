//! Paths that lead from the share's own tree into another one, which is attached to it.

use std::num::NonZeroU64;
use std::sync::Arc;

use vfs::backend::forest::{Forest, Offer, Tree};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, NewKind, Stability};
use vfs::{Caller, Volume, VolumeOptions};

use crate::server::testing::{User, service_with};
use crate::server::{Share, ShareKind, ShareOptions};
use crate::wire::create::{self, Disposition};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::fsctl::Code;
use crate::wire::fsctl::snapshots::Snapshots;
use crate::wire::header::Command;
use crate::wire::ioctl;
use crate::wire::security::AccessMask;
use crate::wire::{NtTime, Status};

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
    let then = Tree::new(NonZeroU64::MIN, store(b"then")).taken(TAKEN).with_own_device();
    forest.offer(b"one", Arc::new(then), vfs::Time::default()).unwrap();
    let volume = Arc::new(Volume::new(Arc::new(forest), VolumeOptions::default()));
    let kind = ShareKind::Disk { volume, serial: 1, created: vfs::Time::default() };
    let share =
        Share { name: "share".into(), comment: String::new(), kind, options: ShareOptions::default() };
    User::new(&service_with(|config| config.shares[0] = Arc::new(share))).await
}

const TAKEN: vfs::Time = vfs::Time { secs: 1_782_345_678, nanos: 7 };

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

/// MS-SMB2 3.3.5.9.4 and 2.2.32.2: by the create context, and by a part of the path.
#[tokio::test]
async fn a_previous_version_is_opened_by_its_time() {
    let mut ada = user().await;
    let at = |secs: i64| {
        let time = NtTime::from(vfs::Time { secs, nanos: 0 });
        move |create: &mut create::Request<'_>| {
            to_read(create);
            create.contexts.push(CreateContext::Timewarp(time.0).encode());
        }
    };
    let by_context = ada.open("folder\\notes", at(TAKEN.secs)).await.unwrap().file;
    assert_eq!(ada.read(by_context, 0, 100).await, Ok(b"then".to_vec()));
    for path in ["@GMT-2026.06.25-00.01.18\\folder\\notes", "folder\\@GMT-2026.06.25-00.01.18\\notes"] {
        let file = ada.open(path, to_read).await.unwrap().file;
        assert_eq!(ada.read(file, 0, 100).await, Ok(b"then".to_vec()), "{path}");
    }
    let root = ada.open("@GMT-2026.06.25-00.01.18", to_read).await;
    assert!(root.is_ok(), "the share's folder as it was");
    for missing in [TAKEN.secs - 1, 0] {
        assert_eq!(ada.open("folder\\notes", at(missing)).await.unwrap_err(), Status::OBJECT_NAME_NOT_FOUND);
    }
    let missing = ada.open("@GMT-2026.06.25-00.01.19\\folder\\notes", to_read).await;
    assert_eq!(missing.unwrap_err(), Status::OBJECT_NAME_NOT_FOUND);
    assert!(ada.open("@GMT-is a name", |_| ()).await.is_ok());
}

/// As Windows does, for its Restore: what smbtorture's smb2.twrp.write expects.
#[tokio::test]
async fn a_previous_version_may_be_opened_to_be_changed_but_is_not() {
    let mut ada = user().await;
    let path = "@GMT-2026.06.25-00.01.18\\folder\\notes";
    let open = |create: &mut create::Request<'_>| {
        to_read(create);
        create.desired_access = AccessMask::READ_DATA.union(AccessMask::WRITE_DATA).0;
    };
    let file = ada.open(path, open).await.unwrap().file;
    assert_eq!(ada.write(file, 0, b"123").await, Status::MEDIA_WRITE_PROTECTED);
    assert_eq!(ada.read(file, 0, 100).await, Ok(b"then".to_vec()));
    let overwrite = |create: &mut create::Request<'_>| create.disposition = Disposition::OVERWRITE;
    assert_eq!(ada.open(path, overwrite).await.unwrap_err(), Status::MEDIA_WRITE_PROTECTED);
}

#[tokio::test]
async fn previous_versions_are_listed() {
    let mut ada = user().await;
    let file = ada.open("folder\\notes", to_read).await.unwrap().file;
    let mut listed = async |max_output_response: u32| {
        let request = ioctl::Request {
            control_code: Code::SRV_ENUMERATE_SNAPSHOTS,
            file,
            input: 0..0,
            max_input_response: 0,
            max_output_response,
            flags: ioctl::Request::IS_FSCTL,
        };
        let answer = ada.call(Command::IOCTL, |w| request.encode(b"", w)).await;
        assert_eq!(answer.status(), Status::SUCCESS);
        let output = ioctl::Response::decode(&answer.message).unwrap().output;
        (Snapshots::decode(&mut wire::Reader::new(&output)).unwrap(), output.len())
    };
    let label = "@GMT-2026.06.25-00.01.18".to_owned();
    let all = Snapshots { total: 1, array_size: 52, labels: vec![label] };
    assert_eq!(listed(64).await, (all.clone(), 64), "12 bytes, 25 units of the label, and one more");
    assert_eq!(listed(16).await, (Snapshots { labels: Vec::new(), ..all }, 16));
}
