//! A disk in memory that takes only what was written to it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use images::{Error, ReadAt, Result};

pub(crate) const BLOCK: usize = 4096;

#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) blocks: BTreeMap<u64, Vec<u8>>,
    pub(crate) count: u64,
}

impl Disk {
    pub(crate) fn write(&mut self, block: u64, bytes: &[u8]) {
        for (index, part) in bytes.chunks(BLOCK).enumerate() {
            let mut part = part.to_vec();
            part.resize(BLOCK, 0);
            self.blocks.insert(block + index as u64, part);
        }
    }

    /// A block as it is, for damage.
    pub(crate) fn block(&mut self, block: u64) -> &mut Vec<u8> {
        self.blocks.entry(block).or_insert_with(|| vec![0; BLOCK])
    }

    pub(crate) fn save(&self, path: &Path) {
        let mut file = std::fs::File::create(path).unwrap();
        file.set_len(self.count * BLOCK as u64).unwrap();
        for (block, bytes) in &self.blocks {
            std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(block * BLOCK as u64)).unwrap();
            file.write_all(bytes).unwrap();
        }
    }
}

impl ReadAt for Disk {
    fn length(&self) -> u64 {
        self.count * BLOCK as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.length()) {
            return Err(Error::Damaged {
                structure: "disk".into(),
                place: offset,
                problem: "behind its end".into(),
            });
        }
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let (block, within) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let take = (buffer.len() - done).min(BLOCK - within);
            match self.blocks.get(&block) {
                Some(bytes) => buffer[done..done + take].copy_from_slice(&bytes[within..within + take]),
                None => buffer[done..done + take].fill(0),
            }
            done += take;
        }
        Ok(())
    }
}
