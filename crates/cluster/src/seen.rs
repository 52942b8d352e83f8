//! What one answer of etcd says of a cluster.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::common::Text;
use crate::etcd::EtcdPair;
use crate::membership::{Member, Members};

/// The grace period after the loss of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GracePeriod {
    /// The numbers of the lost servers.
    pub lost: Vec<u16>,
    /// Their clients may still reclaim.
    pub reclaims: bool,
}

/// What one answer of etcd says.
#[derive(Debug, Clone)]
pub struct EtcdState {
    /// The members.
    pub members: Members,
    /// The grace period, if there is one.
    pub grace: Option<GracePeriod>,
    /// The virtual addresses, each with the number of its server.
    pub addresses: Vec<(IpAddr, u16)>,
    /// The servers that were ordered to stop.
    pub drained: Vec<u16>,
    /// The revisions of the texts that the servers have in common.
    pub texts: Revisions,
    /// The server that keeps the schedules.
    pub schedules: Option<u16>,
    /// The shares with running backups of Macs, by the servers where these are.
    pub backups: BTreeMap<u16, Vec<String>>,
}

/// The revisions of the last changes of the texts that the servers have in common. 0: it was never written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// Of the table of LUNs.
    pub luns: u64,
    /// Of the accounts.
    pub accounts: u64,
    /// Of the settings.
    pub settings: u64,
}

impl EtcdState {
    pub(crate) fn of(prefix: &str, found: &[EtcdPair], members: Members) -> Self {
        let revision = |text: Text| {
            let key = text.marker(prefix);
            found.iter().find(|pair| pair.key == key).map_or(0, |pair| pair.revision)
        };
        let texts = Revisions {
            luns: revision(Text::Luns),
            accounts: revision(Text::Accounts),
            settings: revision(Text::Settings),
        };
        let schedules = schedules_key(prefix);
        let schedules = found.iter().find(|pair| pair.key == schedules);
        Self {
            members,
            grace: parse_grace(prefix, found),
            addresses: parse_addresses(prefix, found),
            drained: parse_drained(prefix, found),
            texts,
            schedules: schedules.and_then(|pair| pair.value.parse().ok()),
            backups: parse_backups(prefix, found),
        }
    }
}

/// The key of the server that keeps the schedules.
pub(crate) fn schedules_key(prefix: &str) -> String {
    format!("{prefix}schedules")
}

/// The key of the backups that run at a server.
pub(crate) fn backups_key(prefix: &str, number: u16) -> String {
    format!("{prefix}backups/{number}")
}

fn parse_backups(prefix: &str, found: &[EtcdPair]) -> BTreeMap<u16, Vec<String>> {
    let of = |pair: &EtcdPair| {
        let number = pair.key.strip_prefix(prefix)?.strip_prefix("backups/")?.parse().ok()?;
        Some((number, serde_json::from_str(&pair.value).ok()?))
    };
    found.iter().filter_map(of).collect()
}

pub(crate) fn parse_addresses(prefix: &str, found: &[EtcdPair]) -> Vec<(IpAddr, u16)> {
    let of = |pair: &EtcdPair| {
        let ip = pair.key.strip_prefix(prefix)?.strip_prefix("addresses/")?;
        Some((ip.parse().ok()?, pair.value.parse().ok()?))
    };
    found.iter().filter_map(of).collect()
}

fn parse_drained(prefix: &str, found: &[EtcdPair]) -> Vec<u16> {
    let of = |pair: &EtcdPair| pair.key.strip_prefix(prefix)?.strip_prefix("drain/")?.parse().ok();
    found.iter().filter_map(of).collect()
}

fn parse_grace(prefix: &str, found: &[EtcdPair]) -> Option<GracePeriod> {
    let of = |key: &str| found.iter().find(|pair| pair.key.strip_prefix(prefix) == Some(key));
    let lost = serde_json::from_str(&of("grace")?.value).ok()?;
    Some(GracePeriod { lost, reclaims: of("reclaims").is_some() })
}

/// The list of members, the revision of that, and the members that have a lease.
pub(crate) fn parse(prefix: &str, found: &[EtcdPair]) -> (Members, u64, Vec<Member>) {
    let view = found.iter().find(|pair| pair.key == format!("{prefix}view"));
    let members = view.and_then(|pair| serde_json::from_str(&pair.value).ok()).unwrap_or_default();
    let alive = found.iter().filter(|pair| pair.key.starts_with(&format!("{prefix}members/")));
    let alive = alive.filter_map(|pair| serde_json::from_str::<Member>(&pair.value).ok());
    let alive: BTreeMap<u16, Member> = alive.map(|member| (member.number, member)).collect();
    (members, view.map_or(0, |pair| pair.revision), alive.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_cluster_are_understood() {
        let pair = |key: &str, value: &str, revision| EtcdPair {
            key: format!("fourfold/home/{key}"),
            value: value.to_owned(),
            revision,
        };
        let found = [
            pair("accounts", "changed", 12),
            pair("backups/2", r#"["Backups"]"#, 3),
            pair("backups/x", "[]", 3),
            pair("drain/4", "", 4),
            pair("schedules", "2", 5),
            pair("settings", "changed", 9),
        ];
        let seen = EtcdState::of("fourfold/home/", &found, Members::default());
        assert_eq!(seen.texts, Revisions { luns: 0, accounts: 12, settings: 9 });
        assert_eq!((seen.schedules, seen.drained), (Some(2), vec![4]));
        assert_eq!(seen.backups, BTreeMap::from([(2, vec!["Backups".to_owned()])]));
    }
}
