//! What Macs before OS X keep for a volume: the icons of files by who made them, and which applications open them.
//!
//! Rows that changed wait in memory until the writer's thread writes them; all others are only in the database. Each
//! look therefore asks both. A volume's rows and bytes are bounded, as any client may add to them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lock::Mutex;
use redb::{ReadTransaction, TableDefinition, WriteTransaction};
use vfs::index::{self, DatabaseStore, Index, IndexError, Tenant, VolumeTag};

use super::CatalogId;
use crate::ranks;
use crate::wire::desktop::FourBytes;

/// (volume tag, key) → icon or application of a volume.
pub(super) const DESKTOP: TableDefinition<'_, (u32, &[u8]), &[u8]> = TableDefinition::new("desktop");

/// What an icon is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IconKey {
    /// The application that makes such files.
    pub creator: FourBytes,
    /// Their type.
    pub kind: FourBytes,
    /// Size and depth of the icon.
    pub icon: u8,
}

/// An icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icon {
    /// What it is found by.
    pub key: IconKey,
    /// The client's own.
    pub tag: u32,
    /// Its bitmap, perhaps with a mask.
    pub bitmap: Vec<u8>,
}

/// An icon without its bitmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IconInfo {
    /// What it is found by.
    pub key: IconKey,
    /// The client's own.
    pub tag: u32,
    /// Bytes of its bitmap.
    pub size: usize,
}

/// An application that opens the files of a creator, by where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Whose files.
    pub creator: FourBytes,
    /// The folder that it is in.
    pub folder: CatalogId,
    /// Its stored name there.
    pub name: Vec<u8>,
    /// The client's own.
    pub tag: u32,
}

/// Icons and applications of one volume. Cheap to clone.
///
/// What a method did is on the disk soon after it has returned: at the latest when the index is closed.
#[derive(Clone)]
pub struct Desktop {
    index: Index,
    desk: Arc<Desk>,
}

impl Desktop {
    /// The most icons and applications of a volume.
    pub const MAX: usize = 16_384;
    /// The most bytes of all of them, keys included.
    pub const MAX_BYTES: usize = 16 << 20;
    /// The longest bitmap, in bytes. The largest icon that Macs have given a number to is of 1,024.
    pub const BITMAP_MAX: usize = 4_096;
    /// The longest name of an application, in bytes.
    pub const NAME_MAX: usize = 1_024;

    pub(super) fn new(index: Index, desk: Arc<Desk>) -> Self {
        Self { index, desk }
    }

    /// Adds an icon, or puts it in the place of the one with this key.
    pub fn add_icon(&self, icon: &Icon) -> Result<(), IndexError> {
        if icon.bitmap.len() > Self::BITMAP_MAX {
            return Err(IndexError::TooLong);
        }
        self.change(icon.key.bytes(), |_| Some([&icon.tag.to_be_bytes()[..], &icon.bitmap].concat()))
    }

    /// The icon with this key.
    pub fn icon(&self, key: IconKey) -> Result<Option<Icon>, IndexError> {
        let row = self.desk.rows.lock().row(self.store(), self.desk.tag, &key.bytes())?;
        Ok(row.and_then(|value| {
            let (tag, bitmap) = value.split_first_chunk()?;
            Some(Icon { key, tag: u32::from_be_bytes(*tag), bitmap: bitmap.to_vec() })
        }))
    }

    /// One of a creator's icons, in the order of their keys, counted from 0.
    pub fn icon_at(&self, creator: FourBytes, index: usize) -> Result<Option<IconInfo>, IndexError> {
        let prefix = [&[ICON][..], &creator].concat();
        let found = self.desk.rows.lock().under(self.store(), self.desk.tag, &prefix, |value| {
            let tag = value.first_chunk().map_or(0, |tag| u32::from_be_bytes(*tag));
            (tag, value.len().saturating_sub(size_of::<u32>()))
        })?;
        let info = |(key, (tag, size)): (Vec<u8>, _)| Some(IconInfo { key: IconKey::read(&key)?, tag, size });
        Ok(found.into_iter().nth(index).and_then(info))
    }

    /// Adds an application, or gives the one in this place another tag. From then on it is the newest.
    pub fn add_application(&self, application: &Application) -> Result<(), IndexError> {
        let Application { creator, folder, name, tag } = application;
        if name.len() > Self::NAME_MAX {
            return Err(IndexError::TooLong);
        }
        self.change(place(*creator, *folder, name), |newest| {
            Some([&newest.to_be_bytes()[..], &tag.to_be_bytes()].concat())
        })
    }

    /// Strikes an application out. Answers whether it was there.
    pub fn remove_application(
        &self,
        creator: FourBytes,
        folder: CatalogId,
        name: &[u8],
    ) -> Result<bool, IndexError> {
        let key = place(creator, folder, name);
        let is_there = self.desk.rows.lock().row(self.store(), self.desk.tag, &key)?.is_some();
        if is_there {
            self.change(key, |_| None)?;
        }
        Ok(is_there)
    }

    /// The applications that open files of a creator, the newest first. The files may be gone.
    pub fn applications(&self, creator: FourBytes) -> Result<Vec<Application>, IndexError> {
        let prefix = [&[APPLICATION][..], &creator].concat();
        let found = self.desk.rows.lock().under(self.store(), self.desk.tag, &prefix, <[u8]>::to_vec)?;
        let read = |(key, value): (Vec<u8>, Vec<u8>)| {
            let (newest, tag) = value.split_first_chunk()?;
            let (folder, name) = key.get(prefix.len()..)?.split_first_chunk()?;
            let application = Application {
                creator,
                folder: CatalogId(u32::from_be_bytes(*folder)),
                name: name.to_vec(),
                tag: u32::from_be_bytes(*tag.first_chunk()?),
            };
            Some((u64::from_be_bytes(*newest), application))
        };
        let mut all: Vec<_> = found.into_iter().filter_map(read).collect();
        all.sort_by_key(|(newest, _)| std::cmp::Reverse(*newest));
        Ok(all.into_iter().map(|(_, application)| application).collect())
    }

    /// Changes a row, if the bounds allow.
    fn change(&self, key: Vec<u8>, value: impl FnOnce(u64) -> Option<Vec<u8>>) -> Result<(), IndexError> {
        self.index.make_room()?;
        let waiting = self.desk.rows.lock().change(self.store(), self.desk.tag, key, value)?;
        self.index.added(waiting);
        Ok(())
    }

    fn store(&self) -> &DatabaseStore {
        self.index.store()
    }
}

/// The first byte of a row's key.
const ICON: u8 = b'i';
const APPLICATION: u8 = b'a';

impl IconKey {
    fn bytes(self) -> Vec<u8> {
        [&[ICON][..], &self.creator, &self.kind, &[self.icon]].concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (_, rest) = bytes.split_first()?;
        let (creator, rest) = rest.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk()?;
        Some(Self { creator: *creator, kind: *kind, icon: *rest.first()? })
    }
}

fn place(creator: FourBytes, folder: CatalogId, name: &[u8]) -> Vec<u8> {
    [&[APPLICATION][..], &creator, &folder.0.to_be_bytes(), name].concat()
}

/// The rows of one volume, as all its [`Desktop`]s share them.
pub(super) struct Desk {
    tag: VolumeTag,
    rows: Mutex<Rows, ranks::DesktopRows>,
}

struct Rows {
    /// Not on the disk yet; `None` is a row to be removed.
    waiting: HashMap<Vec<u8>, Option<Vec<u8>>>,
    /// Of all rows, those on the disk and those that wait.
    count: usize,
    bytes: usize,
    /// Above every number that an application was given.
    newest: u64,
}

impl Desk {
    pub(super) fn open(store: &DatabaseStore, tag: VolumeTag) -> Result<Self, IndexError> {
        let mut rows = Rows { waiting: HashMap::new(), count: 0, bytes: 0, newest: 0 };
        store.read(|transaction| {
            each_under(transaction, tag, b"", |key, value| {
                rows.count += 1;
                rows.bytes += key.len() + value.len();
                if let (Some(&APPLICATION), Some(number)) = (key.first(), value.first_chunk()) {
                    rows.newest = rows.newest.max(u64::from_be_bytes(*number));
                }
            })
        })?;
        Ok(Self { tag, rows: Mutex::new(rows) })
    }
}

impl Tenant for Desk {
    fn batch(&self) -> Option<Box<dyn index::Batch + '_>> {
        let rows: Vec<_> =
            self.rows.lock().waiting.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        (!rows.is_empty()).then(|| Box::new(RowBatch { desk: self, rows }) as Box<dyn index::Batch>)
    }
}

/// Rows for one transaction.
struct RowBatch<'a> {
    desk: &'a Desk,
    rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl index::Batch for RowBatch<'_> {
    fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        let mut table = transaction.open_table(DESKTOP)?;
        for (key, value) in &self.rows {
            let key = (self.desk.tag.0, &key[..]);
            match value {
                Some(value) => table.insert(key, &value[..])?,
                None => table.remove(key)?,
            };
        }
        Ok(())
    }

    fn written(&self) -> usize {
        let waiting = &mut self.desk.rows.lock().waiting;
        let is_same = |key: &Vec<u8>, value: &Option<Vec<u8>>| waiting.get(key) == Some(value);
        let done: Vec<_> = self.rows.iter().filter(|(key, value)| is_same(key, value)).collect();
        done.iter().for_each(|(key, _)| drop(waiting.remove(key)));
        done.len()
    }
}

impl Rows {
    fn row(&self, store: &DatabaseStore, tag: VolumeTag, key: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        if let Some(value) = self.waiting.get(key) {
            return Ok(value.clone());
        }
        store.read(|transaction| {
            let row = transaction.open_table(DESKTOP)?.get((tag.0, key))?;
            Ok(row.map(|value| value.value().to_vec()))
        })
    }

    /// What `take` makes of the rows whose keys begin so, in the order of their keys.
    fn under<T>(
        &self,
        store: &DatabaseStore,
        tag: VolumeTag,
        prefix: &[u8],
        take: impl Fn(&[u8]) -> T,
    ) -> Result<BTreeMap<Vec<u8>, T>, IndexError> {
        let mut found = BTreeMap::new();
        store.read(|transaction| {
            each_under(transaction, tag, prefix, |key, value| {
                found.insert(key.to_vec(), take(value));
            })
        })?;
        for (key, value) in self.waiting.iter().filter(|(key, _)| key.starts_with(prefix)) {
            match value {
                Some(value) => found.insert(key.clone(), take(value)),
                None => found.remove(key),
            };
        }
        Ok(found)
    }

    /// Returns how many rows more wait than before: 0 or 1.
    fn change(
        &mut self,
        store: &DatabaseStore,
        tag: VolumeTag,
        key: Vec<u8>,
        value: impl FnOnce(u64) -> Option<Vec<u8>>,
    ) -> Result<usize, IndexError> {
        let value = value(self.newest + 1);
        let size = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, |value| key.len() + value.len());
        let before = self.row(store, tag, &key)?;
        let count = self.count + usize::from(value.is_some()) - usize::from(before.is_some());
        let bytes = self.bytes + size(&value) - size(&before);
        let grows = count > self.count || bytes > self.bytes;
        if grows && (count > Desktop::MAX || bytes > Desktop::MAX_BYTES) {
            return Err(IndexError::TooMany);
        }
        self.newest += 1;
        (self.count, self.bytes) = (count, bytes);
        Ok(usize::from(self.waiting.insert(key, value).is_none()))
    }
}

/// Shows the database's rows whose keys begin so, in the order of their keys.
fn each_under(
    transaction: &ReadTransaction,
    tag: VolumeTag,
    prefix: &[u8],
    mut show: impl FnMut(&[u8], &[u8]),
) -> Result<(), redb::Error> {
    let table = transaction.open_table(DESKTOP)?;
    for row in table.range((tag.0, prefix)..)? {
        let (key, value) = row?;
        let (of, key) = key.value();
        if of != tag.0 || !key.starts_with(prefix) {
            break;
        }
        show(key, value.value());
    }
    Ok(())
}
