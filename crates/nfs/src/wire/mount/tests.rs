use super::*;
use crate::wire::xdr::tests::{bytes_of, value_of};

#[test]
fn mnt_asks_for_a_path() {
    let bytes = *b"\0\0\0\x05/Mac1\0\0\0"; // dirpath: length, bytes, padding
    let request: Request<'_> = value_of(&bytes).unwrap();
    assert_eq!(request.path.0, b"/Mac1");
    assert_eq!(bytes_of(&request), bytes);
    assert!(value_of::<Request<'_>>(b"\0\0\0\x05/Mac1\0\0\0\0\0\0\0").is_err());
}

#[test]
fn path_of_1024_bytes_is_read_and_of_1028_is_not() {
    let with_len = |len: u32| [&len.to_be_bytes()[..], &vec![b'x'; len as usize]].concat();
    assert!(value_of::<Request<'_>>(&with_len(1024)).is_ok()); // MNTPATHLEN, RFC 1813 5.1.4
    assert!(value_of::<Request<'_>>(&with_len(1028)).is_err());
}

#[test]
fn version_3_answers_handle_and_flavours() {
    let bytes = [
        0, 0, 0, 0, // MNT3_OK
        0, 0, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, // fhandle3
        0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, // auth_flavors: AUTH_SYS, AUTH_NONE
    ];
    let ok = MountOk { handle: FileHandle::new(&[1, 2, 3, 4, 5, 6]), flavors: Words::new(&[1, 0]) };
    assert_eq!(bytes_of(&MountRes(Ok(ok))), bytes);
    assert_eq!(value_of::<MountRes<MountOk<'_>>>(&bytes), Ok(MountRes(Ok(ok))));
}

#[test]
fn version_1_answers_a_handle_of_32_bytes() {
    let bytes = [&[0, 0, 0, 0][..], &[7; 32]].concat(); // RFC 1094 A.4: fhstatus
    assert_eq!(bytes_of(&MountRes(Ok([7_u8; FHSIZE]))), bytes);
    assert_eq!(value_of::<MountRes<[u8; FHSIZE]>>(&bytes), Ok(MountRes(Ok([7; 32]))));
}

#[test]
fn failure_is_the_status_alone() {
    let refused = MountRes::<MountOk<'_>>(Err(Status::ACCES));
    assert_eq!(bytes_of(&refused), [0, 0, 0, 13]); // MNT3ERR_ACCES
    assert_eq!(value_of::<MountRes<MountOk<'_>>>(&[0, 0, 0, 13]), Ok(refused));
}

#[test]
fn export_lists_paths_and_their_groups() {
    let bytes = [
        &[0, 0, 0, 1][..], // an exportnode follows
        b"\0\0\0\x02/a\0\0",
        &[0, 0, 0, 1], // a groupnode follows
        b"\0\0\0\x0510/24\0\0\0",
        &[0, 0, 0, 0], // no more groups
        &[0, 0, 0, 1],
        b"\0\0\0\x02/b\0\0",
        &[0, 0, 0, 0], // no groups: all clients
        &[0, 0, 0, 0], // no more exports
    ]
    .concat();
    let list = vec![
        Export { path: Opaque::new(b"/a"), groups: vec![Opaque::new(b"10/24")] },
        Export { path: Opaque::new(b"/b"), groups: vec![] },
    ];
    let mut w = Writer::new();
    put_exports(&mut w, list.clone());
    assert_eq!(w.as_bytes(), bytes);
    assert_eq!(exports(&mut Reader::new(&bytes)), Ok(list));
    assert!(exports(&mut Reader::new(&bytes[..bytes.len() - 1])).is_err());
}

#[test]
fn dump_lists_hosts_and_their_paths() {
    let bytes = [&[0, 0, 0, 1][..], b"\0\0\0\x03mac\0", b"\0\0\0\x02/a\0\0", &[0, 0, 0, 0]].concat();
    let item = MountBody { host: Opaque::new(b"mac"), path: Opaque::new(b"/a") };
    let mut w = Writer::new();
    put_mounted(&mut w, [item]);
    assert_eq!(w.as_bytes(), bytes);
    assert_eq!(mounted(&mut Reader::new(&bytes)), Ok(vec![item]));
}

mod properties {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_words_make_the_decoders_panic(numbers in vec(0_u32..12, 0..40)) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|word| word.to_be_bytes()).collect();
            let _ = value_of::<Request<'_>>(&bytes);
            let _ = value_of::<MountRes<MountOk<'_>>>(&bytes);
            let _ = exports(&mut Reader::new(&bytes));
            let _ = mounted(&mut Reader::new(&bytes));
        }

        #[test]
        fn a_mount_is_read_as_it_was_written(
            handle in vec(any::<u8>(), 0..=64),
            flavors in vec(any::<u32>(), 0..=FLAVORS_LIMIT),
        ) {
            let res = MountRes(Ok(MountOk { handle: FileHandle::new(&handle), flavors: Words::new(&flavors) }));
            let bytes = bytes_of(&res);
            prop_assert_eq!(value_of::<MountRes<MountOk<'_>>>(&bytes), Ok(res));
        }
    }
}
