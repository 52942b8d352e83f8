//! Volumes that are being written, and their superblocks.

use super::content::{Content, FILE, FOLDER, LINK, Names, TIME};
use super::keys::VolumeKeys;
use super::objects::{self, Header, PHYSICAL};

/// A volume as it is, or was at a snapshot.
pub(crate) struct Frozen {
    pub(crate) name: String,
    pub(crate) xid: u64,
    pub(crate) inode: u64,
    pub(crate) content: Content,
    pub(crate) next_id: u64,
}

/// A volume that is being written.
pub(crate) struct VolumeWriter {
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) next_id: u64,
    pub(crate) frozen: Vec<Frozen>,
    pub(crate) keys: Option<VolumeKeys>,
}

/// The superblock of a volume or of a snapshot.
pub(crate) struct Superblock<'a> {
    pub(crate) index: usize,
    pub(crate) oid: u64,
    pub(crate) version: &'a Frozen,
    pub(crate) volume: &'a VolumeWriter,
    /// Object map, catalogue, extents, snapshots.
    pub(crate) trees: [u64; 4],
    pub(crate) allocated: u64,
    pub(crate) snapshots: u64,
    /// Of a sealed volume: the ids of its seal and of the tree of its extents.
    pub(crate) seal: [u64; 3],
}

impl Superblock<'_> {
    pub(crate) fn bytes(&self, storage: u32) -> Vec<u8> {
        let (content, keys) = (&self.version.content, &self.volume.keys);
        let mut w = Header { oid: self.oid, xid: self.version.xid, kind: storage | 0xd, subtype: 0 }.writer();
        w.put(b"APSB");
        w.u32_le(self.index as u32);
        w.u64_le(2); // records of hard links
        w.u64_le(0);
        let names = match content.names {
            Names::Folded => 1,
            Names::Normalized => 8,
            Names::Exact => 0,
        };
        w.u64_le(names | u64::from(content.is_sealed) << 5);
        w.zeros(24);
        w.u64_le(self.allocated);
        w.u16_le(5);
        w.zeros(6);
        w.u32_le(6);
        w.u32_le(0);
        w.u16_le(1);
        w.u16_le(0);
        for kind in [2, PHYSICAL | 2, PHYSICAL | 2] {
            w.u32_le(kind);
        }
        self.trees.iter().for_each(|tree| w.u64_le(*tree));
        w.zeros(16);
        w.u64_le(self.version.next_id);
        for count in [content.count(FILE), content.count(FOLDER), content.count(LINK), 0, self.snapshots] {
            w.u64_le(count);
        }
        w.u64_le(self.allocated);
        w.u64_le(0);
        w.put(&keys.as_ref().map_or(*b"one of a volumes", |keys| keys.uuid));
        w.u64_le(TIME);
        w.u64_le(if keys.is_some() { 8 } else { 1 });
        let mut by = b"tests of fourfold".to_vec();
        by.resize(32, 0);
        w.put(&by);
        w.u64_le(TIME);
        w.u64_le(2);
        w.zeros(8 * 48);
        let mut name = self.volume.name.clone().into_bytes();
        name.resize(256, 0);
        w.put(&name);
        w.u32_le(3);
        if content.is_sealed {
            w.zeros(60);
            w.u64_le(self.seal[0]);
            w.u64_le(self.seal[1]);
            w.u32_le(PHYSICAL | 2);
        }
        objects::object(w, 1)
    }
}
