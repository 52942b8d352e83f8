//! Reads the contents of files for an index, each file in a process of its own that has given up everything.

use std::io::{Error, Result};

use extract::{Extractor, Source, Worker};
use search::{ContentReader, Contents};

/// The files of an index, read by processes of this program.
pub(super) struct ContentWorker(Worker);

impl ContentWorker {
    pub(super) fn new() -> Self {
        Self(Worker::of_this_program())
    }
}

impl ContentReader for ContentWorker {
    fn is_of_interest(&self, name: &str, length: u64) -> bool {
        length > 0 && extract::is_of_interest(name)
    }

    fn read(
        &self,
        name: &str,
        length: u64,
        read_at: &mut dyn FnMut(u64, usize) -> vfs::Result<Vec<u8>>,
    ) -> Option<Contents> {
        match self.0.extract(name, &mut IndexedFile { length, read_at }) {
            Ok(found) => {
                let mut contents = Contents { text: found.text, ..Contents::default() };
                contents.facts.extend(found.facts);
                Some(contents)
            }
            Err(error) => {
                tracing::debug!(name, %error, "the contents of a file are not indexed");
                None
            }
        }
    }
}

/// The bytes of a file, as an index gives them.
struct IndexedFile<'a> {
    length: u64,
    read_at: &'a mut dyn FnMut(u64, usize) -> vfs::Result<Vec<u8>>,
}

impl Source for IndexedFile<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&mut self, place: u64, buffer: &mut [u8]) -> Result<usize> {
        let bytes = (self.read_at)(place, buffer.len()).map_err(Error::other)?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }
}
