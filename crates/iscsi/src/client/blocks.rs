//! Commands that every disk supports, SPC-4 and SBC-3.

use wire::{Malformed, Reader, Writer};

use super::{Client, Data, Error, Link, Result};
use crate::wire::scsi::Key;

/// Bytes of a block, by default.
pub(super) const BLOCK: u32 = 512;
/// The most unit attentions that a unit may report.
const MAX_ATTENTIONS: usize = 32;

impl<L: Link> Client<L> {
    /// Sends TEST UNIT READY until the unit has reported all unit attentions.
    pub fn until_ready(&mut self, lun: u16) -> Result<()> {
        for _ in 0..MAX_ATTENTIONS {
            match self.execute(lun, &[0; 6], Data::None)?.well() {
                Ok(_) => return Ok(()),
                Err(Error::Command(_, Some((Key::UNIT_ATTENTION, _)))) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Malformed("unit attentions without an end").into())
    }

    /// READ (16) of blocks of 512 bytes.
    pub fn read(&mut self, lun: u16, lba: u64, count: u32) -> Result<Vec<u8>> {
        self.execute(lun, &command_16(0x88, 0, lba, count), Data::In(count * BLOCK))?.well()
    }

    /// WRITE (16) of blocks of 512 bytes. `force` sets FUA: the data go to the disk.
    pub fn write(&mut self, lun: u16, lba: u64, data: &[u8], force: bool) -> Result<()> {
        let flags = if force { 0x08 } else { 0 };
        let cdb = command_16(0x8a, flags, lba, data.len() as u32 / BLOCK);
        self.execute(lun, &cdb, Data::Out(data))?.well().map(drop)
    }

    /// SYNCHRONIZE CACHE (16) of the whole unit.
    pub fn synchronize(&mut self, lun: u16) -> Result<()> {
        self.execute(lun, &command_16(0x91, 0, 0, 0), Data::None)?.well().map(drop)
    }

    /// READ CAPACITY (16): the number of blocks, and the bytes of one block.
    pub fn capacity(&mut self, lun: u16) -> Result<(u64, u32)> {
        let mut w = Writer::new();
        w.put(&[0x9e, 0x10]);
        w.u64_be(0);
        w.u32_be(32);
        w.zeros(2);
        let data = self.execute(lun, w.as_bytes(), Data::In(32))?.well()?;
        let mut r = Reader::new(&data);
        let (last, size) = (r.u64_be()?, r.u32_be()?);
        Ok((last.checked_add(1).ok_or(Malformed("a capacity that no disk has"))?, size))
    }

    /// INQUIRY: the standard data.
    pub fn inquiry(&mut self, lun: u16) -> Result<Vec<u8>> {
        self.execute(lun, &[0x12, 0, 0, 0, 255, 0], Data::In(255))?.well()
    }
}

/// A command of 16 bytes, SPC-4 4.2.5.4.
#[must_use]
pub fn command_16(opcode: u8, flags: u8, lba: u64, count: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1]) = (opcode, flags);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&count.to_be_bytes());
    cdb
}
