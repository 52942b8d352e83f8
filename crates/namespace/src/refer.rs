//! Where a client is led: the targets that are up, those of its own site first.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use lock::RwLock;

use crate::ranks;
use crate::table::{DEFAULT_TTL, Link, Site, Table, TargetOrder};
use crate::target::{Protocol, Target};
use crate::text;

/// The table and the health of its targets. All protocols share one; a reload replaces the table.
pub struct Namespace {
    state: RwLock<ReferralState, ranks::Namespace>,
    /// Goes through the targets of links that are spread.
    turn: AtomicUsize,
}

#[derive(Default)]
struct ReferralState {
    table: Table,
    /// The texts of the links, and their indexes.
    texts: HashMap<Vec<u8>, usize>,
    health: HashMap<Target, Health>,
}

/// What the checks of a target have found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The last check succeeded.
    pub is_up: bool,
    /// Since when this is so.
    pub since: SystemTime,
    /// How long the last check took.
    pub took: Duration,
    /// Why the last check failed.
    pub error: Option<String>,
    /// Checks since the start.
    pub checks: u64,
    /// Those that failed.
    pub failures: u64,
}

/// The client that asks.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// Its address.
    pub address: IpAddr,
    /// The site that it says it is in.
    pub site: Option<&'a str>,
}

impl Client<'_> {
    /// A client that says nothing of its site.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Client { address, site: None }
    }
}

/// Where a client is led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referral {
    /// The targets, the best first; at least one.
    pub targets: Vec<Choice>,
    /// How long the client keeps this.
    pub ttl: Duration,
    /// The client goes back to a better target when that is up again.
    pub failback: bool,
}

/// A target in a referral.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The target.
    pub target: Target,
    /// It is not as good as the one before it.
    pub begins_set: bool,
}

/// A target in the order for a client, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The target.
    pub target: Target,
    /// It is in the site of the client.
    pub is_near: bool,
    /// What its checks have found; `None`: it was not checked.
    pub health: Option<Health>,
    /// Clients are led to it.
    pub is_used: bool,
}

impl std::fmt::Debug for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Namespace").finish_non_exhaustive()
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self { state: RwLock::new(ReferralState::default()), turn: AtomicUsize::new(0) }
    }
}

impl Namespace {
    /// Replaces the table. What is known of targets that stay is kept.
    pub fn set(&self, table: Table) {
        let mut state = self.state.write();
        // Of two links with the same targets the first counts: the settings refuse those that differ in more.
        let texts = table.links.iter().enumerate().rev();
        let texts = texts.map(|(index, link)| (link.text().into_bytes(), index)).collect();
        let stays =
            |target: &Target| table.links.iter().any(|link| link.checked && link.targets.contains(target));
        state.health.retain(|target, _| stays(target));
        (state.table, state.texts) = (table, texts);
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> Table {
        self.state.read().table.clone()
    }

    /// Notes the result of a check: how long it took, or why it failed. Returns whether the target went up or down.
    pub fn checked(&self, target: &Target, result: Result<Duration, String>, now: SystemTime) -> bool {
        let mut state = self.state.write();
        let is_known = state.table.links.iter().any(|link| link.checked && link.targets.contains(target));
        if !is_known {
            return false; // a reload has removed it meanwhile
        }
        let is_up = result.is_ok();
        let (before, earlier) = match state.health.get(target) {
            Some(health) => (health.is_up, Some(health.clone())),
            None => (true, None),
        };
        let changed = before != is_up;
        let (checks, failures) = earlier.as_ref().map_or((0, 0), |health| (health.checks, health.failures));
        let since = earlier.filter(|_| !changed).map_or(now, |health| health.since);
        let took = result.as_ref().copied().unwrap_or_default();
        let failures = failures + u64::from(!is_up);
        let health = Health { is_up, since, took, error: result.err(), checks: checks + 1, failures };
        state.health.insert(target.clone(), health);
        changed
    }

    /// What the checks of a target have found; `None`: it was not checked.
    #[must_use]
    pub fn health(&self, target: &Target) -> Option<Health> {
        self.state.read().health.get(target).cloned()
    }

    /// Where a link with this text leads clients of a protocol. `None`: it is no link of a namespace, or has no target for them.
    #[must_use]
    pub fn refer(&self, text: &[u8], protocol: Protocol, client: Client<'_>) -> Option<Referral> {
        if !text::is_marked(text) {
            return None;
        }
        let state = self.state.read();
        let link = state.texts.get(text).map(|index| &state.table.links[*index]);
        let found;
        let targets = match link {
            Some(link) => &link.targets,
            None => {
                found = text::read(text);
                &found
            }
        };
        let is_spread = link.is_some_and(|link| link.order == TargetOrder::Spread);
        let turn = if is_spread { self.turn.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let of_protocol = targets.iter().filter(|target| target.protocol == protocol);
        let standings = state.standings(of_protocol, client, is_spread.then_some(turn));
        let targets = choices(standings, is_spread);
        if targets.is_empty() {
            return None;
        }
        let (ttl, failback) = link.map_or((DEFAULT_TTL, true), |link| (link.ttl, link.failback));
        Some(Referral { targets, ttl, failback })
    }

    /// All targets of a link in the order for a client, of each protocol in turn.
    #[must_use]
    pub fn standings(&self, link: &Link, client: Client<'_>) -> Vec<Standing> {
        let state = self.state.read();
        let of = |protocol| {
            let targets = link.targets.iter().filter(move |target| target.protocol == protocol);
            state.standings(targets, client, None)
        };
        Protocol::ALL.into_iter().flat_map(of).collect()
    }
}

impl ReferralState {
    /// The targets in the order for a client; those of a set are rotated by `turn`.
    fn standings<'t>(
        &self,
        targets: impl Iterator<Item = &'t Target>,
        client: Client<'_>,
        turn: Option<usize>,
    ) -> Vec<Standing> {
        let named = client.site.and_then(|name| self.table.site_named(name));
        let site: Option<&Site> = named.or_else(|| self.table.site_of(client.address));
        let standing = |target: &Target| Standing {
            target: target.clone(),
            is_near: site.is_some_and(|site| site.has(&target.host)),
            health: self.health.get(target).cloned(),
            is_used: true,
        };
        let (mut near, mut far): (Vec<_>, Vec<_>) = targets.map(standing).partition(|one| one.is_near);
        for set in [&mut near, &mut far] {
            let len = set.len().max(1);
            set.rotate_left(turn.unwrap_or(0) % len);
        }
        near.append(&mut far);
        let is_up = |one: &Standing| one.health.as_ref().is_none_or(|health| health.is_up);
        // If all are down, clients may try: the checks can be wrong, and an empty referral helps no client.
        if near.iter().any(is_up) {
            near.iter_mut().for_each(|one| one.is_used = is_up(one));
        }
        near
    }
}

/// The targets that are used. Listed ones are preferred one by one; spread ones by their site only.
fn choices(standings: Vec<Standing>, is_spread: bool) -> Vec<Choice> {
    let mut before = None;
    let used = standings.into_iter().filter(|one| one.is_used);
    used.map(|one| {
        let begins_set = !is_spread || before.replace(one.is_near) != Some(one.is_near);
        Choice { target: one.target, begins_set }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: [u8; 4] = [10, 1, 0, 7];

    fn target(url: &str) -> Target {
        Target::of_url(url).unwrap()
    }

    fn link(urls: &[&str]) -> Link {
        Link {
            path: "studio/archive".into(),
            targets: urls.iter().map(|url| target(url)).collect(),
            comment: String::new(),
            ttl: Duration::from_secs(60),
            order: TargetOrder::Listed,
            failback: true,
            checked: true,
            credentials: None,
        }
    }

    fn namespace(link: Link) -> Namespace {
        let site = |name: &str, network: &str, server: &str| Site {
            name: name.into(),
            networks: vec![network.parse().unwrap()],
            servers: vec![server.into()],
        };
        let sites = vec![site("world", "10.0.0.0/8", "a"), site("berlin", "10.1.0.0/16", "C")];
        let namespace = Namespace::default();
        namespace.set(Table { links: vec![link], sites });
        namespace
    }

    /// The servers in the order for the client, a bar before each that begins a set.
    fn order(namespace: &Namespace, site: Option<&str>) -> String {
        let text = namespace.table().links[0].text();
        let client = Client { address: CLIENT.into(), site };
        let referral = namespace.refer(text.as_bytes(), Protocol::Smb, client).unwrap();
        let shown =
            |choice: &Choice| format!("{}{}", if choice.begins_set { "|" } else { "" }, choice.target.host);
        referral.targets.iter().map(shown).collect()
    }

    fn fail(namespace: &Namespace, url: &str) -> bool {
        namespace.checked(&target(url), Err("no answer".into()), SystemTime::UNIX_EPOCH)
    }

    const THREE: [&str; 4] = ["smb://a/s", "smb://b/s", "nfs://b/s", "smb://c/s"];

    #[test]
    fn the_site_of_the_smallest_network_comes_first_then_the_order_written() {
        let namespace = namespace(link(&THREE));
        assert_eq!(order(&namespace, None), "|c|a|b");
        assert_eq!(order(&namespace, Some("World")), "|a|b|c", "a client that names its site");
        assert_eq!(order(&namespace, Some("unknown")), "|c|a|b");
    }

    #[test]
    fn a_target_that_is_down_is_left_out_and_comes_back() {
        let namespace = namespace(link(&THREE));
        assert!(fail(&namespace, "smb://c/s") && !fail(&namespace, "smb://c/s"), "it goes down once");
        assert_eq!(order(&namespace, None), "|a|b");
        let health = namespace.health(&target("smb://c/s")).unwrap();
        assert_eq!((health.checks, health.failures, health.error.as_deref()), (2, 2, Some("no answer")));
        fail(&namespace, "smb://a/s");
        fail(&namespace, "smb://b/s");
        assert_eq!(order(&namespace, None), "|c|a|b", "when all are down, clients try all");
        assert!(namespace.checked(
            &target("smb://c/s"),
            Ok(Duration::from_millis(3)),
            SystemTime::UNIX_EPOCH
        ));
        assert_eq!(order(&namespace, None), "|c");
        assert!(!fail(&namespace, "smb://other/s"), "what is not in the table is not kept");
        assert_eq!(namespace.health(&target("smb://other/s")), None);
    }

    #[test]
    fn a_reload_keeps_what_is_known_of_targets_that_stay() {
        let namespace = namespace(link(&THREE));
        fail(&namespace, "smb://a/s");
        fail(&namespace, "smb://b/s");
        namespace.set(Table { links: vec![link(&["smb://a/s", "smb://d/s"])], sites: Vec::new() });
        assert_eq!(order(&namespace, None), "|d");
        assert_eq!(namespace.health(&target("smb://b/s")), None);
    }

    #[test]
    fn spread_targets_take_turns_within_their_set() {
        let namespace =
            namespace(Link { order: TargetOrder::Spread, ..link(&["smb://a/s", "smb://b/s", "smb://c/s"]) });
        let orders: Vec<String> = (0..3).map(|_| order(&namespace, None)).collect();
        assert_eq!(orders, ["|c|ab", "|c|ba", "|c|ab"]);
    }

    #[test]
    fn a_link_that_is_not_in_the_table_has_the_order_of_its_text() {
        let namespace = namespace(link(&THREE));
        let client = Client::at([192, 0, 2, 1].into());
        let referral = namespace.refer(br"msdfs:x\s,y\s", Protocol::Smb, client).unwrap();
        assert_eq!(referral.ttl, DEFAULT_TTL);
        let hosts: Vec<_> = referral.targets.iter().map(|choice| choice.target.host.as_str()).collect();
        assert_eq!(hosts, ["x", "y"]);
        assert_eq!(namespace.refer(br"msdfs:x\s", Protocol::Nfs, client), None);
        assert_eq!(namespace.refer(b"docs", Protocol::Smb, client), None);
    }
}
