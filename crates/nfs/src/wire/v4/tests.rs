//! Bytes worked out by hand from RFC 7531, and limits.

mod states;

use super::acls::*;
use super::attributes::*;
use super::files::*;
use super::types::*;
use super::*;
use crate::wire::xdr::arguments;
use crate::wire::xdr::tests::bytes_of;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn decoded(bytes: &[u8]) -> Result<CompoundOperation<'_>, Malformed> {
    arguments(&mut Reader::new(bytes))
}

#[test]
fn a_compound_is_read_one_operation_after_another() {
    let mut bytes = words(&[3]);
    bytes.extend(b"ls\n\0");
    bytes.extend(words(&[1, 3])); // minor version, three operations
    bytes.extend(words(&[24])); // PUTROOTFH
    bytes.extend(words(&[15, 2])); // LOOKUP
    bytes.extend(b"ab\0\0");
    bytes.extend(words(&[9, 2, 0x10, 0x2])); // GETATTR: size (4) and mode (33)
    let r = &mut Reader::new(&bytes);
    let head = Head::decode(r).expect("a head");
    assert_eq!(head, Head { tag: Opaque::new(b"ls\n"), minor: 1, operations: 3 });
    assert_eq!(head.refusal(), None);
    assert_eq!(CompoundOperation::decode(r), Ok(CompoundOperation::PutRoot(())));
    assert_eq!(CompoundOperation::decode(r), Ok(CompoundOperation::LookUp(Opaque::new(b"ab"))));
    assert_eq!(CompoundOperation::decode(r), Ok(CompoundOperation::GetAttr(Bitmap::new(&[0x10, 0x2]))));
    assert_eq!(r.remaining(), 0);
}

#[test]
fn a_write_and_a_read_have_the_layout_of_the_specification() {
    let state = StateId { sequence: 7, other: *b"twelve bytes" };
    let mut head = words(&[38, 7]);
    head.extend(b"twelve bytes");
    let mut write = head.clone();
    write.extend(words(&[1, 2, 2, 1])); // offset, FILE_SYNC4, length
    write.extend(b"x\0\0\0");
    let data = Opaque::new(b"x");
    let expected =
        CompoundOperation::Write(Write { state, offset: 0x1_0000_0002, stable: StableHow::FILE_SYNC, data });
    assert_eq!(decoded(&write), Ok(expected));
    assert_eq!(bytes_of(&expected), write);

    let read = words(&[25, u32::MAX, u32::MAX, u32::MAX, u32::MAX, 0, 9, 4096]);
    let expected = CompoundOperation::Read(Read { state: StateId::BYPASS, offset: 9, count: 4096 });
    assert_eq!(decoded(&read), Ok(expected));
    assert_eq!(bytes_of(&expected), read);
}

#[test]
fn heads_beyond_the_limits_are_refused() {
    let refusal = |minor, operations| Head { tag: Opaque::new(b""), minor, operations }.refusal();
    assert_eq!(refusal(3, 1), Some(Status(10021))); // NFS4ERR_MINOR_VERS_MISMATCH
    assert_eq!(refusal(0, 129), Some(Status(10018))); // NFS4ERR_RESOURCE
    assert_eq!(refusal(2, u32::MAX), Some(Status(10070))); // NFS4ERR_TOO_MANY_OPS
    assert_eq!(refusal(2, 128), None);
    assert!(Head::decode(&mut Reader::new(&words(&[1025, 0, 0]))).is_err());
}

#[test]
fn lengths_beyond_the_limits_do_not_decode() {
    let mut handle = words(&[22, 132]); // PUTFH: 128 bytes are the most
    handle.extend([0; 132]);
    assert!(decoded(&handle).is_err());
    assert!(decoded(&[words(&[9, 257]), words(&[0; 257])].concat()).is_err()); // GETATTR: 256 words
    assert!(decoded(&words(&[38, 0, 0, 0, 0, 0, 0, 0, u32::MAX])).is_err()); // WRITE
    assert_eq!(decoded(&words(&[49])), Ok(CompoundOperation::Other(OperationNumber::LAYOUTCOMMIT))); // not decoded
    let mut release = words(&[39, 0, 1, 1028]); // RELEASE_LOCKOWNER: 1024 bytes are the most
    release.extend([0; 1028]);
    assert!(decoded(&release).is_err());
}

#[test]
fn attributes_are_written_in_the_order_of_their_numbers() {
    let values = Values {
        kind: Some(FileType::DIR),
        size: Some(0x1_0000_0002),
        fileid: Some(99),
        mode: Some(0o755),
        owner: Some(Opaque::new(b"1000")),
        time_modify: Some(NfsTime { seconds: -1, nanoseconds: 5 }),
        ..Values::default()
    };
    let mut w = Writer::new();
    // Wanted: type (1), change (3), which has no value here, size (4), mode (33), owner (36) and
    // time_modify (53); fileid (20) is not.
    values.encode_wanted(&Bitmap::new(&[0x1a, 0x0020_0012]), &mut w);
    let mut expected = words(&[2, 0x12, 0x0020_0012, 36, 2, 1, 2, 0o755, 4]);
    expected.extend(b"1000");
    expected.extend(words(&[u32::MAX, u32::MAX, 5]));
    assert_eq!(w.as_bytes(), expected);

    let sent = Fattr::decode(&mut Reader::new(&expected)).expect("a fattr4");
    assert_eq!(Values::of(&sent), Ok(Values { fileid: None, ..values }));
}

/// RFC 7530 2.1: a set has as many words as it needs, also if more were asked for.
#[test]
fn words_of_attributes_that_are_not_there_are_left_out() {
    let values = Values { size: Some(7), ..Values::default() };
    let mut w = Writer::new();
    values.encode_wanted(&Bitmap::new(&[0x10, 0x2, 1 << 16]), &mut w); // size, mode, sec_label
    assert_eq!(w.as_bytes(), words(&[1, 0x10, 8, 0, 7]));
    let mut w = Writer::new();
    let more = Values { size: Some(8), mode: Some(0o600), ..Values::default() };
    (values, Some(more)).encode_wanted(&Bitmap::new(&[0x10, 0x2]), &mut w);
    assert_eq!(w.as_bytes(), words(&[2, 0x10, 0x2, 12, 0, 7, 0o600]));
    assert!(Bitmap::of(&[4]).is_within(&Bitmap::of(&[4, 33])));
    assert!(!Bitmap::of(&[4, 33]).is_within(&Bitmap::of(&[4])));
}

#[test]
fn a_set_without_attributes_is_empty() {
    assert_eq!(bytes_of(&Values::default()), words(&[0, 0]));
    assert!(Bitmap::of(&[]).is_empty());
    assert_eq!(Bitmap::of(&[4, 33]), Bitmap::new(&[0x10, 0x2]));
    assert!(Bitmap::of(&[33]).has(33) && !Bitmap::of(&[33]).has(32) && !Bitmap::of(&[33]).has(4000));
}

/// RFC 7531: nfsace4 is type, flags, mask and who.
#[test]
fn lists_of_entries_have_the_layout_of_the_specification() {
    let mut bytes = words(&[2, 0x1000, 0x400_0000, 88, 2]);
    let (first, second) = (words(&[0, 0x40, 0x1f01ff, 6]), words(&[1, 3, 2, 9]));
    let list = [&first[..], b"GROUP@\0\0", &second, b"EVERYONE@\0\0\0"].concat();
    bytes.extend(&list);
    let dacl = [words(&[3, 1, 0, 0x80, 1, 4]), b"1000".to_vec()].concat();
    bytes.extend(dacl);
    bytes[15] = (bytes.len() - 16) as u8;
    let sent = Fattr::decode(&mut Reader::new(&bytes)).expect("a fattr4");
    let values = Values::of(&sent).expect("acl and dacl");
    let aces: Vec<Ace<'_>> = values.acl.unwrap().iter().collect();
    let everyone = Ace { kind: AceType::DENIED, flags: 3, mask: 2, who: Opaque::new(b"EVERYONE@") };
    let group = Ace { kind: AceType::ALLOWED, flags: 0x40, mask: 0x1f01ff, who: Opaque::new(b"GROUP@") };
    assert_eq!(aces, [group, everyone]);
    let FlaggedAces { flags, aces } = values.dacl.unwrap();
    assert_eq!((flags, aces.count(), aces.iter().next().unwrap().flags), (3, 1, 0x80));
    assert_eq!(bytes_of(&values), bytes);
    // A count that the bytes do not hold.
    assert!(Aces::decode(&mut Reader::new(&words(&[2, 0, 0, 0, 0]))).is_err());
    assert!(Aces::decode(&mut Reader::new(&words(&[u32::MAX]))).is_err());
}

#[test]
fn attributes_that_are_not_known_or_do_not_fit_have_their_own_statuses() {
    let status = |which: &[u32], values: &[u8]| {
        Values::of(&Fattr { which: Bitmap::new(which), values: Opaque::new(values) }).err()
    };
    assert_eq!(status(&[0, 1], &[]), Some(Status(10032))); // mimetype: NFS4ERR_ATTRNOTSUPP
    assert_eq!(status(&[1 << 24], &words(&[1])), Some(Status(10036))); // fs_locations: half a path
    assert_eq!(status(&[1 << 24], &words(&[0, 1, 1, 1, 0x6100_0000, 0])), None);
    assert_eq!(status(&[0, 0, 0, 1], &[]), Some(Status(10032))); // 96
    assert_eq!(status(&[0x10], &[0; 4]), Some(Status(10036))); // half a size: NFS4ERR_BADXDR
    assert_eq!(status(&[0x10], &[0; 12]), Some(Status(10036))); // a size and a half
    assert_eq!(status(&[0, 0x1_0000], &words(&[2])), Some(Status(10036))); // time_access_set: how?
    assert_eq!(status(&[0x10, 0, 0, 0], &[0; 8]), None);
}
