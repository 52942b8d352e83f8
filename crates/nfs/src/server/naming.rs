//! How users and groups are named to clients of version 4, RFC 7530 5.9: `name@domain` if a domain is set, else their numbers in
//! decimal. Numbers are always understood.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use auth::UnixAccounts;
use lock::Mutex;

use crate::ranks;
use crate::wire::v4::types::Status;

/// The most users and groups whose names are kept.
const MOST: usize = 4096;
/// How long the answer of the host's name service is kept.
const FRESH: Duration = Duration::from_secs(60);

/// A user or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NamedId {
    User(u32),
    Group(u32),
}

impl NamedId {
    fn number(self) -> u32 {
        match self {
            Self::User(number) | Self::Group(number) => number,
        }
    }
}

/// The domain of names, and the source of users and groups.
pub(crate) struct Naming {
    domain: Option<String>,
    accounts: UnixAccounts,
    /// The names of numbers, and since when. `None` for a number without a name.
    known: Mutex<HashMap<NamedId, (Option<String>, Instant)>, ranks::NfsNames>,
}

impl Naming {
    /// Names in a domain; only numbers without one.
    pub(super) fn new(domain: Option<String>, accounts: UnixAccounts) -> Self {
        let domain = domain.map(|domain| domain.trim().to_lowercase()).filter(|domain| !domain.is_empty());
        Self { domain, accounts, known: Mutex::default() }
    }

    /// Whether this names the users and groups of the host in a domain.
    pub(super) fn is_of(&self, domain: Option<&str>, accounts: &UnixAccounts) -> bool {
        let wanted = Self::new(domain.map(Into::into), accounts.clone());
        (&self.domain, &self.accounts) == (&wanted.domain, &wanted.accounts)
    }

    /// The name that clients see.
    pub(super) fn name(&self, id: NamedId) -> String {
        let Some(domain) = &self.domain else { return id.number().to_string() };
        match self.host_name(id) {
            Some(name) => format!("{name}@{domain}"),
            None => id.number().to_string(),
        }
    }

    /// The name that the host has. The name service is asked without the lock: it may take long.
    fn host_name(&self, id: NamedId) -> Option<String> {
        if let Some((name, since)) = self.known.lock().get(&id)
            && since.elapsed() < FRESH
        {
            return name.clone();
        }
        let name = match id {
            NamedId::User(uid) => self.accounts.user_numbered(uid).map(|user| user.name),
            NamedId::Group(gid) => self.accounts.group_numbered(gid).map(|group| group.name),
        };
        let name = name.filter(|name| !name.contains('@'));
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(id, (name.clone(), Instant::now()));
        name
    }

    /// The user of a name: NFS4ERR_BADOWNER for an unknown name, RFC 7530 5.9.
    pub(super) fn user(&self, name: &[u8]) -> Result<u32, Status> {
        self.number(name, |accounts, name| accounts.user(name).map(|user| user.uid))
    }

    /// The group of a name.
    pub(super) fn group(&self, name: &[u8]) -> Result<u32, Status> {
        self.number(name, |accounts, name| accounts.group(name).map(|group| group.gid))
    }

    fn number(&self, name: &[u8], find: impl Fn(&UnixAccounts, &str) -> Option<u32>) -> Result<u32, Status> {
        let text = std::str::from_utf8(name).map_err(|_| Status::INVAL)?;
        if text.is_empty() || text.contains('\0') {
            return Err(Status::INVAL);
        }
        let id = if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().ok()
        } else {
            let (name, domain) = text.rsplit_once('@').ok_or(Status::BADOWNER)?;
            let ours = self.domain.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(domain));
            if ours && !name.is_empty() { find(&self.accounts, name) } else { None }
        };
        id.filter(|&id| id != u32::MAX).ok_or(Status::BADOWNER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(domain: Option<&str>) -> Naming {
        let accounts = UnixAccounts::parse("ada:x:1000:100::/:\n", "staff:x:100:\n");
        Naming::new(domain.map(Into::into), accounts)
    }

    /// RFC 7530 5.9.
    #[test]
    fn users_have_names_in_a_domain_and_numbers_without_one() {
        let named = naming(Some("Example.ORG"));
        assert_eq!(named.name(NamedId::User(1000)), "ada@example.org");
        assert_eq!(named.name(NamedId::Group(100)), "staff@example.org");
        assert_eq!(named.name(NamedId::User(100)), "100");
        let numeric = naming(None);
        assert_eq!(numeric.name(NamedId::User(1000)), "1000");
        assert_eq!(naming(Some(" ")).name(NamedId::User(1000)), "1000");
        let is_of = |naming: &Naming, domain| naming.is_of(domain, &naming.accounts);
        assert!(is_of(&named, Some("example.org")) && !is_of(&named, None) && is_of(&numeric, None));
        assert!(!numeric.is_of(None, &UnixAccounts::parse("root:x:0:0::/:", "")));
    }

    #[test]
    fn numbers_are_always_understood_and_names_only_in_the_domain() {
        let named = naming(Some("example.org"));
        assert_eq!(named.user(b"1000"), Ok(1000));
        assert_eq!(named.user(b"ada@EXAMPLE.org"), Ok(1000));
        assert_eq!(named.group(b"staff@example.org"), Ok(100));
        for strange in
            [&b"ada"[..], b"ada@other.org", b"bob@example.org", b"@example.org", b"4294967295", b"4294967296"]
        {
            assert_eq!(named.user(strange), Err(Status(10039))); // NFS4ERR_BADOWNER
        }
        for malformed in [&b""[..], b"\xff", b"ada\0@example.org"] {
            assert_eq!(named.user(malformed), Err(Status(22))); // NFS4ERR_INVAL
        }
        assert_eq!(naming(None).user(b"ada@example.org"), Err(Status(10039)));
        assert_eq!(naming(None).group(b"7"), Ok(7));
    }

    #[test]
    fn names_that_are_kept_are_limited() {
        let named = naming(Some("example.org"));
        (0..=MOST as u32).for_each(|uid| assert!(!named.name(NamedId::User(uid)).is_empty()));
        assert!(named.known.lock().len() <= MOST);
    }
}
