//! Conversion of names from and to clients.

use std::borrow::Cow;

use vfs::backend::Found;
use vfs::{Caller, Error, names};

use super::open_volume::OpenVolume;
use crate::catalogue::CatalogId;
use crate::wire::{Path, ResultCode};

/// Bytes of the longest name of a file or folder in MacRoman.
pub(in crate::server) const LONG_NAME: usize = 31;
/// Bytes of the longest name of a volume in MacRoman.
pub(in crate::server) const VOLUME_NAME: usize = 27;
/// Bytes of the longest extension, with its dot, that other servers keep when they shorten a name.
const LONGEST_EXTENSION: usize = 6;

/// An entry of a folder, or the place for one.
pub(in crate::server) struct EntrySlot {
    /// Its stored name.
    pub(in crate::server) name: Vec<u8>,
    /// `None` when there is no such entry.
    pub(in crate::server) found: Option<Found>,
}

/// The stored form of a name from a client: composed, because Macs decompose typed names.
pub(in crate::server) fn stored(kind: u8, sent: &[u8]) -> Result<Vec<u8>, ResultCode> {
    let stored = if kind == Path::UTF8 { names::from_mac_view(sent) } else { names::from_short_view(sent) };
    stored.map(|stored| names::to_nfc(&stored).into_owned()).map_err(|_| ResultCode::PARAM_ERROR)
}

/// The long name of a file or folder: MacRoman, at most 31 bytes.
pub(in crate::server) fn long_name(stored: &[u8], id: CatalogId) -> Vec<u8> {
    names::short_view(stored, id.0, LONG_NAME)
}

/// The name for AFP 3.
pub(in crate::server) fn utf8_name(stored: &[u8]) -> Cow<'_, str> {
    names::mac_view(stored)
}

/// The name of a volume for old clients: MacRoman, at most 27 bytes.
pub(in crate::server) fn long_volume_name(name: &str) -> Vec<u8> {
    names::short_view(name.as_bytes(), CatalogId::ROOT.0, VOLUME_NAME)
}

/// The form in which other servers shorten a name that old Macs cannot have: as much of its
/// beginning as MacRoman has and fits, `#`, its number, its extension. `None` if old Macs can have
/// the name.
fn shortened_by_others(name: &[u8], id: CatalogId) -> Option<String> {
    if names::parse_mangled(&long_name(name, id)) != Some(id.0) {
        return None;
    }
    let name = String::from_utf8_lossy(name);
    let (stem, extension) = match name.rfind('.') {
        Some(at) if at > 0 && name.len() - at <= LONGEST_EXTENSION => name.split_at(at),
        _ => (&*name, ""),
    };
    let tail = format!("#{:X}{extension}", id.0);
    let beginning: String = stem.chars().take_while(|c| is_mac_roman(*c)).collect();
    let beginning = if beginning.is_empty() { "???" } else { &*beginning };
    Some(beginning.chars().take(LONG_NAME.saturating_sub(tail.len())).chain(tail.chars()).collect())
}

fn is_mac_roman(c: char) -> bool {
    let long = names::short_view(c.encode_utf8(&mut [0; 4]).as_bytes(), 1, LONG_NAME);
    names::decode_mac_roman(&long).chars().eq([c])
}

/// The number in a name of the form `beginning#1F.txt`.
fn number_in(name: &[u8]) -> Option<CatalogId> {
    let hash = name.iter().rposition(|byte| *byte == b'#').filter(|at| *at > 0)?;
    let digits = name[hash + 1..].split(|byte| *byte == b'.').next()?;
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    let is_number = (1..=8).contains(&digits.len()) && digits[0] != b'0' && digits.iter().all(is_hex);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u32::from_str_radix(text, 16).ok().map(CatalogId)
}

impl OpenVolume {
    /// The entry of `folder` that a client names.
    pub(in crate::server) fn entry(
        &self,
        caller: &Caller,
        folder: &Found,
        kind: u8,
        sent: &[u8],
    ) -> Result<EntrySlot, ResultCode> {
        if let Some(id) = names::parse_mangled(sent)
            && let Some(entry) = self.entry_numbered(caller, folder, CatalogId(id))?
        {
            return Ok(entry);
        }
        let stored = self.tree().stored_form(stored(kind, sent)?);
        match self.tree().mac_tree().lookup_folded(caller, folder, &stored, self.share.folding()) {
            Ok((name, found)) => Ok(EntrySlot { name, found: Some(found) }),
            Err(Error::NotFound) => {
                if let Some(entry) = self.entry_of_others(caller, folder, &stored)? {
                    return Ok(entry);
                }
                Ok(EntrySlot { name: stored, found: None })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The entry whose name other servers would shorten to this long name.
    fn entry_of_others(
        &self,
        caller: &Caller,
        folder: &Found,
        stored: &[u8],
    ) -> Result<Option<EntrySlot>, ResultCode> {
        let Some(id) = number_in(stored) else { return Ok(None) };
        let entry = self.entry_numbered(caller, folder, id)?;
        let is_it = |entry: &EntrySlot| {
            let short = shortened_by_others(&entry.name, id);
            short.is_some_and(|short| names::to_nfc(short.as_bytes()) == stored)
        };
        Ok(entry.filter(is_it))
    }

    /// The entry of a folder with this number, if it exists.
    fn entry_numbered(
        &self,
        caller: &Caller,
        folder: &Found,
        id: CatalogId,
    ) -> Result<Option<EntrySlot>, ResultCode> {
        let Ok(found) = self.found(id) else { return Ok(None) };
        let Some(name) = self.name_in(folder, &found)? else { return Ok(None) };
        let found = folder.object.lookup(caller, &name)?;
        Ok(Some(EntrySlot { name, found: Some(found) }))
    }

    /// Whether a client's name stands for this volume.
    pub(in crate::server) fn is_named(&self, kind: u8, sent: &[u8]) -> bool {
        match kind {
            Path::UTF8 => names::mac_view(self.share.name.as_bytes()).as_bytes() == sent,
            _ => long_volume_name(&self.share.name) == sent || self.share.name.as_bytes() == sent,
        }
    }
}
