//! The users and groups that a server names, RFC 8881 5.9: numbers, or `name@domain`.

use std::collections::HashMap;

use auth::UnixAccounts;
use vfs::acl::Who;

use crate::stranger;

/// The most names whose numbers are remembered.
const MOST: usize = 4096;

/// The numbers of the names that were seen, in the name service of this machine.
pub(super) struct IdMapper {
    accounts: UnixAccounts,
    known: HashMap<(String, bool), Option<u32>>,
}

impl Default for IdMapper {
    fn default() -> Self {
        Self::with(UnixAccounts::NameService)
    }
}

impl IdMapper {
    /// Without users and groups: what fuzz targets use.
    pub(super) fn empty() -> Self {
        Self::with(UnixAccounts::parse("", ""))
    }

    fn with(accounts: UnixAccounts) -> Self {
        Self { accounts, known: HashMap::new() }
    }

    pub(super) fn user(&mut self, name: &[u8]) -> Option<u32> {
        self.number(name, false)
    }

    pub(super) fn group(&mut self, name: &[u8]) -> Option<u32> {
        self.number(name, true)
    }

    /// An account of an access control list. `None`: its name is too long to be kept.
    pub(super) fn account(&mut self, name: &[u8], is_group: bool) -> Option<Who> {
        match self.number(name, is_group) {
            Some(number) if is_group => Some(Who::Group(number)),
            Some(number) => Some(Who::User(number)),
            None => stranger(&String::from_utf8_lossy(name), is_group),
        }
    }

    /// The name before the domain counts: the domain is the old server's.
    fn number(&mut self, name: &[u8], is_group: bool) -> Option<u32> {
        let name = std::str::from_utf8(name).ok()?.split('@').next().filter(|name| !name.is_empty())?;
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return name.parse().ok();
        }
        let key = (name.to_owned(), is_group);
        if let Some(number) = self.known.get(&key) {
            return *number;
        }
        let number = match is_group {
            true => self.accounts.group(name).map(|group| group.gid),
            false => self.accounts.user(name).map(|user| user.uid),
        };
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.insert(key, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_of_this_machine_are_accounts_and_others_are_kept() {
        let accounts = UnixAccounts::parse("ada:x:1000:100::/:\n", "staff:x:100:\n");
        let mut naming = IdMapper::with(accounts);
        assert_eq!((naming.user(b"1234"), naming.user(b"1234@example.org")), (Some(1234), Some(1234)));
        assert_eq!((naming.user(b"ada@example.org"), naming.group(b"staff")), (Some(1000), Some(100)));
        assert_eq!((naming.user(b"staff"), naming.user(b"\xff"), naming.user(b"@x")), (None, None, None));
        assert_eq!(naming.account(b"ada@example.org", false), Some(Who::User(1000)));
        assert_eq!(naming.account(b"bob@example.org", true), stranger("bob@example.org", true));
        (0..=MOST).for_each(|number| assert_eq!(naming.user(format!("user{number}").as_bytes()), None));
        assert!(naming.known.len() <= MOST);
    }
}
