//! Names for SIDs and SIDs for names.
//!
//! Users are S-1-22-1-uid and groups S-1-22-2-gid, domains `Unix User` and `Unix Group`, as Samba has them; the Mac's
//! S-1-5-88-1-uid and S-1-5-88-2-gid are understood. The rest are the well-known ones of MS-DTYP 2.4.2.4.
//!
//! A guest is told the well-known names only: who has an account here is nobody else's business. A SID of the host has its number as
//! its name then.

use auth::{NameKind, SidName};

use super::{CallerRank, PipeHost, Server};
use crate::wire::rpc::lsarpc::NameUse::{Alias, WellKnownGroup};
use crate::wire::rpc::lsarpc::{Domain, NameUse};
use crate::wire::security::Sid;
use crate::wire::security::well_known::{self, Unix};

/// What has a name and a SID.
pub(super) struct NamedAccount {
    pub(super) kind: NameUse,
    pub(super) name: String,
    pub(super) sid: Sid,
    pub(super) domain: Domain,
}

const UNIX_USER: &str = "Unix User";
const UNIX_GROUP: &str = "Unix Group";
const AUTHORITY: &str = "NT AUTHORITY";
const BUILTIN: &str = "BUILTIN";

/// SID, domain, name and kind, MS-DTYP 2.4.2.4.
type WellKnown = (Sid, &'static str, &'static str, NameUse);

const WELL_KNOWN: &[WellKnown] = &[
    (well_known::NOBODY, "", "NULL SID", WellKnownGroup),
    (well_known::EVERYONE, "", "Everyone", WellKnownGroup),
    (Sid::new(2, &[0]), "", "LOCAL", WellKnownGroup),
    (well_known::CREATOR_OWNER, "", "CREATOR OWNER", WellKnownGroup),
    (well_known::CREATOR_GROUP, "", "CREATOR GROUP", WellKnownGroup),
    (well_known::OWNER_RIGHTS, "", "OWNER RIGHTS", WellKnownGroup),
    (Sid::new(5, &[1]), AUTHORITY, "DIALUP", WellKnownGroup),
    (well_known::NETWORK, AUTHORITY, "NETWORK", WellKnownGroup),
    (Sid::new(5, &[3]), AUTHORITY, "BATCH", WellKnownGroup),
    (Sid::new(5, &[4]), AUTHORITY, "INTERACTIVE", WellKnownGroup),
    (Sid::new(5, &[6]), AUTHORITY, "SERVICE", WellKnownGroup),
    (well_known::ANONYMOUS, AUTHORITY, "ANONYMOUS LOGON", WellKnownGroup),
    (Sid::new(5, &[10]), AUTHORITY, "SELF", WellKnownGroup),
    (well_known::AUTHENTICATED_USERS, AUTHORITY, "Authenticated Users", WellKnownGroup),
    (Sid::new(5, &[12]), AUTHORITY, "RESTRICTED", WellKnownGroup),
    (well_known::SYSTEM, AUTHORITY, "SYSTEM", WellKnownGroup),
    (Sid::new(5, &[19]), AUTHORITY, "LOCAL SERVICE", WellKnownGroup),
    (Sid::new(5, &[20]), AUTHORITY, "NETWORK SERVICE", WellKnownGroup),
    (well_known::ADMINISTRATORS, BUILTIN, "Administrators", Alias),
    (well_known::USERS, BUILTIN, "Users", Alias),
    (well_known::GUESTS, BUILTIN, "Guests", Alias),
    (Sid::new(5, &[32, 547]), BUILTIN, "Power Users", Alias),
    (Sid::new(5, &[32, 551]), BUILTIN, "Backup Operators", Alias),
];

/// The numbers and names of the groups that every Windows has, MS-DTYP 2.4.2.4.
pub(super) fn builtin() -> impl Iterator<Item = (u32, &'static str)> {
    let number = |sid: &Sid| sid.below(&well_known::BUILTIN).and_then(|below| below.first().copied());
    WELL_KNOWN.iter().filter_map(move |(sid, _, name, _)| Some((number(sid)?, *name)))
}

/// The account of `sid` in `domain`. The domain's SID is that of the account without its last
/// number.
fn account(kind: NameUse, name: impl Into<String>, sid: Sid, domain: &str) -> NamedAccount {
    let above = sid.subs().split_last().map_or(&[][..], |(_, above)| above);
    let domain = Domain { name: domain.into(), sid: Sid::new(sid.authority(), above) };
    NamedAccount { kind, name: name.into(), sid, domain }
}

fn well_known_account((sid, domain, name, kind): &WellKnown) -> NamedAccount {
    account(*kind, *name, *sid, domain)
}

/// The account of `sid`. A number without a name gets the number as its name, so that users can
/// still see it.
pub(super) fn of_sid(host: &dyn PipeHost, sid: &Sid) -> Option<NamedAccount> {
    let tells_all = tells_all(host);
    if let Some(named) = host.named(sid).filter(|_| tells_all) {
        return Some(of_domain(named));
    }
    match Unix::of(sid) {
        Some(Unix::User(uid)) => {
            let name = host.user(uid).filter(|_| tells_all).unwrap_or_else(|| uid.to_string());
            Some(account(NameUse::User, name, *sid, UNIX_USER))
        }
        Some(Unix::Group(gid)) => {
            let name = host.group(gid).filter(|_| tells_all).unwrap_or_else(|| gid.to_string());
            Some(account(NameUse::Group, name, *sid, UNIX_GROUP))
        }
        None if sid.below(&host.server().sid).is_some_and(|below| !below.is_empty()) => {
            own(host, sid).filter(|_| tells_all)
        }
        None => WELL_KNOWN
            .iter()
            .find(|(known, ..)| known == sid)
            .map(well_known_account)
            .or_else(|| domains(host).into_iter().find(|domain| domain.sid == *sid).map(domain_itself)),
    }
}

/// Whether the caller may know who has an account.
fn tells_all(host: &dyn PipeHost) -> bool {
    host.caller().rank >= CallerRank::User
}

/// The account of a SID in the domain of the server's own accounts, as `samr` gives them.
fn own(host: &dyn PipeHost, sid: &Sid) -> Option<NamedAccount> {
    let Domain { name: domain, sid: own } = own_domain(host);
    match Unix::of_domain(sid, &own)? {
        Unix::User(uid) => Some(account(NameUse::User, host.user(uid)?, *sid, &domain)),
        Unix::Group(gid) => Some(account(Alias, host.group(gid)?, *sid, &domain)),
    }
}

/// The account of `name`: a name, or a domain's name, a backslash and a name.
pub(super) fn of_name(host: &dyn PipeHost, name: &str) -> Option<NamedAccount> {
    let whole = name;
    let (domain, name) = match name.split_once('\\') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, name),
    };
    let in_domain = |wanted: &str| domain.is_none_or(|domain| same(domain, wanted));
    let (here, tells_all) = (in_domain(&host.server().name), tells_all(host));
    let known = WELL_KNOWN.iter().find(|(_, of, known, _)| in_domain(of) && same(name, known));
    known
        .map(well_known_account)
        .or_else(|| if tells_all && (here || in_domain(UNIX_USER)) { user(host, name) } else { None })
        .or_else(|| if tells_all && (here || in_domain(UNIX_GROUP)) { group(host, name) } else { None })
        .or_else(|| if domain.is_none() { domain_named(host, name) } else { None })
        .or_else(|| if tells_all { host.sid(whole).map(of_domain) } else { None })
}

/// A user or group of a domain, or the domain.
fn of_domain(SidName { sid, name, domain, kind }: SidName) -> NamedAccount {
    match kind {
        NameKind::User => account(NameUse::User, name, sid, &domain),
        NameKind::Group => account(NameUse::Group, name, sid, &domain),
        NameKind::Domain => domain_itself(Domain { name, sid }),
    }
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn user(host: &dyn PipeHost, name: &str) -> Option<NamedAccount> {
    let uid = host.uid(name)?;
    let name = host.user(uid).unwrap_or_else(|| name.into());
    Some(account(NameUse::User, name, Unix::User(uid).sid(), UNIX_USER))
}

fn group(host: &dyn PipeHost, name: &str) -> Option<NamedAccount> {
    let gid = host.gid(name)?;
    let name = host.group(gid).unwrap_or_else(|| name.into());
    Some(account(NameUse::Group, name, Unix::Group(gid).sid(), UNIX_GROUP))
}

/// The domains that clients can look up by name.
fn domains(host: &dyn PipeHost) -> [Domain; 4] {
    let domain = |name: &str, sid| Domain { name: name.into(), sid };
    [
        own_domain(host),
        domain(BUILTIN, well_known::BUILTIN),
        domain(UNIX_USER, Sid::new(22, &[1])),
        domain(UNIX_GROUP, Sid::new(22, &[2])),
    ]
}

/// The domain of the server's own accounts.
pub(super) fn own_domain(host: &dyn PipeHost) -> Domain {
    let Server { name, sid, .. } = host.server();
    Domain { name, sid }
}

fn domain_named(host: &dyn PipeHost, name: &str) -> Option<NamedAccount> {
    domains(host).into_iter().find(|domain| same(&domain.name, name)).map(domain_itself)
}

fn domain_itself(domain: Domain) -> NamedAccount {
    NamedAccount { kind: NameUse::Domain, name: domain.name.clone(), sid: domain.sid, domain }
}
