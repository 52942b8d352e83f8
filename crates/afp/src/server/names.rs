//! Names as clients send and see them.

use std::borrow::Cow;

use vfs::backend::Found;
use vfs::index::CatalogId;
use vfs::{Caller, Error, names};

use super::open_volume::OpenVolume;
use crate::wire::{Path, ResultCode};

/// Bytes of the longest name of a file or folder in MacRoman.
pub(super) const LONG_NAME: usize = 31;
/// The same of a volume.
pub(super) const VOLUME_NAME: usize = 27;

/// An entry of a folder, or where it would be.
pub(super) struct Entry {
    /// Its stored name.
    pub(super) name: Vec<u8>,
    /// `None` when there is no such entry.
    pub(super) found: Option<Found>,
}

/// The stored name that a client means by one that it sends.
pub(super) fn stored(kind: u8, sent: &[u8]) -> Result<Vec<u8>, ResultCode> {
    let stored = if kind == Path::UTF8 { names::from_mac_view(sent) } else { names::from_short_view(sent) };
    stored.map_err(|_| ResultCode::PARAM_ERROR)
}

/// The long name of a file or folder: MacRoman, at most 31 bytes.
pub(super) fn long_name(stored: &[u8], id: CatalogId) -> Vec<u8> {
    names::short_view(stored, id.0, LONG_NAME)
}

/// The name as AFP 3 shows it.
pub(super) fn utf8_name(stored: &[u8]) -> Cow<'_, str> {
    names::mac_view(stored)
}

/// The name of a volume for old clients: MacRoman, at most 27 bytes.
pub(super) fn long_volume_name(name: &str) -> Vec<u8> {
    names::short_view(name.as_bytes(), CatalogId::ROOT.0, VOLUME_NAME)
}

/// The parts of a name of the form `beginning#1F.txt`.
fn taken_apart(sent: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let hash = sent.iter().rposition(|byte| *byte == b'#').filter(|at| *at > 0)?;
    let (prefix, rest) = (&sent[..hash], &sent[hash + 1..]);
    let end = rest.iter().position(|byte| *byte == b'.').unwrap_or(rest.len());
    let (digits, extension) = rest.split_at(end);
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    if !(1..=8).contains(&digits.len()) || digits[0] == b'0' || !digits.iter().all(is_hex) {
        return None;
    }
    let id = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((prefix, id, extension))
}

impl OpenVolume {
    /// The entry of `folder` that a client means by a name.
    pub(super) fn entry(
        &self,
        caller: &Caller,
        folder: &Found,
        kind: u8,
        sent: &[u8],
    ) -> Result<Entry, ResultCode> {
        if let Some(id) = names::parse_mangled(sent)
            && let Some(entry) = self.entry_numbered(caller, folder, CatalogId(id))?
        {
            return Ok(entry);
        }
        let stored = stored(kind, sent)?;
        match self.tree().lookup_folded(caller, folder, &stored, self.share.folding()) {
            Ok((name, found)) => Ok(Entry { name, found: Some(found) }),
            Err(Error::NotFound) => {
                if let Some(entry) = self.entry_of_others(caller, folder, kind, sent)? {
                    return Ok(entry);
                }
                Ok(Entry { name: names::for_storage(&stored).into_owned(), found: None })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The entry whose long name other servers would have made this one: a beginning of its name, `#`, its number without
    /// zeros before it, and its extension.
    fn entry_of_others(
        &self,
        caller: &Caller,
        folder: &Found,
        kind: u8,
        sent: &[u8],
    ) -> Result<Option<Entry>, ResultCode> {
        let Some((prefix, id, extension)) = taken_apart(sent) else { return Ok(None) };
        let Some(entry) = self.entry_numbered(caller, folder, CatalogId(id))? else { return Ok(None) };
        let (prefix, extension) = (stored(kind, prefix)?, stored(kind, extension).unwrap_or_default());
        let is_it = entry.name.starts_with(&prefix) && entry.name.ends_with(&extension);
        Ok(is_it.then_some(entry))
    }

    /// The entry of a folder with this number, if it is there.
    fn entry_numbered(
        &self,
        caller: &Caller,
        folder: &Found,
        id: CatalogId,
    ) -> Result<Option<Entry>, ResultCode> {
        let Ok(found) = self.found(id) else { return Ok(None) };
        let Some(name) = self.name_in(folder, &found)? else { return Ok(None) };
        let found = folder.object.lookup(caller, &name)?;
        Ok(Some(Entry { name, found: Some(found) }))
    }

    /// Whether a client means this volume by a name.
    pub(super) fn is_named(&self, kind: u8, sent: &[u8]) -> bool {
        match kind {
            Path::UTF8 => names::mac_view(self.share.name.as_bytes()).as_bytes() == sent,
            _ => long_volume_name(&self.share.name) == sent || self.share.name.as_bytes() == sent,
        }
    }
}
