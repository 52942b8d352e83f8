//! How much one command may do. The block limits page of INQUIRY tells initiators; the commands refuse more.

/// Most bytes that one command may read or write.
pub(crate) const TRANSFER_BYTES: u32 = 32 << 20;
/// Bytes in one command that suit us best.
pub(crate) const OPTIMAL_BYTES: u32 = 1 << 20;
/// What the host's file systems give and take at a time, and where the addresses of blocks are aligned to, in bytes.
pub(crate) const PAGE_BYTES: u32 = 4096;
/// Most blocks of one COMPARE AND WRITE.
pub(crate) const COMPARE_AND_WRITE_BLOCKS: u8 = 255;
/// Most blocks that one UNMAP may give back, over all its descriptors.
pub(crate) const UNMAP_BLOCKS: u32 = 1 << 20;
/// Most descriptors of one UNMAP.
pub(crate) const UNMAP_DESCRIPTORS: u32 = 256;
/// Most blocks of one WRITE SAME. A WRITE SAME of no blocks, which would mean all, is refused.
pub(crate) const WRITE_SAME_BLOCKS: u64 = 1 << 20;
/// Bytes of a threshold set: what the space of a thin unit is counted in, SBC-3 4.7.3.7.
pub(crate) const THRESHOLD_SET_BYTES: u64 = 1 << 20;
