//! The content of files in chunks, and its checksum. Holes and zeros are the same.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// Bytes of a chunk.
pub(crate) const CHUNK: usize = 64 << 10;

/// SHA-256 of the size, and of the place and bytes of each chunk that has other bytes than zeros.
pub(crate) struct Checksum(Sha256);

impl Checksum {
    pub(crate) fn new(size: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(size.to_be_bytes());
        Self(hash)
    }

    pub(crate) fn add(&mut self, offset: u64, bytes: &[u8]) {
        self.0.update(offset.to_be_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The checksum of a file of this size.
pub(crate) fn checksum(file: &File, size: u64) -> io::Result<[u8; 32]> {
    let mut sum = Checksum::new(size);
    each_chunk(file, size, &mut |offset, bytes| {
        sum.add(offset, bytes);
        Ok::<(), io::Error>(())
    })?;
    Ok(sum.end())
}

/// Calls `see` for each chunk of the first `size` bytes that has other bytes than zeros, in their order.
pub(crate) fn each_chunk<E: From<io::Error>>(
    file: &File,
    size: u64,
    see: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    while at < size {
        let (data, hole) = match seek(file, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => return Ok(()),
            // Without an answer, all is data.
            Err(_) => (at, size),
            Ok(data) => (data.max(at), seek(file, SeekFrom::Hole(data.max(at))).unwrap_or(size)),
        };
        let mut chunk = data - data % CHUNK as u64;
        while chunk < hole.min(size) {
            let length = (size - chunk).min(CHUNK as u64) as usize;
            let bytes = read(file, chunk, &mut buffer[..length])?;
            if !is_zero(bytes) {
                see(chunk, bytes)?;
            }
            chunk += CHUNK as u64;
        }
        at = chunk.max(at + 1);
    }
    Ok(())
}

/// Reads a whole range. What is behind the end of the file reads as zeros.
pub(crate) fn read<'a>(file: &File, offset: u64, into: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let mut done = 0;
    while done < into.len() {
        match file.read_at(&mut into[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    into[done..].fill(0);
    Ok(into)
}

pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_zeros_have_the_same_checksum_and_other_places_another() {
        let sum = |parts: &[(u64, &[u8])], size| {
            let file = tempfile::tempfile().unwrap();
            parts.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
            file.set_len(size).unwrap();
            checksum(&file, size).unwrap()
        };
        let sparse = sum(&[(200_000, b"end")], 300_000);
        assert_eq!(sum(&[(0, &[0; 150_000]), (200_000, b"end")], 300_000), sparse);
        assert_ne!(sum(&[(200_001, b"end")], 300_000), sparse);
        assert_ne!(sum(&[(200_000, b"end")], 300_001), sparse);
        // SHA-256 of eight zeros: the size of an empty file.
        assert_eq!(wire::hex::encode(&sum(&[], 0))[..16], *"af5570f5a1810b7a");
    }
}
