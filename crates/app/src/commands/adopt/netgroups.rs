//! The hosts of netgroups, as the name service of this machine has them now. Rules for clients name hosts, so a netgroup is what it
//! contains when `adopt` runs, and the report says so.

use std::net::IpAddr;
use std::process::Command;

/// A host of a netgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// A name in lower case, or an address.
    pub(super) host: String,
    /// It belongs to the netgroup in one NIS domain only.
    pub(super) has_domain: bool,
}

/// Finds the hosts of a netgroup.
pub(super) type Netgroups = fn(&str) -> Result<Vec<Member>, String>;

/// What the report says of a netgroup.
pub(super) fn note(hosts: usize) -> String {
    format!("the {hosts} hosts that the netgroup has now: later changes to it are not followed")
}

/// Asks the name service of this machine.
pub(super) fn by_name_service(name: &str) -> Result<Vec<Member>, String> {
    let asked = Command::new("getent").args(["netgroup", name]).output();
    let answer = asked.map_err(|error| format!("getent cannot be run: {error}"))?;
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    if answer.trim().is_empty() {
        return Err("the name service of this machine has no such netgroup".into());
    }
    members(&answer)
}

/// The hosts of `name (host,user,domain) …`.
fn members(answer: &str) -> Result<Vec<Member>, String> {
    let mut members = Vec::new();
    for triple in answer.split('(').skip(1) {
        let triple = triple.split(')').next().unwrap_or_default();
        let mut fields = triple.split(',').map(str::trim);
        let host = fields.next().unwrap_or_default().to_ascii_lowercase();
        let has_domain = fields.nth(1).is_some_and(|domain| !domain.is_empty());
        match auth::is_host_name(&host) || host.parse::<IpAddr>().is_ok() {
            true => members.push(Member { host, has_domain }),
            false => return Err(format!("the netgroup has {host:?} as a host")),
        }
    }
    if members.is_empty() { Err("the netgroup has no hosts".into()) } else { Ok(members) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_netgroup_has_the_hosts_that_getent_prints() {
        let found = members("staff                 (pc1, , ) (PC2.example.org,-,example.org)\n").unwrap();
        let of = |host: &str, has_domain| Member { host: host.into(), has_domain };
        assert_eq!(found, [of("pc1", false), of("pc2.example.org", true)]);
        assert!(members("staff (,ada,)").is_err() && members("staff").is_err());
    }
}
