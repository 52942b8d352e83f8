//! Writes whole containers, by the Apple File System Reference; `apfsck` accepts them (see `judged.rs`).

use std::collections::BTreeMap;

use wire::Writer;

use super::content::{Content, FILE, FOLDER, File, LINK, Names, Run, Stream, TIME, Value};
use super::disk::{BLOCK, Disk};
use super::keys::{self, VolumeKeys, encrypt};
use super::objects::{self, Header, PHYSICAL, Shape};
use super::volume_superblock::{Frozen, Superblock, VolumeWriter};

/// 512 MiB: apfsck does not check smaller containers.
pub(crate) const BLOCKS: u64 = 131_072;
pub(crate) const DESCRIPTORS: (u64, u32) = (1, 8);
/// So long that all physical objects are behind the reserved object ids.
pub(crate) const DATA: (u64, u32) = (9, 1100);
pub(crate) const POOL_BITMAPS: u64 = 1109;
pub(crate) const POOL: u64 = POOL_BITMAPS + 16;
pub(crate) const CHUNKS: u64 = BLOCKS.div_ceil(32_768);
pub(crate) const POOL_BLOCKS: u64 = (CHUNKS + 1) * 3;
pub(crate) const UUID: [u8; 16] = *b"container of the";

/// Object ids of what a checkpoint has, and the first one for volumes.
pub(crate) const SPACE_MANAGER: u64 = 1024;
pub(crate) const REAPER: u64 = 1025;
pub(crate) const POOL_QUEUE: u64 = 1026;
pub(crate) const MAIN_QUEUE: u64 = 1027;

const CATALOGUE: Shape = Shape { subtype: 0xe, fixed: None, flags: 0x40, storage: 0 };
/// BTREE_KV_NONALIGNED, BTREE_HASHED, BTREE_NOHEADER.
const SEALED: Shape = Shape { flags: 0x1c0, ..CATALOGUE };
const FILE_EXTENTS: Shape = Shape { subtype: 0x1f, fixed: Some((16, 16)), flags: 0x10, storage: PHYSICAL };
const OBJECT_MAP: Shape = Shape { subtype: 0xb, fixed: Some((16, 16)), flags: 0x10, storage: PHYSICAL };
const EXTENTS: Shape = Shape { subtype: 0xf, fixed: None, flags: 0x50, storage: PHYSICAL };
const SNAPSHOTS: Shape = Shape { subtype: 0x10, fixed: None, flags: 0x50, storage: PHYSICAL };
const MAP_SNAPSHOTS: Shape = Shape { subtype: 0x13, fixed: Some((8, 16)), flags: 0x10, storage: PHYSICAL };

/// A key and its value.
type Record = (Vec<u8>, Vec<u8>);

/// Blocks and flags of the versions of objects, by their ids and transactions.
type ObjectVersions = BTreeMap<(u64, u64), (u64, u32)>;

/// A container that is being written.
pub(crate) struct ContainerWriter {
    pub(crate) disk: Disk,
    pub(crate) next_block: u64,
    pub(crate) next_oid: u64,
    xid: u64,
    pub(crate) volumes: Vec<VolumeWriter>,
    /// Whether keybags are not encrypted, as Macs with a T2 chip write them.
    pub(crate) has_plain_keybags: bool,
}

impl ContainerWriter {
    pub(crate) fn new() -> Self {
        let disk = Disk { blocks: BTreeMap::new(), count: BLOCKS };
        let (next_block, next_oid, xid) = (POOL + POOL_BLOCKS, MAIN_QUEUE + 1, 2);
        Self { disk, next_block, next_oid, xid, volumes: Vec::new(), has_plain_keybags: false }
    }

    /// Adds a volume with its two first folders, and returns its number.
    pub(crate) fn volume(&mut self, name: &str, names: Names, passphrase: Option<&str>) -> usize {
        let folder = |name: &str| File {
            kind: FOLDER,
            mode: 0o755,
            bsd_flags: 0,
            internal_flags: 0,
            names: vec![(1, name.to_owned(), 0)],
            stream: None,
            attributes: BTreeMap::new(),
        };
        let files = BTreeMap::from([(2, folder("root")), (3, folder("private-dir"))]);
        let keys = passphrase.map(|passphrase| VolumeKeys::new(passphrase, self.volumes.len() as u8));
        let content = Content { names, files, is_encrypted: keys.is_some(), is_sealed: false };
        let volume = VolumeWriter { name: name.to_owned(), content, next_id: 16, frozen: Vec::new(), keys };
        self.volumes.push(volume);
        self.volumes.len() - 1
    }

    fn add(&mut self, volume: usize, parent: u64, name: &str, kind: u16, stream: Option<Stream>) -> u64 {
        let volume = &mut self.volumes[volume];
        let id = stream.as_ref().map_or(volume.next_id, |stream| stream.id);
        volume.next_id = volume.next_id.max(id + 1);
        let names = vec![(parent, name.to_owned(), 0)];
        let (attributes, mode) = (BTreeMap::new(), if kind == FOLDER { 0o755 } else { 0o644 });
        let file = File { kind, mode, bsd_flags: 0, internal_flags: 0, names, stream, attributes };
        volume.content.files.insert(id, file);
        id
    }

    pub(crate) fn folder(&mut self, volume: usize, parent: u64, name: &str) -> u64 {
        self.add(volume, parent, name, FOLDER, None)
    }

    pub(crate) fn file(&mut self, volume: usize, parent: u64, name: &str, data: &[u8]) -> u64 {
        self.sparse_file(volume, parent, name, data.len() as u64, &[(0, data)])
    }

    /// A file with pieces of data at multiples of a block, and holes between them.
    pub(crate) fn sparse_file(
        &mut self,
        volume: usize,
        parent: u64,
        name: &str,
        size: u64,
        pieces: &[(u64, &[u8])],
    ) -> u64 {
        let id = self.volumes[volume].next_id;
        let stream = (size > 0).then(|| self.stream(volume, id, size, pieces));
        self.add(volume, parent, name, FILE, stream)
    }

    fn stream(&mut self, volume: usize, id: u64, size: u64, pieces: &[(u64, &[u8])]) -> Stream {
        let mut runs = Vec::new();
        let mut at = 0;
        for (begin, bytes) in pieces.iter().filter(|piece| !piece.1.is_empty()) {
            runs.extend((*begin > at).then(|| Run { at, length: begin - at, block: None }));
            let block = self.data(volume, bytes);
            let length = bytes.len().next_multiple_of(BLOCK) as u64;
            runs.push(Run { at: *begin, length, block: Some(block) });
            at = begin + length;
        }
        let end = size.next_multiple_of(BLOCK as u64);
        runs.extend((end > at).then(|| Run { at, length: end - at, block: None }));
        Stream { id, size, runs }
    }

    fn data(&mut self, volume: usize, bytes: &[u8]) -> u64 {
        let block = self.next_block;
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        if let Some(keys) = &self.volumes[volume].keys {
            encrypt(&mut bytes, block, &keys.vek[..16], &keys.vek[16..]);
        }
        self.disk.write(block, &bytes);
        self.next_block += (bytes.len() / BLOCK) as u64;
        block
    }

    pub(crate) fn link(&mut self, volume: usize, parent: u64, name: &str, target: &str) -> u64 {
        let id = self.add(volume, parent, name, LINK, None);
        let target = format!("{target}\0").into_bytes();
        self.attribute(volume, id, "com.apple.fs.symlink", &target);
        id
    }

    /// Another name of a file.
    pub(crate) fn hard_link(&mut self, volume: usize, id: u64, parent: u64, name: &str) {
        let volume = &mut self.volumes[volume];
        let file = volume.content.files.get_mut(&id).unwrap();
        file.names.push((parent, name.to_owned(), 0));
        for name in file.names.iter_mut().filter(|name| name.2 == 0) {
            name.2 = volume.next_id;
            volume.next_id += 1;
        }
    }

    /// An attribute: in its record if it is small, or else a stream.
    pub(crate) fn attribute(&mut self, volume: usize, id: u64, name: &str, value: &[u8]) {
        let value = if value.len() <= 3804 {
            Value::Embedded(value.to_vec())
        } else {
            let stream = self.volumes[volume].next_id;
            self.volumes[volume].next_id += 1;
            Value::Stream(self.stream(volume, stream, value.len() as u64, &[(0, value)]))
        };
        let file = self.volumes[volume].content.files.get_mut(&id).unwrap();
        file.attributes.insert(name.to_owned(), value);
    }

    /// A file that has the blocks of another one.
    pub(crate) fn clone_file(&mut self, volume: usize, id: u64, parent: u64, name: &str) -> u64 {
        let content = &mut self.volumes[volume].content;
        let original = content.files.get_mut(&id).unwrap();
        original.internal_flags |= 0x400; // INODE_WAS_EVER_CLONED
        let stream = original.stream.clone().unwrap();
        let stream = Stream { id: self.volumes[volume].next_id, ..stream };
        let clone = self.add(volume, parent, name, FILE, Some(stream));
        self.volumes[volume].content.files.get_mut(&clone).unwrap().internal_flags |= 0x410;
        clone
    }

    /// Removes a file that a snapshot has.
    pub(crate) fn remove(&mut self, volume: usize, id: u64) {
        self.volumes[volume].content.files.remove(&id).unwrap();
    }

    pub(crate) fn snapshot(&mut self, volume: usize, name: &str) {
        let xid = self.xid;
        self.xid += 1;
        let volume = &mut self.volumes[volume];
        let (inode, content) = (volume.next_id, volume.content.clone());
        volume.next_id += 1;
        volume.frozen.push(Frozen { name: name.to_owned(), xid, inode, content, next_id: volume.next_id });
    }

    fn blocks(&mut self, count: u64) -> u64 {
        self.next_block += count;
        self.next_block - count
    }

    fn oid(&mut self) -> u64 {
        self.next_oid += 1;
        self.next_oid - 1
    }

    /// Writes a physical tree, and returns its root and how many blocks it has.
    fn physical_tree(&mut self, shape: Shape, xid: u64, records: &[Record]) -> (u64, u64) {
        let root = self.blocks(1);
        let nodes =
            objects::tree(shape, xid, records, &mut |number| if number == 0 { root } else { self.blocks(1) });
        for (block, bytes) in &nodes {
            self.disk.write(*block, bytes);
        }
        (root, nodes.len() as u64)
    }

    /// Writes an object map, and returns its block and how many blocks it has with its trees.
    fn object_map(
        &mut self,
        xid: u64,
        entries: &ObjectVersions,
        flags: u32,
        snapshots: &[u64],
    ) -> (u64, u64) {
        let records: Vec<_> = entries
            .iter()
            .map(|((oid, version), (block, flags))| {
                let (mut k, mut v) = (Writer::new(), Writer::new());
                k.u64_le(*oid);
                k.u64_le(*version);
                v.u32_le(*flags);
                v.u32_le(BLOCK as u32);
                v.u64_le(*block);
                (k.into_bytes(), v.into_bytes())
            })
            .collect();
        let (root, mut count) = self.physical_tree(OBJECT_MAP, xid, &records);
        let mut snapshot_tree = 0;
        if !snapshots.is_empty() {
            let records: Vec<_> =
                snapshots.iter().map(|xid| (xid.to_le_bytes().to_vec(), vec![0; 16])).collect();
            let (tree, more) = self.physical_tree(MAP_SNAPSHOTS, xid, &records);
            (snapshot_tree, count) = (tree, count + more);
        }
        let block = self.blocks(1);
        let mut w = Header { oid: block, xid, kind: PHYSICAL | 0xb, subtype: 0 }.writer();
        w.u32_le(flags);
        w.u32_le(snapshots.len() as u32);
        w.u32_le(PHYSICAL | 2);
        w.u32_le(PHYSICAL | 2);
        w.u64_le(root);
        w.u64_le(snapshot_tree);
        w.u64_le(snapshots.last().copied().unwrap_or(0));
        w.zeros(16);
        self.disk.write(block, &objects::object(w, 1));
        (block, count + 1)
    }

    /// Writes everything. The volumes' keybags and the space manager come last.
    pub(crate) fn finish(mut self) -> Disk {
        let xid = self.xid;
        let volumes = std::mem::take(&mut self.volumes);
        let mut map = BTreeMap::new();
        let mut oids = Vec::new();
        for (index, volume) in volumes.iter().enumerate() {
            let oid = self.oid();
            let block = self.write_volume(index, volume, oid, xid);
            map.insert((oid, xid), (block, 0));
            oids.push(oid);
        }
        let object_map = self.object_map(xid, &map, 1, &[]).0;
        let keybag = self.keybags(&volumes, xid);
        self.write_space_manager(xid);
        self.write_checkpoint(xid, object_map, &oids, keybag);
        self.disk
    }

    fn write_volume(&mut self, index: usize, volume: &VolumeWriter, oid: u64, xid: u64) -> u64 {
        let mut allocated = 0;
        let mut map = BTreeMap::new();
        let mut node_ids: Vec<u64> = Vec::new();
        let mut before = BTreeMap::new();
        let mut snapshots = BTreeMap::new();
        let now = Frozen {
            name: String::new(),
            xid,
            inode: 0,
            content: volume.content.clone(),
            next_id: volume.next_id,
        };
        let mut last = (0, 0);
        for version in volume.frozen.iter().chain([&now]) {
            allocated += self.write_catalogue(volume, version, &mut node_ids, &mut map);
            let (extents, count, blocks) = self.write_extents(version, &mut before);
            allocated += count + blocks;
            last = (extents, node_ids[0]);
            if version.xid < xid {
                let block = self.blocks(1);
                let superblock = Superblock {
                    index,
                    oid: block,
                    version,
                    volume,
                    trees: [0, node_ids[0], 0, 0],
                    allocated,
                    snapshots: snapshots.len() as u64 / 2,
                    seal: [0; 3],
                };
                self.disk.write(block, &superblock.bytes(PHYSICAL));
                add_snapshot(&mut snapshots, version, block, extents);
            }
        }
        let records: Vec<_> = snapshots.into_values().collect();
        let (snapshot_tree, count) = self.physical_tree(SNAPSHOTS, xid, &records);
        let xids: Vec<u64> = volume.frozen.iter().map(|version| version.xid).collect();
        let seal = if now.content.is_sealed { self.write_seal(&now, node_ids[0], &mut map) } else { [0; 3] };
        let (object_map, more) = self.object_map(xid, &map, 0, &xids);
        allocated += seal[2];
        allocated += count + more;
        let block = self.blocks(1);
        let trees = [object_map, last.1, last.0, snapshot_tree];
        let snapshots = xids.len() as u64;
        let superblock = Superblock { index, oid, version: &now, volume, trees, allocated, snapshots, seal };
        self.disk.write(block, &superblock.bytes(0));
        block
    }

    /// Writes the catalogue as it was, and returns how many blocks it has.
    fn write_catalogue(
        &mut self,
        volume: &VolumeWriter,
        version: &Frozen,
        ids: &mut Vec<u64>,
        map: &mut ObjectVersions,
    ) -> u64 {
        let shape =
            Shape { storage: if volume.keys.is_some() { objects::ENCRYPTED } else { 0 }, ..CATALOGUE };
        let is_sealed = version.content.is_sealed;
        let shape = if is_sealed { SEALED } else { shape };
        let flags = if is_sealed { 8 } else { u32::from(volume.keys.is_some()) << 2 };
        let records = version.content.records();
        let nodes = objects::tree(shape, version.xid, &records, &mut |number| {
            while ids.len() <= number {
                ids.push(self.oid());
            }
            ids[number]
        });
        let count = nodes.len() as u64;
        for (oid, mut bytes) in nodes {
            let block = self.blocks(1);
            if let Some(keys) = &volume.keys {
                encrypt(&mut bytes, block, &keys.vek[..16], &keys.vek[16..]);
            }
            self.disk.write(block, &bytes);
            map.insert((oid, version.xid), (block, flags));
        }
        count
    }

    /// Writes the tree of file extents and the hash of the catalogue's root. Returns the ids of that and of the tree, and how
    /// many blocks they have.
    fn write_seal(&mut self, version: &Frozen, root: u64, map: &mut ObjectVersions) -> [u64; 3] {
        let (tree, count) = self.physical_tree(FILE_EXTENTS, version.xid, &version.content.file_extents());
        let (oid, block) = (self.oid(), self.blocks(1));
        let root = &self.disk.blocks[&map[&(root, version.xid)].0];
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, root);
        let mut w = Header { oid, xid: version.xid, kind: 0x1e, subtype: 0 }.writer();
        for field in [1, 0, 1, 128] {
            w.u32_le(field); // version, flags, SHA-256, where the hash is
        }
        w.zeros(80);
        w.put(hash.as_ref());
        self.disk.write(block, &objects::object(w, 1));
        map.insert((oid, version.xid), (block, 0));
        [oid, tree, count + 1]
    }

    /// Writes the extents that are new or whose counts changed. Returns the root, blocks of the tree, and new blocks.
    fn write_extents(
        &mut self,
        version: &Frozen,
        before: &mut BTreeMap<(u64, u64), (u32, u64)>,
    ) -> (u64, u64, u64) {
        let now = version.content.references();
        let (mut records, mut new) = (BTreeMap::new(), 0);
        for (&(block, count), &(references, owner)) in &now {
            match before.get(&(block, count)) {
                None => {
                    new += count;
                    records.insert(block, physical_extent(block, 1, count, owner, references));
                }
                Some(old) if old.0 != references => {
                    let change = references.wrapping_sub(old.0);
                    records.insert(block, physical_extent(block, 2, count, u64::MAX, change));
                }
                Some(_) => {}
            }
        }
        for (&(block, count), old) in before.iter().filter(|(run, _)| !now.contains_key(run)) {
            records.insert(block, physical_extent(block, 2, count, u64::MAX, 0_u32.wrapping_sub(old.0)));
        }
        *before = now;
        let records: Vec<_> = records.into_values().collect();
        let (root, count) = self.physical_tree(EXTENTS, version.xid, &records);
        (root, count, new)
    }

    fn keybags(&mut self, volumes: &[VolumeWriter], xid: u64) -> u64 {
        let encrypted: Vec<_> = volumes.iter().filter_map(|volume| volume.keys.as_ref()).collect();
        if encrypted.is_empty() {
            return 0;
        }
        let mut entries = Vec::new();
        for keys in encrypted {
            let block = self.blocks(1);
            let mut bag = keys::keybag(0x7265_6373, block, xid, &[(keys.uuid, 3, keys.unlock_record())]);
            if !self.has_plain_keybags {
                encrypt(&mut bag, block, &keys.uuid, &keys.uuid);
            }
            self.disk.write(block, &bag);
            let run = [block.to_le_bytes(), 1_u64.to_le_bytes()].concat();
            entries.extend([(keys.uuid, 2, keys.volume_key()), (keys.uuid, 3, run)]);
        }
        let block = self.blocks(1);
        let mut bag = keys::keybag(0x6b65_7973, block, xid, &entries);
        if !self.has_plain_keybags {
            encrypt(&mut bag, block, &UUID, &UUID);
        }
        self.disk.write(block, &bag);
        block
    }
}

fn physical_extent(block: u64, kind: u64, count: u64, owner: u64, references: u32) -> Record {
    let mut w = Writer::new();
    w.u64_le(count | kind << 60);
    w.u64_le(owner);
    w.u32_le(references);
    ((block | 2 << 60).to_le_bytes().to_vec(), w.into_bytes())
}

/// Adds the two records of a snapshot, under their order.
fn add_snapshot(
    records: &mut BTreeMap<(u64, Vec<u8>), Record>,
    version: &Frozen,
    superblock: u64,
    extents: u64,
) {
    let mut w = Writer::new();
    for field in [extents, superblock, TIME, TIME, version.inode] {
        w.u64_le(field);
    }
    w.u32_le(PHYSICAL | 2);
    w.u32_le(0);
    w.u16_le(version.name.len() as u16 + 1);
    w.put(version.name.as_bytes());
    w.u8(0);
    let key = (version.xid | 1 << 60).to_le_bytes().to_vec();
    records.insert((version.xid, Vec::new()), (key, w.into_bytes()));
    let id = u64::MAX >> 4;
    let mut w = Writer::new();
    w.u64_le(id | 11 << 60);
    w.u16_le(version.name.len() as u16 + 1);
    w.put(version.name.as_bytes());
    w.u8(0);
    records.insert(
        (id, version.name.clone().into_bytes()),
        (w.into_bytes(), version.xid.to_le_bytes().to_vec()),
    );
}
