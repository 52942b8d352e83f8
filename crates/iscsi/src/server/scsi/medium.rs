//! The bytes of a logical unit: the places of blocks, reads and writes, and the release of space.

use bytes::Bytes;
use vfs::Payload;
use vfs::backend::Stability;

use super::{CommandRefusal, LogicalUnit, limits};
use crate::wire::scsi::{Asc, Key, Sense, WrongField};

impl LogicalUnit {
    /// The place of `count` blocks from `lba` on, as offset and length in bytes; LBA OUT OF RANGE
    /// if they do not exist.
    pub(crate) fn range(&self, lba: u64, count: u64) -> Result<(u64, u64), CommandRefusal> {
        let blocks = self.blocks();
        let fits = lba.checked_add(count).is_some_and(|end| end <= blocks);
        if !fits {
            return Err(Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(lba.max(blocks)).into());
        }
        let size = u64::from(self.block_size());
        Ok((lba * size, count * size))
    }

    /// Like `range`; a count of 0 means all blocks up to the end.
    pub(super) fn range_to_end(&self, lba: u64, count: u32) -> Result<(u64, u64), CommandRefusal> {
        match count {
            0 => self.range(lba, self.blocks().saturating_sub(lba)),
            count => self.range(lba, u64::from(count)),
        }
    }

    /// Like `range`, for blocks that are transferred from or to the initiator: at most
    /// [`limits::TRANSFER_BYTES`].
    pub(crate) fn transfer(&self, cdb: &[u8], lba: u64, count: u32) -> Result<(u64, u64), CommandRefusal> {
        if count > limits::TRANSFER_BYTES / self.block_size() {
            return Err(Sense::in_cdb(count_at(cdb)).into());
        }
        self.range(lba, u64::from(count))
    }

    /// Reads bytes. Bytes that were never written are zeros.
    pub(crate) async fn read(&self, offset: u64, length: usize) -> Result<Payload, CommandRefusal> {
        let payload = match self.open()?.read_at(offset, length).await {
            Ok(read) => read.payload,
            Err(error) => return Err(self.at(offset, error.into())),
        };
        if payload.len() < length {
            // The file was truncated outside of this server.
            return Err(unread((offset + payload.len() as u64) / u64::from(self.block_size())));
        }
        Ok(payload)
    }

    /// Writes bytes; they need not reach the disk. No COMPARE AND WRITE or ORWRITE runs meanwhile.
    pub(crate) async fn write(&self, offset: u64, data: Bytes) -> Result<(), CommandRefusal> {
        let _shared = self.gate.shared().await;
        self.write_alone(offset, data).await
    }

    /// Like `write`, for callers that hold the gate.
    pub(super) async fn write_alone(&self, offset: u64, mut data: Bytes) -> Result<(), CommandRefusal> {
        self.is_there(offset, data.len() as u64)?;
        let (open, mut at) = (self.open()?, offset);
        while !data.is_empty() {
            // Up to the next multiple, so that pieces are aligned like the pages of the host's
            // cache.
            let length = (limits::WRITE_PIECE - at % limits::WRITE_PIECE).min(data.len() as u64);
            let piece = data.split_to(length as usize);
            let written = open.write_at(at, piece, Stability::Unstable).await;
            written.map_err(|error| self.at(at, CommandRefusal::writing(error)))?;
            at += length;
        }
        Ok(())
    }

    /// Refuses a write that would make the file longer: the unit has become smaller since the
    /// command was checked.
    fn is_there(&self, offset: u64, length: u64) -> Result<(), CommandRefusal> {
        match offset.checked_add(length) {
            Some(end) if end <= self.size() => Ok(()),
            _ => Err(Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(self.blocks()).into()),
        }
    }

    /// Makes a range read as zeros, and releases its space if the host can.
    pub(super) async fn punch(&self, offset: u64, length: u64) -> Result<(), CommandRefusal> {
        let _shared = self.gate.shared().await;
        let punched = self.open()?.punch(offset, length).await;
        punched.map_err(|error| self.at(offset, CommandRefusal::writing(error)))
    }

    /// Copies bytes of another unit, or of this one, in the host, which shares the blocks if it
    /// can.
    pub(super) async fn copy_from(
        &self,
        source: &Self,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<(), CommandRefusal> {
        let _shared = self.gate.shared().await;
        self.is_there(to, length)?;
        let copied = self.open()?.copy_from(source.open()?, from, to, length).await;
        let copied = copied.map_err(|error| self.at(to, CommandRefusal::writing(error)))?;
        if copied < length {
            return Err(unread((from + copied) / u64::from(source.block_size()))); // // truncated
        }
        Ok(())
    }

    /// Adds the block to an error of the medium.
    fn at(&self, offset: u64, refusal: CommandRefusal) -> CommandRefusal {
        match refusal {
            CommandRefusal::Check(sense) if matches!(sense.key, Key::MEDIUM_ERROR | Key::DATA_PROTECT) => {
                CommandRefusal::Check(sense.about(offset / u64::from(self.block_size())))
            }
            other => other,
        }
    }
}

/// A block that cannot be read.
pub(super) fn unread(lba: u64) -> CommandRefusal {
    Sense::new(Key::MEDIUM_ERROR, Asc::UNRECOVERED_READ_ERROR).about(lba).into()
}

/// Refuses protection information, which no unit supports: a non-zero value of RDPROTECT, WRPROTECT
/// and the like.
pub(super) fn unprotected(protect: u8) -> Result<(), CommandRefusal> {
    if protect == 0 {
        return Ok(());
    }
    let field = Some(WrongField { in_cdb: true, byte: 1, bit: Some(7) });
    Err(Sense { field, ..Sense::illegal(Asc::INVALID_FIELD_IN_CDB) }.into())
}

/// The byte of a command at which the number of blocks begins.
pub(super) fn count_at(cdb: &[u8]) -> u16 {
    match cdb.first().map(|opcode| opcode >> 5) {
        Some(1 | 2) => 7,
        Some(4) => 10,
        Some(5) => 6,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::Error;
    use vfs::backend::faulty::{Call, Faulty};
    use vfs::backend::memory::Memory;

    use super::*;
    use crate::server::scsi::UnitOptions;
    use crate::server::scsi::testing::Disk;

    async fn disk() -> (Arc<Faulty>, Disk) {
        let faulty = Arc::new(Faulty::new(Memory::ticking()));
        let disk = Disk::on(faulty.clone(), 64, UnitOptions { block_size: 512, read_only: false }).await;
        (faulty, disk)
    }

    fn sense(key: Key, asc: Asc, about: u64) -> CommandRefusal {
        Sense::new(key, asc).about(about).into()
    }

    /// SBC-3 4.7.3.6: there is no space for a block of a thin unit.
    #[tokio::test]
    async fn a_full_disk_is_told_with_the_block_that_has_no_room() {
        let (faulty, disk) = disk().await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let full = sense(Key::DATA_PROTECT, Asc::SPACE_ALLOCATION_FAILED, 5);
        for (call, cdb, data) in [
            (Call::WriteAt, &[0x2a, 0, 0, 0, 0, 5, 0, 0, 2, 0][..], vec![1; 1024]),
            (Call::WriteAt, &[0x41, 0, 0, 0, 0, 5, 0, 0, 2, 0], vec![1; 512]),
            (Call::WriteAt, &[0x89, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0], vec![0; 1024]),
            (Call::WriteAt, &[0x8b, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0], vec![1; 512]),
            (Call::Punch, &[0x41, 8, 0, 0, 0, 5, 0, 0, 2, 0], vec![0; 512]),
        ] {
            faulty.plan().fail(1, Some(call), Error::NoSpace);
            assert_eq!(disk.send(&ada, cdb, &data).await.unwrap_err(), full, "{cdb:02x?}");
        }
    }

    #[tokio::test]
    async fn blocks_that_cannot_be_read_or_written_are_errors_of_the_medium() {
        let (faulty, disk) = disk().await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        faulty.plan().fail(1, Some(Call::WriteAt), Error::Io);
        let failed = disk.send(&ada, &[0x2a, 0, 0, 0, 0, 5, 0, 0, 1, 0], &[1; 512]).await.unwrap_err();
        assert_eq!(failed, sense(Key::MEDIUM_ERROR, Asc::WRITE_ERROR, 5));
        disk.send(&ada, &[0x2a, 0, 0, 0, 0, 5, 0, 0, 1, 0], &[1; 512]).await.unwrap();
        let unread = sense(Key::MEDIUM_ERROR, Asc::UNRECOVERED_READ_ERROR, 5);
        for cdb in [[0x28, 0, 0, 0, 0, 5, 0, 0, 1, 0], [0x34, 0, 0, 0, 0, 5, 0, 0, 1, 0]] {
            faulty.plan().fail(1, Some(Call::ReadAt), Error::Io);
            assert_eq!(disk.send(&ada, &cdb, b"").await.unwrap_err(), unread);
        }
        faulty.plan().fail(1, Some(Call::ReadAt), Error::Io);
        let verified = disk.send(&ada, &[0x2f, 2, 0, 0, 0, 5, 0, 0, 1, 0], &[1; 512]).await.unwrap_err();
        assert_eq!(verified, unread);
    }

    #[tokio::test]
    async fn a_file_that_was_cut_off_below_us_has_blocks_that_cannot_be_read() {
        let (_, disk) = disk().await;
        disk.unit.open().unwrap().truncate(1024).await.unwrap();
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let failed = disk.send(&ada, &[0x28, 0, 0, 0, 0, 1, 0, 0, 2, 0], b"").await.unwrap_err();
        assert_eq!(failed, sense(Key::MEDIUM_ERROR, Asc::UNRECOVERED_READ_ERROR, 2));
    }

    #[tokio::test]
    async fn what_comes_for_blocks_that_have_gone_does_not_bring_them_back() {
        let (_, disk) = disk().await;
        disk.unit.resize(4096).await.unwrap();
        let late = disk.unit.write(8192, vec![1; 512].into()).await.unwrap_err();
        assert_eq!(late, Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(8).into());
        assert_eq!(disk.unit.open().unwrap().size().await.unwrap(), 4096);
    }
}
