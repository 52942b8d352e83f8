//! Damage of each structure is found and named; sound images have no problem.

use std::ops::Range;
use std::sync::Arc;

use images::check::{Observer, Problem, Progress, Resume, Steps};
use images::{Error, Passphrase, ReadAt, apfs};

use super::content::Names;
use super::disk::{BLOCK, Disk};
use super::writer::{ContainerWriter, POOL, POOL_BITMAPS};
use super::{PASSPHRASE, everything, long_names, objects, passphrase, sealed};

#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    stops_after: Option<u32>,
    calls: u32,
    resumes: Vec<Resume>,
}

impl Observer for Findings {
    fn progress(&mut self, progress: &Progress) -> bool {
        self.calls += 1;
        self.resumes.push(progress.resume);
        self.stops_after.is_none_or(|most| self.calls <= most)
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }
}

fn checked(disk: Disk, passphrase: Option<&Passphrase>) -> (Vec<Problem>, Option<Error>) {
    let mut findings = Findings::default();
    let disk: Arc<dyn ReadAt> = Arc::new(disk);
    let result = apfs::check(disk, passphrase, &mut Steps::new(&mut findings, Resume::default()));
    let mut error = None;
    match result {
        Err(Error::Damaged { structure, place, problem }) => {
            findings.problems.push(Problem::new(structure, Some(place), problem));
        }
        result => error = result.err(),
    }
    (findings.problems, error)
}

/// The blocks of objects of a type and a subtype.
fn blocks(disk: &Disk, kind: u32, subtype: u32) -> Vec<u64> {
    let field = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let is_it = |bytes: &[u8]| field(bytes, 24) & 0xffff == kind && field(bytes, 28) == subtype;
    let intact = |bytes: &[u8]| bytes[..8] == objects::fletcher64(bytes).to_le_bytes();
    let found = disk.blocks.iter().filter(|(_, bytes)| is_it(bytes) && intact(bytes));
    found.map(|(block, _)| *block).collect()
}

/// Changes an object and makes its checksum right again.
fn change(disk: &mut Disk, block: u64, change: impl FnOnce(&mut [u8])) {
    change_bytes(disk, block, change);
    objects::seal(disk.block(block));
}

fn change_bytes(disk: &mut Disk, block: u64, change: impl FnOnce(&mut [u8])) {
    change(disk.block(block));
}

fn add(bytes: &mut [u8], by: u8) {
    bytes[0] = bytes[0].wrapping_add(by);
}

/// The value of the first record whose key begins so, in leaves of a tree: its block and its place.
fn value(disk: &Disk, subtype: u32, key: &[u8]) -> Option<(u64, Range<usize>)> {
    let word =
        |bytes: &[u8], at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    // The newest version of a node was written last.
    for block in [blocks(disk, 2, subtype), blocks(disk, 3, subtype)].concat().into_iter().rev() {
        let bytes = &disk.blocks[&block];
        if word(bytes, 34) != 0 {
            continue;
        }
        let keys = 56 + word(bytes, 42);
        let end = BLOCK - if word(bytes, 32) & 1 == 1 { 40 } else { 0 };
        for index in 0..word(bytes, 36) {
            let at = 56 + index * 8;
            let begin = keys + word(bytes, at);
            if bytes[begin..].starts_with(key) {
                let from = end - word(bytes, at + 4);
                return Some((block, from..from + word(bytes, at + 6)));
            }
        }
    }
    None
}

fn record(id: u64, kind: u64) -> [u8; 8] {
    (id | kind << 60).to_le_bytes()
}

/// Changes the value of a record.
fn change_value(disk: &mut Disk, subtype: u32, key: &[u8], with: impl FnOnce(&mut [u8])) {
    let (block, range) = value(disk, subtype, key).expect("the record is there");
    change(disk, block, |bytes| with(&mut bytes[range]));
}

/// The inode number of `hello.txt`, by the order in which `everything` makes its files.
const HELLO: u64 = 20;
const CATALOGUE: u32 = 0xe;

#[track_caller]
fn assert_found(disk: Disk, structure: &str, problem: &str) {
    let (problems, _) = checked(disk, None);
    let is_it = |found: &Problem| found.structure.contains(structure) && found.problem.contains(problem);
    assert!(problems.iter().any(is_it), "{structure}: {problem} is not in {problems:#?}");
}

fn sound() -> Disk {
    everything(Names::Folded, None)
}

#[test]
fn sound_images_have_no_problem() {
    for names in [Names::Folded, Names::Normalized, Names::Exact] {
        assert_eq!(checked(everything(names, None), None), (vec![], None));
    }
    assert_eq!(checked(everything(Names::Folded, Some(PASSPHRASE)), Some(&passphrase())), (vec![], None));
    assert_eq!(checked(long_names(), None), (vec![], None));
    assert_eq!(checked(sealed(), None), (vec![], None));
}

#[test]
fn an_encrypted_volume_is_checked_in_part_without_its_passphrase() {
    let disk = everything(Names::Folded, Some(PASSPHRASE));
    assert_eq!(checked(disk.clone(), None), (vec![], Some(Error::Passphrase)));
    let mut disk = disk;
    let map = blocks(&disk, 2, 0xb)[0];
    change_bytes(&mut disk, map, |bytes| add(&mut bytes[100..], 1));
    assert_found(disk, "object map node", "checksum");
}

#[test]
fn a_wrong_byte_in_any_object_is_found() {
    let disk = sound();
    // The parts of objects that are compared bit by bit are all of them: each has a checksum. File data has none.
    let objects: Vec<u64> = [
        (1, 0),
        (2, 0xb),
        (2, 0xe),
        (2, 0xf),
        (2, 0x10),
        (2, 0x13),
        (2, 9),
        (3, 0xe),
        (5, 0),
        (7, 0),
        (0xb, 0),
        (0xc, 0),
        (0xd, 0),
        (0x11, 0),
    ]
    .into_iter()
    .flat_map(|(kind, subtype)| blocks(&disk, kind, subtype))
    .collect();
    assert!(objects.len() > 40, "the image has all structures");
    for block in objects {
        let mut damaged = disk.clone();
        change_bytes(&mut damaged, block, |bytes| add(&mut bytes[2000..], 1));
        let (problems, _) = checked(damaged, None);
        let place = block * BLOCK as u64;
        // A damaged superblock of the only checkpoint leaves the first block's copy, which has no whole checkpoint.
        let is_named =
            |problem: &Problem| problem.place == Some(place) || problem.structure.contains("checkpoint");
        assert!(problems.iter().any(is_named), "block {block} is not in {problems:?}");
    }
}

#[test]
fn the_files_of_an_image_with_a_damaged_first_block_are_read() {
    let mut disk = sound();
    disk.block(0).fill(0xff);
    assert_eq!(super::volumes(disk).len(), 1);
}

/// A power cut, or damage, at the newest checkpoint.
#[test]
fn a_damaged_newest_checkpoint_is_told_and_an_older_one_is_read() {
    let mut disk = sound();
    let (map, superblock) = (disk.blocks[&1].clone(), disk.blocks[&2].clone());
    for (block, bytes) in [(3_u64, map), (4, superblock)] {
        *disk.block(block) = bytes;
        change(&mut disk, block, |bytes| add(&mut bytes[16..], 1));
    }
    change(&mut disk, 3, |bytes| bytes[8] = 3);
    change(&mut disk, 4, |bytes| bytes[136] = 2);
    // As it is, the newer one is used: its objects are of the transaction before.
    assert_found(disk.clone(), "ephemeral object", "it is of another checkpoint");
    change_bytes(&mut disk, 3, |bytes| add(&mut bytes[200..], 1));
    assert_eq!(super::volumes(disk.clone()).len(), 1);
    let (problems, _) = checked(disk, None);
    assert_eq!(problems.len(), 1);
    assert_eq!((&problems[0].structure[..], problems[0].place), ("checkpoint map", Some(3 * BLOCK as u64)));
}

#[test]
fn a_write_that_was_lost_is_found_by_its_transaction() {
    let mut disk = sound();
    let (leaf, _) = value(&disk, CATALOGUE, &record(HELLO, 3)).unwrap();
    change(&mut disk, leaf, |bytes| add(&mut bytes[16..], 255));
    assert_found(disk, "catalogue node", "it is of another transaction than the object map says");
}

#[test]
fn counts_of_the_space_manager_are_compared() {
    let mut disk = sound();
    let infos = blocks(&disk, 7, 0)[0];
    change(&mut disk, infos, |bytes| add(&mut bytes[60..], 1));
    assert_found(disk, "chunk at block 0", "free blocks, and its bitmap has");
    let mut disk = sound();
    let manager = blocks(&disk, 5, 0)[0];
    change(&mut disk, manager, |bytes| add(&mut bytes[72..], 1));
    assert_found(disk, "space manager", "free blocks, and the chunks have");
    let mut disk = sound();
    change(&mut disk, manager, |bytes| bytes[48] = 7);
    assert_found(disk, "space manager", "another number of blocks");
}

#[test]
fn used_blocks_that_are_marked_as_free_are_found() {
    let mut disk = sound();
    let bitmap = POOL;
    let extents = blocks(&disk, 2, 0xf)[0];
    disk.block(bitmap)[extents as usize / 8] &= !(1 << (extents % 8));
    assert_found(
        disk,
        "space manager",
        &format!("1 blocks are used and marked as free, the first is block {extents}"),
    );
}

#[test]
fn allocated_blocks_that_nothing_uses_are_found() {
    let mut disk = sound();
    let (bitmap, infos, manager) = (POOL, blocks(&disk, 7, 0)[0], blocks(&disk, 5, 0)[0]);
    disk.block(bitmap)[4000] |= 1;
    for (block, at) in [(infos, 60), (manager, 72)] {
        change(&mut disk, block, |bytes| add(&mut bytes[at..], 255));
        change(&mut disk, block, |bytes| {
            if bytes[at] == 255 {
                add(&mut bytes[at + 1..], 255)
            }
        });
    }
    assert_found(
        disk,
        "space manager",
        "1 blocks are allocated and used by nothing, the first is block 32000",
    );
}

#[test]
fn a_free_bit_of_the_internal_pool_in_use_is_found() {
    let mut disk = sound();
    disk.block(POOL_BITMAPS)[0] = 1;
    assert_found(disk, "bitmap of the internal pool", "1 blocks of it are used and marked as free");
}

#[test]
fn keys_out_of_order_are_found() {
    let mut disk = sound();
    let (leaf, _) = value(&disk, CATALOGUE, &record(HELLO, 3)).unwrap();
    change(&mut disk, leaf, |bytes| {
        let (first, second) = (bytes[56..64].to_vec(), bytes[64..72].to_vec());
        bytes[56..64].copy_from_slice(&second);
        bytes[64..72].copy_from_slice(&first);
    });
    assert_found(disk, "catalogue node", "its keys are out of order");
}

#[test]
fn counts_in_footers_are_compared() {
    for (subtype, name) in [(0xb, "object map"), (0xe, "catalogue"), (0xf, "tree of physical extents")] {
        for (back, what) in [(16, "keys, and the tree has"), (8, "nodes, and the tree has")] {
            let mut disk = sound();
            let root = *blocks(&disk, 2, subtype).last().unwrap();
            change(&mut disk, root, |bytes| add(&mut bytes[BLOCK - back..], 1));
            assert_found(disk, name, what);
        }
    }
}

#[test]
fn overlapping_areas_of_a_node_are_found() {
    let mut disk = sound();
    let (leaf, _) = value(&disk, CATALOGUE, &record(HELLO, 3)).unwrap();
    change(&mut disk, leaf, |bytes| {
        let first = bytes[60..64].to_vec();
        bytes[68..72].copy_from_slice(&first);
    });
    assert_found(disk, "catalogue node", "overlap");
}

#[test]
fn an_object_that_its_map_does_not_have_is_found() {
    let mut disk = sound();
    let root = *blocks(&disk, 2, CATALOGUE).last().unwrap();
    // The first entry of the index leads elsewhere.
    change(&mut disk, root, |bytes| add(&mut bytes[BLOCK - 48..], 200));
    assert_found(disk, "catalogue node", "the object map does not have it");
}

#[test]
fn an_object_map_that_leads_elsewhere_is_found() {
    let mut disk = sound();
    let map = *blocks(&disk, 2, 0xb).iter().max_by_key(|block| disk.blocks[block][36]).unwrap();
    // The block of the first entry becomes that of the next block.
    change(&mut disk, map, |bytes| add(&mut bytes[BLOCK - 48..], 1));
    assert_found(disk, "", "its object id is another one");
}

#[test]
fn a_wrong_link_count_is_found_with_the_path() {
    let mut disk = sound();
    change_value(&mut disk, CATALOGUE, &record(HELLO, 3), |inode| inode[56] = 3);
    assert_found(disk.clone(), "inode 20", "its link count is 3, and 2 entries lead to it");
    let (problems, _) = checked(disk, None);
    assert_eq!(problems[0].file.as_deref(), Some("/hello.txt"));
}

#[test]
fn a_wrong_count_of_a_folder_is_found() {
    let mut disk = sound();
    change_value(&mut disk, CATALOGUE, &record(16, 3), |inode| inode[56] += 1);
    assert_found(disk, "inode 16", "it says 6 entries, and it has 5");
}

#[test]
fn an_entry_that_leads_nowhere_is_found() {
    let mut disk = sound();
    let entry = value(&disk, CATALOGUE, &record(17, 9)).unwrap();
    change(&mut disk, entry.0, |bytes| {
        bytes[entry.1.start..entry.1.start + 8].copy_from_slice(&999_u64.to_le_bytes())
    });
    assert_found(disk.clone(), "inode 999", "an entry of folder 17 leads to it, and there is no such inode");
    assert_found(disk, "inode 18", "no entry leads to it");
}

#[test]
fn a_wrong_type_of_an_entry_is_found() {
    let mut disk = sound();
    change_value(&mut disk, CATALOGUE, &record(17, 9), |entry| entry[16] = 4);
    assert_found(disk, "inode 18", "its type is 8, and an entry says 4");
}

#[test]
fn a_wrong_hash_of_a_name_is_found() {
    let mut disk = sound();
    let (leaf, _) = value(&disk, CATALOGUE, &record(17, 9)).unwrap();
    change(&mut disk, leaf, |bytes| {
        let key = bytes.windows(8).position(|window| window == record(17, 9)).unwrap();
        add(&mut bytes[key + 10..], 1);
    });
    assert_found(disk, "inode 17", "the hash of its entry \"café.txt\" is wrong");
}

#[test]
fn an_extent_in_free_blocks_is_found_with_the_path() {
    let mut disk = sound();
    change_value(&mut disk, CATALOGUE, &record(HELLO, 8), |extent| extent[9] = 0x70);
    let (problems, _) = checked(disk.clone(), None);
    let problem =
        problems.iter().find(|problem| problem.problem.contains("is in no physical extent")).unwrap();
    assert_eq!(problem.file.as_deref(), Some("/hello.txt"));
    let mut behind = sound();
    change_value(&mut behind, CATALOGUE, &record(HELLO, 8), |extent| extent[12] = 0x70);
    assert_found(behind, "inode 20", "is in no physical extent");
}

#[test]
fn overlapping_physical_extents_are_found() {
    let mut disk = sound();
    let tree = blocks(&disk, 2, 0xf)[0];
    // The first extent of the first snapshot gets one more block, which is that of the next one.
    let (_, first) = (0, BLOCK - 40 - 20);
    change(&mut disk, tree, |bytes| bytes[first] += 1);
    assert_found(disk, "physical extent at block", "it overlaps the extent before");
}

#[test]
fn files_that_share_blocks_but_are_no_clones_are_found() {
    let mut container = ContainerWriter::new();
    let volume = container.volume("V", Names::Folded, None);
    let (one, two) = (container.file(volume, 2, "one", b"1"), container.file(volume, 2, "two", b"2"));
    let mut disk = container.finish();
    assert_eq!(checked(disk.clone(), None), (vec![], None));
    let (block, range) = value(&disk, CATALOGUE, &record(one, 8)).unwrap();
    let of_one = disk.blocks[&block][range].to_vec();
    change_value(&mut disk, CATALOGUE, &record(two, 8), |extent| extent.copy_from_slice(&of_one));
    assert_found(disk.clone(), "physical extent", "it counts 1 blocks of streams, and files have 2 of it");
    assert_found(disk, "physical extent", "it counts 1 streams, and no file has it");
}

#[test]
fn a_file_that_is_longer_than_its_extents_is_found() {
    let mut disk = sound();
    // The stream is the second field, after the name of 16 bytes.
    change_value(&mut disk, CATALOGUE, &record(HELLO, 3), |inode| {
        let stream = inode.len() - 40;
        inode[stream + 1] = 0x50;
    });
    assert_found(disk, "inode 20", "its extents end at byte 4096 of");
}

#[test]
fn a_check_that_is_stopped_ends_at_once() {
    let mut findings = Findings { stops_after: Some(2), ..Findings::default() };
    let disk: Arc<dyn ReadAt> = Arc::new(sound());
    let mut steps = Steps::new(&mut findings, Resume::default());
    assert_eq!(apfs::check(disk, None, &mut steps), Ok(()));
    assert!(steps.is_stopped());
    assert!(findings.calls <= 4 && findings.problems.is_empty());
}

/// Checks from a step, and returns what is found and the steps that there are.
fn resumed(disk: &Disk, from: Resume) -> (Vec<Problem>, Vec<Resume>) {
    let mut findings = Findings::default();
    let disk: Arc<dyn ReadAt> = Arc::new(disk.clone());
    assert_eq!(apfs::check(disk, None, &mut Steps::new(&mut findings, from)), Ok(()));
    findings.resumes.dedup();
    (findings.problems, findings.resumes)
}

#[test]
fn a_check_goes_on_at_any_step_and_tells_each_problem_once() {
    let sound = sound();
    let (_, steps) = resumed(&sound, Resume::default());
    assert_eq!(
        steps.len(),
        6,
        "container, volume, its catalogue and those of two snapshots, space: {steps:?}"
    );
    let mut damaged = sound.clone();
    change_value(&mut damaged, CATALOGUE, &record(HELLO, 3), |inode| inode[56] = 3);
    damaged.block(POOL_BITMAPS)[0] = 1;
    let expected = [2, 2, 2, 1, 1, 1];
    for (step, expected) in steps.into_iter().zip(expected) {
        assert_eq!(resumed(&sound, step).0, [], "{step:?}");
        assert_eq!(resumed(&damaged, step).0.len(), expected, "{step:?}");
    }
}

#[test]
fn a_wrong_byte_in_a_sealed_catalogue_is_found_by_its_hash() {
    let mut disk = sealed();
    // Nodes of a sealed volume have no header; one of them has this name.
    let name = b"program with the number 33\0";
    let has_name =
        |bytes: &[u8]| bytes[..32] == [0; 32] && bytes.windows(name.len()).any(|window| window == name);
    let node = *disk.blocks.iter().find(|(_, bytes)| has_name(bytes)).unwrap().0;
    disk.block(node)[BLOCK - 3] ^= 1;
    assert_found(disk, "catalogue node", "its hash in the sealed volume is wrong");
    let mut disk = sealed();
    let is_root = |bytes: &[u8]| bytes[..32] == [0; 32] && bytes[32] == 0x19;
    let root = *disk.blocks.iter().find(|(_, bytes)| is_root(bytes)).unwrap().0;
    disk.block(root)[2000] ^= 1;
    assert_found(disk, "seal of a volume", "the hash of the catalogue's root is another one");
}
