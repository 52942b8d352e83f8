//! Stored ACLs with every kind of entry.

use std::sync::Arc;

use vfs::acl::stored::StoredAcl;
use vfs::acl::{Entries, Entry, Inherit, Rights, Who};

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let seed = |name, list, group| {
        let entries = Entries { list, protected: true, auto_inherited: true };
        let ids = StoredAcl {
            mode: 0o750,
            uid: 1000,
            gid: 100,
            owner: None,
            group,
            entries,
            in_team: false,
            cut: false,
        };
        let bytes = ids.encode();
        Seed { target: "vfs_acl", name, bytes }
    };
    let everybody = [
        Who::User(1000),
        Who::Group(100),
        Who::Owner,
        Who::OwningGroup,
        Who::Everyone,
        Who::SignedIn,
        Who::OwnerRights,
        Who::Foreign(Arc::from([1, 5, 0, 0, 0, 0, 0, 5])),
    ];
    let entries = everybody.iter().cloned().enumerate().map(|(number, who)| {
        let make = if number % 2 == 0 { Entry::allow } else { Entry::deny };
        make(who, Rights::ALL).inherited_by(Inherit(number as u8 * 4))
    });
    let longest = Who::Foreign(Arc::from([0xff; 68]));
    vec![
        seed("empty", Vec::new(), Who::Group(100)),
        seed("everybody", entries.collect(), everybody[7].clone()),
        seed("foreign", vec![Entry::deny(longest.clone(), Rights(u32::MAX))], longest),
        Seed { target: "vfs_acl", name: "samba", bytes: samba() },
        seed("many", vec![Entry::allow(Who::Owner, Rights::READ_DATA); 40], Who::Everyone),
    ]
}

/// `security.NTACL` of version 1: a denial for a user of the host, and all rights for everyone.
fn samba() -> Vec<u8> {
    let entries: [&[u8]; 2] = [
        b"\x01\x03\x18\0\x01\0\0\0\x01\x02\0\0\0\0\0\x16\x01\0\0\0\x07\0\0\0",
        b"\0\x03\x14\0\xff\x01\x1f\0\x01\x01\0\0\0\0\0\x01\0\0\0\0",
    ];
    let head = b"\x01\0\x01\0\0\0\x02\0\x01\0\x04\x80\0\0\0\0\0\0\0\0\0\0\0\0\x1c\0\0\0";
    [&head[..], b"\x02\0\x34\0\x02\0\0\0", &entries.concat()].concat()
}
