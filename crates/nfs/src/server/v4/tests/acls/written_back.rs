//! What a client reads of a list and sets again changes nothing, for random lists: those of other protocols have identities and
//! inheritance that no client of NFS could set. RFC 8881 6.4 says what a new list means, not one that was there.

use std::sync::Arc;

use vfs::acl::EntryKind;
use vfs::backend::NewKind;

use super::*;
use crate::wire::v4::acls::Aces;
use crate::wire::xdr::Encode;
use wire::Writer;

/// How many random lists.
const LISTS: u64 = 500;

/// Numbers that look random, and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn who(&mut self) -> Who {
        /// SIDs, MS-DTYP 2.4.2.2: S-1-5-21-9, S-1-1-0, S-1-5-11, S-1-5 alone, one of a large authority, and bytes that are none.
        const SIDS: [&[u8]; 6] = [
            &[1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 9, 0, 0, 0],
            &[1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
            &[1, 1, 0, 0, 0, 0, 0, 5, 11, 0, 0, 0],
            &[1, 0, 0, 0, 0, 0, 0, 5],
            &[1, 1, 9, 9, 0, 0, 0, 5, 11, 0, 0, 0],
            b"somebody",
        ];
        match self.below(14) {
            0 => Who::Owner,
            1 => Who::OwningGroup,
            2 => Who::Everyone,
            3 => Who::SignedIn,
            4 => Who::OwnerRights,
            5 => Who::User(1000),
            6 => Who::Group(100),
            7 => Who::User(u32::MAX),
            number => Who::Foreign(Arc::from(SIDS[number as usize - 8])),
        }
    }

    fn entry(&mut self) -> Entry {
        let kind = if self.below(3) == 0 { EntryKind::Deny } else { EntryKind::Allow };
        let marks = [Rights::NONE, Rights::RUNS_AS_READER, Rights::FROM_MODE][self.below(3) as usize];
        let rights = Rights(self.below(1 << 21) as u32).intersection(Rights::ALL).union(marks);
        Entry { kind, inherit: Inherit(self.below(32) as u8), rights, who: self.who() }
    }

    /// A list by which user 1000 may read and set it.
    fn entries(&mut self) -> Entries {
        let may = Rights::READ_ACL.union(Rights::WRITE_ACL).union(Rights::READ_ATTRIBUTES);
        let mut list = vec![Entry::allow(Who::User(1000), may)];
        list.extend((0..self.below(8)).map(|_| self.entry()).collect::<Vec<_>>());
        Entries { list, protected: self.below(2) == 0, auto_inherited: self.below(2) == 0 }
    }
}

struct Scene {
    client: Client,
    handles: [(&'static [u8], Vec<u8>); 2],
}

impl Scene {
    fn new() -> Self {
        let client = client();
        let (volume, root) = (volume(&client), found_root(&client));
        let handles = [(&b"file"[..], NewKind::File), (b"kept", NewKind::Folder)].map(|(name, kind)| {
            volume.create(&actor(&Caller::new(1000, 100, &[])), &root, name, kind, 0o640).unwrap();
            let (status, reply) = in_docs(&client, &[look_up(name.try_into().unwrap()), words(&[10])]);
            assert_eq!((status, &reply[..16]), (0, &words(&[15, 0, 10, 0])[..]));
            (name, reply[20..].to_vec())
        });
        Self { client, handles }
    }

    fn has(&self, name: &[u8]) -> (Entries, [Rights; 5]) {
        let (volume, found) = (volume(&self.client), found(&self.client, name));
        let callers = [(1000, 7), (2000, 100), (3000, 7), (65_534, 7), (u32::MAX - 1, 7)];
        let rights =
            callers.map(|(uid, gid)| volume.rights(&Caller::new(uid, gid, &[]), &found, None).unwrap());
        (volume.acl(&found).unwrap().entries, rights)
    }
}

#[test]
fn a_list_that_was_read_and_set_again_is_what_it_was() {
    let scene = Scene::new();
    for seed in 0..LISTS {
        let mut random = Random(seed);
        let (name, handle) = &scene.handles[(seed % 2) as usize];
        let change = AclChange { entries: Some(random.entries()), ..AclChange::default() };
        volume(&scene.client).set_acl(&actor(&Caller::root()), &found(&scene.client, name), &change).unwrap();
        let before = scene.has(name);
        let (status, reply) = at(&scene.client, handle, &[words(&[9, 1, 1 << 12])]);
        assert_eq!((status, &reply[..8]), (0, &words(&[9, 0])[..]));
        let (status, _) = at(&scene.client, handle, &[set(&reply[8..])]);
        assert_eq!(status, 0, "seed {seed}: {:?}", before.0);
        assert_eq!(scene.has(name), before, "seed {seed}");
        // The first entry goes, as by `nfs4_setfacl -x`, and the others stay what they are.
        let aces = Aces::new(before.0.list.len() as u32, &reply[24..]);
        let mut rest = Writer::new();
        aces.iter().skip(1).for_each(|ace| ace.encode(&mut rest));
        let rest = [words(&[aces.count() as u32 - 1]), rest.into_bytes()].concat();
        let (status, _) = at(&scene.client, handle, &[set(&[words(&[1, 1 << 12]), opaque(&rest)].concat())]);
        assert_eq!(status, 0, "seed {seed}: without its first entry");
        assert_eq!(
            scene.has(name).0,
            Entries { list: before.0.list[1..].to_vec(), ..before.0 },
            "seed {seed}"
        );
    }
}
