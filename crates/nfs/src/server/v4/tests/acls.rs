//! ACLs by the layouts of RFC 7531, and what they do to the mode, to other users and to other protocols.

mod written_back;

use vfs::acl::{AclChange, Entries, Entry, Inherit, Rights, Who};
use vfs::backend::Found;
use vfs::{Caller, Volume};

use super::*;
use crate::server::testing::actor;

/// ACE4_READ_DATA, ACE4_WRITE_DATA, ACE4_APPEND_DATA, and what the owner needs besides.
const READ: u32 = 1;
const WRITE: u32 = 2;
const APPEND: u32 = 4;
const FULL: u32 = 0x1f_01ff;
const ANONYMOUS: [u8; 16] = [0; 16];

/// nfsace4.
fn ace(kind: u32, flags: u32, mask: u32, who: &[u8]) -> Vec<u8> {
    [words(&[kind, flags, mask]), opaque(who)].concat()
}

/// fattr4 of `acl` (12) alone.
fn acl(aces: &[Vec<u8>]) -> Vec<u8> {
    [words(&[1, 1 << 12]), opaque(&[words(&[aces.len() as u32]), aces.concat()].concat())].concat()
}

fn set(attributes: &[u8]) -> Vec<u8> {
    [&words(&[34])[..], &ANONYMOUS, attributes].concat()
}

/// The value of `acl` that GETATTR returns, without its count.
fn list_of(client: &Client, handle: &[u8]) -> Vec<u8> {
    let (status, reply) = at(client, handle, &[words(&[9, 1, 1 << 12])]);
    assert_eq!((status, &reply[..16]), (0, &words(&[9, 0, 1, 1 << 12])[..]));
    reply[24..].to_vec()
}

/// A new file of user 1000 with mode 0644, and its handle.
fn file(client: &Client, name: &[u8]) -> Vec<u8> {
    let id = registered(client, b"me", 1);
    opened(client, id, name, (3, 0), name).1
}

fn mode(client: &Client, handle: &[u8]) -> u32 {
    let (status, reply) = at(client, handle, &[words(&[9, 2, 0, 2])]);
    assert_eq!((status, reply.len()), (0, 28));
    u32::from_be_bytes(reply[24..].try_into().unwrap())
}

fn volume(client: &Client) -> std::sync::Arc<Volume> {
    client.service.export_named(b"docs").expect("a share").volume.clone()
}

fn found(client: &Client, name: &[u8]) -> Found {
    let volume = volume(client);
    volume.lookup(&Caller::root(), &volume.root().unwrap().object, name).unwrap()
}

/// RFC 7530 6.3.2: the mode is what OWNER@, GROUP@ and EVERYONE@ have.
#[test]
fn an_acl_that_is_set_is_read_decides_and_gives_the_mode() {
    let client = client();
    let handle = file(&client, b"f");
    let list = [
        ace(0, 0, FULL, b"OWNER@"),
        ace(1, 0, READ, b"2000"),
        ace(0, 0x40, READ | WRITE | APPEND, b"GROUP@"),
        ace(0, 0, 0x0012_0081, b"EVERYONE@"),
    ];
    let (status, reply) = at(&client, &handle, &[set(&acl(&list))]);
    assert_eq!((status, reply), (0, words(&[34, 0, 1, 1 << 12])));
    assert_eq!(list_of(&client, &handle), list.concat());
    // User 2000 is denied by name, so that neither group nor others may seem to read.
    assert_eq!(mode(&client, &handle), 0o720);
    let read = [words(&[25]), ANONYMOUS.to_vec(), words(&[0, 0, 1])].concat();
    let by = |user| at(&client.clone().user(user), &handle, std::slice::from_ref(&read)).0;
    assert_eq!((by(1000), by(3000)), (0, 0));
    let stranger = Client { ids: Some((2000, 5, Vec::new())), ..client.clone() };
    assert_eq!(at(&stranger, &handle, std::slice::from_ref(&read)).0, 13);
    // ACCESS says the same: READ for user 3000, who is in the group and may write, and nothing for user 2000.
    let access = words(&[3, 0x3f]);
    assert_eq!(
        at(&client.clone().user(3000), &handle, std::slice::from_ref(&access)).1,
        words(&[3, 0, 0x2d, 0xd])
    );
    assert_eq!(at(&stranger, &handle, &[access]).1, words(&[3, 0, 0x2d, 0]));
    // Only who has ACE4_WRITE_ACL sets it.
    assert_eq!(at(&stranger, &handle, &[set(&acl(&list))]).0, 13);
}

/// The tree is what SMB and AFP show.
#[test]
fn other_protocols_see_the_entries_and_set_them() {
    let client = client();
    let handle = file(&client, b"f");
    let list = [ace(0, 0, FULL, b"OWNER@"), ace(1, 0, WRITE, b"7"), ace(0, 0x40, READ, b"8")];
    assert_eq!(at(&client, &handle, &[set(&acl(&list))]).0, 0);
    let (volume, file) = (volume(&client), found(&client, b"f"));
    let expected = [
        Entry::allow(Who::Owner, Rights(FULL)),
        Entry::deny(Who::User(7), Rights::WRITE_DATA),
        Entry::allow(Who::Group(8), Rights::READ_DATA),
    ];
    assert_eq!(volume.acl(&file).unwrap().entries.list, expected);
    let sid = Who::Foreign(std::sync::Arc::from([1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 9, 0, 0, 0]));
    let list = vec![Entry::allow(Who::SignedIn, Rights(FULL)), Entry::allow(sid, Rights::READ_DATA)];
    let entries = Some(Entries { list, ..Entries::default() });
    let change = AclChange { entries, ..AclChange::default() };
    volume.set_acl(&actor(&Caller::root()), &file, &change).unwrap();
    let expected = [ace(0, 0, FULL, b"AUTHENTICATED@"), ace(0, 0, READ, b"S-1-5-21-9")].concat();
    assert_eq!(list_of(&client, &handle), expected);
}

/// RFC 7530 6.4.1: a mode replaces the list, a list the mode, and of both the list counts.
#[test]
fn mode_and_acl_follow_each_other() {
    let client = client();
    let handle = file(&client, b"f");
    let by_mode = list_of(&client, &handle);
    assert!(by_mode.windows(6).any(|bytes| bytes == b"OWNER@"));
    let list = [ace(0, 0, FULL, b"OWNER@"), ace(0, 0, READ, b"2000")];
    assert_eq!(at(&client, &handle, &[set(&acl(&list))]).0, 0);
    assert_eq!(mode(&client, &handle), 0o700);
    // The same mode again: the entry of user 2000 goes.
    assert_eq!(at(&client, &handle, &[set(&words(&[2, 0, 2, 4, 0o700]))]).0, 0);
    let now = list_of(&client, &handle);
    assert!(!now.windows(4).any(|bytes| bytes == b"2000"));
    // mode 04777 (33) and an ACL: the ACL says the nine bits, the mode the rest.
    let values = [words(&[1]), list[0].clone(), words(&[0o4777])].concat();
    let both = [words(&[2, 1 << 12, 2]), opaque(&values)].concat();
    let (status, reply) = at(&client, &handle, &[set(&both)]);
    assert_eq!((status, reply), (0, words(&[34, 0, 2, 1 << 12, 2])));
    assert_eq!((mode(&client, &handle), list_of(&client, &handle)), (0o4700, list[0].clone()));
}

/// A mode takes nothing from colleagues, whether it comes with the file or later, and no list is stored for it.
#[test]
fn in_a_team_folder_a_mode_takes_no_rights() {
    use auth::{Grantee, Role, RoleEntry, Roles};

    let client = client();
    let volume = volume(&client);
    let everyone = RoleEntry { role: Role::Editor, grantee: Grantee::Everyone };
    volume.set_roles(Some(std::sync::Arc::new(Roles::new(vec![everyone]))));
    let handle = file(&client, b"f");
    for sent in [0o400, 0o600, 0o777] {
        assert_eq!(at(&client, &handle, &[set(&words(&[2, 0, 2, 4, sent]))]).0, 0);
        let all = vfs::Access::READ | vfs::Access::WRITE;
        assert_eq!(volume.access(&Caller::new(1001, 1001, &[]), &found(&client, b"f"), all), Ok(all));
    }
    assert!(found(&client, b"f").object.xattr(b"user.fourfold.acl").is_err());
}

/// RFC 8881 6.4.3: what is made with an ACL has it and nothing else; what is made without inherits.
#[test]
fn new_files_get_the_acl_that_they_are_given_or_inherit() {
    let client = client();
    let make = |name: &[u8], attributes: &[u8]| [words(&[6, 2]), opaque(name), attributes.to_vec()].concat();
    let inherited = [ace(0, 0, FULL, b"OWNER@"), ace(0, 3, READ | 0x20, b"2000")];
    let (status, reply) = in_docs(&client, &[make(b"d", &acl(&inherited)), words(&[10])]);
    assert_eq!(status, 0);
    let folder = reply[reply.len() - 60..].to_vec();
    let at_handle = folder.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap() + 12;
    let folder = &folder[at_handle..];
    assert_eq!(list_of(&client, folder), inherited.concat());
    let id = registered(&client, b"me", 1);
    let open_in = |owner: &[u8], name: &[u8], attributes: Vec<u8>| {
        let how = [words(&[1, 1]), attributes].concat(); // GUARDED4
        let calls = [open(id, owner, 1, (1, 0), &how, name), words(&[10])];
        let (status, reply) = at(&client, folder, &calls);
        assert_eq!(status, 0, "{reply:?}");
        let at_handle = reply.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap() + 12;
        reply[at_handle..].to_vec()
    };
    let heir = open_in(b"a", b"a", words(&[0, 0]));
    assert_eq!(list_of(&client, &heir), ace(0, 0, READ | 0x20, b"2000"));
    // With a mode it says this mode, and gives others no more than that gives the group: RFC 8881 6.4.3.1.
    let limited = open_in(b"m", b"m", [words(&[2, 0, 2, 4]), words(&[0o604])].concat());
    assert_eq!(mode(&client, &limited), 0o604);
    assert!(!list_of(&client, &limited).windows(8).any(|bytes| bytes == opaque(b"2000")));
    let limited = open_in(b"n", b"n", [words(&[2, 0, 2, 4]), words(&[0o640])].concat());
    assert_eq!(mode(&client, &limited), 0o640);
    let list = list_of(&client, &limited);
    assert!(list.windows(20).any(|bytes| bytes == ace(0, 0, READ, b"2000")), "{list:?}");
    let own = ace(0, 0, FULL, b"EVERYONE@");
    let given = open_in(b"b", b"b", acl(std::slice::from_ref(&own)));
    assert_eq!((list_of(&client, &given), mode(&client, &given)), (own, 0o777));
    // Only folders pass entries on: NFS4ERR_ATTRNOTSUPP, and the file is not made.
    let how = [words(&[1, 1]), acl(&inherited)].concat();
    assert_eq!(at(&client, folder, &[open(id, b"c", 1, (1, 0), &how, b"c")]).0, 10032);
    assert_eq!(at(&client, folder, &[[words(&[15]), opaque(b"c")].concat()]).0, 2);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let client = client();
    let handle = file(&client, b"f");
    let before = list_of(&client, &handle);
    for (list, status) in [
        (vec![ace(2, 0x10, READ, b"OWNER@")], 10032), // AUDIT: NFS4ERR_ATTRNOTSUPP
        (vec![ace(0, 0, READ, b"INTERACTIVE@")], 10039), // NFS4ERR_BADOWNER
        (vec![ace(0, 0, READ, b"ada@example.org")], 10039),
        (vec![ace(0, 0, 1 << 25, b"EVERYONE@")], 22), // NFS4ERR_INVAL
        (vec![ace(0, 3, READ, b"EVERYONE@")], 10032),
        (vec![ace(0, 0, READ, b"1"); 1001], 27), // NFS4ERR_FBIG
    ] {
        let (failed, reply) = at(&client, &handle, &[set(&acl(&list))]);
        assert_eq!((failed, reply), (status, words(&[34, status, 0])));
    }
    // `sacl` (59) is no attribute of this server; nor is `dacl` (58) in minor version 0.
    for number in [26, 27] {
        let list = [words(&[2, 0, 1 << number]), opaque(&words(&[0, 0]))].concat();
        assert_eq!(at(&client, &handle, &[set(&list)]).0, 10032);
    }
    assert_eq!(list_of(&client, &handle), before);
}

/// RFC 7530 5.6: supported_attrs (0), aclsupport (13), archive (14), hidden (25), system (46), time_backup (49).
#[test]
fn marks_of_windows_and_macs_are_attributes() {
    let client = client();
    let handle = file(&client, b"f");
    let get = words(&[9, 2, 0x0200_6000, 0x0002_4000]);
    let (status, reply) = at(&client, &handle, std::slice::from_ref(&get));
    let none = words(&[9, 0, 2, 0x0200_6000, 0x0002_4000, 28, 3, 0, 0, 0, 0, 0, 0]);
    assert_eq!((status, reply), (0, none));
    let values = words(&[2, 0x0200_4000, 0x0002_4000, 24, 1, 1, 1, 0, 99, 0]);
    assert_eq!(at(&client, &handle, &[set(&values)]).0, 0);
    let (_, reply) = at(&client, &handle, &[get]);
    assert_eq!(reply[24..], words(&[3, 1, 1, 1, 0, 99, 0]));
    let kept = volume(&client).metadata(&found(&client, b"f"), None).unwrap();
    assert!(kept.is_hidden() && kept.dos.contains(vfs::mac::DosAttributes::SYSTEM));
    assert_eq!(kept.times.backup, Some(vfs::Time { secs: 99, nanos: 0 }));
}

/// RFC 7530 5.8.2.38: time_create (50) is the one that clients of SMB and AFP set and see.
#[test]
fn the_time_of_creation_is_an_attribute_that_can_be_set() {
    let client = client();
    let handle = file(&client, b"f");
    let get = words(&[9, 2, 0, 0x0004_0000]);
    let shown = || at(&client, &handle, std::slice::from_ref(&get)).1.split_off(24);
    assert_eq!(at(&client, &handle, &[set(&words(&[2, 0, 0x0004_0000, 12, 0, 1_000_000_001, 700]))]).0, 0);
    assert_eq!(shown(), words(&[0, 1_000_000_001, 700]));
    let (volume, found) = (volume(&client), found(&client, b"f"));
    assert_eq!(
        volume.metadata(&found, None).unwrap().times.created,
        Some(vfs::Time { secs: 1_000_000_001, nanos: 700 })
    );
    let other = Some(vfs::Time { secs: 5, nanos: 0 });
    let actor = vfs::Actor::new(Caller::root(), vfs::state::Party::client(vfs::state::ClientId(1)));
    volume.change_metadata(&actor, &found, None, |kept| kept.times.created = other).unwrap();
    assert_eq!(shown(), words(&[0, 5, 0]));
    // 10^9 nanoseconds: NFS4ERR_INVAL.
    assert_eq!(at(&client, &handle, &[set(&words(&[2, 0, 0x0004_0000, 12, 0, 5, 1_000_000_000]))]).0, 22);
}

/// READDIR (26) and VERIFY (37) have lists, too; the pseudo-root has that of its mode.
#[test]
fn listings_and_comparisons_have_lists() {
    let client = client();
    let handle = file(&client, b"f");
    let list = [ace(0, 0, FULL, b"OWNER@"), ace(0, 0, 0, b"7")];
    assert_eq!(at(&client, &handle, &[set(&acl(&list))]).0, 0);
    let listing = words(&[26, 0, 0, 0, 0, 512, 4096, 1, 1 << 12]);
    let (status, reply) = in_docs(&client, &[listing]);
    assert_eq!(status, 0);
    let listed = list.concat();
    assert!(reply.windows(listed.len()).any(|bytes| bytes == listed));
    let compare =
        |number: u32, list: &[Vec<u8>]| at(&client, &handle, &[[words(&[number]), acl(list)].concat()]).0;
    assert_eq!((compare(37, &list), compare(37, &list[..1])), (0, 10027)); // VERIFY: NFS4ERR_NOT_SAME
    assert_eq!((compare(17, &list), compare(17, &list[..1])), (10009, 0)); // NVERIFY: NFS4ERR_SAME
    let root = compound(&client, 2, &words(&[24, 9, 1, 1 << 12]));
    assert_eq!(root[..28], words(&[0, 0, 2, 24, 0, 9, 0]));
    assert!(root.windows(9).any(|bytes| bytes == b"EVERYONE@"));
}

#[test]
fn inheritance_of_the_tree_is_shown() {
    let client = client();
    let (volume, root) = (volume(&client), found_root(&client));
    let inherit = Inherit::FILES.union(Inherit::NO_PROPAGATE).union(Inherit::ONLY);
    let list = vec![
        Entry::allow(Who::Everyone, Rights(FULL)),
        Entry::allow(Who::Group(9), Rights::READ_DATA).inherited_by(inherit),
        Entry::allow(Who::User(9), Rights::READ_DATA).inherited_by(Inherit::INHERITED),
    ];
    let entries = Some(Entries { list, protected: false, auto_inherited: true });
    let change = AclChange { entries, ..AclChange::default() };
    volume.set_acl(&actor(&Caller::root()), &root, &change).unwrap();
    let (status, reply) = in_docs(&client, &[words(&[9, 1, 1 << 12])]);
    // FILE_INHERIT, NO_PROPAGATE, INHERIT_ONLY and IDENTIFIER_GROUP; INHERITED only in `dacl`.
    let expected = [ace(0, 0, FULL, b"EVERYONE@"), ace(0, 0x4d, READ, b"9"), ace(0, 0, READ, b"9")].concat();
    assert_eq!((status, &reply[24..]), (0, &expected[..]));
}

fn found_root(client: &Client) -> Found {
    volume(client).root().unwrap()
}
