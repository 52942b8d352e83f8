//! Bytes worked out by hand from RFC 1813, limits, and properties.

use wire::Writer;

use super::types::*;
use super::*;
use crate::wire::xdr::padding;
use crate::wire::xdr::tests::{bytes_of, value_of};

mod listing;
mod properties;
mod replies;
mod requests;

/// The words of a message, big-endian.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// An opaque: length, bytes, padding.
fn opaque(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes, &[0; 3][..padding(bytes.len())]].concat()
}

fn attributes() -> Fattr3 {
    Fattr3 {
        file_type: FileType::REG,
        mode: 0o644,
        nlink: 2,
        uid: 501,
        gid: 20,
        size: 0x1_0000_0002,
        used: 0x2000,
        rdev: SpecData { major: 8, minor: 1 },
        fsid: 0x0a0b_0c0d_0e0f_1011,
        fileid: 0x2122_2324_2526_2728,
        atime: NfsTime { seconds: 100, nanoseconds: 1 },
        mtime: NfsTime { seconds: 200, nanoseconds: 2 },
        ctime: NfsTime { seconds: 300, nanoseconds: 3 },
    }
}

/// [`attributes`] by hand, fattr3 of RFC 1813 2.6.
fn attributes_by_hand() -> Vec<u8> {
    words(&[
        1,     // NF3REG
        0o644, // mode
        2,     // nlink
        501,   // uid
        20,    // gid
        1,
        2, // size
        0,
        0x2000, // used
        8,
        1, // rdev
        0x0a0b_0c0d,
        0x0e0f_1011, // fsid
        0x2122_2324,
        0x2526_2728, // fileid
        100,
        1, // atime
        200,
        2, // mtime
        300,
        3, // ctime
    ])
}

fn wcc() -> Wcc {
    Wcc { before: Some(attributes().wcc()), after: Some(attributes()) }
}

/// [`wcc`] by hand.
fn wcc_by_hand() -> Vec<u8> {
    let before = words(&[1, 1, 2, 200, 2, 300, 3]); // follows, size, mtime, ctime
    [before, words(&[1]), attributes_by_hand()].concat()
}

#[test]
fn fattr3_is_laid_out_as_in_the_rfc() {
    assert_eq!(bytes_of(&attributes()), attributes_by_hand());
    assert_eq!(value_of::<Fattr3>(&attributes_by_hand()), Ok(attributes()));
    assert_eq!(attributes_by_hand().len(), Fattr3::SIZE);
}

#[test]
fn wcc_data_is_laid_out_as_in_the_rfc() {
    assert_eq!(bytes_of(&wcc()), wcc_by_hand());
    assert_eq!(value_of::<Wcc>(&wcc_by_hand()), Ok(wcc()));
    assert_eq!(bytes_of(&Wcc::default()), words(&[0, 0]));
}

#[test]
fn handle_of_64_bytes_is_read_and_of_65_is_not() {
    assert!(value_of::<FileHandle<'_>>(&opaque(&[1; 64])).is_ok()); // NFS3_FHSIZE
    assert!(value_of::<FileHandle<'_>>(&opaque(&[1; 65])).is_err());
}

#[test]
fn statuses_have_the_rfcs_numbers_and_names() {
    assert_eq!(Status::JUKEBOX.0, 10008);
    assert_eq!(format!("{:?} {:?}", Status::NOENT, Status(999)), "NOENT Status(999)");
}
