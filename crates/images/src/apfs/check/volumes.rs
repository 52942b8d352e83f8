//! Object maps and volumes: that every object is where its map says, that files have their names and their blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::Reader;

use super::super::cursor::{Placement, Tree};
use super::super::names::{Comparison, is_recent};
use super::super::object::{Decoded, kind};
use super::super::object_map::{ObjectMap, ObjectVersion, flag};
use super::super::records::{self, Attribute, Entry, FileExtent, Inode, Key, PhysicalExtent, Sibling};
use super::super::superblock::BlockRun;
use super::super::unlock;
use super::super::volume::{SnapshotRecord, Volume};
use super::super::volume_superblock::Encryption;
use super::Check;
use super::census::{ExtentCounts, FileCounts, PURGEABLE_FOLDER, Window};
use super::step;
use super::trees::{Keys, Manner, undecoded};
use crate::{Passphrase, Result};

/// Of a tree of its own blocks, gone through once.
const ONCE: Manner = Manner { keys: Keys::Two, notes_blocks: true, skips_walked: false, checks: true };
/// How far up the path of a file is followed.
const MOST_FOLDERS: usize = 64;

/// The extents of a stream so far: they follow one another.
#[derive(Default)]
struct StreamState {
    id: u64,
    next: u64,
    /// What the inode of the same id says of its stream.
    size: Option<u64>,
}

impl Check<'_, '_> {
    /// The object map of the container, whose objects are the superblocks of volumes.
    pub(super) fn container_map(&mut self) -> Result<()> {
        let map = Arc::clone(&self.container.map);
        self.uses(map.block, 1, "object map of the container");
        self.object_map(&map)?;
        let (blocks, superblock) = (&self.container.blocks, &self.container.checkpoint.superblock);
        if superblock.efi_jumpstart != 0 {
            let bytes = blocks.read(superblock.efi_jumpstart, 1, "EFI jumpstart");
            self.uses(superblock.efi_jumpstart, 1, "EFI jumpstart");
            if let Some(bytes) = self.told(bytes)? {
                for run in efi_extents(&bytes).unwrap_or_default() {
                    self.uses(run.first, run.count, "EFI driver");
                }
            }
        }
        for keybag in [superblock.keybag, superblock.media_keybag] {
            if keybag.first != 0 {
                self.uses(keybag.first, keybag.count, "keybag of the container");
            }
        }
        for run in unlock::volume_keybags(self.container) {
            self.uses(run.first, run.count, "keybag of a volume");
        }
        Ok(())
    }

    /// An object map: its tree, and the blocks of the objects in it.
    fn object_map(&mut self, map: &ObjectMap) -> Result<()> {
        let size = self.container.blocks.size;
        self.walk(&map.tree, ONCE, &mut |check, key, value| {
            let version = ObjectVersion::decode(key, value).map_err(undecoded)?;
            if version.flags & flag::DELETED == 0 {
                let what = format!("object {} of transaction {}", version.oid, version.xid);
                check.uses(version.block, (version.size as usize).div_ceil(size) as u64, &what);
            }
            Ok(())
        })?;
        if map.snapshot_tree != 0 {
            let blocks = Arc::clone(&self.container.blocks);
            let name = "tree of the object map's snapshots";
            let tree =
                Tree::open(blocks, name, kind::OBJECT_MAP_SNAPSHOTS, Placement::Physical, map.snapshot_tree);
            let Some(tree) = self.told(tree)? else { return Ok(()) };
            let mut count = 0;
            let is_whole = self.walk(&tree, Manner { keys: Keys::One, ..ONCE }, &mut |_, _, _| {
                count += 1;
                Ok(())
            })?;
            if is_whole && count != map.snapshot_count {
                let problem = format!("it says {} snapshots, and there are {count}", map.snapshot_count);
                self.problem("object map", map.block, problem);
            }
        }
        Ok(())
    }

    /// A volume and its snapshots.
    pub(super) fn volume(&mut self, index: usize, passphrase: Option<&Passphrase>) -> Result<()> {
        if !self.may_go_on() {
            return Ok(());
        }
        self.enter(step::volume(index), "volume");
        let superblock = self.container.volume_superblock(index);
        let Some((superblock, block)) = self.told(superblock)? else { return Ok(()) };
        let map = ObjectMap::open(&self.container.blocks, superblock.object_map);
        let Some(map) = self.told(map)? else { return Ok(()) };
        self.uses(map.block, 1, "object map");
        self.object_map(&map)?;
        let has_more = superblock.is_changing_keys
            || superblock.is_sealed()
            || superblock.encryption() == Encryption::KeyPerFile;
        self.is_exact &= !has_more;
        let opened = self.container.volume(index, passphrase);
        let Some(volume) = self.told(opened)? else {
            // Its extents are not encrypted.
            let extents = superblock.extents;
            self.physical_extents(extents, &mut |_, _| ())?;
            return Ok(());
        };
        debug_assert_eq!(volume.block, block, "both are of the newest checkpoint");
        if superblock.is_sealed() {
            self.seal(&volume)?;
        }
        let snapshots = self.snapshots(&volume)?;
        let mut extents = self.extents(&volume, &snapshots)?;
        if self.enters_catalogue(step::catalogue(index)) {
            self.catalogue(&volume, &mut extents, snapshots.is_empty())?;
        }
        for (number, snapshot) in snapshots.iter().enumerate() {
            if self.enters_catalogue(step::snapshot(index, number)) {
                self.snapshot(&volume, snapshot)?;
            }
        }
        Ok(())
    }

    fn snapshots(&mut self, volume: &Volume) -> Result<Vec<SnapshotRecord>> {
        if volume.superblock.snapshots == 0 {
            return Ok(Vec::new());
        }
        let Some(tree) = self.told(volume.snapshot_tree())? else { return Ok(Vec::new()) };
        let mut names: BTreeMap<u64, u32> = BTreeMap::new();
        let keys = Keys::Records(Comparison::Exact);
        let is_whole = self.walk(&tree, Manner { keys, ..ONCE }, &mut |_, key, value| {
            let key = Key::decode(key, Comparison::Exact).map_err(undecoded)?;
            if key.kind == records::kind::SNAPSHOT_NAME {
                let xid = value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                *names.entry(xid.unwrap_or(0)).or_default() += 1;
            }
            Ok(())
        })?;
        let snapshots = self.told(volume.snapshots())?.unwrap_or_default();
        for snapshot in snapshots.iter().filter(|_| is_whole) {
            if names.get(&snapshot.xid) != Some(&1) {
                let problem = "it does not have exactly one record of its name";
                self.problem(format!("snapshot {}", snapshot.name), tree.root.block, problem);
            }
        }
        if is_whole && volume.superblock.snapshot_count != snapshots.len() as u64 {
            let problem = format!(
                "it says {} snapshots, and there are {}",
                volume.superblock.snapshot_count,
                snapshots.len()
            );
            self.problem(format!("superblock of volume {}", volume.superblock.name), volume.block, problem);
        }
        Ok(snapshots)
    }

    /// A snapshot: its superblock, and what of its catalogue no newer one shares.
    fn snapshot(&mut self, volume: &Volume, snapshot: &SnapshotRecord) -> Result<()> {
        let opened = volume.at_snapshot(snapshot);
        let Some(then) = self.told(opened)? else { return Ok(()) };
        let comparison = then.comparison;
        let manner =
            Manner { keys: Keys::Records(comparison), notes_blocks: false, skips_walked: true, checks: true };
        if self.walked.contains(then.catalogue.root.block) {
            return Ok(());
        }
        self.walk(&then.catalogue, manner, &mut |check, key, value| {
            let key = Key::decode(key, comparison).map_err(undecoded)?;
            if key.kind == records::kind::FILE_EXTENT {
                let extent = FileExtent::decode(key.number, value, true).map_err(undecoded)?;
                check.file_extent(&then, key.oid, &extent);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// The tree of a volume's physical extents. `each` is called for them.
    fn physical_extents(&mut self, root: u64, each: &mut dyn FnMut(u64, PhysicalExtent)) -> Result<bool> {
        if root == 0 {
            return Ok(true);
        }
        let blocks = Arc::clone(&self.container.blocks);
        let name = "tree of physical extents";
        let tree = Tree::open(blocks, name, kind::EXTENT_REFERENCES, Placement::Physical, root);
        let Some(tree) = self.told(tree)? else { return Ok(false) };
        let mut end = 0;
        let keys = Keys::Records(Comparison::Exact);
        self.walk(&tree, Manner { keys, ..ONCE }, &mut |check, key, value| {
            let key = Key::decode(key, Comparison::Exact).map_err(undecoded)?;
            let extent = PhysicalExtent::decode(value).map_err(undecoded)?;
            let what = format!("physical extent at block {}", key.oid);
            if key.kind != records::kind::EXTENT || key.oid < end {
                check.problem(&what, key.oid, "it overlaps the extent before");
            }
            end = key.oid.saturating_add(extent.blocks);
            if end > check.container.blocks.count {
                check.problem(&what, key.oid, "it would be behind the end of the container");
            } else if extent.is_new {
                let clash = check.data.add(key.oid, extent.blocks);
                let clash = clash.or_else(|| check.metadata.first_in(key.oid, extent.blocks));
                if clash.is_some() {
                    check.problem(&what, key.oid, "its blocks also belong to something else");
                }
            }
            each(key.oid, extent);
            Ok(())
        })
    }

    /// The physical extents of a volume and of its snapshots. Returns those of the volume, to be counted.
    fn extents(&mut self, volume: &Volume, snapshots: &[SnapshotRecord]) -> Result<Window<ExtentCounts>> {
        let mut extents = Window::new();
        let mut each = |block, extent: PhysicalExtent| {
            extents.insert(block, || ExtentCounts::new(extent.blocks, extent.references));
        };
        self.physical_extents(volume.superblock.extents, &mut each)?;
        for snapshot in snapshots {
            self.physical_extents(snapshot.extents, &mut |_, _| ())?;
            self.uses(snapshot.superblock, 1, &format!("superblock of snapshot {}", snapshot.name));
        }
        if let Some(tree) = &volume.file_extents {
            self.walk(tree, ONCE, &mut |_, _, _| Ok(()))?;
        }
        Ok(extents)
    }

    /// The files of a volume as it is now, in as many passes as their counts need.
    fn catalogue(
        &mut self,
        volume: &Volume,
        extents: &mut Window<ExtentCounts>,
        is_alone: bool,
    ) -> Result<()> {
        // With snapshots, counts are spread over several trees; what is checked then is that blocks are in one.
        let counts_extents = is_alone && extents.next().is_none();
        let mut files = Some(Window::<FileCounts>::new());
        let mut checks = true;
        while let Some(mut window) = files.take().filter(|_| self.may_go_on()) {
            let is_whole = self.files(volume, &mut window, extents, checks)?;
            if is_whole {
                self.tell_files(volume, &window);
                if checks && counts_extents && volume.file_extents.is_none() {
                    self.tell_extents(extents);
                }
            }
            checks = false;
            files = window.next();
        }
        Ok(())
    }

    /// One pass through the catalogue.
    fn files(
        &mut self,
        volume: &Volume,
        window: &mut Window<FileCounts>,
        extents: &mut Window<ExtentCounts>,
        checks: bool,
    ) -> Result<bool> {
        let comparison = volume.comparison;
        let keys = Keys::Records(comparison);
        let manner = Manner { keys, notes_blocks: false, skips_walked: false, checks };
        let mut stream = StreamState::default();
        let is_whole = self.walk(&volume.catalogue, manner, &mut |check, key, value| {
            let key = Key::decode(key, comparison).map_err(undecoded)?;
            count_record(window, key, value)?;
            if !checks {
                return Ok(());
            }
            match key.kind {
                records::kind::INODE => {
                    let inode = Inode::decode(value).map_err(undecoded)?;
                    let own =
                        inode.stream.filter(|stream| stream.id == key.oid && has_extents(volume, &inode));
                    check.end_of_stream(volume, &stream);
                    stream = StreamState { id: key.oid, next: 0, size: own.map(|stream| stream.size) };
                }
                records::kind::FILE_EXTENT => {
                    let extent = FileExtent::decode(key.number, value, true).map_err(undecoded)?;
                    check.next_extent(volume, &mut stream, key.oid, &extent);
                    check.file_extent(volume, key.oid, &extent);
                    let blocks = extent.length.div_ceil(check.container.blocks.size as u64);
                    if extent.block != 0 {
                        extents.used_by(key.oid, extent.block, blocks);
                    }
                }
                records::kind::ENTRY => check.entry_hash(volume, key),
                _ => {}
            }
            Ok(())
        })?;
        self.end_of_stream(volume, &stream);
        Ok(is_whole)
    }

    fn entry_hash(&mut self, volume: &Volume, key: Key<'_>) {
        let name = String::from_utf8_lossy(key.name);
        if volume.comparison.is_hashed()
            && !is_recent(&name)
            && u64::from(volume.comparison.hash(&name)) != key.number
        {
            self.file_problem(volume, key.oid, format!("the hash of its entry {name:?} is wrong"));
        }
    }

    fn next_extent(&mut self, volume: &Volume, stream: &mut StreamState, id: u64, extent: &FileExtent) {
        if stream.id != id {
            self.end_of_stream(volume, stream);
            // A file that is being removed has lost its first extents.
            *stream = StreamState { id, next: extent.offset, size: None };
        }
        if extent.offset != stream.next && stream.next != 0 {
            let problem = format!("its extents do not follow one another at byte {}", stream.next);
            self.file_problem(volume, id, problem);
        }
        stream.next = extent.end();
    }

    fn end_of_stream(&mut self, volume: &Volume, stream: &StreamState) {
        if let Some(size) = stream.size.filter(|&size| size > stream.next) {
            let problem = format!("its extents end at byte {} of {size}", stream.next);
            self.file_problem(volume, stream.id, problem);
        }
    }

    /// A file's extent has to be in blocks that are allocated for files.
    fn file_extent(&mut self, volume: &Volume, stream: u64, extent: &FileExtent) {
        let size = self.container.blocks.size as u64;
        if extent.length == 0 || !extent.length.is_multiple_of(size) || !extent.offset.is_multiple_of(size) {
            return self.file_problem(volume, stream, "an extent of it is not whole blocks".to_owned());
        }
        if extent.block == 0 {
            return;
        }
        let blocks = extent.length / size;
        let is_behind = extent.block.checked_add(blocks).is_none_or(|end| end > self.container.blocks.count);
        let missing = self.data.first_missing(extent.block, blocks);
        if is_behind || missing.is_some() {
            let block = missing.unwrap_or(extent.block);
            self.file_problem(volume, stream, format!("its block {block} is in no physical extent"));
        }
    }

    fn tell_files(&mut self, volume: &Volume, window: &Window<FileCounts>) {
        for (&id, counts) in &window.counts {
            if let Some(problem) = counts.problem(id).filter(|_| self.may_go_on()) {
                self.file_problem(volume, id, problem);
            }
        }
    }

    fn tell_extents(&mut self, extents: &Window<ExtentCounts>) {
        for (&block, extent) in &extents.counts {
            if let Some(problem) = extent.problem().filter(|_| self.may_go_on()) {
                self.problem(format!("physical extent at block {block}"), block, problem);
            }
        }
    }

    /// Tells a problem of an inode, with the path if that can be found.
    fn file_problem(&mut self, volume: &Volume, id: u64, problem: String) {
        let place = self.container.blocks.place(volume.catalogue.root.block);
        let told = crate::check::Problem::new(format!("inode {id}"), Some(place), problem);
        self.tell_problem(match volume.path(id) {
            Some(path) => told.of_file(path),
            None => told,
        });
    }
}

/// Whether a file's extents are in the catalogue: not those of sealed volumes, of files that are being removed, and of files whose
/// data is elsewhere.
fn has_extents(volume: &Volume, inode: &Inode) -> bool {
    const DATALESS: u32 = 0x4000_0000;
    volume.file_extents.is_none() && inode.children_or_links > 0 && inode.bsd_flags & DATALESS == 0
}

/// Counts what a record says of a file.
fn count_record(window: &mut Window<FileCounts>, key: Key<'_>, value: &[u8]) -> Result<()> {
    match key.kind {
        records::kind::INODE => {
            let inode = Inode::decode(value).map_err(undecoded)?;
            if let Some(counts) = window.count(key.oid) {
                counts.inode(&inode);
            }
        }
        records::kind::ENTRY => {
            let entry = Entry::decode(value).map_err(undecoded)?;
            if let Some(counts) = window.count(key.oid) {
                counts.entries += 1;
                counts.has_records = true;
            }
            if key.oid == PURGEABLE_FOLDER {
                return Ok(());
            }
            if let Some(counts) = window.count(entry.file) {
                counts.names += 1;
                counts.parent = key.oid;
                counts.other_type = entry.file_type;
            }
        }
        records::kind::ATTRIBUTE => {
            Attribute::decode(value).map_err(undecoded)?;
            if let Some(counts) = window.count(key.oid) {
                counts.has_records = true;
            }
        }
        records::kind::SIBLING_LINK => {
            Sibling::decode(value).map_err(undecoded)?;
            if let Some(counts) = window.count(key.oid) {
                counts.siblings += 1;
                counts.has_records = true;
            }
        }
        _ => {}
    }
    Ok(())
}

impl Volume {
    /// The path of a file by the names in inodes.
    fn path(&self, id: u64) -> Option<String> {
        let mut names = Vec::new();
        let mut id = id;
        while id != super::super::files::ROOT {
            let inode = self.inode(id).ok()?;
            if inode.name.is_empty() || names.len() >= MOST_FOLDERS {
                return None;
            }
            names.push(inode.name);
            id = inode.parent;
        }
        names.reverse();
        Some(format!("/{}", names.join("/")))
    }
}

/// The runs of blocks of the EFI driver (nx_efi_jumpstart_t).
fn efi_extents(bytes: &[u8]) -> Decoded<Vec<BlockRun>> {
    const MOST_RUNS: u32 = 64;
    let mut r = Reader::new(bytes);
    r.skip(32 + 12)?; // header, magic, version, length
    let count = r.u32_le()?.min(MOST_RUNS);
    r.skip(128)?; // reserved
    (0..count).map(|_| BlockRun::decode(&mut r)).collect()
}
