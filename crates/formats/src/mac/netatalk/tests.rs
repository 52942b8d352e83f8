use super::*;
use crate::Time;
use crate::mac::bits::FileBits;
use crate::mac::fields::KeptEntry;

fn full() -> Fields {
    let at = |secs| Some(Time { secs, nanos: 0 });
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    Fields {
        finder_info: Some(info),
        comment: Some(b"a comment".to_vec()),
        dates: Some(Dates {
            created: at(946_684_801),
            modified: at(1_000_000_000),
            backup: None,
            accessed: at(2),
        }),
        server_info: Some(u32::from(FileBits::LOCKED.0)),
        id_hint: Some(IdHint { dev: [1; 8], ino: [2; 8], syn: [3; 8], id: [4; 4] }),
        ..Fields::default()
    }
}

/// The places are those a dump in Netatalk issue 992 shows.
#[test]
fn the_attribute_has_402_bytes_with_every_entry_in_its_place() {
    let blob = build(&full());
    assert_eq!(blob.len(), 402);
    assert_eq!(blob[..26], *b"\0\x05\x16\x07\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08");
    assert_eq!(blob[0x7A..0x82], *b"TEXTttxt");
    assert_eq!(blob[0x9A..0xA3], *b"a comment");
    assert_eq!(blob[0x162..0x166], [0, 0, 0, 1]);
    assert_eq!(blob[0x16A..0x16E], [0x80, 0, 0, 0]);
    assert_eq!(blob[0x172..0x176], [0, 0, 1, 0xA0]);
    assert_eq!(blob[0x18E..], [4; 4]);
}

#[test]
fn both_layouts_read_back() {
    let mut fields = full();
    assert_eq!(parse(&build(&fields)), Ok((fields.clone(), vec![])));

    fields.real_name = Some(b"notes".to_vec());
    fields.kept.push(KeptEntry { id: EntryId::PRODOS_FILE_INFO, bytes: vec![9; 8] });
    let header = build_header_file(&fields, 0);
    assert_eq!(header.len(), 741);
    assert_eq!(parse(&header), Ok((fields, vec![])));
}

#[test]
fn without_a_hint_the_private_entries_are_there_but_empty() {
    let blob = build(&Fields::default());
    let file = AppleDouble::parse(&blob, 402).unwrap();
    assert_eq!(file.entries.len(), 8);
    assert_eq!(file.entry(EntryId::NETATALK_ID).map(|entry| (entry.offset, entry.length)), Some((0x18E, 0)));
    assert_eq!(parse(&blob).unwrap().0.id_hint, None);
}

#[test]
fn an_entry_of_the_wrong_length_is_named_and_kept() {
    let blob = apple_double::pack(Container::Double, [0; 16], &[(EntryId::FILE_DATES, b"short")]);
    let (fields, problems) = parse(&blob).unwrap();
    assert_eq!(problems, [Problem::EntryLength { id: 8, length: 5 }]);
    assert_eq!(fields.kept, [KeptEntry { id: EntryId::FILE_DATES, bytes: b"short".to_vec() }]);
}
