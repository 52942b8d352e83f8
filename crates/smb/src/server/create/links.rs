//! Symbolic links on the way. A relative one that stays inside the share is followed here, as Macs and most clients expect
//! of a server; where any other leads is told to the client, which may follow it: MS-SMB2 3.3.5.9 and 2.2.2.2.1.

use vfs::names::{Folding, windows_view};
use vfs::{Error, Kind, Resolved, Volume};
use wire::Writer;

use super::{Wanted, astray};
use crate::server::context::{Context, Failure};
use crate::wire::Status;
use crate::wire::create::Options;
use crate::wire::error::{self, Symlink};

/// The most links of one path.
const MOST_LINKS: usize = 40;

/// Where the path leads, links followed: all on the way, and the last unless the client wants the link itself.
pub(super) fn follow(
    context: &Context,
    volume: &Volume,
    wanted: &Wanted<'_>,
    folding: Folding,
) -> Result<Resolved, Failure> {
    let caller = &wanted.actor.caller;
    let root = volume.root()?;
    let mut path = wanted.path.components.clone();
    for _ in 0..MOST_LINKS {
        let at = match volume.lookup_path(caller, &root, &slices(&path), folding) {
            Ok(resolved) => match &resolved.found {
                Some(found) if found.attributes.kind == Kind::Link && !wants_link(wanted) => path.len() - 1,
                None if spell_out_last(context, &mut path) => continue,
                _ => return Ok(resolved),
            },
            Err(error) if error.why == Error::IsLink => error.at,
            Err(error) if error.why == Error::NotFound && spell_out(context, &mut path, error.at) => continue,
            Err(error) => return Err(astray(wanted, error.at, error.why)),
        };
        let link = volume.lookup_path(caller, &root, &slices(&path[..=at]), folding);
        let link = link.map_err(|error| astray(wanted, error.at, error.why))?;
        let target = link.found.ok_or(Status::OBJECT_NAME_NOT_FOUND)?.object.read_link()?;
        path = spliced(&path, at, &target).ok_or_else(|| stopped(context, &path[at + 1..], &target))?;
    }
    Err(Status::STOPPED_ON_SYMLINK.into())
}

fn slices(path: &[Vec<u8>]) -> Vec<&[u8]> {
    path.iter().map(Vec::as_slice).collect()
}

fn spell_out_last(context: &Context, path: &mut [Vec<u8>]) -> bool {
    path.len().checked_sub(1).is_some_and(|last| spell_out(context, path, last))
}

/// Puts the long name in the place of a short one that the client was told.
fn spell_out(context: &Context, path: &mut [Vec<u8>], at: usize) -> bool {
    let Some(name) = path.get_mut(at) else { return false };
    let Some(long) = context.service().short_names.long(name) else { return false };
    *name = long.into();
    true
}

fn wants_link(wanted: &Wanted<'_>) -> bool {
    wanted.options().has(Options::OPEN_REPARSE_POINT)
}

/// The path with what a link says in its place; `None` when that leads out of the share, or is not for us to say.
fn spliced(path: &[Vec<u8>], at: usize, target: &[u8]) -> Option<Vec<Vec<u8>>> {
    if target.starts_with(b"/") {
        return None;
    }
    let mut way = path[..at].to_vec();
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(way.pop()?),
            name => way.push(name.to_vec()),
        }
    }
    way.extend_from_slice(&path[at + 1..]);
    Some(way)
}

/// Tells the client where the link leads, and how much of its path comes after it.
fn stopped(context: &Context, after: &[Vec<u8>], target: &[u8]) -> Failure {
    let unparsed: usize = after.iter().map(|name| (windows_view(name).len() + 1) * 2).sum();
    let relative = !target.starts_with(b"/");
    let name = shown_target(target);
    let link = Symlink {
        unparsed_path_length: u16::try_from(unparsed).unwrap_or(u16::MAX),
        relative,
        substitute_name: name.clone(),
        print_name: name,
    };
    let mut w = Writer::new();
    link.encode(&mut w);
    let contexts = context.connection.negotiated().is_some_and(|agreed| agreed.dialect.has_error_contexts());
    Failure { status: Status::STOPPED_ON_SYMLINK, body: error::Response::of(w.into_bytes(), contexts) }
}

/// A link's target as clients see it: each component as the names of files are, with backslashes between them.
pub(in crate::server) fn shown_target(target: &[u8]) -> Vec<u16> {
    let component = |name: &[u8]| match name {
        b"." | b".." => name.iter().copied().map(u16::from).collect(),
        name => windows_view(name),
    };
    let components: Vec<Vec<u16>> = target.split(|byte| *byte == b'/').map(component).collect();
    components.join(&u16::from(b'\\'))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::NewKind;
    use vfs::state::{ClientId, Party};
    use vfs::{Actor, Caller};

    use super::*;
    use crate::server::service::Service;
    use crate::server::testing::{User, open_request, service, volume};
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
        ada.open("in", |create| create.options = Options::DIRECTORY_FILE).await.unwrap();
        ada.make("in\\file", b"abc").await;
        let (volume, actor) = (volume(&service, "share"), Actor::new(Caller::root(), party()));
        for (name, target) in [
            ("near", &b"in/file"[..]),
            ("folder", b"./in"),
            ("round", b"round"),
            ("up", b"../etc"),
            ("far", b"/etc"),
        ] {
            let root = volume.root().unwrap();
            volume.create(&actor, &root, name.as_bytes(), NewKind::Link(target), 0o777).unwrap();
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
            let error::Response::Contexts(contexts) = error::Response::decode(&answer.message).unwrap()
            else {
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
            assert!(FileAttributes(attributes).has(FileAttributes::REPARSE_POINT), "{name}");
        }
    }

    #[test]
    fn a_link_out_of_the_share_is_not_followed() {
        assert_eq!(spliced(&path("a/link"), 1, b"../../x"), None);
        assert_eq!(spliced(&path("link"), 0, b"/etc/passwd"), None);
    }
}
