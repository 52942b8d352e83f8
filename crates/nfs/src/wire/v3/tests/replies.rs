//! Results, by hand; above all the fields of each procedure's failure.

use super::*;
use crate::wire::xdr::{Decode, Encode};

/// Both directions of one example.
fn same<'a, T: Decode<'a> + Encode + PartialEq + std::fmt::Debug>(bytes: &'a [u8], value: &T) {
    assert_eq!(bytes_of(value), bytes);
    assert_eq!(value_of::<T>(bytes).as_ref(), Ok(value));
}

const HANDLE: &[u8] = &[9, 8, 7, 6, 5];
const VERIFIER: Verifier = [1, 2, 3, 4, 5, 6, 7, 8];

/// post_op_attr with attributes.
fn post_op_by_hand() -> Vec<u8> {
    [words(&[1]), attributes_by_hand()].concat()
}

/// Results after NFS3_OK.
fn ok(parts: &[Vec<u8>]) -> Vec<u8> {
    [words(&[0]), parts.concat()].concat()
}

#[test]
fn failures_with_the_objects_attributes() {
    let bytes = [words(&[70]), post_op_by_hand()].concat(); // NFS3ERR_STALE, post_op_attr
    let fail = Fail::new(Status::STALE, Some(attributes()));
    same::<lookup::Res<'_>>(&bytes, &Err(fail));
    same::<access::Res>(&bytes, &Err(fail));
    same::<readlink::Res<'_>>(&bytes, &Err(fail));
    same::<read::ResData<'_>>(&bytes, &Err(fail));
    same::<readdir::Res<'_>>(&bytes, &Err(fail));
    same::<readdirplus::Res<'_>>(&bytes, &Err(fail));
    same::<fsstat::Res>(&bytes, &Err(fail));
    same::<fsinfo::Res>(&bytes, &Err(fail));
    same::<pathconf::Res>(&bytes, &Err(fail));
    assert_eq!(bytes_of(&read::Res::Err(fail)), bytes);
}

#[test]
fn failures_with_one_wcc_data() {
    let bytes = [words(&[30]), wcc_by_hand()].concat(); // NFS3ERR_ROFS, wcc_data
    let fail = Fail::new(Status::ROFS, wcc());
    same::<setattr::Res>(&bytes, &Err(fail));
    same::<write::Res>(&bytes, &Err(fail));
    same::<create::Res<'_>>(&bytes, &Err(fail));
    same::<mkdir::Res<'_>>(&bytes, &Err(fail));
    same::<symlink::Res<'_>>(&bytes, &Err(fail));
    same::<mknod::Res<'_>>(&bytes, &Err(fail));
    same::<remove::Res>(&bytes, &Err(fail));
    same::<rmdir::Res>(&bytes, &Err(fail));
    same::<commit::Res>(&bytes, &Err(fail));
}

#[test]
fn failures_of_getattr_rename_and_link() {
    same::<getattr::Res>(&words(&[70]), &Err(Status::STALE.into()));
    let both = [words(&[18]), wcc_by_hand(), words(&[0, 0])].concat(); // NFS3ERR_XDEV, two wcc_data
    let body = rename::ResOk { from_dir_wcc: wcc(), to_dir_wcc: Wcc::default() };
    same::<rename::Res>(&both, &Err(Fail::new(Status::XDEV, body)));
    let file_and_dir = [words(&[18]), post_op_by_hand(), wcc_by_hand()].concat();
    let body = link::ResOk { attributes: Some(attributes()), link_dir_wcc: wcc() };
    same::<link::Res>(&file_and_dir, &Err(Fail::new(Status::XDEV, body)));
}

#[test]
fn results_of_looking() {
    same::<getattr::Res>(&ok(&[attributes_by_hand()]), &Ok(getattr::ResOk { attributes: attributes() }));
    same::<lookup::Res<'_>>(
        &ok(&[opaque(HANDLE), post_op_by_hand(), words(&[0])]),
        &Ok(lookup::ResOk {
            object: FileHandle::new(HANDLE),
            attributes: Some(attributes()),
            dir_attributes: None,
        }),
    );
    same::<access::Res>(&ok(&[words(&[0, 0x3f])]), &Ok(access::ResOk { attributes: None, access: 0x3f }));
    same::<readlink::Res<'_>>(
        &ok(&[words(&[0]), opaque(b"../x")]),
        &Ok(readlink::ResOk { attributes: None, data: Path::new(b"../x") }),
    );
}

#[test]
fn read_ends_with_the_length_of_the_data_that_somebody_else_appends() {
    let head = ok(&[post_op_by_hand(), words(&[5, 1, 5])]); // count, eof, length of data
    let res: read::Res = Ok(read::ResOk { attributes: Some(attributes()), count: 5, eof: true });
    assert_eq!(bytes_of(&res), head);
    let whole = [&head[..], b"hello\0\0\0"].concat();
    let data = Data::new(b"hello");
    same::<read::ResData<'_>>(
        &whole,
        &Ok(read::ResOkData { attributes: Some(attributes()), count: 5, eof: true, data }),
    );
}

#[test]
fn results_of_writing() {
    same::<setattr::Res>(&ok(&[wcc_by_hand()]), &Ok(setattr::ResOk { wcc: wcc() }));
    let committed = write::StableHow::UNSTABLE;
    same::<write::Res>(
        &ok(&[wcc_by_hand(), words(&[5, 0]), VERIFIER.to_vec()]),
        &Ok(write::ResOk { wcc: wcc(), count: 5, committed, verifier: VERIFIER }),
    );
    same::<commit::Res>(
        &ok(&[wcc_by_hand(), VERIFIER.to_vec()]),
        &Ok(commit::ResOk { wcc: wcc(), verifier: VERIFIER }),
    );
    let made = ok(&[words(&[1]), opaque(HANDLE), post_op_by_hand(), wcc_by_hand()]);
    let object = Some(FileHandle::new(HANDLE));
    same::<create::Res<'_>>(
        &made,
        &Ok(create::ResOk { object, attributes: Some(attributes()), dir_wcc: wcc() }),
    );
    same::<remove::Res>(&ok(&[wcc_by_hand()]), &Ok(remove::ResOk { dir_wcc: wcc() }));
    same::<rename::Res>(
        &ok(&[words(&[0, 0]), wcc_by_hand()]),
        &Ok(rename::ResOk { from_dir_wcc: Wcc::default(), to_dir_wcc: wcc() }),
    );
    same::<link::Res>(
        &ok(&[post_op_by_hand(), wcc_by_hand()]),
        &Ok(link::ResOk { attributes: Some(attributes()), link_dir_wcc: wcc() }),
    );
}

#[test]
fn results_about_the_file_system() {
    same::<fsstat::Res>(
        &ok(&[words(&[0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 7])]),
        &Ok(fsstat::ResOk {
            attributes: None,
            total_bytes: 1,
            free_bytes: 2,
            available_bytes: 3,
            total_files: 4,
            free_files: 5,
            available_files: 6,
            invarsec: 7,
        }),
    );
    same::<fsinfo::Res>(
        &ok(&[words(&[0, 1, 2, 3, 4, 5, 6, 7, 0x7fff_ffff, 0xffff_ffff, 0, 1, 0x1b])]),
        &Ok(fsinfo::ResOk {
            attributes: None,
            rtmax: 1,
            rtpref: 2,
            rtmult: 3,
            wtmax: 4,
            wtpref: 5,
            wtmult: 6,
            dtpref: 7,
            max_file_size: 0x7fff_ffff_ffff_ffff,
            time_delta: NfsTime { seconds: 0, nanoseconds: 1 },
            properties: fsinfo::FSF3_LINK
                | fsinfo::FSF3_SYMLINK
                | fsinfo::FSF3_HOMOGENEOUS
                | fsinfo::FSF3_CANSETTIME,
        }),
    );
    same::<pathconf::Res>(
        &ok(&[words(&[0, 32000, 255, 1, 1, 0, 1])]),
        &Ok(pathconf::ResOk {
            attributes: None,
            linkmax: 32000,
            name_max: 255,
            no_trunc: true,
            chown_restricted: true,
            case_insensitive: false,
            case_preserving: true,
        }),
    );
}
