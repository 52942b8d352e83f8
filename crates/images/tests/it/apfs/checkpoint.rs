//! The space manager and the one checkpoint of a container that is written.

use super::disk::BLOCK;
use super::objects::{self, EPHEMERAL, Header, PHYSICAL, Shape};
use super::writer::{
    BLOCKS, CHUNKS, ContainerWriter, DATA, DESCRIPTORS, MAIN_QUEUE, POOL, POOL_BITMAPS, POOL_BLOCKS,
    POOL_QUEUE, REAPER, SPACE_MANAGER, UUID,
};

const QUEUE: Shape = Shape { subtype: 9, fixed: Some((16, 8)), flags: 0xc, storage: EPHEMERAL };

impl ContainerWriter {
    pub(crate) fn write_space_manager(&mut self, xid: u64) {
        let used = self.next_block;
        assert!(used < 32_768, "the images of tests use one chunk");
        let mut bitmap = vec![0_u8; BLOCK];
        (0..used).for_each(|block| bitmap[block as usize / 8] |= 1 << (block % 8));
        self.disk.write(POOL, &bitmap);
        let mut w = Header { oid: POOL + 1, xid, kind: PHYSICAL | 7, subtype: 0 }.writer();
        w.u32_le(0);
        w.u32_le(CHUNKS as u32);
        for chunk in 0..CHUNKS {
            w.u64_le(xid);
            w.u64_le(chunk * 32_768);
            let count = (BLOCKS - chunk * 32_768).min(32_768);
            w.u32_le(count as u32);
            w.u32_le((count - if chunk == 0 { used } else { 0 }) as u32);
            w.u64_le(if chunk == 0 { POOL } else { 0 });
        }
        self.disk.write(POOL + 1, &objects::object(w, 1));
        self.disk.write(POOL_BITMAPS, &[3]); // the bitmap and the chunk information
        let mut w = Header { oid: SPACE_MANAGER, xid, kind: EPHEMERAL | 5, subtype: 0 }.writer();
        for field in [BLOCK as u32, 32_768, ((BLOCK - 40) / 32) as u32, ((BLOCK - 40) / 8) as u32] {
            w.u32_le(field);
        }
        w.u64_le(BLOCKS);
        w.u64_le(CHUNKS);
        w.u32_le(1);
        w.u32_le(0);
        w.u64_le(BLOCKS - used);
        w.u32_le(0x180); // where the address of the chunk information is
        w.zeros(12);
        w.zeros(32); // the second device has nothing
        w.u32_le(0x188);
        w.zeros(12);
        w.u32_le(0);
        w.u32_le(16);
        w.u64_le(POOL_BLOCKS);
        w.u32_le(1);
        w.u32_le(16);
        w.u64_le(POOL_BITMAPS);
        w.u64_le(POOL);
        w.zeros(16);
        for (queue, most) in
            [(POOL_QUEUE, 3 * (CHUNKS + 751) / 1127 - 1), (MAIN_QUEUE, 1 + (BLOCKS - 1) / 4544)]
        {
            w.u64_le(0);
            w.u64_le(queue);
            w.u64_le(0);
            w.u16_le(most as u16);
            w.zeros(14);
        }
        w.zeros(40);
        w.u16_le(1);
        w.u16_le(15);
        w.u32_le(0x150);
        w.u32_le(0x158);
        w.u32_le(0x160);
        w.zeros(0x150 - w.len());
        w.u64_le(xid);
        w.u64_le(0); // the current bitmap is the first of the ring
        w.u16_le(0xffff);
        (2..16).for_each(|next| w.u16_le(next));
        w.u16_le(0xffff);
        assert_eq!(w.len(), 0x180, "the fields are where they are said to be");
        w.u64_le(POOL + 1);
        self.disk.write(DATA.0 + 1, &objects::object(w, 1));
    }

    pub(crate) fn write_checkpoint(&mut self, xid: u64, object_map: u64, volumes: &[u64], keybag: u64) {
        let mut w = Header { oid: REAPER, xid, kind: EPHEMERAL | 0x11, subtype: 0 }.writer();
        w.u64_le(1);
        w.zeros(24);
        w.u32_le(1);
        w.zeros(40);
        w.u32_le(BLOCK as u32 - 112);
        self.disk.write(DATA.0, &objects::object(w, 1));
        for (place, oid) in [(2, POOL_QUEUE), (3, MAIN_QUEUE)] {
            let node = &objects::tree(QUEUE, xid, &[], &mut |_| oid)[0];
            self.disk.write(DATA.0 + place, &node.1);
        }
        let mut w = Header { oid: DESCRIPTORS.0, xid, kind: PHYSICAL | 0xc, subtype: 0 }.writer();
        w.u32_le(1);
        w.u32_le(4);
        let objects = [(0x11, 0, REAPER), (5, 0, SPACE_MANAGER), (2, 9, POOL_QUEUE), (2, 9, MAIN_QUEUE)];
        for (place, (kind, subtype, oid)) in objects.into_iter().enumerate() {
            w.u32_le(EPHEMERAL | kind);
            w.u32_le(subtype);
            w.u32_le(BLOCK as u32);
            w.zeros(12);
            w.u64_le(oid);
            w.u64_le(DATA.0 + place as u64);
        }
        self.disk.write(DESCRIPTORS.0, &objects::object(w, 1));
        let superblock = self.superblock(xid, object_map, volumes, keybag);
        self.disk.write(DESCRIPTORS.0 + 1, &superblock);
        self.disk.write(0, &superblock);
    }

    fn superblock(&self, xid: u64, object_map: u64, volumes: &[u64], keybag: u64) -> Vec<u8> {
        let mut w = Header { oid: 1, xid, kind: EPHEMERAL | 1, subtype: 0 }.writer();
        w.put(b"NXSB");
        w.u32_le(BLOCK as u32);
        w.u64_le(BLOCKS);
        w.zeros(16);
        w.u64_le(2);
        w.put(&UUID);
        w.u64_le(self.next_oid);
        w.u64_le(xid + 1);
        w.u32_le(DESCRIPTORS.1);
        w.u32_le(DATA.1);
        w.u64_le(DESCRIPTORS.0);
        w.u64_le(DATA.0);
        for field in [2, 4, 0, 2, 0, 4] {
            w.u32_le(field);
        }
        w.u64_le(SPACE_MANAGER);
        w.u64_le(object_map);
        w.u64_le(REAPER);
        w.u32_le(0);
        w.u32_le(1); // the most volumes: one for each 512 MiB
        volumes.iter().for_each(|oid| w.u64_le(*oid));
        w.zeros((100 - volumes.len()) * 8 + 32 * 8 + 16 + 8 + 8 + 8 + 16);
        w.u64_le(keybag);
        w.u64_le(u64::from(keybag != 0));
        w.u64_le(8 << 32 | 4 << 16 | 1);
        objects::object(w, 1)
    }
}
