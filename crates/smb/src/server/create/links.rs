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
        let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
        let at = match volume.lookup_path(caller, &root, &names, folding) {
            Ok(resolved) => match &resolved.found {
                Some(found) if found.attributes.kind == Kind::Link && !wants_link(wanted) => path.len() - 1,
                _ => return Ok(resolved),
            },
            Err(error) if error.why == Error::IsLink => error.at,
            Err(error) => return Err(astray(wanted, error.at, error.why)),
        };
        let link = volume.lookup_path(caller, &root, &names[..=at], folding);
        let link = link.map_err(|error| astray(wanted, error.at, error.why))?;
        let target = link.found.ok_or(Status::OBJECT_NAME_NOT_FOUND)?.object.read_link()?;
        path = spliced(&path, at, &target).ok_or_else(|| stopped(context, &path[at + 1..], &target))?;
    }
    Err(Status::STOPPED_ON_SYMLINK.into())
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
    let mut name = Vec::new();
    for (at, part) in target.split(|byte| *byte == b'/').enumerate() {
        if at > 0 {
            name.push(u16::from(b'\\'));
        }
        name.extend(windows_view(part));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<Vec<u8>> {
        text.split('/').filter(|name| !name.is_empty()).map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_relative_link_stands_for_what_it_says_from_its_folder_on() {
        assert_eq!(spliced(&path("a/link/c"), 1, b"x/./y"), Some(path("a/x/y/c")));
        assert_eq!(spliced(&path("a/b/link"), 2, b"../x"), Some(path("a/x")));
        assert_eq!(spliced(&path("link"), 0, b"."), Some(path("")));
    }

    #[test]
    fn a_link_out_of_the_share_is_not_followed() {
        assert_eq!(spliced(&path("a/link"), 1, b"../../x"), None);
        assert_eq!(spliced(&path("link"), 0, b"/etc/passwd"), None);
    }
}
