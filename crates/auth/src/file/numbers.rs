//! Unix numbers that the server gives by itself: to accounts for which the host has no user, and to its own groups. A number is
//! kept with what has it, so files keep their owner.
//!
//! Where to begin follows from the name: servers of a cluster that make different accounts at the same time give different
//! numbers, and an account that is made again has the number that it had.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::{AccountFile, Error};
use crate::identity::Ids;

/// The numbers of the server's own accounts and groups. Neither systemd nor distributions nor containers use them.
pub const OWN_NUMBERS: RangeInclusive<u32> = 1_900_000_000..=1_900_999_999;

impl AccountFile {
    /// Gives an account a Unix number of its own, as its user and as its first group, unless it has a user.
    ///
    /// # Errors
    /// There is no such account, or no number is free.
    pub fn give_number(&mut self, name: &str) -> Result<Ids, Error> {
        let number = self.free_number(name)?;
        let account = self.change(name)?;
        if account.ids.uid.is_none() {
            account.ids = Ids { uid: Some(number), gid: account.ids.gid.or(Some(number)) };
        }
        Ok(account.ids)
    }

    /// A number that neither an account nor a group has.
    pub(super) fn free_number(&self, name: &str) -> Result<u32, Error> {
        let of_accounts = self.accounts.iter().flat_map(|account| {
            let Ids { uid, gid } = account.ids;
            uid.into_iter().chain(gid).chain(account.groups.iter().copied())
        });
        let taken: HashSet<u32> = of_accounts.chain(self.groups.iter().map(|group| group.number)).collect();
        let (low, high) = OWN_NUMBERS.into_inner();
        let first = low + hash(name) % (high - low + 1);
        (first..=high).chain(low..first).find(|number| !taken.contains(number)).ok_or(Error::NoNumber)
    }
}

/// FNV-1a of the name as all spellings of it have it.
fn hash(name: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    crate::account_key(name).bytes().fold(2_166_136_261, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, AccountFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = AccountFile::read(folder.path()).unwrap();
        (folder, file)
    }

    #[test]
    fn no_two_accounts_and_groups_have_one_number() {
        let (_folder, mut file) = file();
        let mut seen = HashSet::new();
        for number in 0..200 {
            let name = format!("user{number}");
            file.add(&name, Ids::default(), "secret").unwrap();
            let ids = file.give_number(&name).unwrap();
            assert_eq!(ids.uid, ids.gid);
            assert!(OWN_NUMBERS.contains(&ids.uid.unwrap()) && seen.insert(ids.uid.unwrap()));
            let group = file.add_group(&format!("group{number}"), Vec::new()).unwrap();
            assert!(OWN_NUMBERS.contains(&group) && seen.insert(group));
        }
    }

    #[test]
    fn a_group_of_the_name_of_an_account_has_another_number() {
        let (_folder, mut file) = file();
        file.add("studio", Ids::default(), "secret").unwrap();
        let ids = file.give_number("studio").unwrap();
        assert_ne!(ids.gid, Some(file.add_group("studio", Vec::new()).unwrap()));
    }

    #[test]
    fn an_account_that_acts_as_a_user_keeps_it() {
        let (_folder, mut file) = file();
        file.add("ada", Ids { uid: Some(1000), gid: None }, "secret").unwrap();
        assert_eq!(file.give_number("ada").unwrap(), Ids { uid: Some(1000), gid: None });
        assert!(matches!(file.give_number("bob"), Err(Error::Missing(_))));
    }

    #[test]
    fn a_name_has_the_same_number_when_it_is_made_again() {
        let (_folder, mut file) = file();
        file.add("ada", Ids::default(), "secret").unwrap();
        let first = file.give_number("ada").unwrap();
        file.remove("ada").unwrap();
        file.add("Ada", Ids::default(), "secret").unwrap();
        assert_eq!(file.give_number("Ada").unwrap(), first);
    }
}
