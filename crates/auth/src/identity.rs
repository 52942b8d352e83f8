//! The identity with which an account acts on the host.
//!
//! ```text
//! a uid is set for the account ─► that uid
//! the host has a user of its name ─► that user
//! the server is not root ─► the server's own user: it can act as no other
//! `default-user` is set ─► that user
//! else ─► the anonymous user
//! ```
//!
//! A server that runs as root never gives its own identity to an account: an account must not
//! become root because its name is unknown.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZero;
use std::sync::Arc;

use nix::unistd::{Gid, getegid, geteuid, getgroups};

use crate::file::Record;
use crate::unix::{UnixAccounts, UnixUser};

/// Most threads that ask the name service of the host at once.
const MOST_ASKERS: usize = 8;
/// One thread asks for so many accounts: it takes as long as the start of another one.
const FEWEST_ASKED: usize = 16;
/// The uid and the gid of the anonymous user: the account `nobody` of most systems. It owns no files.
pub const ANONYMOUS: u32 = 65_534;
/// The kernel's "no id" (`(uid_t)-1`). If a thread sets it, it silently keeps its ids.
const INVALID: u32 = u32::MAX;

/// The Unix identity with which a request acts on the host, after squashing and mapping. `vfs` calls it a `Caller`. Cheap to
/// clone. Two are equal if they act alike on the host, wherever they come from.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The Unix user.
    pub uid: u32,
    /// Its first group.
    pub gid: u32,
    /// Its other groups.
    pub groups: Arc<[u32]>,
    /// The client; `None` for the server itself.
    pub origin: Option<Arc<Origin>>,
}

/// The client that a request came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// How it came.
    pub protocol: FileProtocol,
    /// The account that has logged in; `None` for a guest, and for protocols without accounts.
    pub account: Option<String>,
    /// The address.
    pub address: IpAddr,
}

/// A protocol that serves files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileProtocol {
    /// NFS.
    Nfs,
    /// SMB.
    Smb,
    /// AFP.
    Afp,
}

impl FileProtocol {
    /// Whether its users log in with an account. Without it, a call states the user's number.
    #[must_use]
    pub fn users_log_in(self) -> bool {
        self != Self::Nfs
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        (self.uid, self.gid, &self.groups) == (other.uid, other.gid, &other.groups)
    }
}

impl Eq for Identity {}

impl Hash for Identity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.uid, self.gid, &self.groups).hash(state);
    }
}

/// The ids that the settings or the account file set for an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ids {
    /// The uid.
    pub uid: Option<u32>,
    /// The first group, in place of the user's own.
    pub gid: Option<u32>,
}

/// The reason of an account's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A uid is set for it.
    Set,
    /// The host has a user with its name.
    HostUser,
    /// The server is not root and can act only as its own user.
    Server,
    /// `default-user` names the user of accounts without a user of their own.
    DefaultUser,
    /// There is no other rule for it: it is the anonymous user.
    Anonymous,
}

/// The data from which identities are determined.
#[derive(Debug, Clone)]
pub struct Host {
    /// The users and groups of the machine.
    pub unix: UnixAccounts,
    /// The identity that the server runs as.
    pub own: Identity,
    /// The host user of accounts without a user of their own, if the server is root.
    pub default_user: Option<String>,
}

impl Identity {
    /// An identity with these ids.
    #[must_use]
    pub fn new(uid: u32, gid: u32, groups: &[u32]) -> Self {
        Self { uid, gid, groups: groups.into(), origin: None }
    }

    /// The same identity, of a client.
    #[must_use]
    pub fn of(self, protocol: FileProtocol, account: Option<&str>, address: IpAddr) -> Self {
        let origin = Origin { protocol, account: account.map(str::to_owned), address };
        Self { origin: Some(Arc::new(origin)), ..self }
    }

    /// The same identity with these groups, too.
    #[must_use]
    pub fn with_groups(self, further: &[u32]) -> Self {
        let is_new = |group: &&u32| !self.in_group(**group) && **group != INVALID;
        let new: Vec<u32> = further.iter().filter(is_new).copied().collect();
        match new.is_empty() {
            true => self,
            false => Self { groups: self.groups.iter().copied().chain(new).collect(), ..self },
        }
    }

    /// The identity of a session of this machine with this account; `None`: a guest's.
    #[must_use]
    pub fn of_session(self, account: Option<&str>) -> Self {
        self.of(FileProtocol::Smb, account, IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    /// The identity of a call of this machine that states its user's number.
    #[must_use]
    pub fn of_numbered_call(self) -> Self {
        self.of(FileProtocol::Nfs, None, IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    /// Whether it has come by a call that states its user's number.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| !origin.protocol.users_log_in())
    }

    /// Whether it passes folders whose ACL does not let it: Windows gives all users the privilege to bypass traverse checking
    /// (SeChangeNotifyPrivilege), and its programs rely on that.
    #[must_use]
    pub fn bypasses_traverse(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.protocol == FileProtocol::Smb)
    }

    /// The superuser.
    #[must_use]
    pub fn root() -> Self {
        Self::new(0, 0, &[])
    }

    /// The anonymous user, without groups.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, ANONYMOUS, &[])
    }

    /// The identity of this process.
    #[must_use]
    pub fn own() -> Self {
        let groups: Vec<u32> = getgroups().unwrap_or_default().into_iter().map(Gid::as_raw).collect();
        Self::new(geteuid().as_raw(), getegid().as_raw(), &groups)
    }

    /// Whether a group is one of its groups.
    #[must_use]
    pub fn in_group(&self, group: u32) -> bool {
        self.gid == group || self.groups.contains(&group)
    }

    /// Whether it may do everything on the host.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }
}

impl Host {
    /// The identity of the account `name`, and the reason.
    #[must_use]
    pub fn identity(&self, name: &str, ids: Ids) -> (Identity, Basis) {
        if ids.uid == Some(INVALID) || ids.gid == Some(INVALID) {
            return (Identity::anonymous(), Basis::Anonymous);
        }
        if let Some(uid) = ids.uid {
            let is_own = uid == self.own.uid && ids.gid.is_none();
            return (if is_own { self.own.clone() } else { self.numbered(uid, ids.gid) }, Basis::Set);
        }
        match self.unix.user(name) {
            Some(user) => (self.of(&user, ids.gid), Basis::HostUser),
            None if !self.own.is_root() => (self.own.clone(), Basis::Server),
            None => match self.default_user.as_deref().and_then(|name| self.unix.user(name)) {
                Some(user) => (self.of(&user, ids.gid), Basis::DefaultUser),
                None => (Identity::anonymous(), Basis::Anonymous),
            },
        }
    }

    /// The identities of many accounts. The host's name service mostly waits for files and other processes, so several
    /// threads ask it.
    #[must_use]
    pub fn identities(&self, records: &[Record]) -> Vec<(Identity, Basis)> {
        let askers = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_ASKERS);
        let part = records.len().div_ceil(askers).max(FEWEST_ASKED);
        let ask = |record: &Record| self.identity(&record.name, record.ids);
        std::thread::scope(|scope| {
            let (first, rest) = records.split_at(part.min(records.len()));
            let ask_all = move |part: &[Record]| part.iter().map(ask).collect::<Vec<_>>();
            let begin =
                |part| (part, std::thread::Builder::new().spawn_scoped(scope, move || ask_all(part)).ok());
            let others: Vec<_> = rest.chunks(part).map(begin).collect();
            let mut found = ask_all(first);
            for (part, asker) in others {
                let theirs = asker.and_then(|asker| asker.join().ok());
                found.extend(theirs.unwrap_or_else(|| ask_all(part))); // the host gives no further thread
            }
            found
        })
    }

    fn numbered(&self, uid: u32, gid: Option<u32>) -> Identity {
        match self.unix.user_numbered(uid) {
            Some(user) => self.of(&user, gid),
            None => Identity::new(uid, gid.unwrap_or(ANONYMOUS), &[]),
        }
    }

    /// A user with its groups. Its own first group remains one of them if another is set.
    fn of(&self, user: &UnixUser, gid: Option<u32>) -> Identity {
        let first = gid.unwrap_or(user.gid);
        let own = (first != user.gid).then_some(user.gid);
        let others = self.unix.groups_of(user).into_iter().filter(|group| *group != first);
        Identity { uid: user.uid, gid: first, groups: own.into_iter().chain(others).collect(), origin: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(own: u32, default_user: Option<&str>) -> Host {
        Host {
            unix: UnixAccounts::parse(
                "root:x:0:0::/:\nada:x:1000:1000::/:\nhopper:x:1001:50::/:\n",
                "staff:x:50:ada\nwheel:x:10:ada\n",
            ),
            own: Identity::new(own, own, &[own]),
            default_user: default_user.map(str::to_owned),
        }
    }

    fn identity(uid: u32, gid: u32, groups: &[u32]) -> Identity {
        Identity::new(uid, gid, groups)
    }

    const UNSET: Ids = Ids { uid: None, gid: None };

    #[test]
    fn many_accounts_get_the_same_identities_in_their_order() {
        let record = |number: u32| Record {
            name: ["ada", "hopper", "none"][number as usize % 3].into(),
            ids: Ids { uid: number.is_multiple_of(4).then_some(2000 + number), gid: None },
            groups: Vec::new(),
            disabled: false,
            admin: false,
            secrets: Vec::new(),
        };
        let host = host(0, None);
        for count in [0, 1, 2, 15, 16, 17, 1000] {
            let records: Vec<Record> = (0..count).map(record).collect();
            let each: Vec<_> = records.iter().map(|record| host.identity(&record.name, record.ids)).collect();
            assert_eq!(host.identities(&records), each, "{count}");
        }
    }

    #[test]
    fn an_account_of_which_nothing_is_known_is_anonymous_under_root() {
        let root = host(0, None);
        assert_eq!(root.identity("grace", UNSET), (identity(65_534, 65_534, &[]), Basis::Anonymous));
        assert_eq!(host(0, Some("gone")).identity("grace", UNSET).0, Identity::anonymous());
        let gid_alone = Ids { uid: None, gid: Some(0) };
        assert_eq!(root.identity("grace", gid_alone).0, Identity::anonymous());
    }

    #[test]
    fn the_default_user_is_for_accounts_without_a_host_user_under_root_only() {
        let root = host(0, Some("hopper"));
        assert_eq!(root.identity("grace", UNSET), (identity(1001, 50, &[]), Basis::DefaultUser));
        assert_eq!(root.identity("ada", UNSET), (identity(1000, 1000, &[50, 10]), Basis::HostUser));
        assert_eq!(host(7, Some("hopper")).identity("grace", UNSET).1, Basis::Server);
    }

    #[test]
    fn a_server_that_is_not_root_acts_as_itself_for_an_account_without_a_host_user() {
        assert_eq!(host(7, None).identity("grace", UNSET), (identity(7, 7, &[7]), Basis::Server));
    }

    #[test]
    fn a_set_uid_and_gid_win_and_nothing_unset_becomes_group_root() {
        let root = host(0, None);
        let set = |uid, gid| root.identity("ada", Ids { uid: Some(uid), gid }).0;
        assert_eq!(set(1001, None), identity(1001, 50, &[]));
        assert_eq!(set(4242, None), identity(4242, 65_534, &[]));
        assert_eq!(set(4242, Some(50)), identity(4242, 50, &[]));
        assert_eq!(set(1000, Some(50)), identity(1000, 50, &[1000, 10]));
        assert_eq!(root.identity("ada", Ids { uid: None, gid: Some(10) }).0, identity(1000, 10, &[1000, 50]));
        assert_eq!(root.identity("root", UNSET).0, identity(0, 0, &[]));
    }

    #[test]
    fn the_id_that_the_kernel_ignores_is_the_anonymous_user() {
        let root = host(0, None);
        let ids = [Ids { uid: Some(u32::MAX), gid: None }, Ids { uid: Some(1000), gid: Some(u32::MAX) }];
        assert!(ids.iter().all(|ids| root.identity("ada", *ids).0 == Identity::anonymous()));
    }
}
