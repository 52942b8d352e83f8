//! The file of `--accounts`: which account of the source is which one of the destination.

use std::collections::HashMap;
use std::sync::Arc;

use client::stranger;
use vfs::acl::Who;
use vfs::acl::samba::sid_of_text;

/// The most lines of a file.
const MOST_LINES: usize = 100_000;

/// Which account of the source is which one of the destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accounts(pub(crate) HashMap<Who, Option<Who>>);

impl Accounts {
    /// Reads lines such as `S-1-5-21-1-2-3-1001 = user:1000`, `user:501 = user:1000`, `group:20 = group:100`,
    /// `user:ada@example.org = user:1000` or `user:501 = none`. A `#` begins a comment.
    ///
    /// # Errors
    /// The line that is wrong, and what to write.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut accounts = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let wrong = || {
                format!(
                    "line {}: {line:?}: write SOURCE = DESTINATION, each of them user:NUMBER, group:NUMBER, user:NAME@DOMAIN, \
                     group:NAME@DOMAIN or a SID, or `none` as the destination",
                    number + 1
                )
            };
            if line.is_empty() {
                continue;
            }
            let (from, to) = line.split_once('=').ok_or_else(wrong)?;
            let to = match to.trim() {
                "none" => None,
                to => Some(who(to).ok_or_else(wrong)?),
            };
            accounts.insert(who(from.trim()).ok_or_else(wrong)?, to);
            if accounts.len() > MOST_LINES {
                return Err(format!("there are more than {MOST_LINES} accounts"));
            }
        }
        Ok(Self(accounts))
    }
}

fn who(text: &str) -> Option<Who> {
    match text.split_once(':') {
        Some(("user", name)) if name.contains('@') => stranger(name, false),
        Some(("group", name)) if name.contains('@') => stranger(name, true),
        Some(("user", number)) => number.parse().ok().map(Who::User),
        Some(("group", number)) => number.parse().ok().map(Who::Group),
        Some(_) => None,
        None => sid_of_text(text).map(|sid| Who::Foreign(Arc::from(sid))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_accounts_says_who_is_who() {
        let text = "# of the old domain\nS-1-5-21-1-2-3-1001 = user:1000\nuser:501 = none # left\ngroup:20=group:100\n";
        let accounts = Accounts::parse(text).unwrap();
        // MS-DTYP 2.4.2.2: revision, count, authority, then the numbers in little-endian order.
        let mut sid = vec![1, 5, 0, 0, 0, 0, 0, 5];
        [21_u32, 1, 2, 3, 1001].iter().for_each(|number| sid.extend(number.to_le_bytes()));
        assert_eq!(accounts.0[&Who::Foreign(sid.into())], Some(Who::User(1000)));
        assert_eq!(accounts.0[&Who::User(501)], None);
        assert_eq!(accounts.0[&Who::Group(20)], Some(Who::Group(100)));
        for wrong in ["ada = user:1", "user:1", "user:x = user:1", "user:1 = S-1", "S-1-5-18 = group:"] {
            assert!(Accounts::parse(wrong).unwrap_err().contains("line 1"), "{wrong}");
        }
    }
}
