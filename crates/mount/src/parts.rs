//! Extended attributes of Linux for what files are besides their data: named streams and attributes by their names, Finder info and
//! the resource fork by those that macOS has for them, all in the namespace `user.`.

use client::metadata::{Aspect, AspectState, COMMENT, MetadataValue};
use client::tree::{Extra, Kind, Tree};
use client::{Protocol, Result};
use formats::mac::plist;

/// The prefix of what programs may write.
const USER: &str = "user.";
const FINDER_INFO: &str = "com.apple.FinderInfo";
const FORK: &str = "com.apple.ResourceFork";
/// Bytes of Finder info.
const FINDER_INFO_LENGTH: usize = 32;

/// A part of a file by the name of its attribute; `None`: an attribute that files here never have.
pub(crate) fn part(name: &str) -> Option<Aspect<'_>> {
    Some(match name.strip_prefix(USER)? {
        "" => return None,
        FINDER_INFO => Aspect::FinderInfo,
        FORK => Aspect::Fork,
        COMMENT => Aspect::Comment,
        name => Aspect::Attribute(name),
    })
}

/// The names of a file's attributes, each with a NUL behind it.
pub(crate) fn names(extra: &Extra) -> Vec<u8> {
    let is_set = |bytes: &Vec<u8>| bytes.iter().any(|byte| *byte != 0);
    let fixed = [
        (FINDER_INFO, extra.finder_info.as_ref().is_some_and(is_set)),
        (FORK, !extra.fork.is_empty()),
        (COMMENT, extra.comment.is_some()),
    ];
    let fixed = fixed.iter().filter(|(_, there)| *there).map(|(name, _)| *name);
    let mut all: Vec<&str> = fixed.chain(extra.streams.iter().map(|(name, _)| &name[..])).collect();
    for (name, _) in &extra.attributes {
        if !all.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            all.push(name);
        }
    }
    all.iter().flat_map(|name| [USER, name, "\0"].concat().into_bytes()).collect()
}

/// The bytes of a part; `None`: the file does not have it.
pub(crate) fn read(tree: &mut dyn Tree, path: &str, part: Aspect<'_>) -> Result<Option<Vec<u8>>> {
    let found = match tree.get(path, part)? {
        AspectState::Missing | AspectState::Impossible => match part {
            Aspect::Attribute(name) => tree.get(path, Aspect::Ea(name))?,
            _ => AspectState::Missing,
        },
        found => found,
    };
    Ok(match found {
        AspectState::Value(MetadataValue::Text(text)) if text.is_empty() => None,
        AspectState::Value(MetadataValue::Text(text)) => Some(plist::write_text(&text)),
        AspectState::Value(MetadataValue::Bytes(bytes)) => {
            Some(bytes).filter(|bytes| part != Aspect::FinderInfo || bytes.iter().any(|byte| *byte != 0))
        }
        _ => None,
    })
}

/// Why a part is not written.
pub(crate) enum PartRefusal {
    /// It cannot have this value.
    Value,
    /// The protocol has no way to.
    Protocol,
    /// The server's answer.
    Server(client::Error),
}

impl From<client::Error> for PartRefusal {
    fn from(error: client::Error) -> Self {
        Self::Server(error)
    }
}

/// Writes a part. Over NFS, all parts are in one `._name`, which is written anew.
pub(crate) fn write(
    tree: &mut dyn Tree,
    (path, kind): (&str, Kind),
    protocol: Protocol,
    part: Aspect<'_>,
    bytes: &[u8],
) -> std::result::Result<(), PartRefusal> {
    let value = match part {
        Aspect::FinderInfo if bytes.len() != FINDER_INFO_LENGTH => return Err(PartRefusal::Value),
        Aspect::Comment => MetadataValue::Text(plist::read_text(bytes).ok_or(PartRefusal::Value)?),
        _ => MetadataValue::Bytes(bytes.to_vec()),
    };
    if !protocol.has_forks() {
        let mut extra = parts_only(tree.extra(path, kind)?);
        set(&mut extra, part, Some(value));
        return rewrite(tree, path, kind, &extra);
    }
    if part == Aspect::Fork {
        drop_missing(tree.drop_part(path, part))?;
    }
    if tree.put(path, part, &value)? { Ok(()) } else { Err(PartRefusal::Protocol) }
}

/// Removes a part that is there.
pub(crate) fn remove(
    tree: &mut dyn Tree,
    (path, kind): (&str, Kind),
    protocol: Protocol,
    part: Aspect<'_>,
) -> std::result::Result<(), PartRefusal> {
    if !protocol.has_forks() {
        let mut extra = parts_only(tree.extra(path, kind)?);
        set(&mut extra, part, None);
        tree.sweep(path);
        return rewrite(tree, path, kind, &extra);
    }
    let done = match (tree.drop_part(path, part), part) {
        (Err(client::Error::Missing(_)), Aspect::Attribute(name)) => {
            tree.drop_part(path, Aspect::Ea(name))?
        }
        (done, _) => done?,
    };
    if done { Ok(()) } else { Err(PartRefusal::Protocol) }
}

fn drop_missing(done: Result<bool>) -> Result<()> {
    match done {
        Err(client::Error::Missing(_)) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What `._name` holds.
fn parts_only(extra: Extra) -> Extra {
    let Extra { finder_info, fork, comment, streams, .. } = extra;
    Extra { finder_info, fork, comment, streams, ..Extra::default() }
}

fn set(extra: &mut Extra, part: Aspect<'_>, value: Option<MetadataValue>) {
    match (part, value) {
        (Aspect::FinderInfo, value) => extra.finder_info = bytes(value),
        (Aspect::Fork, value) => extra.fork = bytes(value).unwrap_or_default(),
        (Aspect::Comment, Some(MetadataValue::Text(text))) => extra.comment = Some(text),
        (Aspect::Comment, _) => extra.comment = None,
        (Aspect::Attribute(name), value) => {
            extra.streams.retain(|(other, _)| other != name);
            extra.streams.extend(bytes(value).map(|bytes| (name.to_owned(), bytes)));
        }
        _ => {}
    }
}

fn bytes(value: Option<MetadataValue>) -> Option<Vec<u8>> {
    match value {
        Some(MetadataValue::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

fn rewrite(
    tree: &mut dyn Tree,
    path: &str,
    kind: Kind,
    extra: &Extra,
) -> std::result::Result<(), PartRefusal> {
    match tree.set_extra(path, kind, extra)?.into_iter().next() {
        None => Ok(()),
        Some(lost) => Err(PartRefusal::Server(client::Error::Other(lost.why.unwrap_or(lost.what)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_file_has_is_listed() {
        let mut extra = Extra { finder_info: Some(vec![0; 32]), ..Extra::default() };
        assert_eq!(names(&extra), b"", "Finder info of zeros is none");
        extra.fork = vec![1];
        extra.streams = vec![("tags".into(), vec![2])];
        extra.attributes = vec![("TAGS".into(), vec![3]), ("ea".into(), vec![4])];
        assert_eq!(names(&extra), b"user.com.apple.ResourceFork\0user.tags\0user.ea\0");
    }

    #[test]
    fn attributes_of_the_system_are_no_parts() {
        assert_eq!(part("security.capability"), None);
        assert_eq!(part("system.posix_acl_access"), None);
        assert_eq!(part("user."), None);
        assert_eq!(part("user.com.apple.FinderInfo"), Some(Aspect::FinderInfo));
    }
}
