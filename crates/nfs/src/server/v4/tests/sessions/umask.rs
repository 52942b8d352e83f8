//! Attributes that extensions of minor version 2 have added: `mode_umask` (81, RFC 8275) and `open_arguments` (86, RFC 9754).

use vfs::acl::{AclChange, Entries, Entry, Inherit, Rights, Who};
use vfs::backend::{Found, NewKind};

use super::ranges::MinorTwoClient;
use super::*;
use crate::server::testing::actor;

/// createhow4 GUARDED4 with `mode_umask`.
fn guarded(mode: u32, umask: u32) -> Vec<u8> {
    [words(&[1, 1]), mode_umask(mode, umask)].concat()
}

/// fattr4 of `mode_umask`.
fn mode_umask(mode: u32, umask: u32) -> Vec<u8> {
    words(&[3, 0, 0, 1 << 17, 8, mode, umask])
}

/// The handle to which these lookups lead.
fn handle_of(client: &MinorTwoClient, way: &[Vec<u8>]) -> Vec<u8> {
    let (status, reply) = client.call(&[&[words(&[24])], way, &[words(&[10])]].concat());
    assert_eq!(status, 0);
    reply[8 * way.len() + 20..].to_vec()
}

/// OPEN in a folder, then GETATTR of the mode: the statuses, attrset of OPEN, and the mode.
fn made(client: &MinorTwoClient, folder: &[u8], how: &[u8], name: &[u8]) -> (u32, Vec<u8>, u32) {
    let open = open_1(name, (3, 0), how, name);
    let (status, reply) = client.at(folder, &[open, words(&[9, 2, 0, 2])]);
    if status != 0 {
        return (status, Vec::new(), 0);
    }
    // The number, the status, the stateid, change_info4 and the flags; in the end the mode.
    let set = reply[8 + 16 + 20 + 4..].to_vec();
    (status, set, u32::from_be_bytes(reply[reply.len() - 4..].try_into().unwrap()))
}

#[test]
fn a_umask_limits_new_files_unless_the_folder_passes_on_an_acl() {
    let client = MinorTwoClient::new();
    let volume = client.0.client.service.export_named(b"docs").unwrap().volume.clone();
    let root = volume.root().unwrap();
    let me = actor(&vfs::Caller::new(1000, 1000, &[]));
    let folder = volume.create(&me, &root, b"plain", NewKind::Folder, 0o755).unwrap().found;
    let plain = handle_of(&client, &[look_up(b"docs"), [words(&[15]), opaque(b"plain")].concat()]);
    // The client learns that it need not set the mode: attrset has the attribute.
    let (status, set, mode) = made(&client, &plain, &guarded(0o666, 0o027), b"one");
    assert_eq!((status, &set[..16], mode), (0, &words(&[3, 0, 0, 1 << 17])[..], 0o640));
    let mkdir = [words(&[6, 2]), opaque(b"sub"), mode_umask(0o777, 0o022)].concat();
    let (status, reply) = client.at(&plain, &[mkdir, words(&[9, 2, 0, 2])]);
    assert_eq!((status, &reply[reply.len() - 4..]), (0, &words(&[0o755])[..]));
    // RFC 8275 5: the umask has no effect beside inherited entries, and the mode gives no user more than these.
    let both = Inherit::FILES.union(Inherit::FOLDERS);
    let group = Entry::allow(Who::User(2000), Rights::READ_DATA.union(Rights::WRITE_DATA)).inherited_by(both);
    let own = Entry::allow(Who::Owner, Rights::ALL).inherited_by(both);
    let entries = Some(Entries { list: vec![own, group], ..Entries::default() });
    let of = Found { object: folder.object.clone(), attributes: folder.object.attributes().unwrap() };
    volume.set_acl(&me, &of, &AclChange { entries, ..AclChange::default() }).unwrap();
    let (status, _, mode) = made(&client, &plain, &guarded(0o666, 0o077), b"two");
    assert_eq!((status, mode), (0, 0o600));
    let two = volume.lookup(&me.caller, &folder.object, b"two").unwrap();
    let rights = volume.rights(&vfs::Caller::new(2000, 2000, &[]), &two, None).unwrap();
    assert!(rights.contains(Rights::READ_DATA.union(Rights::WRITE_DATA)), "{rights:?}");
}

#[test]
fn it_is_for_new_files_only_and_the_only_mode() {
    let client = MinorTwoClient::new();
    let (_, handle) = client.0.opened(b"o", (3, 0), b"f");
    let set = |attributes: Vec<u8>| [words(&[34, 0, 0, 0, 0]), attributes].concat();
    assert_eq!(client.at(&handle, &[set(mode_umask(0o644, 0o022))]).0, 22);
    // It can only be set.
    assert_eq!(client.at(&handle, &[words(&[9, 3, 0, 0, 1 << 17])]).0, 22);
    let docs = handle_of(&client, &[look_up(b"docs")]);
    let both = [words(&[1, 1, 3, 0, 2, 1 << 17, 12, 0o644, 0o644, 0o022])].concat();
    assert_eq!(made(&client, &docs, &both, b"a").0, 22, "with a mode");
    assert_eq!(made(&client, &docs, &guarded(0o644, 0o1022), b"a").0, 22, "not a bit of a umask");
    assert_eq!(made(&client, &docs, &guarded(0o10644, 0o022), b"a").0, 22, "not a mode");
    // Minor version 1 has no such attribute.
    let open = open_1(b"o", (3, 0), &guarded(0o644, 0o022), b"a");
    assert_eq!(client.0.in_docs(&[open]).0, 10032); // ATTRNOTSUPP
}

/// RFC 9754: bitmaps of share access, denials, wishes, claims and ways to make a file.
#[test]
fn the_arguments_of_open_are_told() {
    let client = MinorTwoClient::new();
    let values = words(&[1, 0b1110, 1, 0b1111, 1, 0b110_0000_0000_0011_1000, 1, 0b11_0111, 1, 0b1111]);
    let expected = [words(&[24, 0, 9, 0, 3, 0, 0, 1 << 22]), opaque(&values)].concat();
    assert_eq!(client.call(&[words(&[24]), words(&[9, 3, 0, 0, 1 << 22])]), (0, expected));
    assert_eq!(client.0.call(&[words(&[24]), words(&[9, 3, 0, 0, 1 << 22])]).1[8..], words(&[9, 0, 0, 0]));
}
