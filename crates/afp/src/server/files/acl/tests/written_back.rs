//! What a Mac reads of a list by FPGetACL and writes back by FPSetACL changes nothing, for random lists: those of other protocols
//! say more than a Mac is shown.

use std::sync::Arc;

use vfs::acl::{AclChange, Entries, Entry, EntryKind, Inherit, Rights, Who, before_mode};
use vfs::backend::Found;

use super::*;

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
        match self.below(10) {
            0 => Who::Owner,
            1 => Who::OwningGroup,
            2 => Who::Everyone,
            3 => Who::SignedIn,
            4 => Who::OwnerRights,
            5 => Who::User(ADA.2),
            6 => Who::Group(100),
            7 => Who::User(BOB.2),
            8 => Who::Foreign(Arc::from([1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 9, 0, 0, 0])), // S-1-5-21-9
            _ => Who::Foreign(Arc::from(*b"somebody")),
        }
    }

    fn entry(&mut self) -> Entry {
        let kind = if self.below(3) == 0 { EntryKind::Deny } else { EntryKind::Allow };
        let marks = [Rights::NONE, Rights::RUNS_AS_READER][self.below(2) as usize];
        let rights = Rights(self.below(1 << 21) as u32).intersection(Rights::ALL).union(marks);
        Entry { kind, inherit: Inherit(self.below(32) as u8), rights, who: self.who() }
    }

    /// A list by which ada may read and set it: one of another protocol, which is final, or one of a Mac, behind which the mode counts.
    fn entries(&mut self, is_folder: bool) -> Entries {
        let may = Rights::READ_ACL.union(Rights::WRITE_ACL).union(Rights::READ_ATTRIBUTES);
        let mut list = vec![Entry::allow(Who::User(ADA.2), may)];
        list.extend((0..self.below(8)).map(|_| self.entry()).collect::<Vec<_>>());
        let (protected, auto_inherited) = (self.below(2) == 0, self.below(2) == 0);
        match self.below(2) {
            0 => Entries { list, protected, auto_inherited },
            _ => before_mode(list, protected, self.below(0o1000) as u32, is_folder),
        }
    }
}

impl AclFixture {
    fn found(&self, name: &str) -> Found {
        let tree = self.server.volume("share");
        tree.lookup(&Caller::root(), &tree.root().unwrap().object, name.as_bytes()).unwrap()
    }

    fn give(&self, name: &str, change: &AclChange) {
        let by = Actor::new(Caller::root(), Party::client(ClientId::unused()));
        self.server.volume("share").set_acl(&by, &self.found(name), change).unwrap();
    }

    /// The list and all else of the file's rights, and what ada, a member of the group, bob and two others may do.
    fn has(&self, name: &str) -> (vfs::acl::Acl, u32, [Rights; 5]) {
        let (tree, found) = (self.server.volume("share"), self.found(name));
        let callers = [(ADA.2, 7), (2000, 100), (BOB.2, 7), (vfs::acl::NOBODY, 7), (3000, 7)];
        let rights =
            callers.map(|(uid, gid)| tree.rights(&Caller::new(uid, gid, &[]), &found, None).unwrap());
        (tree.acl(&found).unwrap(), found.attributes.mode, rights)
    }

    async fn write_back(&mut self, name: &str, bitmap: u16, security: Security) -> ResultCode {
        let path = Path::utf8(name.as_bytes());
        let set = Set { volume: self.volume, directory: ROOT, bitmap: Bitmap(bitmap), path, security };
        self.ada.call(command::SET_ACL, |w| set.encode(w)).await.code
    }
}

#[tokio::test]
async fn a_list_that_a_mac_read_and_set_again_is_what_it_was() {
    let mut tried = AclFixture::new();
    for seed in 0..LISTS {
        let mut random = Random(seed);
        let name = ["notes", "box"][(seed % 2) as usize];
        let entries = Some(random.entries(name == "box"));
        tried.give(name, &AclChange { entries, ..AclChange::default() });
        let before = tried.has(name);
        // Owner and group come back with the list, as Macs send them.
        let bitmap = [4, 7][random.below(2) as usize];
        let read = tried.get(name, bitmap).await;
        assert_eq!(tried.write_back(name, bitmap, read.clone()).await, ResultCode::NO_ERROR, "seed {seed}");
        assert_eq!(tried.has(name), before, "seed {seed}");
        // The last entry goes, and the others stay what they are. The mode, which a Mac was shown beside
        // them, counts behind them, and gives no user more rights than the list did.
        let mut rest = read;
        let list = &mut rest.acl.as_mut().unwrap().entries;
        let gone = list.pop().unwrap();
        let left = list.len();
        assert_eq!(tried.write_back(name, 4, rest).await, ResultCode::NO_ERROR, "seed {seed}");
        let after = tried.has(name);
        assert_eq!(after.0.entries.list[..left], before.0.entries.list[..left], "seed {seed}");
        if left > 0 && gone.flags & KauthAce::KIND == KauthAce::PERMIT {
            for (now, was) in after.2.iter().zip(&before.2) {
                let gained = now.difference(*was);
                assert_eq!(gained, Rights::NONE, "seed {seed}: without an entry that permits, {before:?}");
            }
        }
    }
}
