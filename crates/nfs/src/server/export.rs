//! The exported folders, the clients that may use each of them, and the user that a caller acts as
//! there.

use std::sync::Arc;

use auth::{FileProtocol, HostSet, first_match};
use namespace::Namespace;
use vfs::backend::forest::Hidden;
use vfs::names::Hiding;
use vfs::{Caller, Volume};

use super::call::{Call, CallIdentity};
use super::gss::Flavor;
use super::handle::HandleContent;
use super::{CallOrigin, Protection};
use crate::wire;
use crate::wire::v3::types::Status;

/// A port that only the superuser of a UNIX client may use.
const RESERVED_PORTS: std::ops::Range<u16> = 1..1024;

/// `(uid_t)-1`. The kernel treats it as "leave the id as it is". A thread that switched to it would
/// keep the ids of the previous call.
const INVALID_ID: u32 = u32::MAX;

/// The users whose ids are replaced by the anonymous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Squash {
    /// No user.
    None,
    /// The superuser.
    Root,
    /// All users of calls that prove nothing, and the superuser of others.
    Unproven,
    /// All users.
    All,
}

/// Whether clients must use TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TlsRule {
    /// As they like.
    #[default]
    Optional,
    /// They must.
    Required,
    /// They must, with a certificate of their own that the server trusts.
    Mutual,
}

/// What clients of one address range may do. The first rule that matches a client applies.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The clients of the rule.
    pub clients: HostSet,
    /// The clients may connect.
    pub allowed: bool,
    /// The clients may change files.
    pub writable: bool,
    /// The users whose ids are replaced.
    pub squash: Squash,
    /// The ids they are replaced by.
    pub anonymous: (u32, u32),
    /// The clients must call from a port below 1024.
    pub reserved_port: bool,
    /// NFS calls must come over TLS.
    pub tls: TlsRule,
    /// How NFS calls may prove whose they are, the preferred way first.
    pub sec: Vec<Flavor>,
    /// NFS calls must prove whose they are: by Kerberos, or by TLS with a certificate. With `allowed = false`: there is no way
    /// to prove it yet, and the server tells its administrator which hosts were refused.
    pub login: bool,
}

impl Rule {
    /// All clients may read and write. The superuser of a client acts as the anonymous user.
    pub fn everybody() -> Self {
        Self {
            clients: HostSet::Any,
            allowed: true,
            writable: true,
            squash: Squash::Root,
            anonymous: (65_534, 65_534),
            reserved_port: false,
            tls: TlsRule::Optional,
            sec: Flavor::ALL.to_vec(),
            login: false,
        }
    }

    /// Whether calls may prove whose they are by Kerberos.
    fn takes_tickets(&self) -> bool {
        self.sec.iter().any(|flavor| *flavor != Flavor::Sys)
    }

    /// Whether it allows nothing that the other one does not.
    fn is_no_wider(&self, other: &Self) -> bool {
        let is_as_anonymous = self.anonymous == other.anonymous || other.squash == Squash::None;
        !self.allowed
            || other.allowed
                && self.writable <= other.writable
                && self.squash >= other.squash
                && is_as_anonymous
                && self.reserved_port >= other.reserved_port
                && self.tls >= other.tls
                && self.login >= other.login
                && self.sec.iter().all(|flavor| other.sec.contains(flavor))
    }

    /// Whether the user of a call is replaced whoever it is.
    fn squashes_all(&self, has_login: bool) -> bool {
        self.squash == Squash::All || self.squash == Squash::Unproven && !has_login
    }

    /// The user that a caller acts as. [`INVALID_ID`] is no id: a caller with it acts as the
    /// anonymous user under every rule, as one without credentials does.
    pub(crate) fn caller(&self, identity: &CallIdentity, has_login: bool) -> Caller {
        let CallIdentity { uid, gid, ref groups, nobody } = *identity;
        let (anonymous_uid, anonymous_gid) = self.anonymous;
        if nobody || self.squashes_all(has_login) || uid == INVALID_ID {
            return Caller::new(anonymous_uid, anonymous_gid, &[]);
        }
        let squashes_root = self.squash != Squash::None;
        let is_replaced = |id: u32| id == INVALID_ID || squashes_root && id == 0;
        let group = |gid: u32| if is_replaced(gid) { anonymous_gid } else { gid };
        let groups: Vec<u32> = groups.iter().map(|&gid| group(gid)).collect();
        Caller::new(if is_replaced(uid) { anonymous_uid } else { uid }, group(gid), &groups)
    }
}

/// The options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The client rules. The first that matches applies. A client that no rule matches is refused. A rule that may match,
    /// because a look-up failed, refuses a client that a later rule would allow more.
    pub rules: Vec<Rule>,
    /// MKNOD may make devices.
    pub device_nodes: bool,
    /// Names that listings leave out.
    pub hiding: Arc<Hiding>,
    /// Listings show names of more than 255 bytes as local programs see them.
    pub shortens_names: bool,
    /// Where its links lead clients of version 4; `None`: they are ordinary symbolic links.
    pub links: Option<Arc<Namespace>>,
}

impl Default for ExportOptions {
    fn default() -> Self {
        let rules = vec![Rule::everybody()];
        Self { rules, device_nodes: false, hiding: Arc::default(), shortens_names: true, links: None }
    }
}

/// A share that NFS exports at the path `/name`.
pub struct Export {
    /// The share's name.
    pub name: String,
    /// The share's number in file handles. It never changes, and each share has its own.
    pub tag: u32,
    /// Its files.
    pub volume: Arc<Volume>,
    /// The clients and their rights.
    pub options: ExportOptions,
}

impl Export {
    /// Whether listings have an entry of this name. The folder itself and its parent always are there.
    pub(crate) fn lists(&self, name: &[u8]) -> bool {
        matches!(name, b"." | b"..") || !self.options.hiding.hides(name)
    }

    /// As [`Export::lists`], in a folder whose share may be another one inside of this.
    pub(crate) fn lists_in(&self, inner: Option<&Hidden>, name: &[u8]) -> bool {
        match inner {
            Some(inner) => matches!(name, b"." | b"..") || !inner.hiding.hides(name),
            None => self.lists(name),
        }
    }

    /// The user that a client's caller acts as under a rule.
    pub(crate) fn caller(&self, rule: &Rule, call: &Call<'_>) -> Caller {
        let has_login = call.has_login();
        let caller = rule.caller(&call.identity, has_login);
        // A user that is squashed has the rights of the anonymous one, not those of its own account.
        let is_squashed = rule.squashes_all(has_login) || caller.uid != call.identity.uid;
        let account = call.account().filter(|_| !is_squashed);
        // Roles are given to accounts by their names, rules of shares inside this one to clients.
        let caller = match account.is_some() || self.volume.stateless().has_gates() {
            true => caller.of(FileProtocol::Nfs, account, call.origin.address),
            false => caller,
        };
        self.volume.acting(caller)
    }

    /// Whether a rule lets a host of this address in, from some port.
    pub(crate) fn admits(&self, address: std::net::IpAddr) -> bool {
        self.rule_of(address).is_some_and(|rule| rule.allowed)
    }

    /// The rule for the hosts of this address, which may refuse them.
    fn rule_of(&self, address: std::net::IpAddr) -> Option<&Rule> {
        first_match(&self.options.rules, |rule: &Rule| rule.clients.matches(address), Rule::is_no_wider)
    }

    /// The rule for a client; `None` when it is refused.
    pub(crate) fn rule(&self, origin: CallOrigin) -> Option<&Rule> {
        let rule = self.rule_of(origin.address)?;
        let port_fits = !rule.reserved_port || RESERVED_PORTS.contains(&origin.port);
        if rule.allowed && !port_fits {
            tracing::info!(client = %origin.address, port = origin.port, export = self.name,
                "refused: this client must call from a port below 1024 (Linux: resvport, macOS: mount_nfs -o resvport)");
        }
        (rule.allowed && port_fits).then_some(rule)
    }

    /// The rule for an NFS call. Calls of MOUNT and NLM need neither TLS nor Kerberos, as with knfsd: clients that use them for
    /// NFS send those without, and they show no data.
    pub(crate) fn rule_of_call(&self, call: &Call<'_>, file: &HandleContent) -> Result<&Rule, Status> {
        let rule = self.rule(call.origin).ok_or_else(|| self.refuse(call))?;
        let flavor = call.flavor();
        if rule.login && !call.has_login() && !(rule.takes_tickets() && self.shows_before_login(call, file)) {
            return Err(self.demand_login(call, rule));
        }
        if !rule.sec.contains(&flavor) && !self.shows_before_login(call, file) {
            let allowed: Vec<_> = rule.sec.iter().map(|flavor| flavor.name()).collect();
            return Err(
                self.lacks(call, &format!("sec={} instead of sec={}", allowed.join(":"), flavor.name()))
            );
        }
        let (needed, what) = match rule.tls {
            TlsRule::Optional => return Ok(rule),
            TlsRule::Required => (Protection::Tls, "TLS (Linux: mount -o xprtsec=tls)"),
            TlsRule::Mutual => {
                (Protection::Certified, "TLS with a certificate (Linux: mount -o xprtsec=mtls)")
            }
        };
        if call.origin.protection >= needed { Ok(rule) } else { Err(self.lacks(call, what)) }
    }

    /// Whether the call is one that Linux makes by AUTH_SYS to mount a share that needs Kerberos: FSINFO and GETATTR of version
    /// 3, of the share's folder, RFC 2623 2.3.2.
    fn shows_before_login(&self, call: &Call<'_>, file: &HandleContent) -> bool {
        use wire::v3::Procedure;
        call.header.version == wire::v3::VERSION
            && matches!(Procedure(call.header.procedure), Procedure::GETATTR | Procedure::FSINFO)
            && self.volume.root().is_ok_and(|root| root.object.key() == file.key)
    }

    /// A client that no rule lets in is refused. If the share is closed only because its host is not named, the log says so.
    pub(crate) fn refuse(&self, call: &Call<'_>) -> Status {
        if self.is_closed_to(call.origin.address) {
            call.service.unnamed.tell(call.origin.address, &self.name);
        }
        Status::ACCES
    }

    /// Whether hosts of this address are refused only because nobody has named them, and they cannot log in.
    pub(crate) fn is_closed_to(&self, address: std::net::IpAddr) -> bool {
        self.rule_of(address).is_some_and(|rule| rule.login && !rule.allowed)
    }

    /// A client must log in. Those of version 4 are told how, if it can be by another flavour.
    fn demand_login(&self, call: &Call<'_>, rule: &Rule) -> Status {
        call.service.unnamed.tell(call.origin.address, &self.name);
        let is_v4 = call.header.version == wire::v4::VERSION;
        if is_v4 && rule.takes_tickets() {
            Status(wire::v4::types::Status::WRONGSEC.0)
        } else {
            Status::ACCES
        }
    }

    /// A client does not protect its calls as it must.
    fn lacks(&self, call: &Call<'_>, what: &str) -> Status {
        tracing::info!(client = %call.origin.address, port = call.origin.port, export = self.name,
            "refused: this client must use {what}; see docs/nfs.md");
        let is_v4 = call.header.version == wire::v4::VERSION;
        if is_v4 { Status(wire::v4::types::Status::WRONGSEC.0) } else { Status::ACCES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(squash: Squash, uid: u32, gid: u32, groups: &[u32]) -> (u32, u32, Vec<u32>) {
        let rule = Rule { squash, anonymous: (7, 8), ..Rule::everybody() };
        let identity = CallIdentity { uid, gid, groups: groups.to_vec(), nobody: false };
        let caller = rule.caller(&identity, false);
        (caller.uid, caller.gid, caller.groups.to_vec())
    }

    #[test]
    fn root_and_its_group_are_squashed_wherever_they_stand() {
        assert_eq!(ids(Squash::Root, 0, 0, &[0, 5]), (7, 8, vec![8, 5]));
        assert_eq!(ids(Squash::Root, 1000, 0, &[0]), (1000, 8, vec![8]));
        assert_eq!(ids(Squash::None, 0, 0, &[0]), (0, 0, vec![0]));
        assert_eq!(ids(Squash::All, 1000, 100, &[5]), (7, 8, vec![]));
    }

    #[test]
    fn users_that_prove_who_they_are_need_not_be_guests() {
        let rule = Rule { squash: Squash::Unproven, anonymous: (7, 8), ..Rule::everybody() };
        let acts_as = |uid, has_login| {
            let identity = CallIdentity { uid, gid: 100, groups: Vec::new(), nobody: false };
            rule.caller(&identity, has_login).uid
        };
        assert_eq!((acts_as(1000, false), acts_as(1000, true)), (7, 1000));
        assert_eq!((acts_as(0, false), acts_as(0, true)), (7, 7), "a machine is root, and is no user");
    }

    #[test]
    fn a_rule_is_no_wider_if_it_allows_nothing_more() {
        let everybody = Rule::everybody;
        let wider = Rule { squash: Squash::None, ..everybody() };
        assert!(everybody().is_no_wider(&wider) && !wider.is_no_wider(&everybody()));
        for narrower in [
            Rule { allowed: false, ..everybody() },
            Rule { writable: false, ..everybody() },
            Rule { squash: Squash::Unproven, ..everybody() },
            Rule { squash: Squash::All, ..everybody() },
            Rule { reserved_port: true, ..everybody() },
            Rule { tls: TlsRule::Mutual, ..everybody() },
            Rule { sec: vec![Flavor::Krb5p], ..everybody() },
            Rule { login: true, ..everybody() },
        ] {
            assert!(
                narrower.is_no_wider(&everybody()) && !everybody().is_no_wider(&narrower),
                "{narrower:?}"
            );
        }
        let other = Rule { anonymous: (7, 8), ..everybody() };
        assert!(!other.is_no_wider(&everybody()), "another user is neither more nor less");
    }

    #[test]
    fn the_id_that_the_kernel_ignores_is_the_anonymous_user_under_every_rule() {
        for squash in [Squash::None, Squash::Root, Squash::Unproven, Squash::All] {
            assert_eq!(ids(squash, u32::MAX, 100, &[]), (7, 8, vec![]));
        }
        assert_eq!(ids(Squash::None, 1000, u32::MAX, &[u32::MAX, 0]), (1000, 8, vec![8, 0]));
    }
}
