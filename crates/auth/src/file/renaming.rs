//! Other names for accounts.

use super::{AccountFile, Error, secrets};

impl AccountFile {
    /// Gives an account another name, with a password: what is kept of a password depends on the name. It stays in the groups of
    /// this file. Its Unix user must be set, as the one of the same name would be another one: the caller sees to that.
    ///
    /// # Errors
    /// There is no such account, the new name is used, in any case of letters, or not allowed, or the password is empty.
    pub fn rename(&mut self, name: &str, new: &str, password: &str) -> Result<(), Error> {
        if !crate::is_account_name(new) {
            return Err(Error::BadName(new.into()));
        }
        if let Some(known) = self.find_in_any_case(new).filter(|known| known.name != name) {
            return Err(Error::Exists(known.name.clone()));
        }
        let secrets = secrets(new, password)?;
        let account = self.change(name)?;
        account.name = new.to_owned();
        account.secrets = secrets;
        let members = self.groups.iter_mut().flat_map(|group| &mut group.members);
        members
            .filter(|member| crate::is_same_name(member, name))
            .for_each(|member| *member = new.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ids;

    #[test]
    fn a_renamed_account_keeps_its_groups_and_its_user() {
        let state = tempfile::tempdir().unwrap();
        AccountFile::edit(state.path(), |file| {
            file.add("grace", Ids { uid: Some(61003), gid: None }, "one")?;
            file.add("ada", Ids::default(), "one")?;
            file.add_group("studio", vec!["grace".into()])?;
            assert!(matches!(file.rename("grace", "ADA", "two"), Err(Error::Exists(_))));
            assert!(matches!(file.rename("hopper", "eve", "two"), Err(Error::Missing(_))));
            assert!(matches!(file.rename("grace", "a/b", "two"), Err(Error::BadName(_))));
            file.rename("grace", "hopper", "two")
        })
        .unwrap();
        let file = AccountFile::read(state.path()).unwrap();
        assert!(file.find("grace").is_none());
        assert_eq!(file.find("hopper").unwrap().ids.uid, Some(61003));
        assert!(file.find_group("studio").unwrap().has("hopper"));
    }
}
