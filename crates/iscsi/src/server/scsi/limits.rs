//! The limits of one command. The block limits page of INQUIRY (SBC-3 6.6.3) reports them; commands
//! above them are refused.

/// The most bytes that one command may read or write.
pub(crate) const TRANSFER_BYTES: u32 = 8 << 20;
/// The best number of bytes in one command.
pub(crate) const OPTIMAL_BYTES: u32 = 1 << 20;
/// The allocation unit of the host's file systems, and the alignment of the blocks' addresses, in
/// bytes.
pub(crate) const PAGE_BYTES: u32 = 4096;
/// The most blocks of one COMPARE AND WRITE: its field holds no more.
pub(crate) const COMPARE_AND_WRITE_BLOCKS: u8 = 255;
/// The most blocks that one UNMAP may unmap, over all its descriptors.
pub(crate) const UNMAP_BLOCKS: u32 = 1 << 20;
/// The most descriptors of one UNMAP.
pub(crate) const UNMAP_DESCRIPTORS: u32 = 256;
/// The most bytes that one WRITE SAME may fill. Zero blocks, which would mean all blocks up to the
/// end, are refused (WSNZ).
pub(crate) const WRITE_SAME_BYTES: u32 = TRANSFER_BYTES;
/// Bytes of a threshold set: the unit in which the space of a thin unit is counted, SBC-3 4.7.3.7.
pub(crate) const THRESHOLD_SET_BYTES: u64 = 1 << 20;
/// The most bytes in memory for one long command.
pub(crate) const PIECE_BYTES: u32 = 1 << 20;
/// Bytes of one write to the host's file. Linux keeps the data of one write in one folio of its
/// cache, and ext4 examines every block of a folio when one of them is written. On ext4, pieces of
/// 32, 64, 128 and 1024 KiB cost 0.127, 0.103, 0.085 and 0.066 s/GB, and later random writes of 4 KiB
/// 2.4, 2.4, 2.3 to 3.9 and 5.6 to 10.7 us. XFS has no such cost (0.107, 0.079, 0.064 and 0.047 s/GB;
/// 1.9 us and less), for btrfs the length makes no difference.
pub(super) const WRITE_PIECE: u64 = 64 << 10;
