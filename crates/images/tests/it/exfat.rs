//! A volume of exFAT that `mkfs.exfat` and exfat-fuse wrote (tests/data/MANIFEST.md).

use formats::{Kind, Time};
use images::Error;
use images::tree::Fork;

use crate::common::{check, file, files, find, lines, list, names, read, stored};

#[test]
fn a_volume_of_exfat_is_shown() {
    let source = file(stored("exfat.img.gz"));
    let files = files(&source);
    let files = files.as_ref();
    assert_eq!((files.format().as_str(), files.name().as_str()), ("exFAT", "Card"));
    assert_eq!(names(files, files.root()), ["DCIM", "SHORT.TXT", "one", "two"]);
    let short = find(files, "short.txt").unwrap();
    assert_eq!(read(files, short, Fork::Data), b"short\n");
    assert_eq!(files.node(short).unwrap().modified, Time { secs: 1_000_000_000, nanos: 0 });
    let picture = find(files, "dcim/gr\u{f6}\u{df}e of \u{e4}rger.JPEG").unwrap();
    let expected: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
    assert_eq!(read(files, picture, Fork::Data), expected);
    let mut piece = [0; 10];
    assert_eq!(files.read(picture, Fork::Data, 299_995, &mut piece), Ok(5));
    assert_eq!(files.read(picture, Fork::Data, 300_000, &mut piece), Ok(0));
    let many = list(files, find(files, "DCIM/many").unwrap());
    assert_eq!(many.len(), 150, "the folder has several clusters");
    assert_eq!(
        (many[149].name.as_str(), many[149].kind),
        ("entry number 149 with a long name.text", Kind::File)
    );
    assert_eq!(read(files, many[149].node, Fork::Data), b"149\n");
    // The two were written in turns.
    assert_eq!(read(files, find(files, "one").unwrap(), Fork::Data), [b'a'; 40 * 4096]);
    assert_eq!(read(files, find(files, "two").unwrap(), Fork::Data), [b'b'; 40 * 4096]);
    assert_eq!(find(files, "DCIM/missing"), Err(Error::NotFound));
    let (checked, problems) = check(&source);
    assert_eq!((lines(&problems), checked.unchecked.len()), (Vec::new(), 1));
}

#[test]
fn chains_that_lead_to_themselves_end() {
    let mut bytes = stored("exfat.img.gz");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    // Every cluster leads to itself: section 3.1.5 and 3.1.9.
    let (table, clusters) = (number(80) << bytes[108], number(92));
    for cluster in 2..clusters + 2 {
        bytes[table + 4 * cluster..table + 4 * cluster + 4].copy_from_slice(&(cluster as u32).to_le_bytes());
    }
    let files = files(&file(bytes));
    assert!(files.entries(files.root(), None, 10).is_err(), "the top folder has a chain");
}
