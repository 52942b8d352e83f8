//! The server's own folder for what a scrub takes away and what may be the only copy of something.

use super::Outcome;
use crate::backend::trust;
use crate::backend::{Backend, NewKind, Object, RenameMode, XattrMode};
use crate::caller::server;
use crate::streams::find_or_make;
use crate::{Error, OwnFolder, Result};

/// On what is lost: the path from the share's folder where it was.
const FROM: &[u8] = b"user.fourfold.lost";
/// The longest name that is given, so that there is room for a number.
const LONGEST_NAME: usize = 240;
/// The longest path that is noted.
const LONGEST_PATH: usize = 1024;
/// Names that are tried.
const MOST_NAMES: usize = 100_000;

/// The folder, made if there is none, at the root of the share or of the mount inside it.
fn folder(backend: &dyn Backend, beside: &dyn Object) -> Result<std::sync::Arc<dyn Object>> {
    let home = backend.homes(&beside.key())?.into_iter().next().ok_or(Error::Stale)?;
    let found = find_or_make(&*home, OwnFolder::LOST.name(), NewKind::Folder, 0o700)?;
    trust(backend, &found).map(|()| found.object).map_err(|why| {
        tracing::warn!(name = %OwnFolder::LOST.name().escape_ascii(), %why, "not used as the server's own folder");
        Error::NotPermitted
    })
}

/// Moves an entry of a folder there. `path` is where it is.
pub(super) fn keep(backend: &dyn Backend, from: &dyn Object, name: &[u8], path: &[u8]) -> Result<Outcome> {
    note(&*from.lookup(server(), name)?.object, path);
    let to = folder(backend, from)?;
    put(path, |new| from.rename(server(), name, &*to, new, RenameMode::Keep))
}

/// Gives a file a name there, too: what is about to be replaced stays.
pub(super) fn keep_link(backend: &dyn Backend, file: &dyn Object, path: &[u8]) -> Result<Outcome> {
    note(file, path);
    let to = folder(backend, file)?;
    put(path, |new| to.link(server(), file, new))
}

/// Notes where it was, unless that was noted before. A full file system is no reason to leave it.
fn note(object: &dyn Object, path: &[u8]) {
    let _ = object.set_xattr(server(), FROM, &path[..path.len().min(LONGEST_PATH)], XattrMode::Create);
}

/// Tries names that are like the path until one is free.
fn put(path: &[u8], place: impl Fn(&[u8]) -> Result<()>) -> Result<Outcome> {
    let name: Vec<u8> = path.iter().map(|&byte| if byte == b'/' { b'%' } else { byte }).collect();
    let name = &name[name.len().saturating_sub(LONGEST_NAME)..];
    for number in 1..MOST_NAMES {
        let name = match number {
            1 => name.to_vec(),
            _ => [name, format!(".{number}").as_bytes()].concat(),
        };
        match place(&name) {
            Err(Error::Exists) => {}
            Err(other) => return Err(other),
            Ok(()) => return Ok(Outcome::Moved([OwnFolder::LOST.name(), b"/", &name].concat())),
        }
    }
    Err(Error::TooMany)
}
