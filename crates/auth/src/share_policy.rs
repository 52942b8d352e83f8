//! The access rules of a share: one set of rules for all protocols.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::host_names::{HostName, Match, first_match};
use crate::roles::Roles;

/// The access rules of a share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharePolicy {
    /// Every change is refused.
    pub read_only: bool,
    /// Users without an account may enter.
    pub guests: bool,
    /// Accounts that may enter, in any case of letters; every account when this and `groups` are empty.
    pub users: Vec<String>,
    /// Unix groups whose members may enter.
    pub groups: Vec<u32>,
    /// The roles of a team folder: who has one may enter, and `guests`, `users` and `groups` do not count.
    pub roles: Option<Arc<Roles>>,
    /// Rules for hosts. The first that matches decides; a host that no rule matches is refused. Without rules every host
    /// may enter. A rule that may match, because a look-up failed, refuses a host that a later rule would allow more.
    pub hosts: Vec<HostRule>,
}

/// Hosts of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostSet {
    /// Every host.
    Any,
    /// Those of a network.
    Net(IpNet),
    /// Those with a name.
    Name(HostName),
}

/// A rule for some hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// The hosts: any of these.
    pub hosts: Vec<HostSet>,
    /// The most that they may do; `None`: nothing.
    pub grant: Option<Grant>,
}

/// The rights in a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// Reading.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// A user that opens a share.
#[derive(Clone, Copy)]
pub struct Visitor<'a> {
    /// The account; `None` for a guest.
    pub account: Option<&'a str>,
    /// Whether the user is in a Unix group.
    pub is_member: &'a dyn Fn(u32) -> bool,
    /// The host.
    pub address: IpAddr,
}

impl SharePolicy {
    /// A share that guests may use.
    #[must_use]
    pub fn for_guests() -> Self {
        Self { guests: true, ..Self::default() }
    }

    /// The user's rights in the share; `None`: the user may not enter.
    #[must_use]
    pub fn grant(&self, visitor: &Visitor<'_>) -> Option<Grant> {
        let by_host = self.grant_to_host(visitor.address)?;
        self.admits(visitor.account, visitor.is_member).then_some(by_host)
    }

    /// The most that users of a host may do; `None`: they may not enter. An IPv4 address mapped
    /// into IPv6 counts as the IPv4 address.
    #[must_use]
    pub fn grant_to_host(&self, address: IpAddr) -> Option<Grant> {
        let by_host = match self.hosts.is_empty() {
            true => Some(Grant::ReadWrite),
            false => {
                let is_no_wider = |a: &HostRule, b: &HostRule| a.grant <= b.grant;
                first_match(&self.hosts, |rule| rule.matches(address), is_no_wider)
                    .and_then(|rule| rule.grant)
            }
        };
        by_host.map(|grant| if self.read_only { Grant::ReadOnly } else { grant })
    }

    /// Whether a user may enter, from any host.
    #[must_use]
    pub fn admits(&self, account: Option<&str>, is_member: &dyn Fn(u32) -> bool) -> bool {
        if let Some(roles) = &self.roles {
            return !roles.of_login(account, is_member).is_empty();
        }
        let Some(name) = account else { return self.guests };
        let admits_all = self.users.is_empty() && self.groups.is_empty();
        let is_listed = || self.users.iter().any(|user| crate::is_same_name(user, name));
        admits_all || self.guests || is_listed() || self.groups.iter().any(|group| is_member(*group))
    }
}

impl HostRule {
    fn matches(&self, address: IpAddr) -> Match {
        let of_each = self.hosts.iter().map(|hosts| hosts.matches(address));
        of_each.fold(Match::No, |all, one| match (all, one) {
            (Match::Yes, _) | (_, Match::Yes) => Match::Yes,
            (Match::Unknown, _) | (_, Match::Unknown) => Match::Unknown,
            (Match::No, Match::No) => Match::No,
        })
    }
}

impl HostSet {
    /// Whether the host at this address belongs to them. An IPv4 address mapped into IPv6 counts as the IPv4 address.
    #[must_use]
    pub fn matches(&self, address: IpAddr) -> Match {
        match self {
            Self::Any => Match::Yes,
            // A network of IP has no clients over AppleTalk, not even the network of all addresses.
            Self::Net(_) | Self::Name(_) if wire::is_appletalk(address) => Match::No,
            Self::Net(net) if net.contains(&address.to_canonical()) => Match::Yes,
            Self::Net(_) => Match::No,
            Self::Name(name) => name.matches(address),
        }
    }
}

impl std::fmt::Display for HostSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Net(net) => net.fmt(f),
            Self::Name(name) => f.write_str(name.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{Grantee, Role, RoleEntry};

    fn rule(network: &str, grant: Option<Grant>) -> HostRule {
        let hosts = match network {
            "*" => HostSet::Any,
            network => HostSet::Net(network.parse().unwrap()),
        };
        HostRule { hosts: vec![hosts], grant }
    }

    fn from<'a>(account: Option<&'a str>, address: &str) -> Visitor<'a> {
        Visitor { account, is_member: &|group| group == 50, address: address.parse().unwrap() }
    }

    #[test]
    fn accounts_groups_and_guests() {
        let open = SharePolicy::default();
        assert_eq!(open.grant(&from(Some("ada"), "10.0.0.1")), Some(Grant::ReadWrite));
        assert_eq!(open.grant(&from(None, "10.0.0.1")), None);
        let bobs = SharePolicy { users: vec!["Bob".into()], ..SharePolicy::default() };
        assert_eq!(bobs.grant(&from(Some("ada"), "10.0.0.1")), None);
        assert_eq!(bobs.grant(&from(Some("bob"), "10.0.0.1")), Some(Grant::ReadWrite));
        let staff = SharePolicy { groups: vec![50], read_only: true, ..bobs };
        assert_eq!(staff.grant(&from(Some("ada"), "10.0.0.1")), Some(Grant::ReadOnly));
        assert_eq!(SharePolicy::for_guests().grant(&from(None, "10.0.0.1")), Some(Grant::ReadWrite));
    }

    #[test]
    fn a_team_folder_admits_those_who_have_a_role_and_no_others() {
        let ada = Grantee::User { name: "ada".into(), uid: None };
        let entries = vec![
            RoleEntry { role: Role::Reader, grantee: ada },
            RoleEntry { role: Role::Drop, grantee: Grantee::Group(50) },
        ];
        let roles = Some(Arc::new(Roles::new(entries)));
        let team = SharePolicy { roles, users: vec!["eve".into()], ..SharePolicy::for_guests() };
        assert!(team.admits(Some("ADA"), &|_| false));
        assert!(team.admits(Some("bob"), &|group| group == 50));
        assert!(!team.admits(Some("eve"), &|_| false));
        assert!(!team.admits(None, &|_| true));
    }

    #[test]
    fn the_first_rule_that_matches_a_host_decides() {
        let policy = SharePolicy {
            hosts: vec![
                rule("10.0.0.7/32", None),
                rule("10.0.0.0/8", Some(Grant::ReadOnly)),
                rule("fd00::/64", Some(Grant::ReadWrite)),
            ],
            ..SharePolicy::default()
        };
        let grant = |address| policy.grant(&from(Some("ada"), address));
        assert_eq!(grant("10.0.0.7"), None);
        assert_eq!(grant("10.0.0.8"), Some(Grant::ReadOnly));
        assert_eq!(grant("::ffff:10.0.0.8"), Some(Grant::ReadOnly));
        assert_eq!(grant("fd00::1"), Some(Grant::ReadWrite));
        assert_eq!(grant("192.0.2.1"), None);
        let over_ip = SharePolicy {
            hosts: vec![rule("::/0", Some(Grant::ReadWrite)), rule("0.0.0.0/0", Some(Grant::ReadWrite))],
            ..SharePolicy::default()
        };
        let mac = wire::AppleTalkClient { network: 2, node: 17, socket: 250, session: 1 }.address().ip();
        assert_eq!(over_ip.grant_to_host(mac), None, "all networks of IP have no client over AppleTalk");
        assert_eq!(over_ip.grant_to_host("2001:db8::1".parse().unwrap()), Some(Grant::ReadWrite));
        let all = SharePolicy { hosts: vec![rule("*", Some(Grant::ReadOnly))], ..SharePolicy::default() };
        assert_eq!(all.grant_to_host(mac), Some(Grant::ReadOnly));
        assert_eq!(all.grant(&from(Some("ada"), "192.0.2.1")), Some(Grant::ReadOnly));
    }
}
