//! Files get another layout, and their former one again.

use super::foreign::{TAGS, in_depot, netatalk_ea, synology};
use super::*;
use crate::mac::{DosAttributes, FinderInfo, Metadata, layout};
use crate::streams::Style;

/// A file of Samba with all in attributes.
fn samba() -> (Disk, Owned) {
    let disk = Disk::new();
    let file = disk.make("f");
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0TEXTttxt".to_vec();
    info.resize(61, 0);
    set_xattr(&*file.object, b"user.DosStream.AFP_AfpInfo:$DATA", &info);
    set_xattr(&*file.object, b"user.DosStream.AFP_Resource:$DATA", b"fork\0");
    let tags = "user.DosStream.com.apple.metadata\u{f022}_kMDItemUserTags:$DATA";
    set_xattr(&*file.object, tags.as_bytes(), b"tags\0");
    set_xattr(&*file.object, b"user.DosStream.plain:$DATA", b"plain\0");
    (disk, file)
}

/// A file of Netatalk 4, with its fork in a sidecar of another writer.
fn netatalk() -> (Disk, Owned) {
    let disk = Disk::new();
    let file = disk.make("f");
    let mut metadata = Metadata::default();
    metadata.finder_info.set_type(*b"TEXT", *b"ttxt");
    metadata.comment = b"remember".to_vec();
    set_xattr(&*file.object, layout::NETATALK_METADATA, &metadata.to_netatalk());
    set_xattr(&*file.object, b"user.com.apple.metadata:_kMDItemUserTags", b"tags");
    disk.put("._f", &[&metadata.to_stored_sidecar(4)[..], b"fork"].concat());
    (disk, file)
}

/// A file of Netatalk that is invisible in the Finder: Netatalk's own bits and the Finder info both say so.
fn invisible() -> (Disk, Owned) {
    let (disk, file) = netatalk();
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.set_hidden(true);
    set_xattr(&*file.object, layout::NETATALK_METADATA, &metadata.to_netatalk());
    (disk, file)
}

/// A file to which a client of SMB gave DOS attributes and a date of creation, with no Finder info.
fn marked() -> (Disk, Owned) {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, layout::NETATALK_METADATA, &Metadata::default().to_netatalk());
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.set_dos(DosAttributes::HIDDEN | DosAttributes::SYSTEM | DosAttributes::ARCHIVE);
    metadata.set_hidden(false);
    metadata.times.created = Some(Time { secs: 1_100_000_000, nanos: 0 });
    disk.streams.store(&Caller::root(), &file.file(), &metadata).unwrap();
    disk.put("._f", &[&metadata.to_stored_sidecar(4)[..], b"fork"].concat());
    (disk, file)
}

/// A file copied by `rsync -X` from a Mac.
fn copied() -> (Disk, Owned) {
    let disk = Disk::new();
    let file = disk.make("f");
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    set_xattr(&*file.object, layout::APPLE_FINDER_INFO, info.as_bytes());
    set_xattr(&*file.object, layout::APPLE_RESOURCE, b"fork");
    set_xattr(&*file.object, b"user.com.apple.metadata:_kMDItemUserTags", b"tags");
    (disk, file)
}

fn all() -> Vec<(&'static str, Disk, Owned)> {
    let of = |name, (disk, file): (Disk, Owned)| (name, disk, file);
    let (disk, file, _) = in_depot();
    vec![
        of("samba", samba()),
        of("netatalk", netatalk()),
        of("invisible", invisible()),
        of("marked", marked()),
        of("copied", copied()),
        of("ea = ad", netatalk_ea()),
        of("synology", synology()),
        ("depot", disk, file),
    ]
}

#[test]
fn every_layout_becomes_every_other_and_comes_back_byte_for_byte() {
    for style in [Style::NETATALK, Style::SAMBA, Style::SAMBA_STREAMS] {
        for (name, disk, file) in all() {
            let (streams, at) = (&disk.streams, file.file());
            let outside = streams.layouts().outside(&at, style).unwrap();
            let (raw, seen) =
                (streams.layouts().raw(&at, false).unwrap(), streams.layouts().content(&at).unwrap());
            assert_eq!(streams.layouts().conflicts(&at).unwrap(), [""; 0], "{name}");
            if outside.is_empty() {
                continue;
            }
            streams.layouts().relayout(&at, style).unwrap();
            assert!(seen.is_in(&streams.layouts().content(&at).unwrap()), "{name} to {style:?}");
            assert_eq!(streams.layouts().outside(&at, style).unwrap(), [""; 0], "{name} to {style:?}");
            let now = streams.layouts().raw(&at, false).unwrap();
            assert!(now.files.iter().all(|file| file.name == b"._f"), "{name} to {style:?}: {:?}", now.files);
            streams.layouts().restore(&at, &raw).unwrap();
            let (mut back, mut before) = (streams.layouts().raw(&at, false).unwrap(), raw);
            back.xattrs.sort();
            before.xattrs.sort();
            assert_eq!(back, before, "{name} from {style:?}");
        }
    }
}

#[test]
fn a_layout_has_the_attributes_that_its_server_reads() {
    let (disk, file) = netatalk();
    disk.streams.layouts().relayout(&file.file(), Style::SAMBA_STREAMS).unwrap();
    let xattr = |name: &[u8]| file.object.xattr(name).unwrap();
    assert_eq!(xattr(b"user.DosStream.AFP_AfpInfo:$DATA")[16..24], *b"TEXTttxt");
    assert_eq!(xattr(b"user.DosStream.AFP_Resource:$DATA"), b"fork\0");
    let tags = "user.DosStream.com.apple.metadata\u{f022}_kMDItemUserTags:$DATA";
    assert_eq!(xattr(tags.as_bytes()), b"tags\0");
    assert!(!disk.has("._f"));
    // The comment has no place in Samba's streams.
    let rest = Metadata::from_netatalk(&xattr(layout::NETATALK_METADATA)).0;
    assert_eq!((rest.finder_info.is_none(), &rest.comment[..]), (true, &b"remember"[..]));

    let (disk, file) = samba();
    disk.streams.layouts().relayout(&file.file(), Style::NETATALK).unwrap();
    let names = file.object.list_xattrs().unwrap();
    assert!(!names.iter().any(|name| name.starts_with(b"user.DosStream.")), "{names:?}");
    assert_eq!(file.object.xattr(b"user.com.apple.metadata:_kMDItemUserTags").as_deref(), Ok(&b"tags"[..]));
    assert_eq!(disk.fork(&file), b"fork");
    let mut value = Vec::new();
    disk.streams.read_stream(&user(), &file.file(), TAGS, (0, 99), &mut value).unwrap();
    assert_eq!(value, b"tags");
}

#[test]
fn copies_that_differ_are_conflicts() {
    let (disk, file) = samba();
    let mut metadata = Metadata::default();
    metadata.finder_info.set_type(*b"JPEG", *b"ogle");
    set_xattr(&*file.object, layout::NETATALK_METADATA, &metadata.to_netatalk());
    set_xattr(&*file.object, b"user.com.apple.ResourceFork", b"other");
    set_xattr(&*file.object, b"user.plain", b"other");
    let conflicts = disk.streams.layouts().conflicts(&file.file()).unwrap();
    assert_eq!(conflicts, ["Finder info", "resource fork", "named streams"]);
}
