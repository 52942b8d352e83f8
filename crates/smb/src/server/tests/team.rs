//! Team folders: what an open gets by the roles, and what its maker may do with something new.

use std::sync::Arc;

use auth::{Grantee, Role, RoleEntry, Roles};
use vfs::Caller;
use wire::Writer;

use super::*;
use crate::server::Service;
use crate::server::testing::{service, volume};
use crate::wire::FileKey;
use crate::wire::fscc::FileClass;
use crate::wire::fscc::file_name::Target;
use crate::wire::values::InfoType;
use crate::wire::{create, set_info};

/// GENERIC_READ, GENERIC_WRITE, GENERIC_ALL, MS-DTYP 2.4.3.
const READ_AND_WRITE: u32 = 0xc000_0000;
const ALL: u32 = 0x1000_0000;

/// A share in which Ada has this role.
fn team(role: Role) -> Arc<Service> {
    let service = service();
    let ada = Grantee::User { name: "ada".into(), uid: Some(1000) };
    volume(&service, "share").set_roles(Some(Arc::new(Roles::new(vec![RoleEntry { role, grantee: ada }]))));
    service
}

async fn make(user: &mut User, desired: u32) -> FileKey {
    let change = |create: &mut create::Request<'_>| create.desired_access = desired;
    user.open("notes", change).await.unwrap().file
}

#[tokio::test]
async fn who_puts_a_file_in_may_fill_it_and_not_open_it_again_to_read() {
    let service = team(Role::Drop);
    let mut ada = User::new(&service).await;
    let file = make(&mut ada, READ_AND_WRITE).await;
    assert_eq!(ada.write(file, 0, b"hello").await, Status::SUCCESS);
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    let opens = |desired| {
        move |create: &mut create::Request<'_>| {
            (create.desired_access, create.disposition) = (desired, create::Disposition::OPEN);
        }
    };
    assert_eq!(ada.open("notes", opens(READ_AND_WRITE)).await.err(), Some(Status::ACCESS_DENIED));
    let lists = ada.open("", opens(0x8000_0000)).await; // GENERIC_READ of the share's folder
    assert_eq!(lists.err(), Some(Status::ACCESS_DENIED));
}

#[tokio::test]
async fn who_makes_a_file_with_all_rights_does_not_say_who_else_has_some() {
    for (role, expected) in [(Role::Contributor, Status::ACCESS_DENIED), (Role::Owner, Status::SUCCESS)] {
        let service = team(role);
        let mut ada = User::new(&service).await;
        let file = make(&mut ada, ALL).await;
        // A descriptor with an empty, protected DACL: MS-DTYP 2.4.6, 2.4.5.
        let descriptor =
            [1, 0, 4, 0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 2, 0, 8, 0, 0, 0, 0, 0];
        let request = set_info::Request {
            info_type: InfoType::SECURITY,
            information_class: 0,
            additional_information: 4, // DACL_SECURITY_INFORMATION, MS-DTYP 2.4.7
            file,
            data: &descriptor,
        };
        let answer = ada.call(Command::SET_INFO, |w| request.encode(w)).await;
        assert_eq!(answer.status(), expected, "{role}");
        let volume = volume(&service, "share");
        let found = volume.lookup(&Caller::root(), &volume.root().unwrap().object, b"notes").unwrap();
        let has_own = found.object.xattr(b"user.fourfold.acl").is_ok();
        assert_eq!(has_own, expected == Status::SUCCESS, "{role}");
    }
}

async fn set(user: &mut User, file: FileKey, class: FileClass, data: &[u8]) -> Status {
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: class.0,
        additional_information: 0,
        file,
        data,
    };
    user.call(Command::SET_INFO, |w| request.encode(w)).await.status()
}

async fn rename(user: &mut User, file: FileKey, name: &str) -> Status {
    let name = name.encode_utf16().collect();
    let (target, mut w) = (Target { replace_if_exists: true, root_directory: 0, name }, Writer::new());
    target.encode(&mut w);
    set(user, file, FileClass::RENAME, w.as_bytes()).await
}

/// DELETE and SYNCHRONIZE, MS-DTYP 2.4.3.
const TO_RENAME: u32 = 0x0011_0000;

#[tokio::test]
async fn who_puts_a_file_in_renames_it_and_does_not_remove_it() {
    let service = team(Role::Drop);
    let mut ada = User::new(&service).await;
    for name in ["notes", "taken"] {
        let new = |create: &mut create::Request<'_>| create.desired_access = READ_AND_WRITE;
        let file = ada.open(name, new).await.unwrap().file;
        assert_eq!(ada.close(file).await, Status::SUCCESS);
    }
    let to_rename = |create: &mut create::Request<'_>| {
        (create.desired_access, create.disposition) = (TO_RENAME, create::Disposition::OPEN);
    };
    let file = ada.open("notes", to_rename).await.unwrap().file;
    assert_eq!(rename(&mut ada, file, "taken").await, Status::ACCESS_DENIED);
    assert_eq!(rename(&mut ada, file, "final").await, Status::SUCCESS);
    // FileDispositionInformation, MS-FSCC 2.4.11: to be removed.
    assert_eq!(set(&mut ada, file, FileClass::DISPOSITION, &[1]).await, Status::ACCESS_DENIED);
    assert_eq!(ada.close(file).await, Status::SUCCESS);
    let removing = |create: &mut create::Request<'_>| {
        to_rename(create);
        create.options |= create::Options::DELETE_ON_CLOSE;
    };
    assert_eq!(ada.open("final", removing).await.err(), Some(Status::ACCESS_DENIED));
    let volume = volume(&service, "share");
    let root = volume.root().unwrap().object;
    assert!(volume.lookup(&Caller::root(), &root, b"final").is_ok());
}
