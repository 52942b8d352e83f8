//! Forks.

use wire::{Malformed, Reader};

use super::files::ROOT;
use super::{Client, Dialect, Error, Link, Result};
use crate::wire::fork::{self, AccessMode, OneFork, OpenFork, OpenForkReply, Width};
use crate::wire::{FileBitmap, ResultCode, command};

/// The server's number of an open fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkId(pub u16);

impl<L: Link> Client<L> {
    /// Opens the data fork of a file in the volume's root folder, for reading and writing.
    pub fn open_data(&mut self, volume: u16, name: &str) -> Result<ForkId> {
        self.open_fork((volume, ROOT, name), false, AccessMode(AccessMode::READ.0 | AccessMode::WRITE.0))
    }

    /// The same for its resource fork.
    pub fn open_resource(&mut self, volume: u16, name: &str) -> Result<ForkId> {
        self.open_fork((volume, ROOT, name), true, AccessMode(AccessMode::READ.0 | AccessMode::WRITE.0))
    }

    /// Opens a fork.
    pub fn open_fork(
        &mut self,
        (volume, folder, name): (u16, u32, &str),
        resource: bool,
        access: AccessMode,
    ) -> Result<ForkId> {
        let name = self.dialect.name(name);
        let (bitmap, path) = (FileBitmap::empty(), name.path());
        let request = OpenFork { resource, volume, folder, bitmap, access, path };
        let reply = self.call(command::OPEN_FORK, |w| request.encode(w))?.well()?;
        Ok(ForkId(OpenForkReply::decode(&mut Reader::new(&reply))?.fork))
    }

    /// Writes all of `data`.
    pub fn write(&mut self, fork: ForkId, offset: i64, data: &[u8]) -> Result<()> {
        if self.dialect == Dialect::Classic {
            return self.write_blocks(fork, offset, data);
        }
        let request = fork::Write { from_end: false, fork: fork.0, offset, count: data.len() as i64 };
        let write = |w: &mut wire::Writer| request.encode(Width::Bits64, w);
        self.call_with_data(command::WRITE_EXT, write, data)?.well().map(drop)
    }

    /// Reads; returns fewer bytes than requested at the end of the fork.
    pub fn read(&mut self, fork: ForkId, offset: i64, count: i64) -> Result<Vec<u8>> {
        if self.dialect == Dialect::Classic {
            return self.read_blocks(fork, offset, count);
        }
        let request = fork::Read { fork: fork.0, offset, count, newline_mask: 0, newline: 0 };
        let reply = self.call(command::READ_EXT, |w| request.encode(Width::Bits64, w))?;
        match reply.code() {
            ResultCode::NO_ERROR | ResultCode::EOF_ERROR => Ok(reply.payload),
            code => Err(Error::Refused(code)),
        }
    }

    /// Flushes written data to the disk.
    pub fn flush(&mut self, fork: ForkId) -> Result<()> {
        self.call(command::FLUSH_FORK, |w| OneFork { fork: fork.0 }.encode(w))?.well().map(drop)
    }

    /// Closes the fork.
    pub fn close(&mut self, fork: ForkId) -> Result<()> {
        self.call(command::CLOSE_FORK, |w| OneFork { fork: fork.0 }.encode(w))?.well().map(drop)
    }

    /// FPWrite, as often as needed: a server may take less than it is offered, and says where it stopped.
    fn write_blocks(&mut self, fork: ForkId, offset: i64, data: &[u8]) -> Result<()> {
        let mut done = 0;
        while done < data.len() {
            let block = &data[done..data.len().min(done + Dialect::BLOCK)];
            let at = offset + done as i64;
            let request =
                fork::Write { from_end: false, fork: fork.0, offset: at, count: block.len() as i64 };
            let write = |w: &mut wire::Writer| request.encode(Width::Bits32, w);
            let reply = self.call_with_data(command::WRITE, write, block)?.well()?;
            let end = i64::from(Reader::new(&reply).i32_be()?);
            let taken = usize::try_from(end - at).unwrap_or_default();
            if taken == 0 || taken > block.len() {
                return Err(Malformed("a write that took nothing, or more than there was").into());
            }
            done += taken;
        }
        Ok(())
    }

    /// FPRead, as often as needed.
    fn read_blocks(&mut self, fork: ForkId, offset: i64, count: i64) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        let count = usize::try_from(count).unwrap_or_default();
        while data.len() < count {
            let (at, most) = (offset + data.len() as i64, Dialect::BLOCK.min(count - data.len()));
            let request =
                fork::Read { fork: fork.0, offset: at, count: most as i64, newline_mask: 0, newline: 0 };
            let reply = self.call(command::READ, |w| request.encode(Width::Bits32, w))?;
            let is_end = match reply.code() {
                ResultCode::NO_ERROR => reply.payload.is_empty(),
                ResultCode::EOF_ERROR => true,
                code => return Err(Error::Refused(code)),
            };
            data.extend(reply.payload);
            if is_end {
                break;
            }
        }
        Ok(data)
    }
}
