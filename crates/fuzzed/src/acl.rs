//! Stored ACLs, crates/vfs/src/acl: whatever is in the attribute, reading it makes no more of it than it is, and what was
//! read is written the same.

use vfs::Caller;
use vfs::acl::samba::{NtAcl, SidMap, text_of_sid};
use vfs::acl::stored::StoredAcl;
use vfs::acl::{Acl, MAX_ENTRIES, Rights, Who};

/// The stored form without its seal, and Samba's.
pub fn stored(data: &[u8]) {
    if let Ok(Some(acl)) = NtAcl::decode(data) {
        let mut sids = SidMap::default();
        data.split_last_chunk::<16>().into_iter().for_each(|(_, domain)| sids.add_domain(domain));
        acl.unknown().for_each(|sid| assert!(text_of_sid(sid).starts_with("S-1-")));
        let acl = acl.acl((1000, 100), &sids);
        assert!(acl.entries.list.len() <= MAX_ENTRIES.min(data.len() / 8) + 1);
        acl.rights(&Caller::new(1000, 100, &[]), 1000, 100);
    }
    let Ok(stored) = StoredAcl::decode(data) else { return };
    assert!(stored.entries.list.len() <= MAX_ENTRIES.min(data.len() / 7));
    assert_eq!(StoredAcl::decode(&stored.encode()).as_ref(), Ok(&stored));
    let StoredAcl { uid, gid, owner, group, entries, .. } = stored;
    let acl = Acl {
        owner: owner.unwrap_or(Who::User(uid)),
        group,
        entries,
        stored: true,
        within_mode: false,
        team: None,
    };
    assert_eq!(acl.rights(&Caller::root(), uid, gid), Rights::ALL);
    acl.rights(&Caller::new(uid.max(1), gid, &[7]), uid, gid);
    acl.rights(&Caller::new(uid ^ 1, gid ^ 1, &[]), uid, gid);
}
