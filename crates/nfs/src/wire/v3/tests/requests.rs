//! Arguments, by hand.

use super::*;
use crate::wire::xdr::{Decode, Encode};

/// Both directions of one example, and that a byte less or more is malformed.
fn same<'a, T: Decode<'a> + Encode + PartialEq + std::fmt::Debug>(
    bytes: &'a [u8],
    longer: &'a [u8],
    value: &T,
) {
    assert_eq!(value_of::<T>(bytes).as_ref(), Ok(value));
    assert_eq!(bytes_of(value), bytes);
    assert!(value_of::<T>(&bytes[..bytes.len() - 1]).is_err());
    assert!(value_of::<T>(longer).is_err());
}

macro_rules! same {
    ($bytes:expr, $value:expr) => {
        let bytes = $bytes;
        let longer = [&bytes[..], &[0]].concat();
        same(&bytes, &longer, &$value)
    };
}

const HANDLE: &[u8] = &[9, 8, 7, 6, 5];

fn handle() -> FileHandle<'static> {
    FileHandle::new(HANDLE)
}

fn place() -> DirOpArgs<'static> {
    DirOpArgs { dir: handle(), name: Name::new(b"notes") }
}

fn place_by_hand() -> Vec<u8> {
    [opaque(HANDLE), opaque(b"notes")].concat()
}

fn settings() -> Sattr3 {
    Sattr3 {
        mode: Some(0o600),
        uid: None,
        gid: Some(20),
        size: Some(1 << 33),
        atime: SetTime::ToServerTime,
        mtime: SetTime::ToClientTime(NfsTime { seconds: 5, nanoseconds: 6 }),
    }
}

/// sattr3, RFC 1813 2.6.
fn settings_by_hand() -> Vec<u8> {
    words(&[
        1, 0o600, // set_mode3
        0,     // set_uid3
        1, 20, // set_gid3
        1, 2, 0, // set_size3
        1, // SET_TO_SERVER_TIME
        2, 5, 6, // SET_TO_CLIENT_TIME
    ])
}

#[test]
fn getattr_readlink_fsstat_fsinfo_and_pathconf_name_an_object() {
    same!(opaque(HANDLE), getattr::Request { object: handle() });
    same!(opaque(HANDLE), readlink::Request { symlink: handle() });
    same!(opaque(HANDLE), fsstat::Request { root: handle() });
    same!(opaque(HANDLE), fsinfo::Request { root: handle() });
    same!(opaque(HANDLE), pathconf::Request { object: handle() });
}

#[test]
fn setattr() {
    let guard = Some(NfsTime { seconds: 1, nanoseconds: 2 });
    let value = setattr::Request { object: handle(), new_attributes: settings(), guard };
    same!([opaque(HANDLE), settings_by_hand(), words(&[1, 1, 2])].concat(), value);
    let value = setattr::Request { guard: None, ..value };
    same!([opaque(HANDLE), settings_by_hand(), words(&[0])].concat(), value);
}

#[test]
fn unknown_time_how_is_malformed() {
    assert!(value_of::<SetTime>(&words(&[3])).is_err());
}

#[test]
fn lookup_remove_rmdir_rename_and_link_name_entries() {
    same!(place_by_hand(), lookup::Request { what: place() });
    same!(place_by_hand(), remove::Request { object: place() });
    same!(place_by_hand(), rmdir::Request { object: place() });
    same!([place_by_hand(), place_by_hand()].concat(), rename::Request { from: place(), to: place() });
    same!([opaque(HANDLE), place_by_hand()].concat(), link::Request { file: handle(), link: place() });
}

#[test]
fn names_are_any_bytes_of_lengths_the_server_judges() {
    let name = vec![0xff; 4096];
    let bytes = [opaque(HANDLE), opaque(&name)].concat();
    assert_eq!(value_of::<lookup::Request<'_>>(&bytes).unwrap().what.name.0, name);
}

#[test]
fn access_read_and_commit() {
    let access = access::READ | access::EXECUTE;
    same!([opaque(HANDLE), words(&[0x21])].concat(), access::Request { object: handle(), access });
    let read = read::Request { file: handle(), offset: 1 << 32 | 2, count: 3 };
    same!([opaque(HANDLE), words(&[1, 2, 3])].concat(), read);
    let commit = commit::Request { file: handle(), offset: 1 << 32 | 2, count: 3 };
    same!([opaque(HANDLE), words(&[1, 2, 3])].concat(), commit);
}

#[test]
fn write_borrows_its_data() {
    let bytes = [opaque(HANDLE), words(&[1, 2, 5, 2]), opaque(b"hello")].concat();
    let data = Data::new(b"hello");
    same!(
        bytes.clone(),
        write::Request {
            file: handle(),
            offset: 1 << 32 | 2,
            count: 5,
            stable: write::StableHow::FILE_SYNC,
            data
        }
    );
    let request: write::Request<'_> = value_of(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&request.data.as_ptr()));
}

#[test]
fn create_is_unchecked_guarded_or_exclusive() {
    use create::{CreateHow, Request};
    let with = |how| Request { place: place(), how };
    same!(
        [place_by_hand(), words(&[0]), settings_by_hand()].concat(),
        with(CreateHow::Unchecked(settings()))
    );
    same!([place_by_hand(), words(&[1]), settings_by_hand()].concat(), with(CreateHow::Guarded(settings())));
    let verifier = [1, 2, 3, 4, 5, 6, 7, 8];
    same!([place_by_hand(), words(&[2]), verifier.to_vec()].concat(), with(CreateHow::Exclusive(verifier)));
    assert!(value_of::<CreateHow>(&words(&[3, 0, 0, 0, 0, 0, 0])).is_err());
}

#[test]
fn mkdir_and_symlink() {
    let mkdir = mkdir::Request { place: place(), attributes: settings() };
    same!([place_by_hand(), settings_by_hand()].concat(), mkdir);
    let symlink = symlink::Request { place: place(), attributes: settings(), data: Path::new(b"../x") };
    same!([place_by_hand(), settings_by_hand(), opaque(b"../x")].concat(), symlink);
}

#[test]
fn mknod_has_a_device_number_for_devices_only() {
    use mknod::{MknodData, Request};
    let device = SpecData { major: 8, minor: 1 };
    let with = |what| Request { place: place(), what };
    let head = |file_type| [place_by_hand(), words(&[file_type])].concat();
    same!([head(4), settings_by_hand(), words(&[8, 1])].concat(), with(MknodData::Chr(settings(), device)));
    same!([head(3), settings_by_hand(), words(&[8, 1])].concat(), with(MknodData::Blk(settings(), device)));
    same!([head(6), settings_by_hand()].concat(), with(MknodData::Sock(settings())));
    same!([head(7), settings_by_hand()].concat(), with(MknodData::Fifo(settings())));
    same!(head(2), with(MknodData::Other(FileType::DIR)));
}

#[test]
fn readdir_and_readdirplus() {
    let verifier = [1, 2, 3, 4, 5, 6, 7, 8];
    let head = [opaque(HANDLE), words(&[1, 2]), verifier.to_vec()].concat();
    let cookie = 1 << 32 | 2;
    let readdir = readdir::Request { dir: handle(), cookie, verifier, count: 4096 };
    same!([head.clone(), words(&[4096])].concat(), readdir);
    let plus = readdirplus::Request { dir: handle(), cookie, verifier, dircount: 512, maxcount: 8192 };
    same!([head, words(&[512, 8192])].concat(), plus);
}
