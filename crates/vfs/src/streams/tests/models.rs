use super::*;
use crate::Error;
use crate::mac::fields::{Dates, Fields, IdHint};
use crate::mac::layout::{DOSATTRIB, KEPT, NETATALK_METADATA};
use crate::mac::{DosAttributes, FinderInfo, Metadata, Source, netatalk};

fn load(disk: &Disk, file: &Owned) -> Metadata {
    disk.streams.load(&file.file()).unwrap().0
}

fn sample() -> Metadata {
    let mut metadata = Metadata::default();
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    metadata.set_finder_info(info);
    metadata.comment = b"a comment".to_vec();
    metadata.times.created = Some(Time { secs: 1_000_000_000, nanos: 0 });
    metadata.set_dos(DosAttributes::HIDDEN);
    metadata
}

#[test]
fn a_file_without_attributes_has_an_empty_model() {
    let disk = Disk::new();
    let file = disk.make("f");
    assert!(load(&disk, &file).is_empty());
    let before = disk.faulty.plan().calls(None);
    load(&disk, &file);
    assert_eq!(disk.faulty.plan().calls(None) - before, 3); // list, look-up, mark
}

#[test]
fn what_is_stored_is_loaded_and_is_where_neighbours_look() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.streams.store(&user(), &file.file(), &sample()).unwrap();
    assert_eq!(load(&disk, &file), sample());
    assert_eq!(file.object.xattr(NETATALK_METADATA).unwrap().len(), 402);
    assert_eq!(file.object.xattr(DOSATTRIB).unwrap()[4..6], [4, 0]); // version 4
    assert_eq!(file.object.xattr(KEPT), Err(Error::NoSuchAttribute));
}

/// afpd changes the date in its header, and knows no DOS attributes.
#[test]
fn a_creation_date_that_afpd_sets_later_counts() {
    let (at, later) = (|secs| Some(Time { secs, nanos: 0 }), Some(Time { secs: 1_100_000_000, nanos: 0 }));
    let by_afpd = |created| {
        let id_hint = IdHint { dev: [1; 8], ino: [2; 8], syn: [3; 8], id: [4; 4] };
        let dates = Dates { created, ..Dates::default() };
        netatalk::build(&Fields { dates: Some(dates), id_hint: Some(id_hint), ..Fields::default() })
    };
    for dos in [DosAttributes::default(), DosAttributes::HIDDEN] {
        let disk = Disk::new();
        let file = disk.make("f");
        set_xattr(&*file.object, NETATALK_METADATA, &by_afpd(at(1_000_000_000)));
        let mut metadata = load(&disk, &file);
        metadata.set_dos(dos);
        metadata.comment = b"of this server".to_vec();
        disk.streams.store(&user(), &file.file(), &metadata).unwrap();
        assert_eq!(load(&disk, &file).times.created, at(1_000_000_000));
        set_xattr(&*file.object, NETATALK_METADATA, &by_afpd(later));
        assert_eq!(load(&disk, &file).times.created, later, "{dos:?}");
        // A client with a finer clock.
        metadata.times.created = Some(Time { secs: 1_200_000_000, nanos: 500 });
        disk.streams.store(&user(), &file.file(), &metadata).unwrap();
        assert_eq!(load(&disk, &file).times.created, metadata.times.created);
    }
}

#[test]
fn storing_nothing_leaves_nothing() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.streams.store(&user(), &file.file(), &sample()).unwrap();
    disk.streams.store(&user(), &file.file(), &Metadata::default()).unwrap();
    assert_eq!(file.object.list_xattrs(), Ok(vec![]));
    assert!(load(&disk, &file).is_empty());
}

#[test]
fn metadata_that_cannot_be_read_is_reported_and_kept() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, NETATALK_METADATA, b"not AppleDouble at all");
    let (metadata, problems) = disk.streams.load(&file.file()).unwrap();
    assert_eq!(problems.len(), 1);
    let mut metadata = metadata;
    metadata.set_finder_info(sample().finder_info);
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    let again = load(&disk, &file);
    assert_eq!(again.finder_info, sample().finder_info);
    let kept: Vec<_> = again.unreadable().collect();
    assert_eq!(kept, [(Source::Netatalk, &b"not AppleDouble at all"[..])]);
}

/// Also when the power fails between any two calls.
#[test]
fn metadata_that_cannot_be_read_is_never_lost() {
    let mut through = false;
    for nth in 1..100 {
        let mut disk = Disk::new();
        let file = disk.make("f");
        set_xattr(&*file.object, NETATALK_METADATA, b"damaged");
        let mut metadata = load(&disk, &file);
        metadata.set_finder_info(sample().finder_info);
        disk.faulty.plan().fail_from(nth, None, Error::Io);
        through = disk.streams.store(&user(), &file.file(), &metadata).is_ok();
        disk.crash();
        assert_eq!(load(&disk, &file).unreadable().next(), Some((Source::Netatalk, &b"damaged"[..])));
        if through {
            break;
        }
    }
    assert!(through);
}

#[test]
fn only_those_who_may_write_the_file_may_store() {
    let disk = Disk::new();
    let file = disk.make("f");
    let other = Caller::new(11, 21, &[]);
    assert_eq!(disk.streams.store(&other, &file.file(), &sample()), Err(Error::AccessDenied));
    let locked = crate::SetAttributes { mode: Some(0o444), ..Default::default() };
    file.object.set_attributes(&user(), &locked).unwrap();
    disk.streams.store(&user(), &file.file(), &sample()).unwrap(); // its owner may
}

#[test]
fn folders_have_a_model_too() {
    let disk = Disk::new();
    let folder = disk.folder("d");
    let file = Owned { folder: disk.root(), name: b"d".into(), object: folder };
    disk.streams.store(&user(), &file.file(), &sample()).unwrap();
    assert_eq!(load(&disk, &file), sample());
    let root = disk.root();
    disk.streams.store_alone(&Caller::root(), &*root, &sample()).unwrap();
    assert_eq!(disk.streams.load_alone(&*root).unwrap().0, sample());
}
