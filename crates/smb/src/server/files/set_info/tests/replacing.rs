//! A rename over a file that other clients have open.

use super::*;
use crate::server::testing::ADA;
use crate::wire::create::Request;
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::values::{Lease, LeaseFlags};
use crate::wire::fscc::file_name::{RenameFlags, TargetEx};
use crate::wire::oplock_break::{self, Notification};
use crate::wire::values::{LeaseKey, LeaseState, OplockLevel};

/// A user on another machine, which is Linux if `posix` is set.
async fn machine(service: &std::sync::Arc<crate::server::Service>, number: u8, posix: bool) -> User {
    User::with(service, &Offer { guid: [number; 16], posix, ..Offer::default() }, ADA, "share").await
}

fn to_read(create: &mut Request<'_>) {
    create.desired_access = AccessMask::FILE_READ.0;
    create.disposition = Disposition::OPEN;
}

async fn read_now(user: &mut User, name: &str) -> Vec<u8> {
    let file = user.open(name, to_read).await.unwrap().file;
    let data = user.read(file, 0, 10).await.unwrap();
    user.close(file).await;
    data
}

async fn move_ex(user: &mut User, file: FileKey, name: &str, flags: RenameFlags) -> Status {
    let target = TargetEx { flags, root_directory: 0, name: name.encode_utf16().collect() };
    set(user, file, FileClass::RENAME_EX, &encoded(|w| target.encode(w))).await
}

#[tokio::test]
async fn a_file_that_others_have_open_is_replaced_if_they_share_deleting() {
    for posix in [false, true] {
        let service = service();
        let (mut mover, mut reader) = (machine(&service, 1, posix).await, machine(&service, 2, false).await);
        reader.make("there", b"old").await;
        let old = reader.open("there", to_read).await.unwrap().file;
        let file = mover.make("from", b"new").await;
        assert_eq!(move_to(&mut mover, file, "there", true).await, Status::SUCCESS, "{posix}");
        assert_eq!(reader.read(old, 0, 10).await.unwrap(), b"old", "the open file needs no name");
        assert_eq!(read_now(&mut reader, "there").await, b"new");
        assert_eq!(reader.close(old).await, Status::SUCCESS);
        assert_eq!(read_now(&mut reader, "there").await, b"new", "closing the old one leaves the new one");
    }
}

/// MS-FSA 2.1.5.15.11; a move with POSIX semantics gets the sharing violation.
#[tokio::test]
async fn a_file_stays_that_somebody_has_open_and_does_not_share_deleting() {
    for posix in [false, true] {
        let service = service();
        let (mut mover, mut reader) = (machine(&service, 1, posix).await, machine(&service, 2, false).await);
        let made = reader.make("there", b"old").await;
        reader.close(made).await;
        let denies = |create: &mut Request<'_>| {
            to_read(create);
            create.share_access = ShareAccess::READ | ShareAccess::WRITE;
        };
        reader.open("there", denies).await.unwrap();
        let file = mover.make("from", b"new").await;
        let refused = if posix { Status::SHARING_VIOLATION } else { Status::ACCESS_DENIED };
        assert_eq!(move_to(&mut mover, file, "there", true).await, refused);
        let flags = RenameFlags::REPLACE_IF_EXISTS | RenameFlags::POSIX_SEMANTICS;
        assert_eq!(move_ex(&mut mover, file, "there", flags).await, Status::SHARING_VIOLATION);
        assert_eq!(read_now(&mut reader, "there").await, b"old");
    }
}

#[tokio::test]
async fn cached_handles_of_the_replaced_file_are_recalled_first() {
    for posix in [false, true] {
        let service = service();
        let (mut mover, mut holder) = (machine(&service, 1, posix).await, machine(&service, 2, false).await);
        let made = holder.make("there", b"old").await;
        holder.close(made).await;
        let lease = Lease { key: LeaseKey([7; 16]), state: LeaseState(7), flags: LeaseFlags::NONE, v2: None };
        let with_lease = |create: &mut Request<'_>| {
            to_read(create);
            create.oplock_level = OplockLevel::LEASE;
            create.contexts = vec![CreateContext::Lease(lease).encode()];
        };
        let old = holder.open("there", with_lease).await.unwrap().file;
        let file = mover.make("from", b"new").await;
        let name = "there".encode_utf16().collect();
        let target = Target { replace_if_exists: true, root_directory: 0, name };
        let data = encoded(|w| target.encode(w));
        let request = set_info::Request {
            info_type: InfoType::FILE,
            information_class: FileClass::RENAME.0,
            additional_information: 0,
            file,
            data: &data,
        };
        let moving = mover.start(Command::SET_INFO, |w| request.encode(w)).await;
        let Notification::Lease(told) = Notification::decode(&holder.notified().await.message).unwrap()
        else {
            panic!("not of a lease")
        };
        assert_eq!((told.current_state, told.new_state), (LeaseState(7), LeaseState::READ), "{posix}");
        let ack =
            oplock_break::Request::Lease(oplock_break::LeaseBreak { key: told.key, state: told.new_state });
        assert_eq!(holder.call(Command::OPLOCK_BREAK, |w| ack.encode(w)).await.status(), Status::SUCCESS);
        assert_eq!(mover.answer(moving).await.status(), Status::SUCCESS, "{posix}");
        assert_eq!(holder.read(old, 0, 10).await.unwrap(), b"old");
    }
}

#[tokio::test]
async fn linux_renames_folders_with_open_files_and_over_empty_folders() {
    let service = service();
    let (mut linux, mut other) = (machine(&service, 1, true).await, machine(&service, 2, false).await);
    let moved = folder(&mut linux, "folder").await;
    let empty = folder(&mut linux, "empty").await;
    linux.close(empty).await;
    let inside = other.make("folder\\file", b"abc").await;
    assert_eq!(move_to(&mut linux, moved, "empty", true).await, Status::SUCCESS);
    assert_eq!(other.read(inside, 0, 10).await.unwrap(), b"abc");
    assert_eq!(read_now(&mut other, "empty\\file").await, b"abc");
}
