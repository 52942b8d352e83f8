//! Stored ACLs with every kind of entry.

use std::sync::Arc;

use vfs::acl::stored::Stored;
use vfs::acl::{Entries, Entry, Inherit, Rights, Who};

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let seed = |name, list, group| {
        let entries = Entries { list, protected: true, auto_inherited: true };
        let bytes = Stored { mode: 0o750, uid: 1000, gid: 100, owner: None, group, entries }.encode();
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
        seed("many", vec![Entry::allow(Who::Owner, Rights::READ_DATA); 40], Who::Everyone),
    ]
}
