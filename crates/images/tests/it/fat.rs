//! Volumes of FAT that `mkfs.vfat` and mtools wrote (tests/data/MANIFEST.md).

use std::sync::Arc;

use formats::Kind;
use images::tree::Fork;
use images::{Error, ReadAt};

use crate::common::{check, file, files, find, lines, list, names, read, stored};

#[test]
fn volumes_of_each_width_are_shown() {
    for (image, format, name) in
        [("fat12", "FAT12", "CARD 12"), ("fat16", "FAT16", "CARD 16"), ("fat32", "FAT32", "CARD 32")]
    {
        let source = file(stored(&format!("{image}.img.gz")));
        let files = files(&source);
        let files = files.as_ref();
        assert_eq!((files.format().as_str(), files.name().as_str()), (format, name));
        assert_eq!(names(files, files.root()), ["DCIM", "A folder with a long name", "SHORT.TXT"]);
        let folder = list(files, find(files, "a FOLDER with a long name").unwrap());
        assert_eq!(folder.len(), 40);
        assert_eq!((folder[39].name.as_str(), folder[39].kind), ("entry number 40.text", Kind::File));
        assert_eq!(read(files, folder[39].node, Fork::Data), b"40\n");
        let long = find(files, "dcim/größe of ärger.jpeg").unwrap();
        assert_eq!(read(files, long, Fork::Data), [vec![b'x'; 69_999], b"\n".to_vec()].concat());
        let mut piece = [0; 10];
        assert_eq!(files.read(long, Fork::Data, 69_995, &mut piece), Ok(5));
        assert_eq!(piece[..5], *b"xxxx\n");
        assert_eq!(files.node(long).unwrap().mode, 0o644);
        assert_eq!(find(files, "DCIM/missing"), Err(Error::NotFound));
        let (checked, problems) = check(&source);
        assert_eq!((lines(&problems), checked.unchecked.len()), (Vec::new(), 1));
    }
}

#[test]
fn chains_that_lead_to_themselves_end() {
    let mut bytes = stored("fat16.img.gz");
    // The first table is behind the reserved sectors; every cluster leads to itself.
    let table = 512 * usize::from(u16::from_le_bytes([bytes[14], bytes[15]]));
    let length = 512 * usize::from(u16::from_le_bytes([bytes[22], bytes[23]]));
    for number in 2..length / 2 {
        bytes[table + 2 * number..table + 2 * number + 2].copy_from_slice(&(number as u16).to_le_bytes());
    }
    let source = file(bytes);
    let files = files(&source);
    let files = files.as_ref();
    assert!(list(files, files.root()).len() == 3, "the top folder has no chain");
    let damaged = find(files, "DCIM/Größe of Ärger.jpeg").unwrap_err();
    assert!(matches!(damaged, Error::Damaged { .. }), "{damaged}");
}

/// A volume of FAT32 that says that it has all clusters that there can be, in which `SHORT.TXT` begins with cluster 10 and has 4 GiB.
/// Its table leads from each cluster to the one that `next` says.
struct Huge {
    bytes: Vec<u8>,
    table: u64,
    next: fn(u32) -> u32,
}

impl Huge {
    fn new(next: fn(u32) -> u32) -> Arc<Self> {
        let mut bytes = stored("fat32.img.gz");
        let whole = files(&file(bytes.clone()));
        let entry = find(whole.as_ref(), "SHORT.TXT").unwrap().0 as usize;
        bytes[32..36].fill(0xFF); // sectors
        bytes[entry + 28..entry + 32].fill(0xFF);
        bytes[entry + 20..entry + 22].fill(0);
        bytes[entry + 26..entry + 28].copy_from_slice(&10u16.to_le_bytes());
        let table = 512 * u64::from(u16::from_le_bytes([bytes[14], bytes[15]]));
        Arc::new(Self { bytes, table, next })
    }
}

impl ReadAt for Huge {
    fn length(&self) -> u64 {
        1 << 50
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> images::Result<()> {
        let number = offset.checked_sub(self.table).map(|place| (place / 4) as u32);
        match number.filter(|number| buffer.len() == 4 && *number >= 10) {
            Some(number) => buffer.copy_from_slice(&(self.next)(number).to_le_bytes()),
            None => {
                buffer.fill(0);
                let stored = self.bytes.get(offset as usize..).unwrap_or_default();
                buffer.iter_mut().zip(stored).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(())
    }
}

#[test]
fn a_file_that_needs_more_memory_than_the_limit_is_refused() {
    let read = |next: fn(u32) -> u32| {
        let files = images::fat::open(Huge::new(next)).unwrap();
        let short = files.lookup(files.root(), "SHORT.TXT").unwrap().node;
        files.read(short, Fork::Data, 0, &mut [0; 10])
    };
    let circle = read(|cluster| if cluster == 10 { 12 } else { 10 });
    assert!(matches!(circle, Err(Error::Damaged { .. })), "two clusters that lead to each other: {circle:?}");
    let pieces = read(|cluster| cluster + 2);
    assert!(matches!(pieces, Err(Error::NotSupported(_))), "eight million pieces: {pieces:?}");
    assert_eq!(read(|cluster| cluster + 1), Ok(10), "one piece");
}
