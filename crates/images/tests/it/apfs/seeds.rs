//! The seeds of the fuzz target `images_apfs`: small containers. `WRITE_SEEDS=1 cargo test -p images --test it seeds` writes
//! them anew when the writer has changed.

use std::path::Path;

use wire::Writer;

use super::content::Names;
use super::disk::Disk;
use super::writer::ContainerWriter;
use super::{PASSPHRASE, pattern};

/// How many zeros end a piece.
const GAP: usize = 8;

/// The blocks of a container but those that are encrypted, the last ones first, so that the beginning of an input is no container: see
/// `fuzzed/src/images.rs`.
fn input(disk: &Disk) -> Vec<u8> {
    let mut w = Writer::new();
    let is_text = |block: &[u8]| block.iter().filter(|&&byte| byte == 0).count() > block.len() / 2;
    for (number, block) in disk.blocks.iter().rev().filter(|(_, block)| is_text(block)) {
        // The checksum is made right by the target.
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        for at in (8..block.len()).filter(|&at| block[at] != 0) {
            match pieces.last_mut() {
                Some((_, end)) if at < *end + GAP => *end = at + 1,
                _ => pieces.push((at, at + 1)),
            }
        }
        w.u32_le(*number as u32);
        w.u8(u8::try_from(pieces.len()).expect("a block of a seed has few pieces"));
        for (from, end) in pieces {
            w.u16_le(from as u16);
            w.u16_le((end - from) as u16);
            w.put(&block[from..end]);
        }
    }
    w.into_bytes()
}

fn small(names: Names, passphrase: Option<&str>) -> Disk {
    let mut container = ContainerWriter::new();
    container.has_plain_keybags = true;
    let volume = container.volume("V", names, passphrase);
    if passphrase.is_none() {
        let folder = container.folder(volume, 2, "é");
        let file = container.file(volume, folder, "f", b"data");
        container.hard_link(volume, file, 2, "g");
        container.attribute(volume, file, "com.apple.ResourceFork", &pattern(9));
        container.link(volume, 2, "l", "g");
        container.snapshot(volume, "s");
    }
    container.finish()
}

#[test]
fn seeds_of_the_fuzz_target_are_committed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/images_apfs");
    let seeds = [("files", small(Names::Folded, None)), ("keybags", small(Names::Exact, Some(PASSPHRASE)))];
    for (name, disk) in seeds {
        let bytes = input(&disk);
        if std::env::var_os("WRITE_SEEDS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), &bytes).unwrap();
        }
        assert!(
            std::fs::read(folder.join(name)).is_ok_and(|old| old == bytes),
            "{name}: WRITE_SEEDS=1 writes it anew"
        );
    }
}
