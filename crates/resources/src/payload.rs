//! Data for a client: bytes in memory, or a range of a file that the kernel sends.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use formats::{Error, Result};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, pread};

use crate::LineLimiter;

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
            Self::File { fd, offset, length } => append(&fd, offset, length, into)?,
        }
        Ok(())
    }

    /// Whether nothing will be sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Appends `length` bytes of an open file from `offset`, fewer where the file ends before that.
fn append(fd: &OwnedFd, mut offset: u64, length: usize, into: &mut Vec<u8>) -> Result<()> {
    let end = into.len() + length;
    into.reserve_exact(length);
    while into.len() < end {
        // The vector may have more room than was asked for.
        let most = end - into.len();
        let read = match into.spare_capacity_mut().len() > most {
            true => {
                let start = into.len();
                into.resize(end, 0);
                let read = pread(fd, &mut into[start..], offset);
                into.truncate(start + *read.as_ref().unwrap_or(&0));
                read
            }
            false => pread(fd, spare_capacity(into), offset),
        };
        match read {
            Ok(0) => break,
            Ok(count) => offset += count as u64,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Ok(())
}

fn failed(errno: Errno) -> Error {
    static LIMITER: LineLimiter = LineLimiter::new();
    if let Some(left_out) = LIMITER.admit() {
        tracing::warn!(%errno, left_out, "a file could not be read on its way to a client");
    }
    if errno == Errno::STALE { Error::Stale } else { Error::Io }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file_of(bytes: &[u8]) -> Arc<OwnedFd> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Arc::new(file.into())
    }

    #[test]
    fn a_range_is_appended_whatever_room_there_is() {
        let fd = file_of(b"0123456789");
        for room in [0, 3, 100] {
            let mut bytes = Vec::with_capacity(2 + room);
            bytes.extend_from_slice(b"ab");
            Payload::File { fd: fd.clone(), offset: 3, length: 4 }.append_to(&mut bytes).unwrap();
            assert_eq!(bytes, b"ab3456");
        }
    }

    #[test]
    fn a_truncated_file_is_an_error_or_zeros() {
        let short = || Payload::File { fd: file_of(b"01"), offset: 1, length: 3 };
        assert_eq!(short().append_to(&mut Vec::new()), Err(Error::Io));
        let mut bytes = Vec::new();
        short().append_or_zeros_to(&mut bytes).unwrap();
        assert_eq!(bytes, b"1\0\0");
    }
}
