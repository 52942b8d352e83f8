//! The server's own folder for what it cannot store beside a file: streams too large for an
//! attribute, and sidecars whose place was taken before they could follow their file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lock::Mutex;
use siphasher::sip128::SipHasher24;

use super::found;
use super::stores::Stores;
use crate::backend::{Backend, Finds, Found, NewKind, Object, XattrMode, trust};
pub(crate) use crate::names::own::STORE;
use crate::ranks;
use crate::{Attributes, Caller, Error, HostKey, Result};

/// In a file's folder: its sidecar.
pub(crate) const SIDECAR: &[u8] = b"sidecar";
/// In a file's folder: something not finished.
pub(crate) const UNFINISHED: &[u8] = b"unfinished";
/// The longest name of a file, on any host.
const LONGEST_FILE: usize = 255;
/// In a file's folder: the path that it arrives from, if that is too long for an attribute.
pub(crate) const ARRIVING: &[u8] = b"arriving";
/// In a folder's folder: what of it could not be made when it arrived.
pub(crate) const MISSING: &[u8] = b"missing";
const STREAM_PREFIX: &[u8] = b"s.";

/// The prefix of a stream's file whose name is the hash of the stream's name. The stream's name is
/// too long for the name of a file, so it is noted on the file.
const LONG_PREFIX: &[u8] = b"n.";
/// The name of a stream, on its file.
const NAME: &[u8] = b"user.fourfold.name";

/// The streams in a file's folder, with their files' attributes.
pub(super) fn streams(folder: &dyn Object) -> Result<Vec<(Vec<u8>, Attributes)>> {
    let mut streams = Vec::new();
    for file in names(folder)? {
        let is_long = file.starts_with(LONG_PREFIX);
        if !is_long && stream_of(&file).is_none() {
            continue;
        }
        let there = folder.lookup(&Caller::root(), &file)?;
        let name = if is_long { found(there.object.xattr(NAME))? } else { stream_of(&file) };
        streams.extend(name.map(|name| (name, there.attributes)));
    }
    Ok(streams)
}

/// Notes the stream's name on its file, if the file's name does not say it.
pub(super) fn note_name(object: &dyn Object, name: &[u8]) -> Result<()> {
    if !stream_file(name).starts_with(LONG_PREFIX) {
        return Ok(());
    }
    object.set_xattr(&Caller::root(), NAME, name, XattrMode::Set)
}

/// Whether a file in a file's folder has a name as those of streams have.
pub(crate) fn is_stream_file(file: &[u8]) -> bool {
    file.starts_with(STREAM_PREFIX) || file.starts_with(LONG_PREFIX)
}

/// The name of the stream in a file; `None` if the file does not say it, or says another one.
pub(crate) fn name_of_stream(file: &[u8], object: &dyn Object) -> Result<Option<Vec<u8>>> {
    let name = match file.starts_with(LONG_PREFIX) {
        true => found(object.xattr(NAME))?,
        false => stream_of(file),
    };
    Ok(name.filter(|name| stream_file(name) == file))
}

/// The file of a stream in a file's folder.
pub(super) fn find_stream(folder: &dyn Object, name: &[u8]) -> Result<Option<Arc<dyn Object>>> {
    let file = stream_file(name);
    let Some(there) = found(folder.lookup(&Caller::root(), &file))? else { return Ok(None) };
    if file.starts_with(LONG_PREFIX) && found(there.object.xattr(NAME))?.as_deref() != Some(name) {
        return Err(Error::Exists); // another name with the same hash: never by chance
    }
    Ok(Some(there.object))
}

/// The name of a stream's file: the stream's name with `/` and `%` escaped, or its hash (SipHash-2-4-128, key 0) if that is
/// too long.
pub(super) fn stream_file(name: &[u8]) -> Vec<u8> {
    let mut file = STREAM_PREFIX.to_vec();
    for &byte in name {
        match byte {
            b'/' => file.extend_from_slice(b"%2F"),
            b'%' => file.extend_from_slice(b"%25"),
            _ => file.push(byte),
        }
    }
    if file.len() <= LONGEST_FILE {
        return file;
    }
    let hash = SipHasher24::new().hash(name);
    let hash = (u128::from(hash.h1) << 64 | u128::from(hash.h2)).to_be_bytes();
    let mut file = LONG_PREFIX.to_vec();
    hash.iter().for_each(|byte| file.extend_from_slice(format!("{byte:02x}").as_bytes()));
    file
}

/// The stream in a file of this name.
pub(super) fn stream_of(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.strip_prefix(STREAM_PREFIX)?;
    let mut name = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = match after {
            [b'2', b'F', after @ ..] if byte == b'%' => (b'/', after),
            [b'2', b'5', after @ ..] if byte == b'%' => (b'%', after),
            _ => (byte, after),
        };
        name.push(byte);
        rest = after;
    }
    Some(name)
}

pub(crate) fn folder_name(key: &HostKey) -> Vec<u8> {
    format!("{:?}", key.local()).into_bytes()
}

pub(crate) fn folder_key(name: &[u8]) -> Option<HostKey> {
    let bytes = wire::hex::decode_any(std::str::from_utf8(name).ok()?)?;
    HostKey::new(&bytes).filter(|key| folder_name(key) == name)
}

/// A number of changes to stores, the mount inside the share, and the files that had streams then.
type StoredFiles = (u64, Option<u64>, HashSet<HostKey>);

/// The server's own folder for what it cannot store beside the files of a volume, where it is.
pub struct StreamStore {
    backend: Arc<dyn Backend>,
    /// Where stores are.
    pub(super) stores: Arc<dyn Stores>,
    /// Whether there is a store, as of how many changes to stores; by mount inside the share.
    seen: Mutex<HashMap<Option<u64>, (u64, bool)>, ranks::StreamStore>,
    /// The files that have something in a store.
    files: Mutex<Option<StoredFiles>, ranks::StoredFiles>,
    /// Whether other servers change the folder, too: what is not in a store now may be there at any time.
    pub(super) shared: bool,
}

impl StreamStore {
    pub(super) fn new(backend: Arc<dyn Backend>, stores: Arc<dyn Stores>) -> Self {
        Self { backend, stores, seen: Mutex::default(), files: Mutex::default(), shared: false }
    }

    /// The store's folder for a file, if there is one.
    pub(crate) fn folder(&self, key: &HostKey) -> Result<Option<Arc<dyn Object>>> {
        if !self.exists(key)? {
            return Ok(None);
        }
        Ok(self.find(key)?.map(|(_, folder)| folder))
    }

    /// The store that has a folder for a file, and that folder.
    fn find(&self, key: &HostKey) -> Result<Option<(Found, Arc<dyn Object>)>> {
        for store in self.trusted(key)? {
            if let Some(folder) = found(store.object.lookup(&Caller::root(), &folder_name(key)))? {
                return Ok(Some((store, folder.object)));
            }
        }
        Ok(None)
    }

    /// A number that changes with each change to the set of files that have streams in a store.
    pub(crate) fn changes(&self) -> u64 {
        self.stores.changes().load(Ordering::Acquire)
    }

    /// The set of files that have streams in a store has changed.
    pub(crate) fn note_change(&self) {
        self.stores.changes().fetch_add(1, Ordering::AcqRel);
    }

    /// Whether a file may have streams in a store. Stores are listed once after each change to them. Where other servers
    /// change them, too, each file is asked for.
    pub(super) fn may_have(&self, key: &HostKey) -> Result<bool> {
        if !self.exists(key)? {
            return Ok(false);
        }
        if self.shared {
            return Ok(true);
        }
        let changes = self.changes();
        let mut known = self.files.lock();
        if known.as_ref().is_none_or(|(as_of, mount, _)| (*as_of, *mount) != (changes, key.mount())) {
            let mut files = HashSet::new();
            for store in self.trusted(key)? {
                files.extend(names(&*store.object)?.iter().filter_map(|name| folder_key(name)));
            }
            *known = Some((changes, key.mount(), files));
        }
        Ok(known.as_ref().is_some_and(|(_, _, files)| files.contains(&key.local())))
    }

    /// Whether there is a store for files of this one's file system. The host is asked once, and again after each change to
    /// a store; each time, while other servers may make one.
    pub(super) fn exists(&self, key: &HostKey) -> Result<bool> {
        let changes = self.changes();
        if let Some(&(as_of, there)) = self.seen.lock().get(&key.mount())
            && (there || as_of == changes && !self.shared)
        {
            return Ok(there);
        }
        let there = !self.trusted(key)?.is_empty();
        self.seen.lock().insert(key.mount(), (changes, there));
        Ok(there)
    }

    /// The existing stores. If another user could have made an entry with the name of a store, it
    /// is no store.
    fn trusted(&self, key: &HostKey) -> Result<Vec<Found>> {
        let mut stores = Vec::new();
        for home in self.stores.of(key)? {
            let there = found(home.lookup(&Caller::root(), STORE))?;
            stores.extend(there.filter(|there| trust(self.backend.as_ref(), there).is_ok()));
        }
        Ok(stores)
    }

    /// Called every few seconds: something that was in the store's place may be gone.
    pub(crate) fn tend(&self) {
        self.seen.lock().retain(|_, (_, there)| *there);
    }

    /// The store's folder for a file, made if need be. `NotPermitted` if something else is in the
    /// store's place.
    pub(crate) fn make_folder(&self, key: &HostKey) -> Result<Arc<dyn Object>> {
        if let Some(folder) = self.folder(key)? {
            return Ok(folder);
        }
        let home = self.stores.of(key)?.into_iter().next().ok_or(Error::Stale)?;
        let store = find_or_make(&*home, STORE, NewKind::Folder, 0o700)?;
        if let Err(why) = trust(self.backend.as_ref(), &store) {
            tracing::warn!(target: "metadata", name = %STORE.escape_ascii(), %why, "not used as the server's own folder for streams");
            return Err(Error::NotPermitted);
        }
        let folder = find_or_make(&*store.object, &folder_name(key), NewKind::Folder, 0o700)?.object;
        self.note_change();
        Ok(folder)
    }

    /// Removes everything kept for a file.
    pub(super) fn forget(&self, key: &HostKey) -> Result<()> {
        if !self.exists(key)? {
            return Ok(());
        }
        let Some((store, folder)) = self.find(key)? else { return Ok(()) };
        for name in names(&*folder)? {
            found(folder.remove(&Caller::root(), &name))?;
        }
        found(store.object.remove_folder(&Caller::root(), &folder_name(key))).map(drop)
    }

    /// Removes the folder of a file, if nothing is in it.
    pub(crate) fn drop_empty(&self, key: &HostKey) -> Result<()> {
        let Some((store, _)) = self.find(key)? else { return Ok(()) };
        match store.object.remove_folder(&Caller::root(), &folder_name(key)) {
            Ok(()) => self.note_change(),
            Err(Error::NotEmpty) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Removes what is kept for files that are gone, on the file system of the share's folder.
    /// Returns how many there were.
    pub fn scrub(&self) -> Result<usize> {
        let mut gone = 0;
        for store in self.trusted(&self.backend.root()?.object.key())? {
            for key in names(&*store.object)?.iter().filter_map(|name| folder_key(name)) {
                if self.backend.finds(&key) == Finds::Always
                    && self.backend.by_key(&key).err() == Some(Error::Stale)
                {
                    self.forget(&key)?;
                    gone += 1;
                }
            }
        }
        Ok(gone)
    }
}

pub(crate) fn find_or_make(folder: &dyn Object, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
    match folder.lookup(&Caller::root(), name) {
        Err(Error::NotFound) => folder.create(&Caller::root(), name, new, mode),
        other => other,
    }
}

/// All names in a folder, but `.` and `..`.
pub(crate) fn names(folder: &dyn Object) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    folder.list(0, &mut |entry| {
        if !matches!(entry.name, b"." | b"..") {
            names.push(entry.name.to_vec());
        }
        true
    })?;
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_names_and_their_files_are_one_to_one() {
        for name in [&b"a/b"[..], b"100%", b"%2F", b"%", b"", b"%%25/2F"] {
            let file = stream_file(name);
            assert!(!file.contains(&b'/'));
            assert_eq!(stream_of(&file).as_deref(), Some(name));
        }
        assert_eq!(stream_file(b"a/%"), b"s.a%2F%25");
        assert_eq!(stream_of(b"sidecar"), None);
    }

    #[test]
    fn folders_of_the_store_name_their_file() {
        let key = HostKey::new(&[0, 0x1f, 0xff]).unwrap();
        assert_eq!(folder_name(&key), b"001fff");
        assert_eq!(folder_key(b"001fff"), Some(key));
        assert_eq!(
            (folder_key(b"001FFF"), folder_key(b"xyz"), folder_key("äa".as_bytes())),
            (None, None, None)
        );
    }
}
