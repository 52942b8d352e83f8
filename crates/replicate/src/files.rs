//! The data of a file, sent whole or as the difference to an older file.

use std::fs::File;

use crate::content::{CHUNK, Checksum, each_chunk, is_zero, read};
use crate::failure::{Failure, Result};
use crate::link::Link;
use crate::wire::Message;

/// One file to send.
pub(crate) struct Sending<'a> {
    pub(crate) file: &'a File,
    pub(crate) size: u64,
    /// For messages.
    pub(crate) path: &'a [u8],
    /// Called with the number of bytes that were read.
    pub(crate) progress: &'a mut dyn FnMut(u64),
}

impl Sending<'_> {
    /// Sends the data from an offset on.
    pub(crate) fn whole(&mut self, from: u64, link: &mut Link) -> Result<()> {
        let mut sum = Checksum::new(self.size);
        let progress = &mut self.progress;
        each_chunk(self.file, self.size, &mut |offset, bytes| {
            sum.add(offset, bytes);
            progress(bytes.len() as u64);
            if offset + bytes.len() as u64 <= from {
                return Ok(());
            }
            link.send(&Message::Data { offset, bytes: bytes.to_vec() }).map_err(Either::Link)
        })
        .map_err(|why| why.of(self.path))?;
        link.send(&Message::End(sum.end()))
    }

    /// Sends the chunks that differ from an older file.
    pub(crate) fn difference(&mut self, older: &File, older_size: u64, link: &mut Link) -> Result<()> {
        let mut sum = Checksum::new(self.size);
        let progress = &mut self.progress;
        let mut other = vec![0; CHUNK];
        each_chunk(self.file, self.size, &mut |offset, bytes| {
            sum.add(offset, bytes);
            progress(bytes.len() as u64);
            if read(older, offset, &mut other[..bytes.len()]).map_err(Either::Io)? == bytes {
                return Ok(());
            }
            link.send(&Message::Data { offset, bytes: bytes.to_vec() }).map_err(Either::Link)
        })
        .map_err(|why| why.of(self.path))?;
        // What has become a hole, or zeros.
        let mut now = vec![0; CHUNK];
        each_chunk(older, older_size.min(self.size), &mut |offset, bytes| {
            if !is_zero(read(self.file, offset, &mut now[..bytes.len()]).map_err(Either::Io)?) {
                return Ok(());
            }
            link.send(&Message::Zeros { offset, length: bytes.len() as u64 }).map_err(Either::Link)
        })
        .map_err(|why: Either| why.of(self.path))?;
        link.send(&Message::End(sum.end()))
    }
}

/// What failed.
enum Either {
    Io(std::io::Error),
    Link(Failure),
}

impl From<std::io::Error> for Either {
    fn from(why: std::io::Error) -> Self {
        Self::Io(why)
    }
}

impl Either {
    fn of(self, path: &[u8]) -> Failure {
        match self {
            Self::Io(why) => Failure::io("read", path)(why),
            Self::Link(failure) => failure,
        }
    }
}
