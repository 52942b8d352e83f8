//! Names for SIDs and SIDs for names.
//!
//! Users are S-1-22-1-uid and groups S-1-22-2-gid, domains `Unix User` and `Unix Group`, as Samba has them; the Mac's
//! S-1-5-88-1-uid and S-1-5-88-2-gid are understood. The rest are the well-known ones of MS-DTYP 2.4.2.4.

use super::PipeHost;
use crate::wire::rpc::Sid;
use crate::wire::rpc::lsarpc::{Domain, NameUse};

/// What has a name and a SID.
pub(super) struct Account {
    pub(super) kind: NameUse,
    pub(super) name: String,
    pub(super) sid: Sid,
    pub(super) domain: Domain,
}

const UNIX: u64 = 22;
const NT: u64 = 5;
const USERS: u32 = 1;
const GROUPS: u32 = 2;
/// The part after S-1-5 of the SIDs that a Mac or NFS makes of numbers.
const NFS: u32 = 88;
const UNIX_USER: &str = "Unix User";
const UNIX_GROUP: &str = "Unix Group";

struct WellKnown {
    authority: u64,
    parts: &'static [u32],
    domain: &'static str,
    name: &'static str,
    kind: NameUse,
}

const fn known(
    authority: u64,
    parts: &'static [u32],
    domain: &'static str,
    name: &'static str,
    kind: NameUse,
) -> WellKnown {
    WellKnown { authority, parts, domain, name, kind }
}

use NameUse::{Alias, WellKnownGroup};

const WELL_KNOWN: &[WellKnown] = &[
    known(0, &[0], "", "NULL SID", WellKnownGroup),
    known(1, &[0], "", "Everyone", WellKnownGroup),
    known(2, &[0], "", "LOCAL", WellKnownGroup),
    known(3, &[0], "", "CREATOR OWNER", WellKnownGroup),
    known(3, &[1], "", "CREATOR GROUP", WellKnownGroup),
    known(3, &[4], "", "OWNER RIGHTS", WellKnownGroup),
    known(NT, &[1], "NT AUTHORITY", "DIALUP", WellKnownGroup),
    known(NT, &[2], "NT AUTHORITY", "NETWORK", WellKnownGroup),
    known(NT, &[3], "NT AUTHORITY", "BATCH", WellKnownGroup),
    known(NT, &[4], "NT AUTHORITY", "INTERACTIVE", WellKnownGroup),
    known(NT, &[6], "NT AUTHORITY", "SERVICE", WellKnownGroup),
    known(NT, &[7], "NT AUTHORITY", "ANONYMOUS LOGON", WellKnownGroup),
    known(NT, &[10], "NT AUTHORITY", "SELF", WellKnownGroup),
    known(NT, &[11], "NT AUTHORITY", "Authenticated Users", WellKnownGroup),
    known(NT, &[12], "NT AUTHORITY", "RESTRICTED", WellKnownGroup),
    known(NT, &[18], "NT AUTHORITY", "SYSTEM", WellKnownGroup),
    known(NT, &[19], "NT AUTHORITY", "LOCAL SERVICE", WellKnownGroup),
    known(NT, &[20], "NT AUTHORITY", "NETWORK SERVICE", WellKnownGroup),
    known(NT, &[32, 544], "BUILTIN", "Administrators", Alias),
    known(NT, &[32, 545], "BUILTIN", "Users", Alias),
    known(NT, &[32, 546], "BUILTIN", "Guests", Alias),
    known(NT, &[32, 547], "BUILTIN", "Power Users", Alias),
    known(NT, &[32, 551], "BUILTIN", "Backup Operators", Alias),
];

impl WellKnown {
    fn account(&self) -> Account {
        account(self.kind, self.name, Sid::new(self.authority, self.parts), self.domain)
    }
}

/// The account of `sid` in `domain`, whose SID is that without its last part.
fn account(kind: NameUse, name: impl Into<String>, sid: Sid, domain: &str) -> Account {
    let parts = sid.parts.split_last().map_or(&[][..], |(_, before)| before);
    let domain = Domain { name: domain.into(), sid: Sid::new(sid.authority, parts) };
    Account { kind, name: name.into(), sid, domain }
}

/// What `sid` belongs to.
pub(super) fn of_sid(host: &dyn PipeHost, sid: &Sid) -> Option<Account> {
    let number = |id: u32| id.to_string();
    match (sid.authority, &sid.parts[..]) {
        (UNIX, &[USERS, uid]) | (NT, &[NFS, USERS, uid]) => {
            let name = host.user(uid).unwrap_or_else(|| number(uid));
            Some(account(NameUse::User, name, sid.clone(), UNIX_USER))
        }
        (UNIX, &[GROUPS, gid]) | (NT, &[NFS, GROUPS, gid]) => {
            let name = host.group(gid).unwrap_or_else(|| number(gid));
            Some(account(NameUse::Group, name, sid.clone(), UNIX_GROUP))
        }
        (authority, parts) => WELL_KNOWN
            .iter()
            .find(|known| known.authority == authority && known.parts == parts)
            .map(WellKnown::account)
            .or_else(|| domains(host).into_iter().find(|domain| domain.sid == *sid).map(domain_itself)),
    }
}

/// What `name` means: a name, or a domain's name, a backslash and a name.
pub(super) fn of_name(host: &dyn PipeHost, name: &str) -> Option<Account> {
    let (domain, name) = match name.split_once('\\') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, name),
    };
    let in_domain = |wanted: &str| domain.is_none_or(|domain| same(domain, wanted));
    let here = in_domain(&host.server().name);
    let well_known = WELL_KNOWN.iter().find(|known| in_domain(known.domain) && same(name, known.name));
    well_known
        .map(WellKnown::account)
        .or_else(|| if here || in_domain(UNIX_USER) { user(host, name) } else { None })
        .or_else(|| if here || in_domain(UNIX_GROUP) { group(host, name) } else { None })
        .or_else(|| if domain.is_none() { domain_named(host, name) } else { None })
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn user(host: &dyn PipeHost, name: &str) -> Option<Account> {
    let uid = host.uid(name)?;
    let name = host.user(uid).unwrap_or_else(|| name.into());
    Some(account(NameUse::User, name, Sid::new(UNIX, &[USERS, uid]), UNIX_USER))
}

fn group(host: &dyn PipeHost, name: &str) -> Option<Account> {
    let gid = host.gid(name)?;
    let name = host.group(gid).unwrap_or_else(|| name.into());
    Some(account(NameUse::Group, name, Sid::new(UNIX, &[GROUPS, gid]), UNIX_GROUP))
}

/// The domains that can be asked for themselves.
fn domains(host: &dyn PipeHost) -> [Domain; 4] {
    let server = host.server();
    let domain = |name: &str, sid| Domain { name: name.into(), sid };
    [
        Domain { name: server.name, sid: server.sid },
        domain("BUILTIN", Sid::new(NT, &[32])),
        domain(UNIX_USER, Sid::new(UNIX, &[USERS])),
        domain(UNIX_GROUP, Sid::new(UNIX, &[GROUPS])),
    ]
}

fn domain_named(host: &dyn PipeHost, name: &str) -> Option<Account> {
    domains(host).into_iter().find(|domain| same(&domain.name, name)).map(domain_itself)
}

fn domain_itself(domain: Domain) -> Account {
    Account { kind: NameUse::Domain, name: domain.name.clone(), sid: domain.sid.clone(), domain }
}
