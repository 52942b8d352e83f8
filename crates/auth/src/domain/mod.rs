//! Users and groups of a directory (Active Directory): their Unix ids, and those that are known by name.
//!
//! A user is known once it has come with a ticket. It acts with the ids of its SID and its groups, by [`IdRule`]. Its own id is
//! one of its groups, too: an entry of an ACL has a SID, and does not say whether that is of a user or of a group.

mod entries;
mod ids;
mod user;

use std::collections::HashMap;
use std::path::PathBuf;

use lock::{RwLock, rank};
use wire::Sid;

pub use self::entries::DirectoryEntry;
pub use self::ids::{Failure, IdRange, IdRule};
pub use self::user::DomainUser;
use crate::directory::Account;
use crate::identity::Identity;
use entries::Entries;
use ids::IdMap;

/// The most users and groups that are known by name.
const MOST_KNOWN: usize = 100_000;
/// The most groups of a user that count. Linux's limit is 65,536.
const MOST_GROUPS: usize = 16_384;

/// How a domain is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainOptions {
    /// Its DNS name, such as `lab.test`.
    pub name: String,
    /// How SIDs get ids.
    pub rule: IdRule,
    /// The ids of its users and groups.
    pub range: IdRange,
    /// The ids of other domains.
    pub trusted: Vec<(Sid, IdRange)>,
}

/// What a SID names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// A user.
    User,
    /// A group.
    Group,
    /// The domain itself.
    Domain,
}

/// What a SID of a directory means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The SID.
    pub sid: Sid,
    /// Its name, without the domain.
    pub name: String,
    /// The short name of its domain.
    pub domain: String,
    /// What it is.
    pub kind: NameKind,
}

/// A directory whose users may log in.
#[derive(Debug)]
pub struct Domain {
    options: DomainOptions,
    ids: IdMap,
    state: PathBuf,
    known: RwLock<Known, rank::DomainKnown>,
}

#[derive(Debug, Default)]
struct Known {
    /// Users that have come.
    users: HashMap<Sid, KnownUser>,
    /// By the lower-case name with its domain (`LAB\alice`).
    by_name: HashMap<String, Sid>,
    /// Users and groups of the directory.
    entries: Entries,
    /// The short names of domains.
    domains: HashMap<Sid, String>,
}

#[derive(Debug)]
struct KnownUser {
    user: DomainUser,
    identity: Identity,
    /// The name of its account.
    account: String,
}

/// Domains are equal if they are the same one: their tables are shared.
impl PartialEq for Domain {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Domain {}

impl Domain {
    /// A domain without known users. The state folder has the ids that were given away.
    ///
    /// # Errors
    /// The file of the ids cannot be read.
    pub fn new(options: DomainOptions, state: &std::path::Path) -> Result<Self, Failure> {
        let ids = IdMap::new(options.rule, options.range, options.trusted.clone(), state)?;
        let known = Known { entries: Entries::new(entries::read(state), ids.own()), ..Known::default() };
        Ok(Self { options, ids, state: state.into(), known: RwLock::new(known) })
    }

    /// How it is used.
    #[must_use]
    pub fn options(&self) -> &DomainOptions {
        &self.options
    }

    /// The name of its Kerberos realm.
    #[must_use]
    pub fn realm(&self) -> String {
        self.options.name.to_uppercase()
    }

    /// Remembers the SID of the domain, and its short name.
    ///
    /// # Errors
    /// It had another SID before, or the state folder cannot be written.
    pub fn learn(&self, sid: Sid, short: &str) -> Result<(), Failure> {
        self.ids.learn(sid)?;
        self.known.write().domains.insert(sid, short.to_owned());
        Ok(())
    }

    /// Takes what the directory lists, in place of what it listed before, and keeps it in the state folder.
    ///
    /// # Errors
    /// It counts, but the state folder cannot be written.
    pub fn list(&self, entries: Vec<DirectoryEntry>) -> std::io::Result<()> {
        let kept = entries::write(&self.state, &entries);
        let entries = Entries::new(entries, self.ids.own());
        self.known.write().entries = entries;
        kept
    }

    /// Takes what a ticket of `realm` says of a user, who is known from now on. Returns the name of its account: its own name if
    /// it is of this domain, else `DOMAIN\name`. Must be called as the server's user, as it may write to the state folder.
    ///
    /// # Errors
    /// The user cannot have an id. The text is for the log.
    pub fn enter(&self, realm: &str, user: DomainUser) -> Result<String, String> {
        let (domain, _) = user.sid.split().ok_or("its SID has no number")?;
        if realm == self.realm() {
            self.ids.learn(domain).map_err(|failure| failure.to_string())?;
        }
        let identity = self.identity(&user)?;
        let is_own = self.ids.own() == Some(domain);
        let account = if is_own { user.name.clone() } else { format!("{}\\{}", user.domain, user.name) };
        let mut known = self.known.write();
        known.domains.insert(domain, user.domain.clone());
        if known.users.len() >= MOST_KNOWN && !known.users.contains_key(&user.sid) {
            return Err("too many users of the domain have come".into());
        }
        let (sid, name) = (user.sid, full_name(&user.domain, &user.name));
        let new = KnownUser { user, identity, account: account.clone() };
        if let Some(before) = known.users.insert(sid, new) {
            known.by_name.remove(&full_name(&before.user.domain, &before.user.name));
        }
        known.by_name.insert(name, sid);
        Ok(account)
    }

    fn identity(&self, user: &DomainUser) -> Result<Identity, String> {
        let none = |sid: &Sid| {
            format!(
                "{sid} has no id: `domain-range` is too small, or `domain-trusted` does not have its domain"
            )
        };
        let uid = self.ids.id_or_new(&user.sid).ok_or_else(|| none(&user.sid))?;
        let gid = self.ids.id_or_new(&user.primary_group).ok_or_else(|| none(&user.primary_group))?;
        let mut groups = vec![uid];
        groups
            .extend(user.groups.iter().filter_map(|group| self.ids.id_or_new(group)).filter(|id| *id != gid));
        groups.sort_unstable();
        groups.dedup();
        groups.truncate(MOST_GROUPS);
        Ok(Identity::new(uid, gid, &groups))
    }

    /// The account of a user that has come. Its name is `alice`, `LAB\alice` or `alice@lab.test`, in any case of its letters.
    #[must_use]
    pub fn account(&self, name: &str) -> Option<Account> {
        let sid = self.sid_named(&self.known.read(), name)?;
        self.account_of(&sid)
    }

    /// The account of a user that has come.
    #[must_use]
    pub fn account_of(&self, sid: &Sid) -> Option<Account> {
        let known = self.known.read();
        let KnownUser { identity, account, .. } = known.users.get(sid)?;
        let (name, identity) = (account.clone(), identity.clone());
        let disabled = known.entries.of(sid).is_some_and(|entry| entry.disabled);
        Some(Account { name, identity, disabled, secrets: Vec::new() })
    }

    fn sid_named(&self, known: &Known, name: &str) -> Option<Sid> {
        let own = known.domains.get(&self.ids.own()?);
        if let Some((domain, name)) = name.split_once('\\') {
            let is_own = own.is_some_and(|own| own.eq_ignore_ascii_case(domain));
            let listed = || known.entries.named(name).filter(|_| is_own);
            return known.by_name.get(&full_name(domain, name)).copied().or_else(listed);
        }
        let name = match name.rsplit_once('@') {
            Some((name, domain)) if domain.eq_ignore_ascii_case(&self.options.name) => name,
            Some(_) => return None,
            None => name,
        };
        known.by_name.get(&full_name(own?, name)).copied().or_else(|| known.entries.named(name))
    }

    /// The id of a SID, for a user or a group.
    #[must_use]
    pub fn id(&self, sid: &Sid) -> Option<u32> {
        self.ids.id(sid)
    }

    /// The SID of an id, of a user or a group.
    #[must_use]
    pub fn sid(&self, id: u32) -> Option<Sid> {
        self.ids.sid(id)
    }

    /// Whether a SID is of a user that has come, or that the directory lists.
    #[must_use]
    pub fn is_user(&self, sid: &Sid) -> bool {
        let known = self.known.read();
        let is_listed = || known.entries.of(sid).is_some_and(|entry| entry.kind == NameKind::User);
        known.users.contains_key(sid) || is_listed()
    }

    /// The name of a SID.
    #[must_use]
    pub fn name(&self, sid: &Sid) -> Option<Named> {
        let known = self.known.read();
        if let Some(name) = known.domains.get(sid) {
            return Some(Named {
                sid: *sid,
                name: name.clone(),
                domain: name.clone(),
                kind: NameKind::Domain,
            });
        }
        let Some(KnownUser { user, .. }) = known.users.get(sid) else {
            let entry = known.entries.of(sid)?;
            let domain = known.domains.get(&self.ids.own()?)?.clone();
            return Some(Named { sid: *sid, name: entry.name.clone(), domain, kind: entry.kind });
        };
        Some(Named { sid: *sid, name: user.name.clone(), domain: user.domain.clone(), kind: NameKind::User })
    }

    /// What has a name: `alice`, `LAB\alice` or `alice@lab.test`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Named> {
        let sid = self.sid_named(&self.known.read(), name)?;
        self.name(&sid)
    }
}

fn full_name(domain: &str, name: &str) -> String {
    format!("{domain}\\{name}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(state: &std::path::Path) -> Domain {
        let (rule, range) = (IdRule::Rid, IdRange { low: 1_000_000, high: 1_999_999 });
        let trusted = vec![("S-1-5-21-7-8-9".parse().unwrap(), IdRange { low: 3_000_000, high: 3_999_999 })];
        Domain::new(DomainOptions { name: "lab.test".into(), rule, range, trusted }, state).unwrap()
    }

    fn sid(text: &str) -> Sid {
        text.parse().unwrap()
    }

    fn alice() -> DomainUser {
        DomainUser {
            sid: sid("S-1-5-21-1-2-3-1103"),
            name: "Alice".into(),
            full_name: String::new(),
            domain: "LAB".into(),
            primary_group: sid("S-1-5-21-1-2-3-513"),
            groups: ["S-1-5-21-1-2-3-513", "S-1-5-21-1-2-3-1105", "S-1-18-1", "S-1-5-21-7-8-9-1200"]
                .map(sid)
                .to_vec(),
        }
    }

    #[test]
    fn a_user_acts_with_the_ids_of_its_sid_and_groups() {
        let state = tempfile::tempdir().unwrap();
        let domain = domain(state.path());
        assert_eq!(domain.account("alice"), None, "she has not come yet");
        assert_eq!(domain.enter("LAB.TEST", alice()).as_deref(), Ok("Alice"));
        let expected = Identity::new(1_001_103, 1_000_513, &[1_001_103, 1_001_105, 3_001_200]);
        for name in ["alice", "lab\\ALICE", "Alice@lab.test"] {
            let account = domain.account(name).unwrap();
            assert_eq!((account.name.as_str(), account.identity), ("Alice", expected.clone()), "{name}");
        }
        for other in ["bob", "OTHER\\alice", "alice@other.test", "LAB\\", ""] {
            assert_eq!(domain.account(other), None, "{other}");
        }
        let named = domain.name(&alice().sid).unwrap();
        assert_eq!(
            (named.name.as_str(), named.domain.as_str(), named.kind),
            ("Alice", "LAB", NameKind::User)
        );
        assert_eq!(domain.named("lab\\alice"), Some(named));
        assert_eq!(domain.name(&sid("S-1-5-21-1-2-3")).unwrap().kind, NameKind::Domain);
    }

    #[test]
    fn users_of_other_domains_need_a_range_and_have_their_domain_in_their_account() {
        let state = tempfile::tempdir().unwrap();
        let domain = domain(state.path());
        domain.enter("LAB.TEST", alice()).unwrap();
        let bob = |text: &str| DomainUser {
            sid: sid(text),
            domain: "OTHER".into(),
            primary_group: sid("S-1-5-21-7-8-9-513"),
            ..alice()
        };
        assert_eq!(domain.enter("OTHER.TEST", bob("S-1-5-21-7-8-9-1103")).as_deref(), Ok("OTHER\\Alice"));
        assert_eq!(domain.account("OTHER\\alice").unwrap().identity.uid, 3_001_103);
        assert_eq!(domain.account("alice").unwrap().identity.uid, 1_001_103);
        assert!(domain.enter("OTHER.TEST", bob("S-1-5-21-6-6-6-1103")).is_err());
        // A ticket of the own realm for a user of a new domain SID: the domain was made anew, and its numbers are of others.
        assert!(
            domain.enter("LAB.TEST", bob("S-1-5-21-4-5-6-1103")).unwrap_err().contains("domain-ids.toml")
        );
    }

    #[test]
    fn a_new_ticket_replaces_groups_and_names() {
        let state = tempfile::tempdir().unwrap();
        let domain = domain(state.path());
        domain.enter("LAB.TEST", alice()).unwrap();
        let renamed = DomainUser { name: "alicia".into(), groups: Vec::new(), ..alice() };
        domain.enter("LAB.TEST", renamed).unwrap();
        assert_eq!(domain.account("alice"), None);
        let expected = Identity::new(1_001_103, 1_000_513, &[1_001_103]);
        assert_eq!(domain.account("alicia").unwrap().identity, expected);
    }

    #[test]
    fn what_the_directory_lists_has_names_and_disabled_users_are_disabled() {
        let state = tempfile::tempdir().unwrap();
        let entry = |rid: u32, name: &str, kind, disabled| DirectoryEntry {
            sid: sid("S-1-5-21-1-2-3").with_rid(rid).unwrap(),
            name: name.into(),
            kind,
            disabled,
        };
        let listed = vec![
            entry(1103, "Alice", NameKind::User, true),
            entry(1104, "bob", NameKind::User, false),
            entry(1105, "engineers", NameKind::Group, false),
            DirectoryEntry { sid: sid("S-1-5-32-544"), ..entry(1, "Administrators", NameKind::Group, false) },
        ];
        let before = domain(state.path());
        before.learn(sid("S-1-5-21-1-2-3"), "LAB").unwrap();
        before.enter("LAB.TEST", alice()).unwrap();
        assert!(!before.account("alice").unwrap().disabled);
        before.list(listed).unwrap();
        assert!(before.account("alice").unwrap().disabled);
        let again = domain(state.path());
        again.learn(sid("S-1-5-21-1-2-3"), "LAB").unwrap();
        for domain in [&before, &again] {
            let group = domain.named("lab\\Engineers").unwrap();
            assert_eq!(
                (group.kind, group.name.as_str(), group.domain.as_str()),
                (NameKind::Group, "engineers", "LAB")
            );
            assert_eq!(domain.named("engineers"), Some(group));
            assert_eq!(domain.name(&sid("S-1-5-21-1-2-3-1104")).unwrap().name, "bob");
            assert!(
                domain.is_user(&sid("S-1-5-21-1-2-3-1104")) && !domain.is_user(&sid("S-1-5-21-1-2-3-1105"))
            );
            assert_eq!((domain.account("bob"), domain.named("Administrators")), (None, None));
            assert_eq!(domain.named("OTHER\\engineers"), None);
        }
    }

    #[test]
    fn ten_thousand_groups_are_kept() {
        let state = tempfile::tempdir().unwrap();
        let domain = domain(state.path());
        let groups = (0..10_000).map(|at| sid("S-1-5-21-1-2-3").with_rid(2_000 + at).unwrap()).collect();
        domain.enter("LAB.TEST", DomainUser { groups, ..alice() }).unwrap();
        assert_eq!(domain.account("alice").unwrap().identity.groups.len(), 10_001);
    }
}
