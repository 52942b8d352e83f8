//! Containers of APFS: opened, listed and checked, whatever the bytes are.
//!
//! An input is a list of blocks, the last ones first, each as the pieces of it that are not zero; see `InputBlocks::parse`.
//! Checksums are made right when a block is read, so that changes of an input reach what is behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use images::apfs;
use images::check::{Observer, Problem, Progress, Resume, Steps};
use images::tree::{FileSystem, Fork, NodeId};
use images::{Error, Passphrase, ReadAt, Result};
use wire::Reader;

const BLOCK: usize = 4096;
/// 512 MiB: as long as the containers of the tests in `images`.
const LENGTH: u64 = 512 << 20;
/// That of the encrypted volumes of the seeds.
const PASSPHRASE: &str = "correct horse battery staple";
/// How many nodes are looked at, and how many bytes of each are read.
const MOST_NODES: usize = 50;
const MOST_BYTES: usize = 8192;

/// The blocks of an input; all others are zeros.
struct InputBlocks(BTreeMap<u64, Vec<u8>>);

impl InputBlocks {
    /// Blocks: number (32 bits), count of pieces (8 bits); pieces: place and length (16 bits each), bytes.
    fn parse(input: &[u8]) -> Self {
        let mut blocks = BTreeMap::new();
        let mut r = Reader::new(input);
        while let (Ok(number), Ok(count)) = (r.u32_le(), r.u8()) {
            let mut block = vec![0; BLOCK];
            for _ in 0..count {
                let (Ok(place), Ok(length)) = (r.u16_le(), r.u16_le()) else { break };
                let Ok(bytes) = r.take(length.into()) else { break };
                let place = usize::from(place) % BLOCK;
                let length = bytes.len().min(BLOCK - place);
                block[place..place + length].copy_from_slice(&bytes[..length]);
            }
            blocks.insert(number.into(), block);
        }
        // Without its first block it is no container, and what follows would take time.
        let is_container = blocks.contains_key(&0);
        for block in blocks.values_mut().filter(|_| is_container) {
            let checksum = apfs::checksum(block);
            block[..8].copy_from_slice(&checksum.to_le_bytes());
        }
        Self(blocks)
    }
}

impl ReadAt for InputBlocks {
    fn length(&self) -> u64 {
        LENGTH
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > LENGTH) {
            return Err(Error::NotFound);
        }
        buffer.fill(0);
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let (block, within) = (at / BLOCK as u64, at as usize % BLOCK);
            let take = (buffer.len() - done).min(BLOCK - within);
            if let Some(bytes) = self.0.get(&block) {
                buffer[done..done + take].copy_from_slice(&bytes[within..within + take]);
            }
            done += take;
        }
        Ok(())
    }
}

struct ProblemCount(u64);

impl Observer for ProblemCount {
    fn progress(&mut self, _: &Progress) -> bool {
        true
    }

    fn problem(&mut self, _: Problem) {
        self.0 += 1;
    }
}

/// A container of APFS.
pub fn apfs_container(input: &[u8]) {
    let disk: Arc<dyn ReadAt> = Arc::new(InputBlocks::parse(input));
    if !apfs::is_container(&*disk) {
        return;
    }
    let mut count = ProblemCount(0);
    let _ = apfs::check(Arc::clone(&disk), None, &mut Steps::new(&mut count, Resume::default()));
    let passphrase = Passphrase::new(PASSPHRASE.to_owned());
    for volume in apfs::volumes(&disk, Some(&passphrase)).unwrap_or_default() {
        volume.files.iter().for_each(|files| look_around(&**files));
        for snapshot in volume.snapshots.iter().take(3) {
            (snapshot.open)().iter().for_each(|files| look_around(&**files));
        }
    }
}

/// Lists and reads what there is, from the root.
fn look_around(files: &dyn FileSystem) {
    let mut nodes: Vec<NodeId> = vec![files.root()];
    let mut buffer = vec![0; MOST_BYTES];
    let mut next = 0;
    while let Some(&node) = nodes.get(next).filter(|_| next < MOST_NODES) {
        next += 1;
        let _ = (files.node(node), files.parent(node), files.link_target(node));
        for fork in [Fork::Data, Fork::Resource] {
            if let Ok(read) = files.read(node, fork, 100, &mut buffer) {
                assert!(read <= MOST_BYTES);
            }
        }
        for name in files.attribute_names(node).unwrap_or_default() {
            let _ = files.attribute(node, &name);
        }
        let mut after: Option<String> = None;
        for _ in 0..MOST_NODES {
            let Ok(page) = files.entries(node, after.as_deref(), 3) else { break };
            for entry in &page.entries {
                let _ = files.lookup(node, &entry.name);
            }
            nodes.extend(page.entries.iter().map(|entry| entry.node));
            match page.next {
                Some(name) => after = Some(name),
                None => break,
            }
        }
    }
}
