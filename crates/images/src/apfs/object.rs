//! Objects: what has a header and a checksum ("Objects", obj_phys_t).

use wire::{Malformed, Reader};

/// What a decoder returns.
pub(super) type Decoded<T> = Result<T, Malformed>;

/// How many bytes the header takes.
pub(super) const HEADER_LEN: usize = 32;

/// Object types, without their flags ("Object Types").
pub(super) mod kind {
    pub(in super::super) const SUPERBLOCK: u32 = 1;
    pub(in super::super) const BTREE: u32 = 2;
    pub(in super::super) const BTREE_NODE: u32 = 3;
    pub(in super::super) const CHUNK_ADDRESSES: u32 = 6;
    pub(in super::super) const CHUNK_INFOS: u32 = 7;
    pub(in super::super) const FREE_QUEUE: u32 = 9;
    pub(in super::super) const OBJECT_MAP: u32 = 0xb;
    pub(in super::super) const CHECKPOINT_MAP: u32 = 0xc;
    pub(in super::super) const VOLUME: u32 = 0xd;
    pub(in super::super) const CATALOGUE: u32 = 0xe;
    pub(in super::super) const EXTENT_REFERENCES: u32 = 0xf;
    pub(in super::super) const SNAPSHOTS: u32 = 0x10;
    pub(in super::super) const OBJECT_MAP_SNAPSHOTS: u32 = 0x13;
    pub(in super::super) const FILE_EXTENTS: u32 = 0x1f;
}

/// The bits of a type that say where an object is stored ("Object Type Flags").
const STORAGE_MASK: u32 = 0xc000_0000;

/// Those bits of an object that only a checkpoint has (OBJ_EPHEMERAL).
const EPHEMERAL: u32 = 0x8000_0000;

/// The header of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) checksum: u64,
    pub(super) oid: u64,
    pub(super) xid: u64,
    pub(super) kind: u32,
    pub(super) subtype: u32,
}

impl Header {
    pub(super) fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        let (checksum, oid, xid) = (r.u64_le()?, r.u64_le()?, r.u64_le()?);
        Ok(Self { checksum, oid, xid, kind: r.u32_le()?, subtype: r.u32_le()? })
    }

    /// The type without its flags.
    pub(super) fn object_type(&self) -> u32 {
        self.kind & 0xffff
    }

    /// Whether only a checkpoint has the object.
    pub(super) fn is_ephemeral(&self) -> bool {
        self.kind & STORAGE_MASK == EPHEMERAL
    }
}

/// The checksum of an object, whose first eight bytes hold it: Fletcher's, of the 32-bit words after it ("obj_phys_t").
pub(super) fn fletcher64(object: &[u8]) -> u64 {
    const MODULUS: u64 = 0xffff_ffff;
    let (mut sum, mut sums) = (0_u64, 0_u64);
    // A run of 8,192 words cannot overflow the sums.
    for run in object.get(8..).unwrap_or_default().chunks(8192 * 4) {
        for word in run.chunks_exact(4) {
            sum += u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
            sums += sum;
        }
        sum %= MODULUS;
        sums %= MODULUS;
    }
    let low = MODULUS - (sum + sums) % MODULUS;
    let high = MODULUS - (sum + low) % MODULUS;
    high << 32 | low
}

/// Whether an object has the checksum that its header says.
pub(super) fn is_intact(object: &[u8]) -> bool {
    let stored = object.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    stored == Some(fletcher64(object))
}
