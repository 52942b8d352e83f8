mod listed;
mod names;

use std::sync::Arc;

use vfs::backend::NewKind;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller};

use super::*;
use crate::client::Offer;
use crate::server::service::Service;
use crate::server::testing::{ADA, User, open_request, service, volume};
use crate::wire::Command;
use crate::wire::create::{self, Disposition};
use crate::wire::fscc::FileAttributes;
use crate::wire::security::AccessMask;

fn path(text: &str) -> Vec<Vec<u8>> {
    text.split('/').filter(|name| !name.is_empty()).map(|name| name.as_bytes().to_vec()).collect()
}

#[test]
fn a_relative_link_stands_for_what_it_says_from_its_folder_on() {
    assert_eq!(spliced(&path("a/link/c"), 1, b"x/./y"), Some(path("a/x/y/c")));
    assert_eq!(spliced(&path("a/b/link"), 2, b"../x"), Some(path("a/x")));
    assert_eq!(spliced(&path("link"), 0, b"."), Some(path("")));
}

/// A share with a folder "in" that has a file, and links.
async fn scene() -> (Arc<Service>, User) {
    let service = service();
    let mut ada = User::new(&service).await;
    let folder = ada.open("in", |create| create.options = Options::DIRECTORY_FILE).await.unwrap();
    ada.close(folder.file).await;
    ada.make("in\\file", b"abc").await;
    for (name, target) in [
        ("near", &b"in/file"[..]),
        ("folder", b"./in"),
        ("round", b"round"),
        ("up", b"../etc"),
        ("far", b"/etc"),
        ("nowhere", b"nothing"),
    ] {
        link(&service, name, target);
    }
    (service, ada)
}

fn party() -> Party {
    Party::client(ClientId::unused())
}

async fn reads(user: &mut User, name: &str) -> Result<Vec<u8>, Status> {
    let file = user.open(name, |create| create.disposition = Disposition::OPEN).await?.file;
    user.read(file, 0, 10).await
}

#[tokio::test]
async fn relative_links_are_followed_on_the_way_and_at_the_end() {
    let (_service, mut ada) = scene().await;
    assert_eq!(reads(&mut ada, "near").await, Ok(b"abc".to_vec()));
    assert_eq!(reads(&mut ada, "folder\\file").await, Ok(b"abc".to_vec()));
    assert_eq!(reads(&mut ada, "folder\\other").await, Err(Status::OBJECT_NAME_NOT_FOUND));
    assert!(ada.open("folder\\new", |_| ()).await.is_ok());
    assert_eq!(reads(&mut ada, "in\\new").await, Err(Status::END_OF_FILE));
    assert_eq!(reads(&mut ada, "round").await, Err(Status::STOPPED_ON_SYMLINK));
}

#[tokio::test]
async fn other_links_are_the_clients_to_follow() {
    let (_service, mut ada) = scene().await;
    for (name, target, relative, after) in [
        ("up\\passwd", "..\\etc", true, "\\passwd"),
        ("far\\a\\b", "\\etc", false, "\\a\\b"),
        ("far", "\\etc", false, ""),
    ] {
        let request = open_request(name);
        let answer = ada.call(Command::CREATE, |w| request.encode(w)).await;
        assert_eq!(answer.status(), Status::STOPPED_ON_SYMLINK, "{name}");
        let error::Response::Contexts(contexts) = error::Response::decode(&answer.message).unwrap() else {
            panic!("3.1.1 has contexts");
        };
        let link = Symlink::decode(&contexts[0].data).unwrap();
        assert_eq!(String::from_utf16_lossy(&link.substitute_name), target);
        assert_eq!((link.relative, usize::from(link.unparsed_path_length)), (relative, after.len() * 2));
    }
}

#[tokio::test]
async fn a_client_that_says_so_opens_the_link_itself() {
    let (_service, mut ada) = scene().await;
    for name in ["near", "far"] {
        let itself = |create: &mut create::Request<'_>| {
            create.options = Options::OPEN_REPARSE_POINT;
            create.disposition = Disposition::OPEN;
            create.desired_access = AccessMask::READ_ATTRIBUTES.0;
        };
        let attributes = ada.open(name, itself).await.unwrap().info.file_attributes;
        assert!(FileAttributes(attributes).contains(FileAttributes::REPARSE_POINT), "{name}");
    }
}

#[test]
fn a_link_out_of_the_share_is_not_followed() {
    assert_eq!(spliced(&path("a/link"), 1, b"../../x"), None);
    assert_eq!(spliced(&path("link"), 0, b"/etc/passwd"), None);
}

/// MS-SMB2 2.2.2.2.1: a client replaces its own name by the target. So it is told of the link that
/// it named, whatever other links the target leads through.
#[tokio::test]
async fn a_client_is_told_of_the_link_that_it_named() {
    let (service, mut ada) = scene().await;
    link(&service, "first", b"in/second");
    link(&service, "in/second", b"../../out");
    let request = open_request("first\\a\\b");
    let answer = ada.call(Command::CREATE, |w| request.encode(w)).await;
    assert_eq!(answer.status(), Status::STOPPED_ON_SYMLINK);
    let told = stopped_at(&answer);
    assert_eq!(String::from_utf16_lossy(&told.substitute_name), "in\\second");
    assert_eq!((told.relative, told.unparsed_path_length), (true, "\\a\\b".len() as u16 * 2));
}

/// Linux reads a link by opening it: 3.3.5.9 with the target in the error.
#[tokio::test]
async fn linux_is_told_of_every_link_at_the_end_of_a_path() {
    let (service, _ada) = scene().await;
    let mut linux = linux(&service).await;
    for (name, target) in [
        ("near", "in\\file"),
        ("folder", ".\\in"),
        ("round", "round"),
        ("up", "..\\etc"),
        ("far", "\\etc"),
        ("nowhere", "nothing"),
    ] {
        for access in [AccessMask::READ_ATTRIBUTES, AccessMask::READ_DATA, AccessMask::MAXIMUM_ALLOWED] {
            let mut request = open_request(name);
            (request.desired_access, request.disposition) = (access.0, Disposition::OPEN);
            let answer = linux.call(Command::CREATE, |w| request.encode(w)).await;
            assert_eq!(answer.status(), Status::STOPPED_ON_SYMLINK, "{name}");
            let told = stopped_at(&answer);
            assert_eq!(String::from_utf16_lossy(&told.substitute_name), target);
            assert_eq!((told.relative, told.unparsed_path_length), (!target.starts_with('\\'), 0));
        }
        // utimensat(AT_SYMLINK_NOFOLLOW). The kernel sends only these access rights.
        let sets = |create: &mut create::Request<'_>| {
            create.desired_access = AccessMask::WRITE_ATTRIBUTES.0;
            create.disposition = Disposition::OPEN;
        };
        let attributes = linux.open(name, sets).await.unwrap().info.file_attributes;
        assert!(FileAttributes(attributes).contains(FileAttributes::REPARSE_POINT), "{name}");
    }
    assert_eq!(reads(&mut linux, "folder\\file").await, Ok(b"abc".to_vec()), "links on the way are followed");
}

/// POSIX open(2) with O_CREAT | O_EXCL: a link is there, wherever it leads.
#[tokio::test]
async fn nothing_is_made_in_the_place_of_a_link() {
    let (_service, mut ada) = scene().await;
    for name in ["near", "folder", "nowhere", "far"] {
        let new = |create: &mut create::Request<'_>| create.disposition = Disposition::CREATE;
        assert_eq!(ada.open(name, new).await.err(), Some(Status::OBJECT_NAME_COLLISION), "{name}");
    }
}

fn stopped_at(answer: &crate::client::Answer) -> Symlink {
    let error::Response::Contexts(contexts) = error::Response::decode(&answer.message).unwrap() else {
        panic!("3.1.1 has contexts");
    };
    Symlink::decode(&contexts[0].data).unwrap()
}

async fn linux(service: &Arc<Service>) -> User {
    let offer = Offer { posix: true, guid: [9; 16], ..Offer::default() };
    User::with(service, &offer, ADA, "share").await
}

/// Makes a link at a path of the share.
fn link(service: &Arc<Service>, at: &str, target: &[u8]) {
    let (volume, actor) = (volume(service, "share"), Actor::new(Caller::root(), party()));
    let names = path(at);
    let (name, above) = names.split_last().unwrap();
    let folder =
        volume.lookup_path(&actor.caller, &volume.root().unwrap(), &slices(above), Folding::default());
    let folder = folder.unwrap().found.unwrap();
    volume.create(&actor, &folder, name, NewKind::Link(target), 0o777).unwrap();
}
