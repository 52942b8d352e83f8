//! What is known of an entry, in few bytes: a kept folder can have millions of entries.

use super::Details;
use super::offspring::OffspringCount;
use super::rich::Facts;
use crate::{Attributes, FileId, HostKey, Kind, Time};

/// An entry's details, what richer listings show of it, and the time at which that was true.
pub(super) struct CachedDetails {
    key: Key,
    kind: Kind,
    mode: u16,
    links: u32,
    uid: u32,
    gid: u32,
    /// [`super::Listings`]' epoch, cut to 32 bits: details of another epoch are not used.
    epoch: u32,
    size: u64,
    allocated: u64,
    accessed: Nanos,
    modified: Nanos,
    changed: Nanos,
    created: Option<Nanos>,
    /// What richer listings show, once that was asked for.
    pub(super) facts: Option<Facts>,
    /// Of a folder: how many entries it has, once that was asked for.
    pub(super) offspring: Option<Box<OffspringCount>>,
}

impl CachedDetails {
    /// Details of the entry `id`, to be kept. `None` for what does not fit: files of another device than the listing
    /// says, device nodes, and times before 1677 or after 2262. Such entries are asked for each time.
    pub(super) fn new(id: FileId, details: &Details, epoch: u64, facts: Option<Facts>) -> Option<Self> {
        let Attributes { kind, mode, uid, gid, links, size, allocated, device, .. } = details.attributes;
        let Attributes { accessed, modified, changed, created, .. } = details.attributes;
        if details.attributes.id != id || device != (0, 0) {
            return None;
        }
        let created = match created {
            Some(created) => Some(Nanos::new(created)?),
            None => None,
        };
        Some(Self {
            key: Key::new(details.key),
            kind,
            mode: u16::try_from(mode).ok()?,
            links,
            uid,
            gid,
            epoch: epoch as u32,
            size,
            allocated,
            accessed: Nanos::new(accessed)?,
            modified: Nanos::new(modified)?,
            changed: Nanos::new(changed)?,
            created,
            facts,
            offspring: None,
        })
    }

    /// The details of the entry `id`.
    #[inline]
    pub(super) fn details(&self, id: FileId) -> Details {
        let attributes = Attributes {
            id,
            kind: self.kind,
            mode: u32::from(self.mode),
            uid: self.uid,
            gid: self.gid,
            links: self.links,
            size: self.size,
            allocated: self.allocated,
            device: (0, 0),
            accessed: self.accessed.time(),
            modified: self.modified.time(),
            changed: self.changed.time(),
            created: self.created.map(Nanos::time),
        };
        Details { key: self.key.key(), attributes }
    }

    /// Takes newer attributes of the same file. False when they are another file's, or do not fit.
    pub(super) fn renew(&mut self, id: FileId, attributes: &Attributes) -> bool {
        let details = Details { key: self.key.key(), attributes: *attributes };
        let Some(mut newer) = Self::new(id, &details, 0, self.facts.take()) else { return false };
        (newer.offspring, newer.epoch) = (self.offspring.take(), self.epoch);
        *self = newer;
        true
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn is_of(&self, epoch: u64) -> bool {
        self.epoch == epoch as u32
    }
}

/// A key; most hosts' are short.
enum Key {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<HostKey>),
}

/// Bytes of a short key.
const SHORT: usize = 30;

impl Key {
    fn new(key: HostKey) -> Self {
        let given = key.as_bytes();
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..given.len()) {
            Some(room) => {
                room.copy_from_slice(given);
                Self::Short { length: given.len() as u8, bytes }
            }
            None => Self::Long(Box::new(key)),
        }
    }

    #[inline]
    fn key(&self) -> HostKey {
        match self {
            Self::Short { length, bytes } => HostKey::of_padded(bytes, *length),
            Self::Long(key) => **key,
        }
    }
}

/// Nanoseconds since 1970, never `i64::MIN`.
#[derive(Clone, Copy)]
pub(super) struct Nanos(std::num::NonZeroI64);

impl Nanos {
    /// `None` before 1677 and after 2262.
    pub(super) fn new(time: Time) -> Option<Self> {
        let nanos = time.secs.checked_mul(1_000_000_000)?.checked_add(i64::from(time.nanos))?;
        std::num::NonZeroI64::new(nanos ^ i64::MIN).map(Self)
    }

    #[inline]
    pub(super) fn time(self) -> Time {
        let nanos = self.0.get() ^ i64::MIN;
        let secs = nanos.div_euclid(1_000_000_000);
        Time { secs, nanos: nanos.rem_euclid(1_000_000_000) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(key: &[u8], changed: Time) -> Details {
        let attributes = Attributes {
            id: FileId::new(0, 7),
            kind: Kind::Link,
            mode: 0o4755,
            uid: 1,
            gid: u32::MAX,
            links: 3,
            size: u64::MAX,
            allocated: 512,
            device: (0, 0),
            accessed: Time { secs: -1, nanos: 999_999_999 },
            modified: Time { secs: 0, nanos: 0 },
            changed,
            created: None,
        };
        Details { key: HostKey::new(key).unwrap(), attributes }
    }

    #[test]
    fn details_come_back_as_they_were() {
        for key in [&b""[..], b"short", &[9; SHORT], &[8; SHORT + 1], &[7; HostKey::MAX]] {
            for secs in [-9_000_000_000, -1, 0, 1, 9_000_000_000] {
                let details = details(key, Time { secs, nanos: 1 });
                let known = CachedDetails::new(FileId::new(0, 7), &details, 5, None).unwrap();
                let back = known.details(FileId::new(0, 7));
                assert_eq!((back.key, back.attributes), (details.key, details.attributes));
                assert!(known.is_of(5) && !known.is_of(6));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let far = details(b"k", Time { secs: 10_000_000_000, nanos: 0 });
        assert!(CachedDetails::new(FileId::new(0, 7), &far, 0, None).is_none());
        let near = details(b"k", Time { secs: 1, nanos: 0 });
        assert!(CachedDetails::new(FileId::new(0, 8), &near, 0, None).is_none());
    }

    #[test]
    fn an_entry_is_small() {
        assert!(size_of::<CachedDetails>() <= 144, "{}", size_of::<CachedDetails>());
        assert!(size_of::<super::super::Entry>() <= 200, "{}", size_of::<super::super::Entry>());
    }
}
