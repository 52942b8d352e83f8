//! Volumes of ext2 and ext4 that `mke2fs` wrote (tests/data/MANIFEST.md).

use formats::{Kind, Time};
use images::Error;
use images::tree::Fork;

use crate::common::{check, file, files, find, lines, list, names, read, stored};

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
