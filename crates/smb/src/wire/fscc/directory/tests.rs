use super::super::readdirattr::{ReadDirAttrVersion, ShortFinderInfo};
use super::*;
use crate::wire::security::{AccessMask, well_known};

/// Each field has a different number, so that the test finds swapped fields.
fn facts() -> Facts {
    Facts {
        creation_time: NtTime(0x0101_0101_0101_0101),
        last_access_time: NtTime(0x0202_0202_0202_0202),
        last_write_time: NtTime(0x0303_0303_0303_0303),
        change_time: NtTime(0x0404_0404_0404_0404),
        end_of_file: 0x0505_0505_0505_0505,
        allocation_size: 0x0606_0606_0606_0606,
        attributes: FileAttributes::ARCHIVE,
        ea_size: 0x0808_0808,
        reparse_tag: 0,
        file_id: 0x0909_0909_0909_0909,
    }
}

fn entry<'a>(name: &'a str, short_name: &'a [u16]) -> Entry<'a> {
    Entry { facts: facts(), name: EntryName::Utf8(name), short_name, mac: None, posix: None }
}

fn posix() -> PosixAttributes {
    let (owner, group) = (well_known::Unix::User(1000).sid(), well_known::NOBODY);
    PosixAttributes { device: 1, links: 2, mode: 0o1755, owner, group }
}

/// By struct smb2_posix_info of Linux: the name's length comes after the SIDs.
#[test]
fn an_entry_of_the_posix_extensions_has_its_name_behind_the_sids() {
    let posix = posix();
    let bytes = encoded(Form::Posix, &[Entry { posix: Some(&posix), ..entry("n", &[]) }]);
    let expected = [
        &common(0)[..60],
        &[9; 8],
        b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\xed\x03\0\0",
        b"\x01\x02\0\0\0\0\0\x16\x01\0\0\0\xe8\x03\0\0\x01\x01\0\0\0\0\0\0\0\0\0\0",
        b"\x02\0\0\0n\0",
    ]
    .concat();
    assert_eq!(bytes, expected);
}

fn encoded(form: Form, entries: &[Entry<'_>]) -> Vec<u8> {
    let mut w = Writer::new();
    let mut listing = Listing::begin(&w, form, 65536);
    for entry in entries {
        assert!(listing.push(&mut w, entry));
    }
    w.into_bytes()
}

/// Fields that all forms have, MS-FSCC FileDirectoryInformation.
fn common(name_len: u8) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    for byte in 1..=6 {
        bytes.extend([byte; 8]);
    }
    bytes.extend([0x20, 0, 0, 0, name_len, 0, 0, 0]);
    bytes
}

/// The structures of MS-FSCC 2.4, field by field.
#[test]
fn each_form_has_its_fields_in_their_places() {
    let short = text::of("S~1");
    let (ea, id, name) = ([8; 4], [9; 8], b"n\0");
    let short_name = [&[6, 0][..], b"S\0~\x001\0", &[0; 18]].concat();
    let forms: [(Form, Vec<&[u8]>); 8] = [
        (Form::Directory, vec![]),
        (Form::Full, vec![&ea]),
        (Form::IdFull, vec![&ea, &[0; 4], &id]),
        (Form::Both, vec![&ea, &short_name]),
        (Form::IdBoth, vec![&ea, &short_name, &[0; 2], &id]),
        (Form::IdGlobalTx, vec![&id, &[0; 16], &[0; 4]]),
        (Form::IdExtd, vec![&ea, &[0; 4], &id, &[0; 8]]),
        (Form::IdExtdBoth, vec![&ea, &[0; 4], &id, &[0; 8], &short_name]),
    ];
    for (form, rest) in forms {
        let expected = [common(2), rest.concat(), name.to_vec()].concat();
        assert_eq!(encoded(form, &[entry("n", &short)]), expected, "{form:?}");
    }
    assert_eq!(encoded(Form::Names, &[entry("n", &short)]), b"\0\0\0\0\0\0\0\0\x02\0\0\0n\0");
}

#[test]
fn entries_begin_at_multiples_of_8_and_know_the_distance_to_the_next() {
    let bytes = encoded(Form::Names, &[entry("abc", &[]), entry("d", &[])]);
    // 12 + 6 = 18, so the second is at 24.
    assert_eq!(bytes[..4], [24, 0, 0, 0]);
    assert_eq!(bytes[18..24], [0; 6]);
    assert_eq!(bytes[24..], *b"\0\0\0\0\0\0\0\0\x02\0\0\0d\0");
}

#[test]
fn alignment_counts_from_where_the_listing_begins() {
    let mut w = Writer::onto(vec![0xAA; 3]);
    let mut listing = Listing::begin(&w, Form::Names, 100);
    assert!(listing.push(&mut w, &entry("a", &[])) && listing.push(&mut w, &entry("b", &[])));
    assert_eq!(w.as_bytes()[3], 16);
    assert_eq!(w.len(), 3 + 16 + 14);
}

#[test]
fn an_entry_that_does_not_fit_leaves_all_as_it_was() {
    let mut w = Writer::onto(vec![0xAA; 8]);
    let mut listing = Listing::begin(&w, Form::Names, 16 + 13);
    assert!(listing.push(&mut w, &entry("a", &[])) && !listing.is_empty());
    let before = w.as_bytes().to_vec();
    assert!(!listing.push(&mut w, &entry("b", &[])));
    assert_eq!(w.as_bytes(), before);

    let mut listing = Listing::begin(&w, Form::Names, 13);
    assert!(!listing.push(&mut w, &entry("a", &[])) && listing.is_empty());
    let mut listing = Listing::begin(&w, Form::Names, 14);
    assert!(listing.push(&mut w, &entry("a", &[])));
}

/// MS-FSCC, EaSize: "if FILE_ATTRIBUTE_REPARSE_POINT is set ... this field MUST contain a reparse tag".
#[test]
fn a_reparse_point_has_its_tag_for_ea_size() {
    let mut link = entry("l", &[]);
    link.facts.attributes = FileAttributes::REPARSE_POINT;
    link.facts.reparse_tag = 0xA000_000C;
    for form in [Form::Full, Form::Both, Form::IdFull, Form::IdBoth] {
        assert_eq!(encoded(form, &[link])[64..68], [0x0C, 0, 0, 0xA0], "{form:?}");
    }
    for form in [Form::IdExtd, Form::IdExtdBoth] {
        assert_eq!(encoded(form, &[link])[64..72], [8, 8, 8, 8, 0x0C, 0, 0, 0xA0], "{form:?}");
    }
}

fn mac(version: ReadDirAttrVersion) -> MacAttributes {
    let mut finder_info = [0; 32];
    finder_info[..10].copy_from_slice(b"TEXTttxt\x01\x02");
    finder_info[24..26].copy_from_slice(b"\x03\x04");
    MacAttributes {
        maximal_access: AccessMask(0x001F_01FF),
        version,
        resource_fork_len: 0x0102,
        finder_info: ShortFinderInfo::new(&finder_info, false, 0x0A0B_0C0D),
        mode: 0o100644,
    }
}

/// Protocol facts 8.6, offset by offset.
#[test]
fn a_mac_finds_its_attributes_in_the_places_of_ea_size_and_short_name() {
    let (v1, v2) = (mac(ReadDirAttrVersion::V1), mac(ReadDirAttrVersion::V2 { has_no_xattrs: true }));
    let rest = b"\x02\x01\0\0\0\0\0\0TEXTttxt\x01\x02\x03\x04\x0a\x0b\x0c\x0d\xa4\x81";
    for (mac, flags) in
        [(&v1, [24, 0]), (&v2, [1, 0]), (&mac(ReadDirAttrVersion::V2 { has_no_xattrs: false }), [0, 0])]
    {
        let bytes = encoded(Form::IdBothMac, &[Entry { mac: Some(mac), ..entry("n", &[]) }]);
        assert_eq!(bytes[64..68], [0xFF, 0x01, 0x1F, 0]);
        assert_eq!(bytes[68..70], flags);
        assert_eq!(bytes[70..96], rest[..]);
        assert_eq!(bytes[96..], *b"\x09\x09\x09\x09\x09\x09\x09\x09n\0");
    }
}

#[test]
fn a_folder_has_zeros_for_type_and_creator() {
    let info = ShortFinderInfo::new(&[0xFF; 32], true, -1);
    assert_eq!(info.0, [0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
}

#[test]
fn a_mac_sees_the_tag_of_a_reparse_point_and_no_access() {
    let mac = mac(ReadDirAttrVersion::V1);
    let mut link = Entry { mac: Some(&mac), ..entry("l", &[]) };
    link.facts.attributes = FileAttributes::REPARSE_POINT;
    link.facts.reparse_tag = 0xA000_000C;
    assert_eq!(encoded(Form::IdBothMac, &[link])[64..68], [0x0C, 0, 0, 0xA0]);
}

#[test]
fn names_are_utf_16_however_they_come() {
    let long = "a".repeat(255);
    for name in ["a", "\u{e9}\u{1F600}", &long] {
        let units = text::of(name);
        let given = |name| encoded(Form::Names, &[Entry { name, ..entry("", &[]) }]);
        let mut expected = vec![0; 8];
        expected.extend((units.len() as u32 * 2).to_le_bytes());
        expected.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        assert_eq!(given(EntryName::Utf8(name)), expected);
        assert_eq!(given(EntryName::Units(&units)), expected);
    }
}

#[test]
fn what_was_written_is_read() {
    for class in [1, 2, 3, 12, 37, 38, 50, 60, 63, 100] {
        let form = Form::of(FileClass(class)).unwrap();
        let short = text::of("A~1");
        let posix = posix();
        let with_posix = |entry| Entry { posix: Some(&posix), ..entry };
        let given = [entry("first", &short), entry("second", &[])].map(with_posix);
        let bytes = encoded(form, &given);
        let read = decode(form, &bytes).unwrap();
        assert_eq!([&read[0].name, &read[1].name], [&text::of("first"), &text::of("second")]);
        let entries: Vec<_> = read.iter().map(OwnedEntry::entry).collect();
        assert_eq!(encoded(form, &entries), bytes);
    }
    assert_eq!(Form::of(FileClass::BASIC), None);
}

#[test]
fn lengths_that_lie_are_malformed() {
    let whole = encoded(Form::IdBoth, &[entry("name", &[])]);
    for len in 1..whole.len() {
        assert!(decode(Form::IdBoth, &whole[..len]).is_err(), "{len}");
    }
    let mut short_name = whole.clone();
    short_name[68] = 25;
    assert!(decode(Form::IdBoth, &short_name).is_err());
    assert_eq!(decode(Form::IdBoth, &[]), Ok(vec![]));
}
