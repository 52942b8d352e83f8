//! Groups of the server's own, beside the accounts. Their members are accounts.

use serde::{Deserialize, Serialize};

use super::{AccountFile, Error};

/// Accounts that a group can have.
pub const MOST_MEMBERS: usize = 10_000;

/// A group of the server's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Its name, which is unique.
    pub name: String,
    /// Its Unix number.
    pub number: u32,
    /// The accounts in it, in any case of letters.
    #[serde(default)]
    pub members: Vec<String>,
}

impl GroupRecord {
    /// Whether an account is in it.
    #[must_use]
    pub fn has(&self, account: &str) -> bool {
        self.members.iter().any(|member| crate::is_same_name(member, account))
    }
}

/// Whether a group of the server may have this name.
#[must_use]
pub fn is_group_name(name: &str) -> bool {
    let is_word = ["everyone", "guests"].iter().any(|word| word.eq_ignore_ascii_case(name));
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    crate::is_account_name(name) && !name.contains(['@', ',']) && !is_word && !is_number
}

impl AccountFile {
    /// The group with a name, in any case of letters.
    #[must_use]
    pub fn find_group(&self, name: &str) -> Option<&GroupRecord> {
        self.groups.iter().find(|group| crate::is_same_name(&group.name, name))
    }

    /// Makes a group of these accounts. Returns its number.
    ///
    /// # Errors
    /// The name is used, in any case of letters, or not allowed.
    pub fn add_group(&mut self, name: &str, members: Vec<String>) -> Result<u32, Error> {
        if !is_group_name(name) {
            return Err(Error::BadGroupName(name.into()));
        }
        if let Some(known) = self.find_group(name) {
            return Err(Error::GroupExists(known.name.clone()));
        }
        let number = self.free_number(name)?;
        self.groups.push(GroupRecord { name: name.into(), number, members: Vec::new() });
        self.change_members(name, &members, &[])?;
        Ok(number)
    }

    /// Puts accounts into a group, and takes others out of it.
    ///
    /// # Errors
    /// There is no such group, one to be taken out is not in it, or it would have too many members.
    pub fn change_members(&mut self, name: &str, added: &[String], removed: &[String]) -> Result<(), Error> {
        let at = self.groups.iter().position(|group| crate::is_same_name(&group.name, name));
        let group = &mut self.groups[at.ok_or_else(|| Error::MissingGroup(name.into()))?];
        if let Some(stranger) = removed.iter().find(|account| !group.has(account)) {
            return Err(Error::NoMember(stranger.clone(), group.name.clone()));
        }
        for account in removed {
            group.members.retain(|member| !crate::is_same_name(member, account));
        }
        for account in added {
            if !group.has(account) {
                group.members.push(account.clone());
            }
        }
        if group.members.len() > MOST_MEMBERS { Err(Error::Members) } else { Ok(()) }
    }

    /// Removes a group.
    ///
    /// # Errors
    /// There is no such group.
    pub fn remove_group(&mut self, name: &str) -> Result<(), Error> {
        let at = self.groups.iter().position(|group| crate::is_same_name(&group.name, name));
        self.groups.remove(at.ok_or_else(|| Error::MissingGroup(name.into()))?);
        Ok(())
    }

    /// Takes an account out of all groups: another one of its name is another person.
    pub(super) fn leave_groups(&mut self, account: &str) {
        for group in &mut self.groups {
            group.members.retain(|member| !crate::is_same_name(member, account));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ids;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn groups_are_read_as_they_were_written() {
        let state = tempfile::tempdir().unwrap();
        AccountFile::edit(state.path(), |file| file.add_group("studio", words(&["ada", "ADA", "grace"])))
            .unwrap();
        let read = AccountFile::read(state.path()).unwrap();
        assert_eq!(read.find_group("Studio").unwrap().members, ["ada", "grace"]);
        let text = std::fs::read_to_string(state.path().join("accounts.toml")).unwrap();
        assert!(text.starts_with("format = 2\n"), "an older program would lose the groups: {text}");
        AccountFile::edit(state.path(), |file| file.remove_group("STUDIO")).unwrap();
        let text = std::fs::read_to_string(state.path().join("accounts.toml")).unwrap();
        assert!(text.starts_with("format = 1\n"), "{text}");
    }

    #[test]
    fn an_account_that_is_removed_leaves_its_groups() {
        let state = tempfile::tempdir().unwrap();
        let members = AccountFile::edit(state.path(), |file| {
            file.add("ada", Ids::default(), "secret")?;
            file.add_group("studio", words(&["ada", "grace"]))?;
            file.remove("ada")?;
            Ok(file.find_group("studio").unwrap().members.clone())
        });
        assert_eq!(members.unwrap(), ["grace"]);
    }

    #[test]
    fn members_come_and_go() {
        let state = tempfile::tempdir().unwrap();
        let mut file = AccountFile::read(state.path()).unwrap();
        file.add_group("studio", words(&["ada"])).unwrap();
        file.change_members("studio", &words(&["grace", "bob"]), &words(&["Ada"])).unwrap();
        assert_eq!(file.find_group("studio").unwrap().members, ["grace", "bob"]);
        let strange = file.change_members("studio", &[], &words(&["eve"])).unwrap_err();
        assert_eq!(strange.to_string(), "the account \"eve\" is not in the group \"studio\"");
        assert!(matches!(file.change_members("office", &[], &[]), Err(Error::MissingGroup(_))));
        assert!(
            matches!(file.add_group("STUDIO", Vec::new()), Err(Error::GroupExists(name)) if name == "studio")
        );
    }

    #[test]
    fn words_of_lists_and_numbers_are_no_names_of_groups() {
        for bad in ["everyone", "Guests", "100", "", "a@b", "a,b", "a/b", "-x"] {
            assert!(!is_group_name(bad), "{bad}");
        }
        assert!(is_group_name("studio") && is_group_name("2nd floor"));
    }
}
