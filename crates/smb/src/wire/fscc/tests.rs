use wire::{Malformed, Reader, Writer};

use super::file_info::*;
use super::file_name::{All, Name, RenameFlags, Target, TargetEx};
use super::notify::{Action, Change};
use super::quota::Quota;
use super::reparse::{Nfs, Reparse, SymlinkFlags, Tag};
use super::stream::StreamEntry;
use super::*;
use crate::wire::security::{AccessMask, well_known};
use crate::wire::time::NtTime;
use crate::wire::{fscc, text};

fn bytes(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    encode(&mut w);
    w.into_bytes()
}

/// Decodes all of `bytes`, and refuses every shorter form of it.
fn whole<T: std::fmt::Debug>(bytes: &[u8], decode: impl Fn(&mut Reader<'_>) -> Result<T, Malformed>) -> T {
    for len in 0..bytes.len() {
        assert!(decode(&mut Reader::new(&bytes[..len])).is_err(), "{len} bytes of {}", bytes.len());
    }
    let mut r = Reader::new(bytes);
    let value = decode(&mut r).unwrap();
    assert_eq!(r.finish(), Ok(()));
    value
}

macro_rules! lengths {
    ($($type:ty: $len:literal,)*) => {$(
        assert_eq!(bytes(|w| <$type>::default().encode(w)).len(), $len, stringify!($type));
        assert_eq!(whole(&[0; $len], <$type>::decode), <$type>::default());
    )*};
}

/// The sum of each structure's fields, MS-FSCC 2.4.
#[test]
fn file_information_has_the_lengths_of_the_specification() {
    lengths! {
        Basic: 40, Standard: 24, Internal: 8, Ea: 4, FileAccess: 4, Disposition: 1, DispositionEx: 4, FilePosition: 8, Mode: 4,
        Alignment: 4, Allocation: 8, EndOfFile: 8, FilePipe: 8, PipeLocal: 40, PipeRemote: 12, Compression: 16,
        ObjectId: 72, ReparsePoint: 12, NetworkOpen: 56, AttributeTag: 8, ValidDataLength: 8, StandardLink: 12, Id: 24,
        Stat: 72, CaseSensitive: 4, Name: 4, All: 100, Target: 20, TargetEx: 20,
    }
}

/// MS-FSCC 2.5.
#[test]
fn file_system_information_has_the_lengths_of_the_specification() {
    use fs_info::*;
    lengths! {
        VolumeInfo: 18, Label: 4, Size: 24, Device: 8, FsAttribute: 12, Control: 48, FullSize: 32, fs_info::ObjectId: 64,
        DriverPath: 8, VolumeFlags: 4, SectorSize: 28,
    }
}

#[test]
fn basic_information_is_four_times_and_attributes() {
    let basic = Basic {
        creation_time: NtTime(0x01DC_5A00_0000_0001),
        last_access_time: NtTime::UNCHANGED,
        last_write_time: NtTime::FROZEN,
        change_time: NtTime::THAWED,
        attributes: FileAttributes::HIDDEN | FileAttributes::ARCHIVE,
    };
    let expected = b"\x01\0\0\0\0\x5a\xdc\x01\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
        \xfe\xff\xff\xff\xff\xff\xff\xff\x22\0\0\0\0\0\0\0";
    assert_eq!(bytes(|w| basic.encode(w)), expected);
    assert_eq!(whole(expected, Basic::decode), basic);
}

#[test]
fn standard_information_has_the_allocation_before_the_end() {
    let standard = Standard {
        allocation_size: 4096,
        end_of_file: 5,
        number_of_links: 2,
        delete_pending: true,
        directory: false,
    };
    let expected = b"\0\x10\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x02\0\0\0\x01\0\0\0";
    assert_eq!(bytes(|w| standard.encode(w)), expected);
    assert_eq!(whole(expected, Standard::decode), standard);
}

#[test]
fn network_open_information_has_the_allocation_before_the_end() {
    let info = NetworkOpen {
        allocation_size: 4096,
        end_of_file: 5,
        attributes: FileAttributes::NORMAL,
        ..NetworkOpen::default()
    };
    assert_eq!(bytes(|w| info.encode(w))[32..], *b"\0\x10\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0");
}

/// FILE_ALL_INFORMATION: its parts begin at 0, 40, 64, 72, 76, 80, 88, 92 and 96.
#[test]
fn all_information_is_its_parts_one_after_the_other() {
    let all = All {
        internal: Internal { index_number: 3 },
        ea: Ea { ea_size: 4 },
        access: FileAccess { access: AccessMask::FILE_ALL },
        position: FilePosition { current_byte_offset: 6 },
        mode: Mode { mode: ModeFlags::DELETE_ON_CLOSE },
        alignment: Alignment { requirement: 7 },
        name: Name { name: text::of("\\a") },
        ..All::default()
    };
    let expected =
        b"\x03\0\0\0\0\0\0\0\x04\0\0\0\xff\x01\x1f\0\x06\0\0\0\0\0\0\0\0\x10\0\0\x07\0\0\0\x04\0\0\0\\\0a\0";
    assert_eq!(bytes(|w| all.encode(w))[64..], *expected);
    assert_eq!(whole(&bytes(|w| all.encode(w)), All::decode), all);
}

/// MS-FSCC, FileRenameInformation for SMB2, as Windows sends it: padded to 24 bytes.
#[test]
fn a_rename_may_be_padded_at_its_end() {
    let sent = b"\x01\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0\x02\0\0\0b\0\0\0";
    let mut r = Reader::new(sent);
    let target = Target { replace_if_exists: true, root_directory: 0, name: text::of("b") };
    assert_eq!(Target::decode(&mut r), Ok(target));
    assert_eq!(r.remaining(), 2);
}

#[test]
fn a_rename_with_flags_has_them_where_replacing_was() {
    let flags = RenameFlags::REPLACE_IF_EXISTS | RenameFlags::POSIX_SEMANTICS;
    let target = TargetEx { flags, root_directory: 0, name: text::of("b") };
    let expected = b"\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0b\0";
    assert_eq!(bytes(|w| target.encode(w)), expected);
    assert_eq!(whole(expected, TargetEx::decode), target);
}

/// MS-FSCC, FileStreamInformation: each begins at a multiple of 8.
#[test]
fn streams_are_a_list() {
    let stream = |size, name| StreamEntry { size, allocation_size: 4096, name: text::of(name) };
    let streams = [stream(5, "::$DATA"), stream(6, ":a:$DATA")];
    let expected = b"\x28\0\0\0\x0e\0\0\0\x05\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0:\0:\0$\0D\0A\0T\0A\0\0\0\
        \0\0\0\0\x10\0\0\0\x06\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0:\0a\0:\0$\0D\0A\0T\0A\0";
    assert_eq!(bytes(|w| stream::encode(&streams, w)), expected);
    assert_eq!(stream::decode(&mut Reader::new(expected)).unwrap(), streams);
    assert!(stream::decode(&mut Reader::new(&expected[..expected.len() - 1])).is_err());
}

/// MS-FSCC, FileFullEaInformation: each begins at a multiple of 4, and the name ends with a NUL that does not count.
#[test]
fn extended_attributes_are_a_list() {
    let list = [
        ea::FullEa { flags: ea::EaFlags::NEED_EA, name: b"ab".to_vec(), value: b"xyz".to_vec() },
        ea::FullEa { flags: ea::EaFlags::NONE, name: b"c".to_vec(), value: vec![] },
    ];
    let expected = b"\x10\0\0\0\x80\x02\x03\0ab\0xyz\0\0\0\0\0\0\0\x01\0\0c\0";
    assert_eq!(bytes(|w| ea::encode(&list, w)), expected);
    assert_eq!(ea::decode(&mut Reader::new(expected)).unwrap(), list);
    assert!(ea::decode(&mut Reader::new(b"\0\0\0\0\0\x01\0\0cc")).is_err(), "no NUL");
}

/// MS-FSCC 2.7.1.
#[test]
fn notifications_are_a_list() {
    let change = |action, name| Change { action, name: text::of(name) };
    let changes = [change(Action::RENAMED_OLD_NAME, "a"), change(Action::RENAMED_NEW_NAME, "b\\c")];
    let expected = b"\x10\0\0\0\x04\0\0\0\x02\0\0\0a\0\0\0\0\0\0\0\x05\0\0\0\x06\0\0\0b\0\\\0c\0";
    assert_eq!(bytes(|w| notify::encode(&changes, w)), expected);
    assert_eq!(notify::decode(&mut Reader::new(expected)).unwrap(), changes);
    assert_eq!(changes[0].padded_len(), 16);
}

#[test]
fn a_quota_has_the_length_of_its_sid_and_no_less() {
    let quota =
        Quota { change_time: NtTime(1), used: 2, threshold: 3, limit: u64::MAX, sid: well_known::EVERYONE };
    let mut expected = b"\0\0\0\0\x0c\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0".to_vec();
    expected.extend([0xFF; 8]);
    expected.extend(b"\x01\x01\0\0\0\0\0\x01\0\0\0\0");
    assert_eq!(bytes(|w| quota::encode(&[quota], w)), expected);
    assert_eq!(quota::decode(&mut Reader::new(&expected)).unwrap(), [quota]);
    expected[4] = 0x0B;
    assert!(quota::decode(&mut Reader::new(&expected)).is_err());
    let sids = bytes(|w| quota::encode_sids(&[well_known::EVERYONE, well_known::SYSTEM], w));
    assert_eq!(sids[..8], [20, 0, 0, 0, 12, 0, 0, 0]);
    let read = quota::decode_sids(&mut Reader::new(&sids)).unwrap();
    assert_eq!(read, [well_known::EVERYONE, well_known::SYSTEM]);
}

/// MS-FSCC 2.1.2.4, with the names in the order in which Samba's client writes them: the substitute name first.
#[test]
fn a_symbolic_link_names_its_target_twice() {
    let sent = b"\x0c\0\0\xa0\x12\0\0\0\0\0\x04\0\x04\0\x02\0\x01\0\0\0a\0b\0c\0";
    let link = Reparse::Symlink {
        substitute_name: text::of("ab"),
        print_name: text::of("c"),
        flags: SymlinkFlags::RELATIVE,
    };
    assert_eq!(whole(sent, Reparse::decode), link);
    assert_eq!(whole(&bytes(|w| link.encode(w)), Reparse::decode), link);
}

#[test]
fn names_outside_their_buffer_are_malformed() {
    for at in [8, 10, 12, 14] {
        let mut sent = b"\x0c\0\0\xa0\x12\0\0\0\0\0\x04\0\x04\0\x02\0\x01\0\0\0a\0b\0c\0".to_vec();
        sent[at] = 8;
        assert!(Reparse::decode(&mut Reader::new(&sent)).is_err(), "{at}");
    }
}

/// MS-FSCC 2.1.2.5: offsets without the NULs in the lengths.
#[test]
fn a_mount_point_has_its_names_with_nuls() {
    let mount = Reparse::MountPoint { substitute_name: text::of("a"), print_name: text::of("b") };
    let expected = b"\x03\0\0\xa0\x10\0\0\0\0\0\x02\0\x04\0\x02\0a\0\0\0b\0\0\0";
    assert_eq!(bytes(|w| mount.encode(w)), expected);
    assert_eq!(whole(expected, Reparse::decode), mount);
}

/// MS-FSCC 2.1.2.6, the types in hexadecimal as it gives them.
#[test]
fn special_files_are_nfs_reparse_points() {
    for (kind, rest, nfs) in [
        (0x0000_0000_014B_4E4C_u64, &b"a\0"[..], Nfs::Symlink(text::of("a"))),
        (0x0000_0000_0052_4843, b"\x01\0\0\0\x05\0\0\0", Nfs::Char { major: 1, minor: 5 }),
        (0x0000_0000_004B_4C42, b"\x08\0\0\0\x01\0\0\0", Nfs::Block { major: 8, minor: 1 }),
        (0x0000_0000_4F46_4946, b"", Nfs::Fifo),
        (0x0000_0000_4B43_4F53, b"", Nfs::Socket),
    ] {
        let mut expected = vec![0x14, 0, 0, 0x80, 8 + rest.len() as u8, 0, 0, 0];
        expected.extend(kind.to_le_bytes());
        expected.extend(rest);
        assert_eq!(bytes(|w| Reparse::Nfs(nfs.clone()).encode(w)), expected);
        assert_eq!(whole(&expected, Reparse::decode), Reparse::Nfs(nfs));
    }
}

/// MS-FSCC 2.1.2.3: the GUID of another vendor's tag does not count in the length.
#[test]
fn another_vendors_reparse_point_is_kept_with_its_guid() {
    let mut sent = vec![0x42, 0, 0, 0, 2, 0, 0, 0];
    sent.extend([7; 16]);
    sent.extend(b"hi");
    let other = whole(&sent, Reparse::decode);
    assert_eq!(other.tag(), Tag(0x42));
    assert_eq!(bytes(|w| other.encode(w)), sent);
}

#[test]
fn attribute_information_of_a_file_system_ends_with_its_name() {
    use fs_info::{FsAttribute, FsAttributes};
    let attributes = FsAttributes::CASE_PRESERVED_NAMES | FsAttributes::NAMED_STREAMS;
    let info = FsAttribute { attributes, maximum_name_len: 255, name: text::of("NTFS") };
    let expected = b"\x02\0\x04\0\xff\0\0\0\x08\0\0\0N\0T\0F\0S\0";
    assert_eq!(bytes(|w| info.encode(w)), expected);
    assert_eq!(whole(expected, FsAttribute::decode), info);
}

#[test]
fn volume_information_has_a_byte_between_its_flag_and_its_label() {
    let info = fscc::fs_info::VolumeInfo {
        creation_time: NtTime(1),
        serial_number: 0x1234_5678,
        supports_objects: true,
        label: text::of("ab"),
    };
    let expected = b"\x01\0\0\0\0\0\0\0\x78\x56\x34\x12\x04\0\0\0\x01\0a\0b\0";
    assert_eq!(bytes(|w| info.encode(w)), expected);
    assert_eq!(whole(expected, fscc::fs_info::VolumeInfo::decode), info);
}
