//! An open volume: its header, its trees, and how records are found in them.

use std::sync::Arc;

use super::attributes::Attributes;
use super::btree::{Cursor, Tree};
use super::catalogue::{FilePart, Item, ROOT, Record};
use super::fork::{DATA, Disk, ForkReader, RESOURCE};
use super::header::{Headers, JOURNALED, VolumeHeader, unwrapped};
use super::journal::{self, Journal};
use super::keys::{CatalogueKey, Order};
use super::names;
use crate::cache::Cache;
use crate::decmpfs::Compressed;
use crate::{Error, ReadAt, Result, decode};

/// The folders in which files and folders with several names are. The first name begins with four zeros.
pub(super) const FILE_INODES: &str = "\0\0\0\0HFS+ Private Data";
pub(super) const FOLDER_INODES: &str = ".HFS+ Private Directory Data\r";
/// Files of the journal, in the top folder.
const JOURNAL_FILES: [&str; 2] = [".journal", ".journal_info_block"];
/// How many compressed files are kept open.
const COMPRESSED: usize = 32;

/// A volume that is open.
pub(super) struct Volume {
    pub(super) disk: Arc<Disk>,
    pub(super) header: VolumeHeader,
    pub(super) extents: Arc<Tree>,
    pub(super) catalogue: Arc<Tree>,
    pub(super) attributes: Option<Attributes>,
    /// The folder of files with several names, and the one of folders.
    pub(super) file_inodes: Option<u32>,
    pub(super) folder_inodes: Option<u32>,
    pub(super) compressed: Cache<u32, Arc<Compressed>>,
}

/// A file or folder of the catalogue.
#[derive(Clone, Copy)]
pub(super) enum Found {
    Folder(Item),
    File(Item, FilePart),
}

impl Found {
    pub(super) fn item(&self) -> &Item {
        match self {
            Self::Folder(item) | Self::File(item, _) => item,
        }
    }
}

/// The bytes of a volume as they are after its journal, and its headers.
pub(super) fn replayed(bytes: Arc<dyn ReadAt>) -> Result<(Arc<dyn ReadAt>, Headers, Result<Journal>)> {
    let headers = Headers::read(bytes.as_ref());
    let Ok(header) = headers.best() else { return Ok((bytes, headers, Ok(Journal::None))) };
    if header.attributes & JOURNALED == 0 || header.journal_info_block == 0 {
        return Ok((bytes, headers, Ok(Journal::None)));
    }
    let place = u64::from(header.journal_info_block) * u64::from(header.block_size);
    let journal = journal::read(&bytes, place);
    match journal {
        Ok(Journal::Replayed(volume)) => {
            let bytes: Arc<dyn ReadAt> = volume.clone();
            let headers = Headers::read(bytes.as_ref());
            Ok((bytes, headers, Ok(Journal::Replayed(volume))))
        }
        Err(error @ Error::Source(_)) => Err(error),
        journal => Ok((bytes, headers, journal)),
    }
}

/// The disk, the tree of extents, and the catalogue of a volume.
pub(super) fn disk(bytes: Arc<dyn ReadAt>, header: &VolumeHeader) -> Arc<Disk> {
    Arc::new(Disk { bytes, block: u64::from(header.block_size), blocks: header.blocks })
}

pub(super) fn extents_tree(disk: &Arc<Disk>, header: &VolumeHeader) -> Result<Arc<Tree>> {
    let file = ForkReader::new(disk.clone(), header.extents, (3, DATA), None);
    Ok(Arc::new(Tree::open(file, "extents overflow", |_| Order::Extents)?))
}

pub(super) fn catalogue_tree(
    disk: &Arc<Disk>,
    header: &VolumeHeader,
    extents: &Arc<Tree>,
) -> Result<Arc<Tree>> {
    /// Names are compared as they are.
    const BINARY: u8 = 0xBC;
    let file = ForkReader::new(disk.clone(), header.catalogue, (4, DATA), Some(extents.clone()));
    let is_hfsx = header.is_hfsx;
    let order = |tree: &super::btree::TreeHeader| Order::Catalogue {
        case_sensitive: is_hfsx && tree.comparison == BINARY,
    };
    Ok(Arc::new(Tree::open(file, "catalogue", order)?))
}

pub(super) fn attributes_tree(
    disk: &Arc<Disk>,
    header: &VolumeHeader,
    extents: &Arc<Tree>,
) -> Result<Option<Arc<Tree>>> {
    if header.attribute_file.size == 0 {
        return Ok(None);
    }
    let file = ForkReader::new(disk.clone(), header.attribute_file, (8, DATA), Some(extents.clone()));
    Ok(Some(Arc::new(Tree::open(file, "attributes", |_| Order::Attributes)?)))
}

impl Volume {
    pub(super) fn open(bytes: Arc<dyn ReadAt>) -> Result<Self> {
        let bytes = unwrapped(bytes)?;
        // A journal that cannot be read is as good as none: what is on the volume is shown.
        let (bytes, headers, _) = replayed(bytes)?;
        let header = headers.best()?;
        let disk = disk(bytes, &header);
        let extents = extents_tree(&disk, &header)?;
        let catalogue = catalogue_tree(&disk, &header, &extents)?;
        let attributes = attributes_tree(&disk, &header, &extents)?;
        let attributes = attributes.map(|tree| Attributes::new(tree, disk.clone()));
        let mut volume = Self {
            disk,
            header,
            extents,
            catalogue,
            attributes,
            file_inodes: None,
            folder_inodes: None,
            compressed: Cache::new(COMPRESSED),
        };
        let folder = |volume: &Self, name: &str| match volume.find(ROOT, &stored(name)) {
            Ok(Some(Found::Folder(item))) => Some(item.id),
            _ => None,
        };
        volume.file_inodes = folder(&volume, FILE_INODES);
        volume.folder_inodes = folder(&volume, FOLDER_INODES);
        Ok(volume)
    }

    pub(super) fn is_case_sensitive(&self) -> bool {
        self.catalogue.order == Order::Catalogue { case_sensitive: true }
    }

    /// Whether an entry of the top folder belongs to the file system, and macOS shows it to nobody.
    pub(super) fn is_hidden(&self, folder: u32, name: &[u8], id: u32) -> bool {
        let is_journal = || {
            self.header.attributes & JOURNALED != 0 && JOURNAL_FILES.iter().any(|file| stored(file) == name)
        };
        folder == ROOT && (Some(id) == self.file_inodes || Some(id) == self.folder_inodes || is_journal())
    }

    /// The entry of a folder with this stored name.
    pub(super) fn find(&self, folder: u32, name: &[u8]) -> Result<Option<Found>> {
        let cursor = self.catalogue.get(&CatalogueKey { parent: folder, name }.encode())?;
        let Some(cursor) = cursor else { return Ok(None) };
        Ok(match self.entry(&cursor)? {
            (_, Record::Folder(item, _)) => Some(Found::Folder(item)),
            (_, Record::File(item, part)) => Some(Found::File(item, part)),
            (_, Record::Thread { .. }) => None,
        })
    }

    /// The key and the record at a place of the catalogue.
    pub(super) fn entry<'a>(&self, cursor: &'a Cursor) -> Result<(CatalogueKey<'a>, Record<'a>)> {
        let (key, record) = cursor.record()?;
        let key = decode("catalogue key", cursor.place(), key, |r| CatalogueKey::decode(r.rest()))?;
        let record = decode("catalogue record", cursor.place(), record, |r| Record::decode(r.rest()))?;
        Ok((key, record))
    }

    /// Where a file or folder is: the folder and the stored name in it.
    pub(super) fn thread(&self, id: u32) -> Result<Option<(u32, Vec<u8>)>> {
        let cursor = self.catalogue.get(&CatalogueKey { parent: id, name: &[] }.encode())?;
        let Some(cursor) = cursor else { return Ok(None) };
        Ok(match self.entry(&cursor)? {
            (_, Record::Thread { parent, name, .. }) => Some((parent, name.to_vec())),
            _ => None,
        })
    }

    /// The file or folder with this number.
    pub(super) fn item(&self, id: u32) -> Result<Found> {
        let (parent, name) = self.thread(id)?.ok_or(Error::NotFound)?;
        let found = self.find(parent, &name)?;
        found.filter(|found| found.item().id == id).ok_or_else(|| {
            let key = CatalogueKey { parent: id, name: &[] }.encode();
            let place = self.catalogue.get(&key).ok().flatten().map_or(0, |cursor| cursor.place());
            Error::damaged(format!("thread record of {id}"), place, "what it names is not there")
        })
    }

    /// What a name of a file or folder with several names stands for; the record itself if it is no such name, or nothing
    /// is there.
    pub(super) fn resolved(&self, found: Found) -> Result<Found> {
        let Found::File(item, _) = &found else { return Ok(found) };
        let (folder, name) = if item.is_file_link() {
            (self.file_inodes, format!("iNode{}", item.special))
        } else if item.is_folder_link() {
            (self.folder_inodes, format!("dir_{}", item.special))
        } else {
            return Ok(found);
        };
        let Some(folder) = folder else { return Ok(found) };
        Ok(self.find(folder, &stored(&name))?.unwrap_or(found))
    }

    /// The bytes of a fork as they are stored.
    pub(super) fn fork(&self, id: u32, part: &FilePart, kind: u8) -> ForkReader {
        let data = if kind == RESOURCE { part.resource } else { part.data };
        ForkReader::new(self.disk.clone(), data, (id, kind), Some(self.extents.clone()))
    }
}

/// The stored form of a name of the file system itself.
pub(super) fn stored(name: &str) -> Vec<u8> {
    let units = name.encode_utf16();
    units.flat_map(u16::to_be_bytes).collect()
}

/// The entry of a folder with this POSIX name: as it is, or decomposed.
pub(super) fn find_posix(volume: &Volume, folder: u32, name: &str) -> Result<Option<(Vec<u8>, Found)>> {
    let mut names = vec![names::from_posix(name)];
    let decomposed = names::decomposed(name);
    if decomposed != names[0] {
        names.push(decomposed);
    }
    for name in names {
        if name.is_empty() || name.len() > 2 * names::MAX_NAME {
            continue;
        }
        if let Some(found) = volume.find(folder, &name)? {
            return Ok(Some((name, found)));
        }
    }
    Ok(None)
}
