//! The part of a sidecar that is the resource fork, for clients that read and write the sidecar as a file.

use std::ops::Range;
use std::sync::Arc;

use super::sidecar::{self, Beside, Sidecar, read};
use super::{File, Streams, found};
use crate::backend::{Found, Object};
use crate::mac::apple_double::{AppleDouble, EntryId, HEAD_LIMIT};
use crate::mac::{Problem, layout};
use crate::{Attributes, Caller, Error, Kind, Result};

/// A sidecar as a file: what its beginning says of the resource fork behind it.
pub(crate) struct ForkPart(Sidecar);

/// What is done to a part of a sidecar.
#[derive(Clone, Copy)]
pub(crate) struct PartWrite<'a> {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The new bytes, if they are known.
    pub(crate) data: Option<&'a [u8]>,
}

impl Streams {
    /// The file that an object is the sidecar of: as it says itself, or as a client's look-up of it has shown.
    pub(crate) fn file_of(&self, object: &dyn Object) -> Result<Option<Found>> {
        let shown = self.seen.lock().owner(&object.key());
        let Some(key) = shown.map_or_else(|| sidecar::owner(object), |key| Ok(Some(key)))? else {
            return Ok(None);
        };
        match self.backend.by_key(&key) {
            Err(Error::Stale) => Ok(None),
            other => other.map(Some),
        }
    }

    /// What the beginning of a sidecar says of its fork.
    pub(crate) fn fork_part(&self, sidecar: Arc<dyn Object>) -> Result<ForkPart> {
        let attributes = sidecar.attributes()?;
        read(Found { object: sidecar, attributes }, true).map(ForkPart)
    }

    /// Whether a file has a sidecar on the disk.
    pub(crate) fn has_sidecar(&self, file: &File<'_>) -> Result<bool> {
        Ok(matches!(self.beside(file)?, Beside::Own(_)))
    }

    /// The file whose fork goes with this entry of a folder, if the entry is a sidecar.
    pub(crate) fn file_beside(&self, folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
        let Some(owner) = layout::sidecar_owner(name).filter(|owner| !layout::is_sidecar_name(owner)) else {
            return Ok(None);
        };
        let there = found(folder.lookup(&Caller::root(), owner))?;
        let Some(there) = there.filter(|there| matches!(there.attributes.kind, Kind::File | Kind::Folder))
        else {
            return Ok(None);
        };
        let file = File { folder, name: owner, object: &*there.object };
        Ok(if self.sidecar_files().shows_fork(&file)? { Some(there) } else { None })
    }
}

impl ForkPart {
    /// The same of a sidecar that is not on the disk.
    pub(crate) fn of_composed(owner: Arc<dyn Object>, seeming: &Attributes, bytes: &[u8]) -> Self {
        let attributes = Attributes { size: bytes.len() as u64, ..*seeming };
        let head = bytes[..bytes.len().min(HEAD_LIMIT)].to_vec();
        Self(Sidecar { object: owner, attributes, owned: true, head })
    }

    /// The bytes of the fork in the file. The range is empty if the file has no fork.
    pub(crate) fn range(&self) -> Range<u64> {
        self.0.layout().map_or(0..0, |layout| match layout.len {
            0 => 0..0,
            len => layout.start..layout.start.saturating_add(len),
        })
    }

    /// The length of the fork up to which a write leaves it as it is, apart from the bytes in it that are written: a
    /// write of the beginning may give it another place or length. `None`: it stays as long as it is.
    pub(crate) fn kept_by_write(&self, written: PartWrite<'_>) -> Option<u64> {
        let PartWrite { offset, length, data } = written;
        let now = self.range();
        let (size, limit) = (self.0.attributes.size.max(offset.saturating_add(length)), HEAD_LIMIT as u64);
        let mut head = self.0.head.clone();
        match data {
            Some(data) if offset < limit => {
                let (start, end) =
                    (offset as usize, (offset as usize).saturating_add(data.len()).min(HEAD_LIMIT));
                head.resize(head.len().max(end), 0);
                head[start..end].copy_from_slice(&data[..end - start]);
            }
            None if offset < limit && (offset < now.start || now.is_empty() || self.is_in_table()) => {
                return Some(0);
            }
            _ => {}
        }
        kept(&now, &self.with(head, size).range())
    }

    /// The same of a change of the file's size.
    pub(crate) fn kept_by_cut(&self, size: u64) -> Option<u64> {
        let mut head = self.0.head.clone();
        head.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        kept(&self.range(), &self.with(head, size).range())
    }

    /// Whether the fork is said to begin in the table that says so: then a write of the fork may move it.
    fn is_in_table(&self) -> bool {
        let in_header = Problem::EntryInHeader(EntryId::RESOURCE_FORK.0);
        AppleDouble::parse(&self.0.head, self.0.attributes.size)
            .is_ok_and(|table| table.problems.contains(&in_header))
    }

    fn with(&self, head: Vec<u8>, size: u64) -> Self {
        let attributes = Attributes { size, ..self.0.attributes };
        Self(Sidecar { object: self.0.object.clone(), attributes, owned: true, head })
    }
}

/// How much of a fork is where it was.
fn kept(before: &Range<u64>, after: &Range<u64>) -> Option<u64> {
    match before == after {
        true => None,
        false if before.start == after.start => Some(before.end.min(after.end) - before.start),
        false => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::backend::Backend;
    use crate::backend::memory::Memory;
    use crate::mac::apple_double::{ENTRY_LEN, HEADER_LEN};
    use crate::mac::{FinderInfo, sidecar};

    fn range(bytes: &[u8]) -> Range<u64> {
        part(bytes).range()
    }

    fn part(bytes: &[u8]) -> ForkPart {
        let root = Memory::ticking().root().unwrap();
        ForkPart::of_composed(root.object, &root.attributes, bytes)
    }

    /// A sidecar with a fork of 10 bytes, of which some bytes are others, so that its table may say anything.
    fn sidecars() -> impl Strategy<Value = Vec<u8>> {
        let head = sidecar::synthesize(&FinderInfo::NONE, &[(&b"color"[..], b"red")], 10).0;
        let strange = vec((0..head.len(), any::<u8>()), 0..4);
        strange.prop_map(move |strange| {
            let mut bytes = head.clone();
            strange.into_iter().for_each(|(at, byte)| bytes[at] = byte);
            [&bytes[..], b"0123456789"].concat()
        })
    }

    #[test]
    fn a_fork_that_begins_in_its_table_may_be_moved_by_a_write_of_it() {
        let head = sidecar::synthesize(&FinderInfo::NONE, &[], 10).0;
        let at = HEADER_LEN + ENTRY_LEN + 4; // the place of the fork in its row
        let bytes = [&head[..at], &[0; 4], &head[at + 4..], b"0123456789"].concat();
        assert_eq!(range(&bytes), 0..10);
        let zeros = [0; 24];
        let write = |data| part(&bytes).kept_by_write(PartWrite { offset: 15, length: 24, data });
        assert_eq!((write(Some(&zeros)), write(None)), (Some(0), Some(0)));
    }

    proptest! {
        /// What is said of a write and a cut before they are done is what the file says after them.
        #[test]
        fn what_a_change_does_to_the_fork_is_known_before(
            bytes in sidecars(),
            offset in 0..300_usize,
            data in vec(any::<u8>(), 0..40),
        ) {
            let mut after = bytes.clone();
            after.resize(after.len().max(offset + data.len()), 0);
            after[offset..offset + data.len()].copy_from_slice(&data);
            let written =
                PartWrite { offset: offset as u64, length: data.len() as u64, data: Some(&data) };
            let kept = part(&bytes).kept_by_write(written);
            prop_assert_eq!(kept.is_none(), range(&bytes) == range(&after));
            let cut = &bytes[..offset.min(bytes.len())];
            prop_assert_eq!(part(&bytes).kept_by_cut(cut.len() as u64).is_none(), range(&bytes) == range(cut));
        }

        #[test]
        fn any_range_is_answered(bytes in sidecars(), offset: u64, length: u64) {
            let written = PartWrite { offset, length, data: None };
            let _ = (part(&bytes).kept_by_write(written), part(&bytes).kept_by_cut(offset));
        }
    }
}
