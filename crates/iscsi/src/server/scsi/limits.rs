//! How much one command may do. The block limits page of INQUIRY (SBC-3 6.6.3) tells initiators; the commands refuse more.

/// Most bytes that one command may read or write.
pub(crate) const TRANSFER_BYTES: u32 = 8 << 20;
/// Bytes in one command that suit us best.
pub(crate) const OPTIMAL_BYTES: u32 = 1 << 20;
/// What the host's file systems give and take at a time, and where the addresses of blocks are aligned to, in bytes.
pub(crate) const PAGE_BYTES: u32 = 4096;
/// Most blocks of one COMPARE AND WRITE: its command has no room for more.
pub(crate) const COMPARE_AND_WRITE_BLOCKS: u8 = 255;
/// Most blocks that one UNMAP may give back, over all its descriptors.
pub(crate) const UNMAP_BLOCKS: u32 = 1 << 20;
/// Most descriptors of one UNMAP.
pub(crate) const UNMAP_DESCRIPTORS: u32 = 256;
/// Most bytes that one WRITE SAME may fill. One of no blocks, which would mean all up to the end, is refused (WSNZ).
pub(crate) const WRITE_SAME_BYTES: u32 = TRANSFER_BYTES;
/// Bytes of a threshold set: what the space of a thin unit is counted in, SBC-3 4.7.3.7.
pub(crate) const THRESHOLD_SET_BYTES: u64 = 1 << 20;
/// Most bytes in memory for a command that goes on for long.
pub(crate) const PIECE_BYTES: u32 = 1 << 20;
/// Bytes that are written to the host's file at once. Linux keeps what is written at once in one folio of its cache, and ext4
/// looks at every block of a folio of which it writes one: after writes of 256 KiB a random one of 4 KiB takes 12 us, after
/// writes of 32 KiB 3.5 us, and long writes hardly notice.
pub(super) const WRITE_PIECE: u64 = 32 << 10;
