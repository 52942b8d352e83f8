//! Sparse images (`.sparseimage`): one file with index nodes, which say the band of the disk that each band of the file is.
//!
//! libyal, "Mac OS disk image types", section "Sparse disk image"; further index nodes as Apple's `hdiutil` writes them: the
//! first one has 1,008 bands, the others 1,010 after a header of 56 bytes. All numbers are big-endian.

use std::collections::HashMap;
use std::sync::Arc;

use crate::part::{check_range, read_vec};
use crate::{Error, ReadAt, Result, decode};

/// How a sparse image begins.
pub(super) const MAGIC: &[u8] = b"sprs";

const SECTOR: u64 = 512;
const NODE: u64 = 4096;
/// Bytes before the numbers of bands in the first node, and in another.
const FIRST_HEADER: usize = 64;
const HEADER: usize = 56;
/// The most bands of an image: 16 TiB in bands of 1 MiB, 200 MB of memory.
const MAX_BANDS: usize = 1 << 24;

/// An open sparse image.
pub(super) struct SparseImage {
    file: Arc<dyn ReadAt>,
    size: u64,
    band: u64,
    /// Where the bands of the disk are in the file. One that is missing reads as zeros.
    places: HashMap<u64, u64>,
}

struct FirstNode {
    sectors_per_band: u32,
    sectors: u64,
    next: u64,
}

impl SparseImage {
    pub(super) fn open(file: Arc<dyn ReadAt>) -> Result<Self> {
        let head = read_vec(file.as_ref(), 0, NODE as usize)?;
        let first = decode("header of the sparse image", 0, &head, |r| {
            r.skip(8)?; // signature, version
            let sectors_per_band = r.u32_be()?;
            r.skip(4)?; // flags
            let low = u64::from(r.u32_be()?);
            let (next, whole) = (r.u64_be()?, r.u64_be()?);
            Ok(FirstNode { sectors_per_band, sectors: if whole == 0 { low } else { whole }, next })
        })?;
        let damaged = |problem: &str| Error::damaged("header of the sparse image", 0, problem);
        let band = u64::from(first.sectors_per_band) * SECTOR;
        if band == 0 {
            return Err(damaged("its bands have no sectors"));
        }
        let size = first.sectors.checked_mul(SECTOR).ok_or_else(|| damaged("it has too many sectors"))?;
        let mut image = Self { file, size, band, places: HashMap::new() };
        image.read_nodes(&head, first.next)?;
        Ok(image)
    }

    /// The bands follow the node that lists them, in its order. The place of the next node is in its header.
    fn read_nodes(&mut self, first: &[u8], next: u64) -> Result<()> {
        let (mut node, mut place, mut next) = (first[FIRST_HEADER..].to_vec(), 0, next);
        loop {
            self.add(&node, place)?;
            if next == 0 {
                return Ok(());
            }
            if next <= place || !next.is_multiple_of(SECTOR) {
                return Err(Error::damaged(
                    "index node of the sparse image",
                    place,
                    "the next node is before it",
                ));
            }
            place = next;
            let bytes = read_vec(self.file.as_ref(), place, NODE as usize)?;
            if !bytes.starts_with(MAGIC) {
                return Err(Error::damaged("index node of the sparse image", place, "it has no signature"));
            }
            next = decode("index node of the sparse image", place, &bytes, |r| {
                r.skip(12)?; // signature, number, flags
                r.u64_be()
            })?;
            node = bytes[HEADER..].to_vec();
        }
    }

    fn add(&mut self, numbers: &[u8], node: u64) -> Result<()> {
        for (index, number) in numbers.chunks_exact(4).enumerate() {
            let number = decode("index node of the sparse image", node, number, |r| r.u32_be())?;
            if number == 0 {
                continue;
            }
            let at = node + NODE + index as u64 * self.band;
            let band = u64::from(number) - 1;
            let is_inside = band.checked_mul(self.band).is_some_and(|start| start < self.size);
            let is_stored = at < self.file.length() && self.places.len() < MAX_BANDS;
            if !is_inside || !is_stored || self.places.insert(band, at).is_some() {
                let problem = format!("band {number} is outside, or listed twice");
                return Err(Error::damaged("index node of the sparse image", node, problem));
            }
        }
        Ok(())
    }
}

impl ReadAt for SparseImage {
    fn length(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range("sparse image", self.size, offset, buffer.len())?;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let inside = at % self.band;
            let count = left.len().min(usize::try_from(self.band - inside).unwrap_or(usize::MAX));
            let (piece, rest) = left.split_at_mut(count);
            match self.places.get(&(at / self.band)) {
                // The last band of a file may be shorter than the others.
                Some(place) => {
                    let stored = self.file.length().saturating_sub(place + inside);
                    let (data, hole) =
                        piece.split_at_mut(count.min(usize::try_from(stored).unwrap_or(usize::MAX)));
                    self.file.read_at(place + inside, data)?;
                    hole.fill(0);
                }
                None => piece.fill(0),
            }
            at += count as u64;
            left = rest;
        }
        Ok(())
    }
}
