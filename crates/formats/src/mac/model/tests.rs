use super::*;
use crate::mac::apple_double::Slot;
use crate::mac::samba;

fn at(secs: i64) -> Option<Time> {
    Some(Time { secs, nanos: 0 })
}

/// A file that uses everything the model has, as its setters leave it.
fn full() -> Metadata {
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    info.set_label(6);
    let mut metadata = Metadata { comment: b"a comment".to_vec(), ..Metadata::default() };
    metadata.set_finder_info(info);
    metadata.times =
        Times { created: at(1_000_000_000), backup: at(1_100_000_000), added: at(1_200_000_000) };
    metadata.set_hidden(true);
    metadata.set_locked(true);
    metadata.set_archive(true);
    metadata
}

#[test]
fn the_model_survives_each_pair_of_layouts_that_holds_all_of_it() {
    let model = full();
    assert_eq!(Metadata::from_netatalk(&model.to_netatalk()), (model.clone(), vec![]));

    let (netatalk, dosattrib) = (model.to_netatalk(), model.to_dosattrib());
    let parts =
        StoredParts { netatalk: Some(&netatalk), dosattrib: Some(&dosattrib), ..StoredParts::default() };
    assert_eq!(Metadata::from_parts(&parts), (model.clone(), vec![]));

    let header = model.to_netatalk2(b"notes", 0);
    let parts = StoredParts { netatalk2: Some((&header, header.len() as u64)), ..StoredParts::default() };
    assert_eq!(Metadata::from_parts(&parts), (model, vec![]));
}

#[test]
fn a_sidecar_and_an_info_stream_carry_the_finder_info() {
    let model = full();
    let (head, _) = model.to_sidecar(&[(b"x", b"y")], 0);
    let (from_sidecar, problems) = Metadata::from_parts(&StoredParts {
        sidecar: Some((&head, head.len() as u64)),
        ..StoredParts::default()
    });
    assert_eq!(
        (from_sidecar.finder_info, from_sidecar.times.added, problems),
        (model.finder_info, at(1_200_000_000), vec![])
    );
    assert!(from_sidecar.is_hidden());

    let stream = model.to_info_stream();
    let (from_stream, _) =
        Metadata::from_parts(&StoredParts { info_stream: Some(&stream), ..StoredParts::default() });
    assert_eq!((from_stream.finder_info, from_stream.times.backup), (model.finder_info, at(1_100_000_000)));
}

#[test]
fn dos_attributes_and_creation_time_are_those_of_dosattrib_when_it_has_them() {
    let netatalk = full().to_netatalk();
    let dos = samba::DosAttrib { attributes: DosAttributes::SYSTEM, created: at(5), itime: Some(9) };
    let parts =
        StoredParts { netatalk: Some(&netatalk), dosattrib: Some(&dos.build()), ..StoredParts::default() };
    let (metadata, _) = Metadata::from_parts(&parts);
    assert_eq!((metadata.dos, metadata.times.created), (DosAttributes::SYSTEM, at(5)));
    assert_eq!(metadata.to_dosattrib(), dos.build(), "the instance time is kept");

    let without_time = samba::DosAttrib { created: None, ..dos };
    let parts = StoredParts { dosattrib: Some(&without_time.build()), ..parts };
    assert_eq!(Metadata::from_parts(&parts).0.times.created, at(1_000_000_000));
}

#[test]
fn what_either_side_forbids_is_forbidden() {
    let netatalk = full().to_netatalk();
    let dosattrib = samba::DosAttrib::default().build();
    let parts =
        StoredParts { netatalk: Some(&netatalk), dosattrib: Some(&dosattrib), ..StoredParts::default() };
    let (metadata, _) = Metadata::from_parts(&parts);
    assert!(metadata.is_readonly() && metadata.bits.contains(FileBits::LOCKED));
}

#[test]
fn the_first_source_counts_and_the_others_fill_gaps() {
    let netatalk = Metadata { comment: b"kept".to_vec(), ..Metadata::default() }.to_netatalk();
    let (sidecar, _) = full().to_sidecar(&[], 0);
    let total = sidecar.len() as u64;
    let parts =
        StoredParts { netatalk: Some(&netatalk), sidecar: Some((&sidecar, total)), ..StoredParts::default() };
    let (metadata, _) = Metadata::from_parts(&parts);
    assert_eq!((&metadata.comment[..], metadata.finder_info.file_type()), (&b"kept"[..], *b"TEXT"));

    let mut other = FinderInfo::NONE;
    other.set_type(*b"APPL", *b"MOSS");
    let netatalk = Metadata { finder_info: other, ..Metadata::default() }.to_netatalk();
    let parts = StoredParts { netatalk: Some(&netatalk), ..parts };
    assert_eq!(Metadata::from_parts(&parts).0.finder_info.file_type(), *b"APPL");
}

#[test]
fn a_written_sidecar_counts_even_when_it_says_nothing() {
    let mut metadata = full();
    let (head, _) = sidecar::synthesize(&FinderInfo::NONE, &[], 0);
    metadata.absorb_sidecar(&sidecar::parse(&head, head.len() as u64).unwrap());
    assert!(metadata.finder_info.is_none() && !metadata.is_hidden());
    assert_eq!((&metadata.comment[..], metadata.times.added), (&b"a comment"[..], at(1_200_000_000)));
}

#[test]
fn unknown_entries_survive_a_rewrite_byte_for_byte() {
    let private = EntryId(0x8000_1234);
    let bytes = apple_double::pack(Container::Double, [0; 16], &[(private, b"\0\x01unknown")]);
    let (metadata, problems) = Metadata::from_netatalk(&bytes);
    assert_eq!(problems, [Problem::UnknownEntry(0x8000_1234)]);
    let (netatalk, kept) = (metadata.to_netatalk(), metadata.to_kept().unwrap());
    assert_eq!(netatalk.len(), netatalk::METADATA_LEN);
    let parts = StoredParts { netatalk: Some(&netatalk), kept: Some(&kept), ..StoredParts::default() };
    assert_eq!(Metadata::from_parts(&parts), (metadata, vec![]));
}

#[test]
fn what_cannot_be_read_is_kept_and_named_and_the_rest_is_used() {
    let dosattrib = full().to_dosattrib();
    let parts = StoredParts {
        netatalk: Some(b"no AppleDouble"),
        dosattrib: Some(&dosattrib),
        ..StoredParts::default()
    };
    let (metadata, problems) = Metadata::from_parts(&parts);
    assert!(matches!(problems[..], [Problem::Unreadable(Source::Netatalk, _)]));
    assert!(metadata.is_hidden());
    let kept = metadata.to_kept().unwrap();
    let (again, _) = Metadata::from_parts(&StoredParts { kept: Some(&kept), ..StoredParts::default() });
    assert_eq!(again.unreadable().collect::<Vec<_>>(), [(Source::Netatalk, &b"no AppleDouble"[..])]);
}

#[test]
fn values_of_one_source_that_cannot_be_read_are_kept_beside_each_other() {
    let mut kept = None;
    for number in 0..6 {
        let bytes = format!("damaged {number}");
        // A crash leaves the value where it was, although it is kept already.
        for _ in 0..2 {
            let parts = StoredParts {
                dosattrib: Some(bytes.as_bytes()),
                kept: kept.as_deref(),
                ..StoredParts::default()
            };
            let (metadata, problems) = Metadata::from_parts(&parts);
            assert!(matches!(problems[..], [Problem::Unreadable(Source::DosAttrib, _)]), "{problems:?}");
            kept = metadata.to_kept();
        }
    }
    let (metadata, problems) =
        Metadata::from_parts(&StoredParts { kept: kept.as_deref(), ..StoredParts::default() });
    assert_eq!(problems, []);
    let newest = [5, 4, 3, 2].map(|number| (Source::DosAttrib, format!("damaged {number}").into_bytes()));
    let found: Vec<_> = metadata.unreadable().map(|(source, bytes)| (source, bytes.to_vec())).collect();
    assert_eq!(found, newest);
}

#[test]
fn a_comment_too_long_for_netatalk_is_whole_again_with_what_was_kept() {
    let model = Metadata { comment: vec![b'c'; 300], ..Metadata::default() };
    let (netatalk, kept) = (model.to_netatalk(), model.to_kept().unwrap());
    assert_eq!(netatalk.len(), 402);
    let parts = StoredParts { netatalk: Some(&netatalk), kept: Some(&kept), ..StoredParts::default() };
    assert_eq!(Metadata::from_parts(&parts).0, model);
}

#[test]
fn the_dates_nobody_uses_and_the_upper_half_of_the_attributes_are_kept() {
    let dates = Dates { created: at(1), modified: at(2), backup: at(3), accessed: at(4) };
    let date_bytes = dates.to_bytes();
    let slots = [
        Slot::new(EntryId::FILE_DATES, 50, &date_bytes),
        Slot::new(EntryId::SERVER_FILE_INFO, 66, &[0xAB, 0xCD, 0x82, 0x10]),
    ];
    let bytes = apple_double::build(Container::Double, [0; 16], &slots, 70);
    let (metadata, problems) = Metadata::from_netatalk(&bytes);
    assert_eq!((metadata.bits, problems), (FileBits(0x8210), vec![]));
    let again = netatalk::parse(&metadata.to_netatalk()).unwrap().0;
    assert_eq!((again.dates, again.server_info), (Some(dates), Some(0xABCD_8210)));
}

#[test]
fn nothing_is_stored_for_a_file_that_has_nothing() {
    assert!(Metadata::default().is_empty());
    assert_eq!(Metadata::default().to_kept(), None);
    assert!(Metadata::from_netatalk(&Metadata::default().to_netatalk()).0.is_empty());
}

#[test]
fn clients_of_both_kinds_set_one_truth() {
    let mut metadata = Metadata::default();
    metadata.set_dos(DosAttributes::HIDDEN | DosAttributes::READONLY);
    assert!(metadata.finder_info.flags().contains(FinderFlags::IS_INVISIBLE));
    assert_eq!(metadata.bits, FileBits::INVISIBLE | FileBits::WRITE_INHIBIT);
    assert!(metadata.has_read_only_attribute() && metadata.shown_bits().contains(FileBits::LOCKED));
    metadata.set_bits(FileBits::SYSTEM | FileBits::COPY_PROTECT);
    assert_eq!((metadata.dos, metadata.is_hidden()), (DosAttributes::SYSTEM, false));
}

/// RFC 1740 appendix A: the lowest bit of entry 10 is the Finder's lock.
#[test]
fn an_imported_lock_forbids_what_the_finders_does() {
    let file = apple_double::pack(Container::Single, [0; 16], &[(EntryId::MAC_FILE_INFO, &[0, 0, 0, 1])]);
    let file = apple_double::AppleDouble::parse(&file, file.len() as u64).unwrap();
    let metadata = Metadata::from_fields(Fields::read(&file, &mut Vec::new()));
    assert_eq!((metadata.bits, metadata.dos), (FileBits::LOCKED, DosAttributes::READONLY));
}

#[test]
fn the_read_only_attribute_is_no_macs_lock_and_either_stays_what_it_is() {
    let mut metadata = Metadata::default();
    metadata.set_dos(DosAttributes::READONLY);
    // A Mac changes what it is shown, and Windows sends what it is shown.
    metadata.set_bits(metadata.shown_bits() | FileBits::COPY_PROTECT);
    metadata.set_dos(metadata.dos | DosAttributes::ARCHIVE);
    assert!(metadata.has_read_only_attribute() && metadata.bits.contains(FileBits::COPY_PROTECT));
    metadata.set_bits(metadata.shown_bits().difference(FileBits::LOCKED));
    assert!(!metadata.is_readonly());

    metadata.set_bits(FileBits::WRITE_INHIBIT);
    assert!(metadata.is_readonly() && !metadata.dos.contains(DosAttributes::READONLY));
    metadata.set_dos(DosAttributes::READONLY | DosAttributes::HIDDEN);
    assert!(!metadata.has_read_only_attribute());
    metadata.set_bits(FileBits::LOCKED);
    assert!(metadata.dos.contains(DosAttributes::READONLY) && !metadata.has_read_only_attribute());
}

#[test]
fn making_a_locked_file_writable_unlocks_it() {
    let mut metadata = Metadata::default();
    metadata.set_locked(true);
    metadata.set_dos(DosAttributes::READONLY | DosAttributes::HIDDEN);
    assert!(metadata.bits.contains(FileBits::LOCKED));
    metadata.set_dos(DosAttributes::ARCHIVE);
    assert_eq!(metadata.bits.0 & FileBits::LOCKED.0, 0);
}
