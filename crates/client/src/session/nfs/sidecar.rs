//! `._name`: the AppleDouble file in which Macs keep what a server without named attributes cannot keep.

use vfs::mac::apple_double::HEAD_LIMIT;
use vfs::mac::{FinderInfo, plist, sidecar};

use super::metadata::WRITE_BITS;
use crate::metadata::{Aspect, AspectState, COMMENT, MetadataValue, Peer};
use crate::session::{DataTransfer, OpenFileId, OpenIntent, Session};
use crate::tree::{Extra, ExtraWriter, FLAGS, Kind, MetadataLoss, Tree};
use crate::{Error, Result};

/// Bytes of one read or write.
pub(super) const PIECE: usize = 32 << 10;
/// The longest file that is read.
pub(super) const LONGEST: usize = crate::tree::LONGEST;

/// A client that reads and writes whole files, and so these.
pub(super) trait Sidecars: Session {
    /// All bytes of a file of at most [`LONGEST`] bytes; a longer one is an error.
    fn read_all(&mut self, path: &str) -> Result<Vec<u8>>;

    /// Adds what the AppleDouble file of a file says, if there is one.
    fn add_beside(&mut self, path: &str, extra: &mut Extra) -> Result<()> {
        match self.read_all(&path_beside(path)) {
            Ok(all) => add_sidecar(&all, extra),
            Err(Error::Missing(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes these bytes from this offset on to a file, which is made.
    fn write_all(&mut self, path: &str, offset: u64, bytes: &[u8]) -> Result<()> {
        let file = match self.open(path, OpenIntent::Create) {
            Err(Error::Exists(_)) => self.open(path, OpenIntent::Write)?,
            other => other?,
        };
        self.write_open(file, offset, bytes)
    }

    /// The same to an open file, which is closed.
    fn write_open(&mut self, file: OpenFileId, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut done = Ok(());
        for (number, data) in bytes.chunks(PIECE).enumerate() {
            let offset = offset + (number * PIECE) as u64;
            let started = self.start(file, DataTransfer::Write { offset, data, stable: true });
            done = done.and(started.and_then(|_| self.finish()).map(drop));
        }
        self.close(file)?;
        done
    }

    /// Writes Finder info, the resource fork, an attribute or the comment as the only content of the AppleDouble file.
    fn put_beside(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool> {
        let comment = match value {
            MetadataValue::Text(text) => plist::write_text(text),
            _ => Vec::new(),
        };
        let (info, attribute, fork): (_, Option<(&str, &[u8])>, &[u8]) = match (aspect, value) {
            (Aspect::FinderInfo, MetadataValue::Bytes(bytes)) => (FinderInfo::from_prefix(bytes), None, &[]),
            (Aspect::Fork, MetadataValue::Bytes(bytes)) => (FinderInfo::NONE, None, bytes),
            (Aspect::Attribute(name), MetadataValue::Bytes(bytes)) => {
                (FinderInfo::NONE, Some((name, bytes)), &[])
            }
            (Aspect::Comment, MetadataValue::Text(_)) => (FinderInfo::NONE, Some((COMMENT, &comment)), &[]),
            _ => return Ok(false),
        };
        let attributes: Vec<(&[u8], &[u8])> =
            attribute.iter().map(|(name, value)| (name.as_bytes(), *value)).collect();
        let (head, _) = sidecar::synthesize(&info, &attributes, fork.len() as u64);
        self.write_all(&path_beside(path), 0, &[&head, fork].concat())?;
        Ok(true)
    }

    /// What the AppleDouble file says.
    fn beside(&mut self, path: &str, aspect: Aspect<'_>) -> Result<AspectState> {
        let all = match self.read_all(&path_beside(path)) {
            Err(Error::Missing(_)) => return Ok(AspectState::Missing),
            other => other?,
        };
        let head = &all[..all.len().min(HEAD_LIMIT.max(LONGEST))];
        let parsed = sidecar::parse(head, all.len() as u64)
            .map_err(|error| Error::Other(format!("the ._ file is not AppleDouble: {error}")))?;
        let value = |name: &str| {
            let found = parsed.xattrs.iter().find(|one| one.name == name.as_bytes())?;
            let at = found.offset as usize;
            found.value.or_else(|| all.get(at..at + found.length as usize))
        };
        let bytes = |found: Option<&[u8]>| match found {
            Some(bytes) if !bytes.is_empty() => AspectState::Value(MetadataValue::Bytes(bytes.to_vec())),
            _ => AspectState::Missing,
        };
        Ok(match aspect {
            Aspect::FinderInfo => bytes(Some(parsed.finder_info.as_bytes())),
            Aspect::Fork => {
                bytes(all.get(parsed.resource_range.start as usize..parsed.resource_range.end as usize))
            }
            Aspect::Attribute(name) => value(name).map_or(AspectState::Missing, |value| {
                AspectState::Value(MetadataValue::Bytes(value.to_vec()))
            }),
            _ => match value(COMMENT).and_then(plist::read_text) {
                Some(text) => AspectState::Value(MetadataValue::Text(text)),
                None => AspectState::Missing,
            },
        })
    }
}

/// The path of a file's AppleDouble file.
pub(super) fn path_beside(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{folder}/._{name}")
}

/// Writes what a file has besides its data. `is_beside`: what Macs keep beside the data goes into one `._name`.
pub(super) fn set_extra<T: Sidecars + Tree>(
    tree: &mut T,
    path: &str,
    kind: Kind,
    extra: &Extra,
    is_beside: bool,
) -> Result<Vec<MetadataLoss>> {
    let mut contents = extra.clone();
    let mut lost = Vec::new();
    if is_beside {
        lost = write_beside(tree, path, extra)?;
        contents = Extra { attributes: extra.attributes.clone(), ..Extra::default() };
    }
    let mut writing = ExtraWriter { tree, path, lost };
    if kind != Kind::Link {
        writing.contents(&contents)?;
    }
    // A file that is read-only is one with a mode without rights to write.
    let read_only = FLAGS.iter().position(|aspect| *aspect == Aspect::ReadOnly);
    let mut details = extra.clone();
    if let (Some(at), Some(mode)) = (read_only, extra.mode)
        && details.flags[at].take() == Some(true)
    {
        details.mode = Some(mode & !WRITE_BITS);
    }
    writing.details(kind, &details)?;
    Ok(writing.lost)
}

/// One `._name` has all that Macs keep beside the data, so it is written at once.
fn write_beside<T: Sidecars + Peer + ?Sized>(
    tree: &mut T,
    path: &str,
    extra: &Extra,
) -> Result<Vec<MetadataLoss>> {
    let mut lost = Vec::new();
    let comment = extra.comment.as_deref().map(plist::write_text);
    let streams = extra.streams.iter().map(|(name, value)| (name.as_bytes(), &value[..]));
    let streams: Vec<_> =
        streams.chain(comment.iter().map(|value| (COMMENT.as_bytes(), &value[..]))).collect();
    let info = extra.finder_info.as_deref().map_or(FinderInfo::NONE, FinderInfo::from_prefix);
    if info == FinderInfo::NONE && streams.is_empty() && extra.fork.is_empty() {
        return Ok(lost);
    }
    let (head, problems) = sidecar::synthesize(&info, &streams, extra.fork.len() as u64);
    lost.extend(problems.iter().map(|problem| MetadataLoss {
        what: "stream".into(),
        why: Some(format!("it does not fit into {}: {problem:?}", path_beside(path))),
    }));
    tree.sweep(path);
    match tree.write_all(&path_beside(path), 0, &[&head[..], &extra.fork].concat()) {
        Err(error) if error.ends_session() => return Err(error),
        Err(error) => {
            lost.push(MetadataLoss {
                what: "Finder info, streams and fork".into(),
                why: Some(error.to_string()),
            });
        }
        Ok(()) => {}
    }
    Ok(lost)
}

/// What an AppleDouble file says.
fn add_sidecar(all: &[u8], extra: &mut Extra) -> Result<()> {
    let parsed = sidecar::parse(all, all.len() as u64)
        .map_err(|error| Error::Other(format!("the ._ file is not AppleDouble: {error}")))?;
    extra.finder_info = Some(parsed.finder_info.as_bytes().to_vec());
    for one in &parsed.xattrs {
        let at = one.offset as usize;
        let value =
            one.value.or_else(|| all.get(at..at.checked_add(one.length as usize)?)).unwrap_or_default();
        match (std::str::from_utf8(one.name), plist::read_text(value)) {
            (Ok(COMMENT), Some(comment)) => extra.comment = Some(comment),
            (Ok(name), _) => extra.streams.push((name.to_owned(), value.to_vec())),
            _ => {}
        }
    }
    let range = parsed.resource_range.start as usize..parsed.resource_range.end as usize;
    if !parsed.blank_resource {
        extra.fork = all.get(range).unwrap_or_default().to_vec();
    }
    Ok(())
}
