//! What another server must know of a durable open to give it to its client: all that the state of the file does not have.
//!
//! Big-endian. Texts and lists have a count of 16 bits before them; leftover bytes are an error.

use vfs::HostKey;
use wire::{Malformed, Reader, Writer};

use crate::server::files::lock::COUNT;

/// The first byte: the version.
const VERSION: u8 = 2;
/// The bit of the mode for the POSIX extensions. Those of CreateOptions, which the others are, end below it.
const POSIX: u32 = 0x8000_0000;
/// The longest name of a share or user, in bytes.
const MAX_NAME: usize = 1_024;
/// The longest name of an entry, in bytes.
const MAX_ENTRY: usize = 1_024;
/// The longest path, in UTF-16 units. Opens with longer ones are not inherited, as the whole note has a limit, too.
const MAX_PATH: usize = 4_096;
/// The most groups of a user.
const MAX_GROUPS: usize = 1_024;

/// The cache of an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheNote {
    /// A lease of the second version. `None`: an oplock.
    pub lease: Option<LeaseNote>,
    /// The number of changes of the lease.
    pub epoch: u16,
}

/// A lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseNote {
    /// The client asked for it with an epoch.
    pub version2: bool,
    /// The key of the lease on the folder.
    pub parent: Option<[u8; 16]>,
}

/// What a server notes of a durable open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurableNote {
    /// The number by which the client asks for it.
    pub persistent: u64,
    /// The number of the CREATE, in version 2.
    pub create_guid: Option<[u8; 16]>,
    /// How long it waits for its client.
    pub timeout_ms: u32,
    /// The rights.
    pub granted: u32,
    /// The mode, of 24 bits.
    pub mode: u32,
    /// It has the POSIX extensions: `POSIX` in the mode, so that older servers of the cluster understand the note.
    pub is_posix: bool,
    /// The share.
    pub share: String,
    /// The user may only read in it.
    pub read_only: bool,
    /// The name of the user.
    pub user: String,
    /// The user has no account.
    pub guest: bool,
    /// The user has no name.
    pub anonymous: bool,
    /// The client knows nothing of Mac metadata.
    pub blind: bool,
    /// The user's uid, gid and other groups.
    pub ids: (u32, u32, Vec<u32>),
    /// The file.
    pub file: HostKey,
    /// Its folder and its stored name there.
    pub place: (HostKey, Vec<u8>),
    /// The path by which the client knows it.
    pub path: Vec<u16>,
    /// What its client may cache.
    pub cache: Option<CacheNote>,
    /// The file is removed when this open closes.
    pub remove_on_close: bool,
    /// The client has marked the file for removal.
    pub is_going: bool,
    /// The open is persistent.
    pub is_persistent: bool,
    /// The action in the answer to the CREATE, if the client may repeat that: 2.2.14.
    pub action: Option<u32>,
    /// The number of the last LOCK in each sequence, if there was one: LockSequenceArray, 3.3.1.10.
    pub lock_sequences: Option<Box<[u8; COUNT]>>,
}

impl DurableNote {
    /// The bytes; `None` if something is longer than its limit.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let (uid, gid, groups) = &self.ids;
        let fits = self.share.len() <= MAX_NAME
            && self.user.len() <= MAX_NAME
            && self.place.1.len() <= MAX_ENTRY
            && self.path.len() <= MAX_PATH
            && groups.len() <= MAX_GROUPS;
        if !fits {
            return None;
        }
        let mut w = Writer::new();
        w.u8(VERSION);
        w.u64_be(self.persistent);
        put_key(&mut w, self.create_guid);
        let mode = self.mode & !POSIX | if self.is_posix { POSIX } else { 0 };
        [self.timeout_ms, self.granted, mode, *uid, *gid].into_iter().for_each(|value| w.u32_be(value));
        let flags = [
            self.read_only,
            self.guest,
            self.anonymous,
            self.blind,
            self.remove_on_close,
            self.is_going,
            self.is_persistent,
        ];
        flags.into_iter().for_each(|flag| w.u8(u8::from(flag)));
        put_bytes(&mut w, self.share.as_bytes());
        put_bytes(&mut w, self.user.as_bytes());
        put_count(&mut w, groups.len());
        groups.iter().for_each(|group| w.u32_be(*group));
        put_bytes(&mut w, self.file.as_bytes());
        put_bytes(&mut w, self.place.0.as_bytes());
        put_bytes(&mut w, &self.place.1);
        put_count(&mut w, self.path.len());
        self.path.iter().for_each(|unit| w.u16_be(*unit));
        w.u8(u8::from(self.cache.is_some()));
        if let Some(CacheNote { lease, epoch }) = self.cache {
            w.u16_be(epoch);
            w.u8(u8::from(lease.is_some()));
            if let Some(LeaseNote { version2, parent }) = lease {
                w.u8(u8::from(version2));
                put_key(&mut w, parent);
            }
        }
        w.u8(u8::from(self.action.is_some()));
        self.action.into_iter().for_each(|action| w.u32_be(action));
        w.u8(u8::from(self.lock_sequences.is_some()));
        self.lock_sequences.iter().for_each(|numbers| w.put(&numbers[..]));
        Some(w.into_bytes())
    }

    /// The note of these bytes.
    ///
    /// # Errors
    /// They are not one.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        if r.u8()? != VERSION {
            return Err(Malformed("a note of another version"));
        }
        let persistent = r.u64_be()?;
        let create_guid = key(&mut r)?;
        let (timeout_ms, granted, mode) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let (uid, gid) = (r.u32_be()?, r.u32_be()?);
        let (read_only, guest, anonymous) = (flag(&mut r)?, flag(&mut r)?, flag(&mut r)?);
        let (blind, remove_on_close) = (flag(&mut r)?, flag(&mut r)?);
        let (is_going, is_persistent) = (flag(&mut r)?, flag(&mut r)?);
        let (share, user) = (text(&mut r)?, text(&mut r)?);
        let groups = list(&mut r, MAX_GROUPS, |r| r.u32_be())?;
        let file = host_key(&mut r)?;
        let place = (host_key(&mut r)?, bytes_of(&mut r, MAX_ENTRY)?.to_vec());
        let path = list(&mut r, MAX_PATH, |r| r.u16_be())?;
        let cache = match flag(&mut r)? {
            true => Some(cache(&mut r)?),
            false => None,
        };
        let action = if flag(&mut r)? { Some(r.u32_be()?) } else { None };
        let lock_sequences = if flag(&mut r)? { Some(Box::new(r.array()?)) } else { None };
        r.finish()?;
        let ids = (uid, gid, groups);
        Ok(Self {
            persistent,
            create_guid,
            timeout_ms,
            granted,
            mode: mode & !POSIX,
            is_posix: mode & POSIX != 0,
            share,
            read_only,
            user,
            guest,
            anonymous,
            blind,
            ids,
            file,
            place,
            path,
            cache,
            remove_on_close,
            is_going,
            is_persistent,
            action,
            lock_sequences,
        })
    }
}

fn cache(r: &mut Reader<'_>) -> Result<CacheNote, Malformed> {
    let epoch = r.u16_be()?;
    let lease = match flag(r)? {
        true => Some(LeaseNote { version2: flag(r)?, parent: key(r)? }),
        false => None,
    };
    Ok(CacheNote { lease, epoch })
}

fn put_count(w: &mut Writer, count: usize) {
    w.u16_be(u16::try_from(count).unwrap_or(u16::MAX)); // all limits are less
}

fn put_bytes(w: &mut Writer, bytes: &[u8]) {
    put_count(w, bytes.len());
    w.put(bytes);
}

fn put_key(w: &mut Writer, key: Option<[u8; 16]>) {
    w.u8(u8::from(key.is_some()));
    key.iter().for_each(|key| w.put(key));
}

fn flag(r: &mut Reader<'_>) -> Result<bool, Malformed> {
    match r.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed("neither 0 nor 1")),
    }
}

fn key(r: &mut Reader<'_>) -> Result<Option<[u8; 16]>, Malformed> {
    if flag(r)? { r.array().map(Some) } else { Ok(None) }
}

fn bytes_of<'a>(r: &mut Reader<'a>, most: usize) -> Result<&'a [u8], Malformed> {
    let length = usize::from(r.u16_be()?);
    if length > most {
        return Err(Malformed("longer than its limit"));
    }
    r.take(length)
}

fn text(r: &mut Reader<'_>) -> Result<String, Malformed> {
    let bytes = bytes_of(r, MAX_NAME)?;
    str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed("a name that is not UTF-8"))
}

fn host_key(r: &mut Reader<'_>) -> Result<HostKey, Malformed> {
    HostKey::new(bytes_of(r, HostKey::MAX)?).ok_or(Malformed("a key that is too long"))
}

fn list<T>(
    r: &mut Reader<'_>,
    most: usize,
    mut one: impl FnMut(&mut Reader<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = usize::from(r.u16_be()?);
    // Each value has two bytes or more.
    if count > most || count > r.remaining() {
        return Err(Malformed("too many values"));
    }
    (0..count).map(|_| one(r)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> DurableNote {
        DurableNote {
            persistent: (3 << 48) + 9,
            create_guid: Some([7; 16]),
            timeout_ms: 60_000,
            granted: 0x0012_019F,
            mode: 2,
            is_posix: false,
            share: "studio".into(),
            read_only: false,
            user: "ada".into(),
            guest: false,
            anonymous: false,
            blind: true,
            ids: (1000, 100, vec![4, 24]),
            file: HostKey::new(b"file").unwrap(),
            place: (HostKey::new(b"folder").unwrap(), b"notes.txt".to_vec()),
            path: "notes.txt".encode_utf16().collect(),
            cache: Some(CacheNote {
                lease: Some(LeaseNote { version2: true, parent: Some([1; 16]) }),
                epoch: 5,
            }),
            remove_on_close: false,
            is_going: true,
            is_persistent: true,
            action: Some(2),
            lock_sequences: Some(Box::new([7; COUNT])),
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let oplock = Some(CacheNote { lease: None, epoch: 0 });
        let few = DurableNote { action: None, lock_sequences: None, is_persistent: false, ..note() };
        let posix = DurableNote { is_posix: true, ..note() };
        for note in [
            few,
            posix,
            DurableNote { create_guid: None, cache: oplock, ..note() },
            DurableNote { cache: None, ..note() },
        ] {
            let bytes = note.encode().unwrap();
            assert_eq!(DurableNote::decode(&bytes).unwrap(), note);
            (0..bytes.len())
                .for_each(|short| assert!(DurableNote::decode(&bytes[..short]).is_err(), "{short}"));
            assert!(DurableNote::decode(&[bytes, vec![0]].concat()).is_err(), "leftover");
        }
    }

    #[test]
    fn what_is_too_long_is_not_noted() {
        assert!(DurableNote { path: vec![65; MAX_PATH + 1], ..note() }.encode().is_none());
        assert!(DurableNote { ids: (1, 1, vec![0; MAX_GROUPS + 1]), ..note() }.encode().is_none());
    }
}
