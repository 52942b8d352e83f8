//! Finds the folder that a path names: the share, then downwards. It follows no links and never
//! goes up.

use vfs::{Error, Kind};

use super::{Status, flavors, protocol};
use crate::server::call::Call;
use crate::server::handle::{HandleContent, HandleView, SealedHandle};

/// The most parts that the name of an export has.
const MOST_PARTS: usize = 16;

/// The folder's tidied path, its handle, and the security flavours for it.
pub(super) fn walk(call: &Call<'_>, path: &[u8]) -> Result<(String, SealedHandle, Vec<u32>), Status> {
    if path.len() > protocol::PATH_LIMIT {
        return Err(Status::NAMETOOLONG);
    }
    let names: Vec<&[u8]> = components(path).collect();
    // Names of exports may have several parts: the export with most of them is meant.
    let longest = names.len().min(MOST_PARTS);
    let export = |parts: usize| Some((call.service.export_named(&names[..parts].join(&b'/'))?, parts));
    let (export, parts) = (1..=longest).rev().find_map(export).ok_or(Status::NOENT)?;
    call.note(&export);
    let rule = export.rule(call.origin).ok_or_else(|| {
        export.refuse(call);
        Status::ACCES
    })?;
    let caller = export.caller(rule, call);
    let mut found = export.volume.root()?;
    for name in &names[parts..] {
        if found.attributes.kind != Kind::Folder {
            return Err(Status::NOTDIR);
        }
        found = export.volume.lookup(&caller, &found.object, checked(name)?)?;
    }
    if found.attributes.kind != Kind::Folder {
        return Err(Status::NOTDIR);
    }
    let named = HandleContent { tag: export.tag, view: HandleView::File, key: found.object.key() };
    Ok((tidied(path), named.seal(&call.service.secret), flavors(call.service, rule)))
}

/// A path as DUMP shows it: one slash before each name. Bytes that are not UTF-8 become replacement
/// characters.
pub(super) fn tidied(path: &[u8]) -> String {
    let mut tidied = String::new();
    for name in components(path) {
        tidied.push('/');
        tidied.push_str(&String::from_utf8_lossy(name));
    }
    // Replacement characters are longer than the bytes that they replace.
    tidied.truncate(tidied.floor_char_boundary(protocol::PATH_LIMIT));
    tidied
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".")
}

/// A name that may be looked up on the way.
fn checked(name: &[u8]) -> Result<&[u8], Status> {
    match name {
        b".." => Err(Status::ACCES),
        _ if name.contains(&0) => Err(Status::NOENT),
        _ => Ok(name),
    }
}

/// The status of RFC 1813 5.1.5 that describes a tree error best.
impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound | Error::Stale => Self::NOENT,
            Error::NotFolder | Error::IsLink => Self::NOTDIR,
            Error::NotPermitted => Self::PERM,
            // With `cross-mounts = false`, a file system that is mounted inside the share.
            Error::AccessDenied | Error::CrossVolume => Self::ACCES,
            Error::NameTooLong => Self::NAMETOOLONG,
            Error::InvalidName | Error::Invalid => Self::INVAL,
            Error::NotSupported => Self::NOTSUPP,
            Error::Io | Error::Away => Self::IO,
            // Looking up a folder causes none of these.
            Error::Exists
            | Error::IsFolder
            | Error::NotLink
            | Error::NotEmpty
            | Error::ReadOnly
            | Error::NoSpace
            | Error::NoRoomForAttribute
            | Error::QuotaExceeded
            | Error::FileTooLarge
            | Error::TooManyLinks
            | Error::Busy
            | Error::WouldBlock
            | Error::RangeLocked
            | Error::ShareConflict
            | Error::BeingRemoved
            | Error::LeaseRecall(_)
            | Error::NoSuchAttribute
            | Error::TooMany
            | Error::Exhausted
            | Error::Locked => Self::SERVERFAULT,
        }
    }
}
