//! The journal of HFS+: what it has is shown, and a damaged end of it is not.

use images::tree::Fork;

use crate::common::{check, file, files, find, lines, read};
use crate::writer::{BLOCK, Details, ROOT, Writer};

const JOURNALED: u32 = 1 << 13;
const UNMOUNTED: u32 = 1 << 8;
const SECTOR: usize = 512;
const LIST: usize = 4096;
const JOURNAL: usize = 16 * BLOCK;

/// The checksum of the journal.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(0u32, |sum, byte| (sum << 8) ^ sum.wrapping_add(u32::from(*byte)))
}

/// A volume whose file "file" is in one block; where that is, and where the journal is.
fn volume() -> (Vec<u8>, usize, usize) {
    let mut writer = Writer::new(128, "Journaled");
    let journal = writer.store(&vec![0xEE; JOURNAL]);
    let place = journal[0].0 as usize * BLOCK;
    let info =
        [&1u32.to_be_bytes()[..], &[0; 32], &(place as u64).to_be_bytes(), &(JOURNAL as u64).to_be_bytes()];
    let info = writer.store(&info.concat());
    let details = Details { mode: 0o100_000, ..Details::default() };
    writer.file_with(ROOT, ".journal", (JOURNAL as u64, &journal), (0, &[]), details);
    writer.file_with(ROOT, ".journal_info_block", (BLOCK as u64, &info), (0, &[]), details);
    let data = writer.store(b"before");
    writer.file_with(ROOT, "file", (6, &data), (0, &[]), Details::default());
    writer.flags = JOURNALED | UNMOUNTED;
    writer.journal_info_block = info[0].0;
    let mut bytes = writer.build();
    let header = header(SECTOR, SECTOR);
    bytes[place..place + header.len()].copy_from_slice(&header);
    (bytes, data[0].0 as usize * BLOCK, place)
}

/// The header of a journal, as a Mac with an Intel processor writes it.
fn header(start: usize, end: usize) -> Vec<u8> {
    let mut header = [0x4A4E_4C78u32.to_le_bytes(), 0x1234_5678u32.to_le_bytes()].concat();
    [start, end, JOURNAL].into_iter().for_each(|value| header.extend((value as u64).to_le_bytes()));
    header.extend([LIST as u32, 0, SECTOR as u32].into_iter().flat_map(u32::to_le_bytes));
    let sum = checksum(&header);
    header[36..40].copy_from_slice(&sum.to_le_bytes());
    header
}

/// A transaction with these blocks: their places on the volume, and their bytes.
fn transaction(sequence: u32, blocks: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let data: Vec<u8> = blocks.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    let mut list = [100u16.to_le_bytes(), (blocks.len() as u16 + 1).to_le_bytes()].concat();
    list.extend(((LIST + data.len()) as u32).to_le_bytes());
    list.extend([0u32, 3].into_iter().flat_map(u32::to_le_bytes)); // checksums of blocks, first list
    list.extend([0; 12]);
    list.extend(sequence.to_le_bytes());
    for (place, bytes) in blocks {
        let number = if *place == usize::MAX { u64::MAX } else { (*place / SECTOR) as u64 };
        list.extend(number.to_le_bytes());
        list.extend((bytes.len() as u32).to_le_bytes());
        list.extend(checksum(bytes).to_le_bytes());
    }
    let sum = checksum(&list[..32]);
    list[8..12].copy_from_slice(&sum.to_le_bytes());
    list.resize(LIST, 0);
    [list, data].concat()
}

fn block(text: &[u8]) -> Vec<u8> {
    let mut block = text.to_vec();
    block.resize(SECTOR, 0);
    block
}

/// Writes into the ring of the journal, from `at` on.
fn write(bytes: &mut [u8], place: usize, at: usize, data: &[u8]) -> usize {
    let mut at = at;
    for byte in data {
        bytes[place + at] = *byte;
        at = if at + 1 == JOURNAL { SECTOR } else { at + 1 };
    }
    at
}

fn set_header(bytes: &mut [u8], place: usize, start: usize, end: usize) {
    let header = header(start, end);
    bytes[place..place + header.len()].copy_from_slice(&header);
}

#[track_caller]
fn shows(bytes: Vec<u8>, wanted: &[u8]) {
    let source = file(bytes);
    let files = files(&source);
    assert_eq!(files.format(), "HFS+ (journaled)");
    assert_eq!(read(files.as_ref(), find(files.as_ref(), "file").unwrap(), Fork::Data), wanted);
    assert!(find(files.as_ref(), ".journal").is_err(), "files of the journal are not shown");
    assert_eq!(lines(&check(&source).1), [""; 0]);
}

#[test]
fn a_clean_journal_changes_nothing() {
    shows(volume().0, b"before");
}

#[test]
fn later_transactions_replace_earlier_ones() {
    let (mut bytes, data, place) = volume();
    let killed = (usize::MAX, block(b"freed"));
    let mut end = write(&mut bytes, place, SECTOR, &transaction(7, &[(data, block(b"first!")), killed]));
    end = write(&mut bytes, place, end, &transaction(8, &[(data, block(b"second"))]));
    set_header(&mut bytes, place, SECTOR, end);
    shows(bytes, b"second");
}

#[test]
fn transactions_go_around_the_end_of_the_ring() {
    for room in [100, 600, 4500] {
        let (mut bytes, data, place) = volume();
        let start = JOURNAL - room;
        let end = write(&mut bytes, place, start, &transaction(7, &[(data, block(b"around"))]));
        set_header(&mut bytes, place, start, end);
        shows(bytes, b"around");
    }
}

#[test]
fn transactions_behind_the_end_count_if_they_follow() {
    let (mut bytes, data, place) = volume();
    let end = write(&mut bytes, place, SECTOR, &transaction(7, &[(data, block(b"inside"))]));
    write(&mut bytes, place, end, &transaction(8, &[(data, block(b"behind"))]));
    set_header(&mut bytes, place, SECTOR, end);
    shows(bytes.clone(), b"behind");
    write(&mut bytes, place, end, &transaction(5, &[(data, block(b"behind"))]));
    shows(bytes, b"inside");
}

#[test]
fn a_damaged_transaction_ends_the_replay() {
    let (mut bytes, data, place) = volume();
    let end = write(&mut bytes, place, SECTOR, &transaction(7, &[(data, block(b"sound!"))]));
    let last = write(&mut bytes, place, end, &transaction(8, &[(data, block(b"broken"))]));
    bytes[place + end + LIST] ^= 1;
    set_header(&mut bytes, place, SECTOR, last);
    shows(bytes, b"sound!");
}

/// Lists that take few bytes and name many blocks would have the same bytes read again for each list.
#[test]
fn blocks_that_are_not_in_their_transaction_do_not_count() {
    let (mut bytes, data, place) = volume();
    let mut lying = transaction(7, &[(data, block(b"lying!"))]);
    lying[4..8].copy_from_slice(&(LIST as u32).to_le_bytes());
    lying[8..12].fill(0);
    let sum = checksum(&lying[..32]);
    lying[8..12].copy_from_slice(&sum.to_le_bytes());
    let end = write(&mut bytes, place, SECTOR, &lying);
    set_header(&mut bytes, place, SECTOR, end);
    shows(bytes, b"before");
}

#[test]
fn a_damaged_header_of_the_journal_is_reported() {
    let (mut bytes, _, place) = volume();
    bytes[place + 9] ^= 1;
    let source = file(bytes);
    assert_eq!(lines(&check(&source).1), ["journal header: its checksum is wrong"]);
    assert_eq!(
        read(files(&source).as_ref(), find(files(&source).as_ref(), "file").unwrap(), Fork::Data),
        b"before"
    );
}
