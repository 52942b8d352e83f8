//! Damage of each structure of HFS+ is found and named; Apple's `fsck_hfs` finds the same damage, but for two kinds
//! (tests/data/MANIFEST.md).

use crate::common::{check, file, lines, noise};
use crate::writer::{BLOCK, ROOT, Writer};

const NODE: usize = 4096;
const HEADER: usize = 1024;
/// Where the header has the first extents of the allocation, extents, catalogue and attributes files.
const FORKS: [usize; 4] = [112, 192, 272, 352];
const ALLOCATION: usize = 0;
const EXTENTS: usize = 1;
const CATALOGUE: usize = 2;
const ATTRIBUTES: usize = 3;

struct Image {
    bytes: Vec<u8>,
}

impl Image {
    fn new() -> Self {
        let mut writer = Writer::new(512, "Sound");
        let private = writer.folder(ROOT, "\0\0\0\0HFS+ Private Data");
        let inode = writer.file_inode(private, b"shared", 1);
        let folder = writer.folder(ROOT, "folder");
        writer.file_link(folder, "link", inode);
        let plain = writer.file(ROOT, "plain", &noise(3 * BLOCK, 1));
        writer.attribute(plain, "com.example.small", b"value");
        writer.file_in_pieces(ROOT, "pieces", &noise(12 * BLOCK, 2), 12);
        for number in 0..60 {
            writer.file(folder, &format!("file {number:02}"), &noise(10, number));
        }
        Self { bytes: writer.build() }
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    fn set(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    fn add(&mut self, at: usize, value: u32) {
        self.set(at, self.u32(at).wrapping_add(value));
    }

    /// Changes a number of both volume headers.
    fn add_in_headers(&mut self, at: usize, value: u32) {
        let copy = self.bytes.len() - 1024;
        self.add(HEADER + at, value);
        self.add(copy + at, value);
    }

    fn file_at(&self, fork: usize) -> usize {
        self.u32(HEADER + FORKS[fork] + 16) as usize * BLOCK
    }

    fn node_at(&self, fork: usize, node: usize) -> usize {
        self.file_at(fork) + node * NODE
    }

    /// Where the key of a catalogue record is, and where its data is.
    fn record(&self, parent: u32, name: &str) -> (usize, usize) {
        let units = crate::writer::utf16(name);
        let length = 6 + 2 * units.len() as u16;
        let mut key = [&length.to_be_bytes()[..], &parent.to_be_bytes()].concat();
        key.extend((units.len() as u16).to_be_bytes());
        units.iter().for_each(|unit| key.extend(unit.to_be_bytes()));
        let from = self.node_at(CATALOGUE, 1);
        let found = self.bytes[from..].windows(key.len()).position(|window| window == key).unwrap();
        (from + found + 2, from + found + key.len())
    }

    /// The number of a file in the top folder.
    fn id(&self, name: &str) -> u32 {
        self.u32(self.record(ROOT, name).1 + 8)
    }

    /// Where a record of a node begins.
    fn offset(&self, node: usize, record: usize) -> usize {
        let at = node + NODE - 2 * (record + 1);
        usize::from(u16::from_be_bytes(self.bytes[at..at + 2].try_into().unwrap()))
    }

    fn problems(self) -> Vec<String> {
        let (checked, problems) = check(&file(self.bytes));
        assert!(checked.finished);
        lines(&problems)
    }
}

/// Damages a sound volume; each of the texts must be in a problem.
#[track_caller]
fn finds(damage: impl FnOnce(&mut Image), wanted: &[&str]) {
    let mut image = Image::new();
    damage(&mut image);
    let problems = image.problems();
    for text in wanted {
        assert!(problems.iter().any(|line| line.contains(text)), "{text} is not in {problems:#?}");
    }
    assert!(problems.len() <= wanted.len() + 5, "few lines for one damage: {problems:#?}");
}

#[test]
fn a_sound_volume_has_no_problems() {
    assert_eq!(Image::new().problems(), [""; 0]);
}

#[test]
fn both_volume_headers_are_checked() {
    finds(|image| image.bytes[HEADER] = 0, &["volume header: it has no signature"]);
    finds(
        |image| {
            let copy = image.bytes.len() - 1024;
            image.bytes[copy..copy + 512].fill(0);
        },
        &["alternate volume header: it has no signature"],
    );
    finds(
        |image| {
            let copy = image.bytes.len() - 1024;
            image.add(copy + 44, 7);
        },
        &["alternate volume header: it describes another volume"],
    );
    finds(|image| image.add_in_headers(4, 1 << 14), &["marked the volume as inconsistent"]);
}

#[test]
fn counts_in_the_volume_header_are_compared() {
    finds(|image| image.add_in_headers(48, 1), &["free blocks, but the bitmap has"]);
    finds(|image| image.add_in_headers(32, 1), &["files, but the catalogue has"]);
    finds(|image| image.add_in_headers(36, 1), &["folders, but the catalogue has"]);
    finds(|image| image.add_in_headers(64, 0u32.wrapping_sub(1)), &["its number", "(/folder/file 59)"]);
}

#[test]
fn counts_are_not_compared_before_the_volume_was_unmounted() {
    let mut image = Image::new();
    image.add_in_headers(4, 0u32.wrapping_sub(1 << 8));
    image.add_in_headers(48, 1);
    image.add_in_headers(32, 1);
    assert_eq!(image.problems(), [""; 0]);
}

#[test]
fn the_allocation_bitmap_is_compared() {
    finds(
        |image| {
            let at = image.file_at(ALLOCATION);
            image.bytes[at + 50] |= 1; // block 407
        },
        &["blocks 407 to 407 are not free in the bitmap, but nothing has them"],
    );
    finds(
        |image| {
            let at = image.file_at(ALLOCATION);
            image.bytes[at] &= 0xDF; // block 2
        },
        &["blocks 2 to 2 are used, but free in the bitmap"],
    );
}

#[test]
fn headers_of_trees_are_compared() {
    for (fork, name) in [(CATALOGUE, "catalogue"), (EXTENTS, "extents overflow"), (ATTRIBUTES, "attributes")]
    {
        let record = |image: &Image| image.node_at(fork, 0) + 14;
        finds(
            |image| {
                let at = record(image) + 6;
                image.add(at, 1);
            },
            &[&format!("{name} B-tree header: it says")],
        );
        finds(
            |image| {
                let at = record(image) + 14;
                image.add(at, 1);
            },
            &[&format!("{name} B-tree header: its first and last leaf")],
        );
        finds(
            |image| {
                let at = record(image) + 26;
                image.add(at, 1);
            },
            &[&format!("{name} B-tree header: it says")],
        );
        finds(
            |image| {
                let at = record(image) + 2;
                image.set(at, 9999);
            },
            &[&format!("{name} B-tree header: its root is no node")],
        );
        finds(
            |image| {
                let at = image.node_at(fork, 0) + 248;
                image.bytes[at] &= 0xBF;
            },
            &[&format!("{name} map of nodes: node 1 marked as free, but in the tree")],
        );
    }
}

#[test]
fn descriptors_and_places_of_records_are_checked() {
    for (fork, name) in [(CATALOGUE, "catalogue"), (EXTENTS, "extents overflow"), (ATTRIBUTES, "attributes")]
    {
        let node = |image: &Image| image.node_at(fork, 1);
        let first = format!("{name} node 1: ");
        finds(
            |image| {
                let at = node(image);
                image.bytes[at + 8] = 7;
            },
            &[&format!("{first}its kind")],
        );
        finds(
            |image| {
                let at = node(image);
                image.bytes[at + 8] = 2;
            },
            &[&format!("{first}its kind")],
        );
        finds(
            |image| {
                let at = node(image);
                image.bytes[at + 9] = 3;
            },
            &[&format!("{first}its kind")],
        );
        finds(
            |image| {
                let at = node(image);
                image.bytes[at + 10..at + 12].fill(0xFF);
            },
            &[&format!("{first}it has more records")],
        );
        finds(
            |image| {
                let at = node(image) + NODE;
                image.bytes[at - 2..at].fill(0xFF);
            },
            &[&format!("{first}the places of its records")],
        );
    }
}

#[test]
fn links_between_nodes_are_checked() {
    finds(
        |image| {
            let at = image.node_at(CATALOGUE, 2);
            image.set(at, 0);
        },
        &["catalogue node 2: its next node is 0 instead of 3"],
    );
    finds(
        |image| {
            let at = image.node_at(CATALOGUE, 2) + 4;
            image.set(at, 3);
        },
        &["catalogue node 2: its previous node is 3 instead of 1"],
    );
    finds(
        |image| {
            let at = image.node_at(CATALOGUE, 1) + 4;
            image.set(at, 3);
        },
        &["catalogue node 1: its previous node is 3, but it is the first one"],
    );
}

/// The root of the catalogue, an index node.
fn root(image: &Image) -> usize {
    let number = image.u32(image.node_at(CATALOGUE, 0) + 14 + 2) as usize;
    assert!(number > 1, "the catalogue has two levels");
    image.node_at(CATALOGUE, number)
}

#[test]
fn index_records_lead_to_nodes_once() {
    let child = |image: &Image, record: usize| root(image) + image.offset(root(image), record + 1) - 4;
    finds(
        |image| {
            let at = child(image, 1);
            image.set(at, 900);
        },
        &["catalogue node 900: an index record names it, but the tree has no such node"],
    );
    finds(
        |image| {
            let at = child(image, 1);
            image.set(at, 1);
        },
        &["catalogue node 1: it is in the tree twice"],
    );
    finds(
        |image| {
            let at = root(image) + image.offset(root(image), 1) + 2 + 3;
            image.bytes[at] += 1;
        },
        &["catalogue node 2: its first key is not the one that the index has for it"],
    );
}

#[test]
fn keys_are_in_order() {
    for fork in [CATALOGUE, EXTENTS] {
        finds(
            |image| {
                let node = image.node_at(fork, 1);
                let key = node + image.offset(node, 0) + 2;
                let file = if fork == CATALOGUE { 0 } else { 2 };
                image.set(key + file, 0x7FFF_FFFF);
            },
            if fork == CATALOGUE {
                &["is not behind the one before it"]
            } else {
                &["extents overflow records"]
            },
        );
    }
    finds(
        |image| {
            let at = image.record(ROOT, "plain").0;
            image.bytes[at + 4] = 1;
        },
        &["catalogue node", "is malformed"],
    );
}

#[test]
fn records_and_their_threads_agree() {
    let thread = |image: &Image| image.record(image.id("plain"), "").1;
    finds(
        |image| {
            let at = thread(image) + 4;
            image.set(at, 17);
        },
        &["catalogue thread record", "names another place"],
    );
    finds(
        |image| {
            let at = thread(image);
            image.bytes[at + 1] = 3;
        },
        &["has the wrong type"],
    );
    finds(
        |image| {
            let at = image.record(ROOT, "plain").1 + 8;
            image.add(at, 0x100);
        },
        &["its number"],
    );
    finds(
        |image| {
            let at = image.record(ROOT, "plain").1 + 1;
            image.bytes[at] = 9;
        },
        &["(/plain): a record has a type that is not known"],
    );
}

#[test]
fn folders_have_as_many_entries_as_they_say() {
    finds(
        |image| {
            let at = image.record(ROOT, "folder").1 + 4;
            image.add(at, 2);
        },
        &["catalogue folder record (/folder): the folder says -2 entries less than it has"],
    );
}

#[test]
fn links_are_as_many_as_they_say() {
    finds(
        |image| {
            let private = image.id("\0\0\0\0HFS+ Private Data");
            let inode = image.u32(image.record(image.id("folder"), "link").1 + 44);
            let at = image.record(private, &format!("iNode{inode}")).1 + 44;
            image.set(at, 3);
        },
        &["hard links of a file", "has -2 names more than it counts"],
    );
}

#[test]
fn forks_have_the_blocks_that_they_say() {
    let fork = |image: &Image| image.record(ROOT, "plain").1 + 88;
    finds(
        |image| {
            let at = fork(image) + 12;
            image.set(at, 9);
        },
        &["data fork of file", "(/plain): it says 9 blocks, but its extents have 3"],
    );
    finds(
        |image| {
            let at = fork(image) + 4;
            image.set(at, 1 << 20);
        },
        &["(/plain): its 1048576 bytes are more than its 3 blocks have"],
    );
    finds(
        |image| {
            let at = fork(image) + 16;
            image.set(at, 100_000);
        },
        &["(/plain): blocks 100000 to 100002 are beyond the volume"],
    );
}

#[test]
fn blocks_with_two_owners_are_named_for_both() {
    finds(
        |image| {
            let other = image.u32(image.record(ROOT, "pieces").1 + 88 + 16);
            let at = image.record(ROOT, "plain").1 + 88 + 16;
            image.set(at, other);
        },
        &["(/plain): blocks", "(/pieces): blocks", "are used by something else, too"],
    );
}

#[test]
fn attributes_and_extents_belong_to_files() {
    finds(
        |image| {
            let node = image.node_at(ATTRIBUTES, 1);
            let key = node + image.offset(node, 0) + 2;
            image.set(key + 2, 5000);
        },
        &["attributes (number 5000): number 5000 has some, but is no file or folder"],
    );
    finds(
        |image| {
            let node = image.node_at(ATTRIBUTES, 1);
            let key = node + image.offset(node, 0) + 2;
            let data = key + 12 + 2 * "com.example.small".len();
            image.set(data, 0x77);
        },
        &["attributes node 1 (/plain): attribute “com.example.small”: a record has a type"],
    );
}

/// Any byte may be any other one: a check ends, without a panic.
#[test]
fn every_changed_byte_of_the_trees_is_survived() {
    let image = Image::new();
    let (from, to) = (image.file_at(EXTENTS), image.node_at(ATTRIBUTES, 4));
    let places = noise(600, 7);
    for (number, place) in places.chunks(3).enumerate() {
        let at = from + usize::from(u16::from_be_bytes([place[0], place[1]])) % (to - from);
        let mut bytes = image.bytes.clone();
        bytes[at] ^= place[2] | 1;
        let source = file(bytes);
        let (checked, _) = check(&source);
        assert!(checked.finished, "change {number} at {at}");
        for volume in images::open(&source, None).unwrap() {
            if let Ok(files) = volume.files {
                let _ = files.entries(files.root(), None, 100);
                let _ = crate::common::find(files.as_ref(), "folder/link");
            }
        }
    }
}
