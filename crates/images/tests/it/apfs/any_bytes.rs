//! Whatever the bytes are: calls return, and nothing panics. Checksums are made right, so that changes reach what is behind them.

use std::sync::Arc;

use images::check::{Observer, Problem, Progress, Resume, Steps};
use images::tree::{FileSystem, Fork, NodeId};
use images::{ReadAt, apfs};

use super::content::Names;
use super::disk::{BLOCK, Disk};
use super::writer::ContainerWriter;
use super::{objects, passphrase, pattern};

/// How many changed images are read. `FOURFOLD_MANY` multiplies it.
const CHANGES: u64 = 30;

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) -> bool {
        true
    }

    fn problem(&mut self, _: Problem) {}
}

fn small() -> Disk {
    let mut container = ContainerWriter::new();
    let volume = container.volume("V", Names::Folded, None);
    let folder = container.folder(volume, 2, "folder");
    let file = container.file(volume, folder, "file", &pattern(9000));
    container.hard_link(volume, file, 2, "other");
    container.attribute(volume, file, "com.apple.ResourceFork", &pattern(5000));
    container.attribute(volume, file, "user.x", b"x");
    container.link(volume, 2, "link", "other");
    container.snapshot(volume, "s");
    for number in 0..60 {
        container.file(volume, folder, &format!("a file with the number {number}"), b"");
    }
    container.finish()
}

fn read_all(files: &dyn FileSystem) {
    let mut nodes: Vec<NodeId> = vec![files.root()];
    let mut buffer = vec![0; 10_000];
    let mut at = 0;
    while at < nodes.len().min(200) {
        let node = nodes[at];
        at += 1;
        let _ = (files.node(node), files.link_target(node), files.parent(node));
        for (fork, offset) in [(Fork::Data, 100), (Fork::Resource, 0), (Fork::Data, u64::MAX)] {
            let _ = files.read(node, fork, offset, &mut buffer);
        }
        for name in files.attribute_names(node).unwrap_or_default() {
            let _ = files.attribute(node, &name);
        }
        let mut after: Option<String> = None;
        let mut pages = 0;
        while let Ok(page) = files.entries(node, after.as_deref(), 7) {
            pages += 1;
            assert!(pages < 1000, "the pages of a folder end");
            for entry in &page.entries {
                let _ = files.lookup(node, &entry.name);
                nodes.push(entry.node);
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
}

#[test]
fn changed_images_are_read_without_a_panic() {
    let sound = small();
    let numbers: Vec<u64> = sound.blocks.keys().copied().collect();
    let many: u64 = std::env::var("FOURFOLD_MANY").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..CHANGES * many {
        let mut disk = sound.clone();
        for _ in 0..=random(3) {
            let number = numbers[random(numbers.len())];
            let block = disk.block(number);
            // What is not zero is what has a meaning.
            let places: Vec<usize> = (8..BLOCK).filter(|&at| block[at] != 0).collect();
            if places.is_empty() {
                continue;
            }
            let place = (places[random(places.len())] + random(3)).min(BLOCK - 1);
            block[place] = [0, 1, 0x7f, 0x80, 0xff, block[place] ^ 1, random(256) as u8][random(7)];
            objects::seal(block);
        }
        let disk: Arc<dyn ReadAt> = Arc::new(disk);
        let _ = apfs::check(Arc::clone(&disk), None, &mut Steps::new(&mut Silent, Resume::default()));
        for volume in apfs::volumes(&disk, Some(&passphrase())).unwrap_or_default() {
            volume.files.iter().for_each(|files| read_all(&**files));
            for snapshot in &volume.snapshots {
                (snapshot.open)().iter().for_each(|files| read_all(&**files));
            }
        }
    }
}
