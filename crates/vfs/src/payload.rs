//! Data for a client: bytes in memory, or a range of a file that the kernel sends.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::{Error, Result};
use crate::backend::host;

/// Data on its way to a client, copied as late as possible or not at all.
#[derive(Debug, Clone)]
pub enum Payload {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// A range of a host file, every page of which was in memory a moment ago: to be sent with sendfile(2).
    File {
        /// Open for reading.
        fd: Arc<OwnedFd>,
        /// Where the range starts.
        offset: u64,
        /// Its length in bytes.
        length: usize,
    },
}

impl Payload {
    /// How many bytes will be sent.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File { length, .. } => *length,
        }
    }

    /// Appends all of it. `Io` when the file has been truncated meanwhile.
    pub fn append_to(self, into: &mut Vec<u8>) -> Result<()> {
        let end = into.len() + self.len();
        self.append_what_is_there(into)?;
        if into.len() == end { Ok(()) } else { Err(Error::Io) }
    }

    /// Appends as many bytes as it is long, for a reply that has promised its length: zeros where the file has been
    /// truncated meanwhile.
    pub fn append_or_zeros_to(self, into: &mut Vec<u8>) -> Result<()> {
        let end = into.len() + self.len();
        self.append_what_is_there(into)?;
        into.resize(end, 0);
        Ok(())
    }

    fn append_what_is_there(self, into: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Bytes(bytes) => into.extend_from_slice(&bytes),
            Self::File { fd, offset, length } => host::append(&fd, offset, length, into)?,
        }
        Ok(())
    }

    /// Whether nothing will be sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
