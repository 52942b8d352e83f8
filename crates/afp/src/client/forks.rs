//! Forks.

use wire::Reader;

use super::files::ROOT;
use super::{Client, Error, Link, Result, path};
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
        let request =
            OpenFork { resource, volume, folder, bitmap: FileBitmap::empty(), access, path: path(name) };
        let reply = self.call(command::OPEN_FORK, |w| request.encode(w))?.well()?;
        Ok(ForkId(OpenForkReply::decode(&mut Reader::new(&reply))?.fork))
    }

    /// Writes all of `data`.
    pub fn write(&mut self, fork: ForkId, offset: i64, data: &[u8]) -> Result<()> {
        let request = fork::Write { from_end: false, fork: fork.0, offset, count: data.len() as i64 };
        let write = |w: &mut wire::Writer| request.encode(Width::Bits64, w);
        self.call_with_data(command::WRITE_EXT, write, data)?.well().map(drop)
    }

    /// Reads; returns fewer bytes than requested at the end of the fork.
    pub fn read(&mut self, fork: ForkId, offset: i64, count: i64) -> Result<Vec<u8>> {
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
}
