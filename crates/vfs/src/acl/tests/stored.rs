//! docs/on-disk-format.md, "user.fourfold.acl".

use super::super::stored::StoredAcl;
use super::*;

fn example() -> StoredAcl {
    let list = vec![
        Entry::deny(Who::Foreign(Arc::from([1, 2])), WRITE).inherited_by(Inherit(0x13)),
        Entry::allow(Who::User(1000), Rights(0x1f_01ff)),
        Entry::allow(Who::Everyone, READ),
    ];
    let entries = Entries { list, protected: true, auto_inherited: false };
    StoredAcl {
        mode: 0o640,
        uid: 1000,
        gid: 100,
        owner: None,
        group: Who::Group(100),
        entries,
        in_team: false,
        cut: false,
    }
}

const BYTES: &[u8] = &[
    1, 1, 0x01, 0xa0, 0, 0, 3, 0xe8, 0, 0, 0, 100, // version, protected, mode, user, group
    1, 0, 0, 0, 100, 0, 3, // the ACL's group, entries
    1, 0x13, 0, 0, 0, 2, 7, 2, 1, 2, // deny, flags, rights, a foreign user
    0, 0, 0, 0x1f, 0x01, 0xff, 0, 0, 0, 3, 0xe8, // allow user 1000
    0, 0, 0, 0, 0, 1, 4, // allow everyone
];

#[test]
fn the_stored_form_is_as_documented() {
    assert_eq!(example().encode(), BYTES);
    assert_eq!(StoredAcl::decode(BYTES), Ok(example()));
}

#[test]
fn what_is_cut_or_longer_or_of_another_version_is_none() {
    for length in 0..BYTES.len() {
        assert!(StoredAcl::decode(&BYTES[..length]).is_err(), "{length} bytes");
    }
    assert!(StoredAcl::decode(&[BYTES, &[0]].concat()).is_err());
    assert!(StoredAcl::decode(&[&[2], &BYTES[1..]].concat()).is_err());
}

#[test]
fn an_acl_sealed_with_another_key_or_changed_is_none() {
    let sealed = example().seal(&[7; 16]);
    assert_eq!(StoredAcl::open(&[7; 16], &sealed), Some(example()));
    assert_eq!(StoredAcl::open(&[8; 16], &sealed), None);
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert_eq!(StoredAcl::open(&[7; 16], &changed), None, "byte {at}");
    }
    assert_eq!(StoredAcl::open(&[7; 16], BYTES), None);
    assert_eq!(StoredAcl::open(&[7; 16], b""), None);
}
