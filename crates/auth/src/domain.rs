//! Users and groups of a directory (Active Directory): their Unix ids, and those that are known by name.
//!
//! A user is known once it has come with a ticket. It acts with the ids of its SID and its groups, by [`IdRule`]. Its own id is
//! one of its groups, too: an entry of an ACL has a SID, and does not say whether that is of a user or of a group.

mod entries;
mod ids;
mod numbers;
mod user;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::RwLock;
use wire::Sid;

pub use self::entries::{DirectoryEntry, UnixIds};
pub use self::ids::{Failure, IdRange, IdRule};
pub use self::user::DomainUser;
use crate::directory::Account;
use crate::identity::Identity;
use crate::ranks;
use entries::Entries;
use ids::IdMap;

/// The most users and groups that are known by name.
const MOST_KNOWN: usize = 100_000;
/// The number of the first group of users, MS-DTYP 2.4.2.4, for users whose ticket has not come yet.
const DOMAIN_USERS: u32 = 513;
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
pub struct SidName {
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
    known: RwLock<DomainCache, ranks::DomainKnown>,
    /// The directory should be asked again.
    is_wanted: AtomicBool,
}

#[derive(Debug, Default)]
struct DomainCache {
    /// Users that have come.
    users: HashMap<Sid, KnownUser>,
    /// By the lower-case name with its domain (`LAB\alice`).
    by_name: HashMap<String, Sid>,
    /// Users and groups of the directory.
    entries: Entries,
    /// The short names of domains.
    domains: HashMap<Sid, String>,
    /// Users that have come, and that the directory does not have any more.
    gone: HashSet<Sid>,
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
        let known =
            DomainCache { entries: Entries::new(entries::read(state), ids.own()), ..DomainCache::default() };
        let left_out = ids.number(known.entries.all());
        tell_left_out(left_out);
        let (state, known) = (state.into(), RwLock::new(known));
        Ok(Self { options, ids, state, known, is_wanted: AtomicBool::new(false) })
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

    /// Takes what the directory lists, in place of what it listed before, and keeps it in the state folder. Returns the accounts
    /// of users that have come, and may not log in any more: the directory has disabled or removed them.
    ///
    /// # Errors
    /// It counts, but the state folder cannot be written.
    pub fn list(&self, entries: Vec<DirectoryEntry>) -> (Vec<String>, std::io::Result<()>) {
        let kept = entries::write(&self.state, &entries);
        let own = self.ids.own();
        let entries = Entries::new(entries, own);
        tell_left_out(self.ids.number(entries.all()));
        let mut known = self.known.write();
        let before: HashSet<Sid> = known.refused().collect();
        let of_own = |sid: &Sid| sid.split().map(|(domain, _)| domain) == own;
        let is_gone = |sid: &&Sid| !entries.is_empty() && of_own(sid) && entries.of(sid).is_none();
        let gone = known.users.keys().filter(is_gone).copied().collect();
        (known.gone, known.entries) = (gone, entries);
        let refused = known.refused().filter(|sid| !before.contains(sid));
        let names = refused.filter_map(|sid| Some(known.users.get(&sid)?.account.clone())).collect();
        (names, kept)
    }

    /// Asks for a new list soon.
    pub fn want_list(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Whether a new list was asked for since the last call.
    pub fn is_list_wanted(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
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
        if !self.is_listed(&user.sid) {
            self.want_list(); // a new user, or one that was removed
        }
        let identity = self.identity(&user).inspect_err(|_| self.want_list())?;
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

    fn is_listed(&self, sid: &Sid) -> bool {
        let known = self.known.read();
        known.entries.of(sid).is_some()
    }

    /// The number that the directory has for the first group of a user.
    fn numbered_group(&self, user: &Sid) -> Option<u32> {
        if !matches!(self.options.rule, IdRule::Rfc2307 | IdRule::Rfc2307OrRid) {
            return None;
        }
        self.known.read().entries.of(user)?.numbers.group.filter(|number| numbers::is_usual(*number))
    }

    fn identity(&self, user: &DomainUser) -> Result<Identity, String> {
        let none = |sid: &Sid| match self.options.rule {
            IdRule::Rfc2307 => format!(
                "{sid} has no number in the directory (`domain-ids = \"rfc2307\"`): a user needs `uidNumber`, and its first \
                 group `gidNumber`, of 1000 at least"
            ),
            _ => format!(
                "{sid} has no id: `domain-range` is too small, or `domain-trusted` does not have its domain"
            ),
        };
        let uid = self.ids.id_or_new(&user.sid).ok_or_else(|| none(&user.sid))?;
        let first = self.numbered_group(&user.sid).or_else(|| self.ids.id_or_new(&user.primary_group));
        let gid = first.ok_or_else(|| none(&user.primary_group))?;
        let has_own_group = !self.ids.is_numbered(&user.sid);
        let mut groups = if has_own_group { vec![uid] } else { Vec::new() };
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
        let disabled = known.is_refused(sid);
        Some(Account { name, identity, disabled, secrets: Vec::new() })
    }

    fn sid_named(&self, known: &DomainCache, name: &str) -> Option<Sid> {
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

    /// The id that members of a group have among their groups: of users that have come, and of those that come later. Must be
    /// called as the server's user, as it may write to the state folder.
    #[must_use]
    pub fn membership_id(&self, sid: &Sid) -> Option<u32> {
        self.ids.id_or_new(sid)
    }

    /// The id with which a SID owns files; not that of a group with a number of the directory.
    #[must_use]
    pub fn owner_id(&self, sid: &Sid) -> Option<u32> {
        self.ids.id(sid).filter(|_| !self.ids.is_numbered(sid) || self.is_user(sid))
    }

    /// The id of a SID as the group of files; not that of a user with a number of the directory.
    #[must_use]
    pub fn group_id(&self, sid: &Sid) -> Option<u32> {
        self.ids.id(sid).filter(|_| !self.ids.is_numbered(sid) || !self.is_user(sid))
    }

    /// The first group of a user that has not come yet.
    #[must_use]
    pub fn first_group(&self, user: &Sid) -> Option<u32> {
        let listed = self.numbered_group(user);
        listed.or_else(|| self.id(&user.split()?.0.with_rid(DOMAIN_USERS)?))
    }

    /// The SID of a user's id.
    #[must_use]
    pub fn user(&self, uid: u32) -> Option<Sid> {
        self.ids.user(uid)
    }

    /// The SID of a group's id.
    #[must_use]
    pub fn group(&self, gid: u32) -> Option<Sid> {
        self.ids.group(gid)
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
    pub fn name(&self, sid: &Sid) -> Option<SidName> {
        let known = self.known.read();
        if let Some(name) = known.domains.get(sid) {
            return Some(SidName {
                sid: *sid,
                name: name.clone(),
                domain: name.clone(),
                kind: NameKind::Domain,
            });
        }
        let Some(KnownUser { user, .. }) = known.users.get(sid) else {
            let entry = known.entries.of(sid)?;
            let domain = known.domains.get(&self.ids.own()?)?.clone();
            return Some(SidName { sid: *sid, name: entry.name.clone(), domain, kind: entry.kind });
        };
        Some(SidName {
            sid: *sid,
            name: user.name.clone(),
            domain: user.domain.clone(),
            kind: NameKind::User,
        })
    }

    /// What has a name: `alice`, `LAB\alice` or `alice@lab.test`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<SidName> {
        let sid = self.sid_named(&self.known.read(), name)?;
        self.name(&sid)
    }
}

impl DomainCache {
    /// Whether the directory has disabled or removed a user.
    fn is_refused(&self, sid: &Sid) -> bool {
        self.gone.contains(sid) || self.entries.of(sid).is_some_and(|entry| entry.disabled)
    }

    /// Users that have come, and may not log in.
    fn refused(&self) -> impl Iterator<Item = Sid> {
        self.users.keys().filter(|sid| self.is_refused(sid)).copied()
    }
}

fn tell_left_out(numbers: usize) {
    if numbers > 0 {
        tracing::warn!(
            numbers,
            "Unix ids of the directory do not count: they are below 1000, or in `domain-range` or a range of `domain-trusted`"
        );
    }
}

fn full_name(domain: &str, name: &str) -> String {
    format!("{domain}\\{name}").to_lowercase()
}

#[cfg(test)]
mod tests;
