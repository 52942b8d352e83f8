use wire::{Reader, Writer};

use super::well_known::{ADMINISTRATORS, EVERYONE, EntryNumber, Unix};
use super::*;

fn sid(text: &str) -> Sid {
    text.parse().unwrap()
}

fn sid_bytes(sid: &Sid) -> Vec<u8> {
    let mut w = Writer::new();
    sid.encode(&mut w);
    assert_eq!(w.len(), sid.byte_len());
    w.into_bytes()
}

fn encoded(descriptor: &SecurityDescriptor) -> Vec<u8> {
    let mut w = Writer::new();
    descriptor.encode(&mut w);
    assert_eq!(w.len(), descriptor.byte_len());
    w.into_bytes()
}

/// MS-DTYP 2.4.2.2: the authority is big-endian, the numbers below it little-endian.
#[test]
fn sids_are_bytes_as_the_specification_lays_them_out() {
    let administrators = b"\x01\x02\0\0\0\0\0\x05\x20\0\0\0\x20\x02\0\0";
    assert_eq!(sid_bytes(&sid("S-1-5-32-544")), administrators);
    assert_eq!(Sid::decode(&mut Reader::new(administrators)), Ok(ADMINISTRATORS));
    assert_eq!(sid_bytes(&EVERYONE), b"\x01\x01\0\0\0\0\0\x01\0\0\0\0");
}

#[test]
fn sids_are_printed_as_they_are_parsed() {
    for text in ["S-1-0-0", "S-1-5-21-1004336348-1177238915-682003330-512", "S-1-22-1-4294967295", "S-1-5"] {
        assert_eq!(sid(text).to_string(), text);
    }
    // MS-DTYP 2.4.2.1: an authority of 2^32 or more is written in hexadecimal.
    assert_eq!(Sid::new(1 << 32, &[7]).to_string(), "S-1-0x000100000000-7");
    assert_eq!(sid("S-1-0x000100000000-7"), Sid::new(1 << 32, &[7]));
}

#[test]
fn what_is_no_sid_is_refused() {
    let sixteen = format!("S-1-5{}", "-1".repeat(16));
    for text in [
        "",
        "S-1",
        "S-1-",
        "S-2-5-1",
        "S-1-5-",
        "S-1-5-+1",
        "S-1-5--1",
        "S-1-5-4294967296",
        "S-1-0x1000000000000",
        &sixteen,
    ] {
        assert!(text.parse::<Sid>().is_err(), "{text}");
    }
    assert!(format!("S-1-5{}", "-1".repeat(15)).parse::<Sid>().is_ok());
}

/// MS-DTYP 2.4.2: at most 15 sub-authorities.
#[test]
fn a_count_of_sub_authorities_is_checked_before_they_are_read() {
    let mut bytes = vec![1, 16, 0, 0, 0, 0, 0, 5];
    bytes.extend([0; 64]);
    assert!(Sid::decode(&mut Reader::new(&bytes)).is_err());
    bytes[1] = 15;
    assert!(Sid::decode(&mut Reader::new(&bytes)).is_ok());
    assert!(Sid::decode(&mut Reader::new(&bytes[..67])).is_err());
    bytes[0] = 2;
    assert!(Sid::decode(&mut Reader::new(&bytes)).is_err());
}

/// Protocol facts 8.9.
#[test]
fn unix_numbers_have_their_sids() {
    for (text, unix) in [("S-1-22-1-501", Unix::User(501)), ("S-1-22-2-20", Unix::Group(20))] {
        assert_eq!(Unix::of(&sid(text)), Some(unix));
        assert_eq!(unix.sid().to_string(), text);
    }
    for (text, number, unix) in [
        ("S-1-5-88-1-501", EntryNumber::User(501), Some(Unix::User(501))),
        ("S-1-5-88-2-20", EntryNumber::Group(20), Some(Unix::Group(20))),
        ("S-1-5-88-3-33188", EntryNumber::Mode(0o100_644), None),
    ] {
        assert_eq!((EntryNumber::of(&sid(text)), Unix::of(&sid(text))), (Some(number), unix));
        assert_eq!(number.sid().to_string(), text);
    }
    for text in ["S-1-5-88-3", "S-1-5-88-3-1-2", "S-1-5-88-4-1", "S-1-22-1", "S-1-5-1-1", "S-1-1-0"] {
        assert_eq!((EntryNumber::of(&sid(text)), Unix::of(&sid(text))), (None, None), "{text}");
    }
}

#[test]
fn accounts_are_below_their_domain() {
    let domain = sid("S-1-5-21-1-2-3");
    assert_eq!(domain.with_rid(512), Some(sid("S-1-5-21-1-2-3-512")));
    assert_eq!(sid("S-1-5-21-1-2-3-512").below(&domain), Some(&[512][..]));
    assert_eq!(sid("S-1-6-21-1-2-3-512").below(&domain), None);
    assert_eq!(Sid::new(5, &[0; 15]).with_rid(1), None);
}

/// FILE_GENERIC_READ, _WRITE, _EXECUTE and FILE_ALL_ACCESS of the Windows SDK, winnt.h.
#[test]
fn generic_rights_stand_for_those_of_files() {
    for (generic, specific) in [
        (AccessMask::GENERIC_READ, 0x0012_0089),
        (AccessMask::GENERIC_WRITE, 0x0012_0116),
        (AccessMask::GENERIC_EXECUTE, 0x0012_00A0),
        (AccessMask::GENERIC_ALL, 0x001F_01FF),
        (AccessMask::GENERIC_READ | AccessMask::DELETE, 0x0013_0089),
        (AccessMask::MAXIMUM_ALLOWED, 0x0200_0000),
    ] {
        assert_eq!(generic.mapped(&GenericMapping::FILE), AccessMask(specific));
    }
}

/// Owner Administrators, group Everyone, all rights for Everyone: MS-DTYP 2.4.6, 2.4.5 and 2.4.4.2,
/// byte by byte.
const DESCRIPTOR: &[u8] = b"\x01\0\x04\x80\x14\0\0\0\x24\0\0\0\0\0\0\0\x30\0\0\0\
    \x01\x02\0\0\0\0\0\x05\x20\0\0\0\x20\x02\0\0\
    \x01\x01\0\0\0\0\0\x01\0\0\0\0\
    \x02\0\x1c\0\x01\0\0\0\
    \0\x03\x14\0\xff\x01\x1f\0\x01\x01\0\0\0\0\0\x01\0\0\0\0";

fn descriptor() -> SecurityDescriptor {
    let flags = AceFlags::OBJECT_INHERIT | AceFlags::CONTAINER_INHERIT;
    SecurityDescriptor {
        control: Control::SELF_RELATIVE | Control::DACL_PRESENT,
        owner: Some(ADMINISTRATORS),
        group: Some(EVERYONE),
        sacl: None,
        dacl: Some(Acl::new(vec![Ace::allow(EVERYONE, AccessMask::FILE_ALL, flags)])),
    }
}

#[test]
fn a_descriptor_is_its_parts_after_its_header() {
    assert_eq!(SecurityDescriptor::decode(DESCRIPTOR), Ok(descriptor()));
    assert_eq!(encoded(&descriptor()), DESCRIPTOR);
}

#[test]
fn a_descriptor_cut_anywhere_is_malformed() {
    for len in 0..DESCRIPTOR.len() {
        assert!(SecurityDescriptor::decode(&DESCRIPTOR[..len]).is_err(), "{len}");
    }
}

/// MS-DTYP 2.4.6: DP set and no DACL is a NULL DACL; DP not set, the offset means nothing.
#[test]
fn no_list_a_null_list_and_an_empty_list_are_three_things() {
    let of = |control, dacl| SecurityDescriptor { control, dacl, ..SecurityDescriptor::default() };
    let none = of(Control::SELF_RELATIVE, None);
    let null = of(Control::SELF_RELATIVE | Control::DACL_PRESENT, None);
    let empty = of(Control::SELF_RELATIVE | Control::DACL_PRESENT, Some(Acl::new(vec![])));
    for descriptor in [none, null, empty] {
        assert_eq!(SecurityDescriptor::decode(&encoded(&descriptor)), Ok(descriptor));
    }
    let mut absent = DESCRIPTOR.to_vec();
    absent[2] = 0;
    assert_eq!(SecurityDescriptor::decode(&absent).unwrap().dacl, None);
}

#[test]
fn offsets_into_the_header_and_past_the_end_are_malformed() {
    for (at, offset) in [(4, 19), (8, 1), (16, 4), (4, 200), (16, 0xFF)] {
        let mut bytes = DESCRIPTOR.to_vec();
        bytes[at] = offset;
        assert!(SecurityDescriptor::decode(&bytes).is_err(), "{at} {offset}");
    }
}

#[test]
fn a_descriptor_that_is_not_self_relative_is_malformed() {
    let mut bytes = DESCRIPTOR.to_vec();
    bytes[3] = 0;
    assert!(SecurityDescriptor::decode(&bytes).is_err());
}

fn acl(bytes: &[u8]) -> Result<Acl, wire::Malformed> {
    Acl::decode(&mut Reader::new(bytes))
}

#[test]
fn an_acl_may_have_room_to_spare_but_no_more_entries_than_room() {
    assert_eq!(acl(b"\x02\0\x0c\0\0\0\0\0\xAA\xAA\xAA\xAA"), Ok(Acl::new(vec![])));
    assert!(acl(b"\x02\0\x08\0\x01\0\0\0").is_err());
    assert!(acl(b"\x02\0\x07\0\0\0\0\0").is_err());
    assert!(acl(b"\x02\0\x0c\0\x01\0\0\0\x05\0\x03\0").is_err());
    assert!(acl(b"\x02\0\x0c\0\x01\0\0\0\x05\0\x05\0").is_err());
}

/// MS-DTYP 2.4.4.3 ACCESS_ALLOWED_OBJECT_ACE, and one of no known type.
#[test]
fn entries_of_other_types_are_kept_as_they_are() {
    for kind in [5, 0x40] {
        let bytes = [2, 0, 16, 0, 1, 0, 0, 0, kind, 0x10, 8, 0, 1, 2, 3, 4];
        let acl = acl(&bytes).unwrap();
        assert_eq!(acl.aces[0].body, AceBody::Other(vec![1, 2, 3, 4]));
        let mut w = Writer::new();
        acl.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
    }
}

#[test]
fn what_follows_the_sid_of_an_entry_is_kept() {
    let mut bytes = b"\x04\0\x20\0\x01\0\0\0\x09\0\x18\0\xff\x01\x1f\0".to_vec();
    bytes.extend(b"\x01\x01\0\0\0\0\0\x01\0\0\0\0artx");
    let acl = acl(&bytes).unwrap();
    let AceBody::Plain { rest, .. } = &acl.aces[0].body else { panic!("a callback has a SID") };
    assert_eq!(rest, b"artx");
    let mut w = Writer::new();
    acl.encode(&mut w);
    assert_eq!(w.as_bytes(), bytes);
}

#[test]
fn a_list_never_claims_more_than_its_length_can_say() {
    let ace = Ace::deny(EVERYONE, AccessMask::DELETE, AceFlags::NONE);
    let acl = Acl::new(vec![ace; 5000]);
    let mut w = Writer::new();
    acl.encode(&mut w);
    assert_eq!(Acl::decode(&mut Reader::new(w.as_bytes())).unwrap().aces.len(), (0xFFFC - 8) / 20);
}
