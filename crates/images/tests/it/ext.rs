//! Volumes of ext2 and ext4 that `mke2fs` wrote (tests/data/MANIFEST.md).

use formats::{Kind, Time};
use images::Error;
use images::tree::Fork;

use crate::common::{check, file, files, find, lines, list, names, read, stored};

/// Numbers of a volume with blocks of 1,024 bytes and one group.
const BLOCK: usize = 1024;
const SUPERBLOCK: usize = 1024;
const EXTENTS: u32 = 0x8_0000;

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, numbers: &[u32]) {
    for (index, number) in numbers.iter().enumerate() {
        bytes[at + 4 * index..at + 4 * index + 4].copy_from_slice(&number.to_le_bytes());
    }
}

/// Where an inode is. The descriptor of the first group is behind the superblock.
fn inode(bytes: &[u8], number_of_inode: u64) -> usize {
    let table = number(bytes, 2 * BLOCK + 8) as usize * BLOCK;
    let size = usize::from(bytes[SUPERBLOCK + 88]) | usize::from(bytes[SUPERBLOCK + 89]) << 8;
    assert!(number_of_inode <= u64::from(number(bytes, SUPERBLOCK + 40)), "it is in the first group");
    table + (number_of_inode as usize - 1) * size
}

#[test]
fn volumes_of_ext2_and_ext4_are_shown() {
    for (image, format) in [("ext2", "ext2 or ext3"), ("ext4", "ext4")] {
        let source = file(stored(&format!("{image}.img.gz")));
        let files = files(&source);
        let files = files.as_ref();
        assert_eq!((files.format().as_str(), files.name().as_str()), (format, "Disk"));
        let mut top = names(files, files.root());
        top.sort();
        assert_eq!(top, ["folder", "gap", "hello", "long link", "lost+found", "many", "short link"]);
        assert_eq!(read(files, find(files, "hello").unwrap(), Fork::Data), b"hello\n");
        assert_eq!(find(files, "HELLO"), Err(Error::NotFound), "case counts");
        let deep = find(files, "folder/inner/gr\u{f6}\u{df}e").unwrap();
        let node = files.node(deep).unwrap();
        assert_eq!((node.kind, node.mode, node.size), (Kind::File, 0o640, 400_000));
        assert_eq!(node.modified, Time { secs: 1_000_000_000, nanos: 0 });
        let expected: Vec<u8> = (0..400_000_u32).map(|at| (at % 251) as u8).collect();
        assert_eq!(read(files, deep, Fork::Data), expected);
        let mut piece = [0; 10];
        assert_eq!(files.read(deep, Fork::Data, 399_995, &mut piece), Ok(5));
        assert_eq!(piece[..5], expected[399_995..]);
        let gap = read(files, find(files, "gap").unwrap(), Fork::Data);
        assert_eq!(gap.len(), (3 << 20) + 3);
        assert!(gap[..3 << 20].iter().all(|byte| *byte == 0) && gap.ends_with(b"end"));
        assert_eq!(list(files, find(files, "many").unwrap()).len(), 300);
        assert_eq!(files.link_target(find(files, "short link").unwrap()).unwrap(), b"folder/inner");
        assert_eq!(files.link_target(find(files, "long link").unwrap()).unwrap(), [b'x'; 100]);
        let inner = find(files, "folder/inner").unwrap();
        assert_eq!(files.parent(inner), Ok(find(files, "folder").unwrap()));
        let (checked, problems) = check(&source);
        assert_eq!((lines(&problems), checked.unchecked.len()), (Vec::new(), 1));
    }
}

/// `debugfs` has written two transactions into the journal only: e2fsck gives these files the same content.
#[test]
fn a_journal_that_was_not_written_back_counts() {
    let source = file(stored("ext4-journal.img.gz"));
    let files = files(&source);
    assert_eq!(read(files.as_ref(), find(files.as_ref(), "hello").unwrap(), Fork::Data), b"HELLO\n");
}

#[test]
fn damaged_volumes_say_so() {
    let whole = stored("ext4.img.gz");
    let opened = |bytes: Vec<u8>| images::ext::open(std::sync::Arc::new(bytes)).err();
    let mut other = whole.clone();
    other[1024 + 56] = 0;
    assert!(matches!(opened(other), Some(Error::Damaged { .. })));
    let mut unknown = whole.clone();
    unknown[1024 + 0x60 + 2] |= 0x80;
    assert!(matches!(opened(unknown), Some(Error::NotSupported(_))));
    let mut cut = whole;
    cut.truncate(64 << 10);
    let files = images::ext::open(std::sync::Arc::new(cut));
    assert!(files.is_err() || files.is_ok_and(|files| files.entries(files.root(), None, 10).is_err()));
}

#[test]
fn more_blocks_than_any_disk_has_are_damage() {
    let mut bytes = stored("ext4.img.gz");
    let features = number(&bytes, SUPERBLOCK + 96) | 0x80;
    put(&mut bytes, SUPERBLOCK + 96, &[features]);
    put(&mut bytes, SUPERBLOCK + 0x150, &[u32::MAX]);
    assert!(matches!(images::ext::open(std::sync::Arc::new(bytes)).err(), Some(Error::Damaged { .. })));
}

/// A block of a journal, to which blocks of indirect numbers lead 16 million times, would take more memory than a machine has.
#[test]
fn a_journal_that_repeats_a_block_is_refused() {
    let mut bytes = stored("ext4-journal.img.gz");
    let (journal, last) = (inode(&bytes, 8), bytes.len() / BLOCK);
    let [head, revoked, single, double, triple] = [1, 2, 3, 4, 5].map(|back| last - back);
    let big = |bytes: &mut Vec<u8>, block: usize, numbers: &[u32]| {
        bytes[block * BLOCK..(block + 1) * BLOCK].fill(0);
        let swapped: Vec<u32> = numbers.iter().map(|number| number.swap_bytes()).collect();
        put(bytes, block * BLOCK, &swapped);
    };
    const MAGIC: u32 = 0xC03B_3998;
    let (blocks, first, sequence, start) = (16 << 20, 1, 1, 1);
    big(&mut bytes, head, &[MAGIC, 4, 0, BLOCK as u32, blocks, first, sequence, start]);
    big(&mut bytes, revoked, &[MAGIC, 5, sequence, BLOCK as u32]);
    for (block, target) in [(single, revoked), (double, single), (triple, double)] {
        put(&mut bytes, block * BLOCK, &[target as u32; BLOCK / 4]);
    }
    let mut map = [revoked as u32; 15];
    (map[0], map[12], map[13], map[14]) = (head as u32, single as u32, double as u32, triple as u32);
    put(&mut bytes, journal + 40, &map);
    let flags = number(&bytes, journal + 32) & !EXTENTS;
    put(&mut bytes, journal + 32, &[flags]);
    put(&mut bytes, journal + 4, &[u32::MAX]);
    assert!(matches!(images::ext::open(std::sync::Arc::new(bytes)).err(), Some(Error::NotSupported(_))));
}

#[test]
fn a_hole_ends_where_the_next_leaf_of_extents_begins() {
    let mut bytes = stored("ext4.img.gz");
    let whole = files(&file(bytes.clone()));
    let gap = find(whole.as_ref(), "gap").unwrap();
    let (place, end) = (inode(&bytes, gap.0), (3 << 20) / BLOCK as u32);
    // The one extent of the file, with the block that ends it: a header of 12 bytes, then block, length, high and low place.
    assert_eq!((number(&bytes, place + 40), number(&bytes, place + 52)), (0x1_F30A, end));
    let extent: Vec<u32> = (0..3).map(|at| number(&bytes, place + 52 + 4 * at)).collect();
    let last = bytes.len() / BLOCK;
    let header = |count: u32, depth: u32| [count << 16 | 0xF30A, depth << 16 | 4, 0];
    for (leaf, extent) in [(last - 1, [0, extent[1], extent[2]]), (last - 2, [end, extent[1], extent[2]])] {
        put(&mut bytes, leaf * BLOCK, &header(1, 0));
        put(&mut bytes, leaf * BLOCK + 12, &extent);
    }
    put(&mut bytes, place + 40, &header(2, 1));
    put(&mut bytes, place + 52, &[0, last as u32 - 1, 0, end, last as u32 - 2, 0]);
    let files = files(&file(bytes));
    let mut data = vec![1; (3 << 20) + 3];
    assert_eq!(files.read(gap, Fork::Data, 0, &mut data), Ok(data.len()));
    assert!(data[BLOCK..3 << 20].iter().all(|byte| *byte == 0));
    assert!(data.starts_with(b"end") && data.ends_with(b"end"));
}

#[test]
fn pages_of_a_folder_with_names_twice_end() {
    let mut bytes = stored("ext4.img.gz");
    let whole = files(&file(bytes.clone()));
    let many = find(whole.as_ref(), "many").unwrap();
    // Each name becomes one of eight. The length of a name is two bytes before it.
    const NAME: &[u8] = b"file with a long name to fill blocks ";
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(NAME)).collect();
    assert_eq!(places.len(), 300);
    for (number, place) in places.into_iter().enumerate() {
        (bytes[place - 2], bytes[place]) = (1, b'a' + (number % 8) as u8);
    }
    let files = files(&file(bytes));
    let (mut after, mut pages) = (None::<String>, 0);
    loop {
        let page = files.entries(many, after.as_deref(), 7).unwrap();
        pages += 1;
        assert!(pages < 300, "as many pages as entries are too many");
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
}
