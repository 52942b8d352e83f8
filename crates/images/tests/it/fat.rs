//! Volumes of FAT that `mkfs.vfat` and mtools wrote (tests/data/MANIFEST.md).

use formats::Kind;
use images::Error;
use images::tree::Fork;

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
    let mut piece = [0; 10];
    if let Ok(long) = find(files, "DCIM/Größe of Ärger.jpeg") {
        // Each cluster is read again and again, up to the size of the file.
        assert!(files.read(long, Fork::Data, 0, &mut piece).is_ok());
    }
}
