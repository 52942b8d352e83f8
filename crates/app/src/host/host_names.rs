//! Hosts by name in client rules: one table of names for all protocols, and how clients wait for it.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use admin::{ClientMatch, Settings};
use auth::{HostName, HostNames, HostSet, SystemNames};
use conn::AdmissionHook;

/// How long a client waits for look-ups. Then it is served, and rules with names do not let it in until the look-ups end.
const LONGEST_WAIT: Duration = Duration::from_secs(6);
/// The first pause between two looks at look-ups in flight. Each further one is twice as long,
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// up to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// One table for the process, so that a reload of the settings forgets no name.
static NAMES: LazyLock<Arc<HostNames>> = LazyLock::new(|| HostNames::new(Arc::new(SystemNames)));

/// The hosts of a rule.
pub(crate) fn hosts(matches: &[ClientMatch]) -> Vec<HostSet> {
    let set = |one: &ClientMatch| match one {
        ClientMatch::Any => HostSet::Any,
        ClientMatch::Net(net) => HostSet::Net(*net),
        ClientMatch::Name(name) => HostSet::Name(NAMES.rule(name)),
    };
    matches.iter().map(set).collect()
}

/// What each connection and datagram waits for before it is served: the names that the rules ask for. No thread waits.
pub(crate) fn before() -> AdmissionHook {
    Arc::new(|client| Box::pin(wait(client)))
}

async fn wait(client: IpAddr) {
    let (end, mut pause) = (Instant::now() + LONGEST_WAIT, FIRST_PAUSE);
    while !NAMES.prepare(client) && Instant::now() < end {
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Looks up what new settings ask about clients that are connected, so that these keep their shares. The names stay known while
/// the value exists.
pub(crate) fn known(settings: &Settings, clients: HashSet<IpAddr>) -> Vec<HostName> {
    let of_rules = settings.shares.iter().flat_map(|share| &share.clients).flat_map(|rule| &rule.matches);
    let matches = of_rules.chain(settings.server.trusted_hosts());
    let name = |one: &ClientMatch| match one {
        ClientMatch::Name(name) => Some(NAMES.rule(name)),
        ClientMatch::Any | ClientMatch::Net(_) => None,
    };
    let names: Vec<HostName> = matches.filter_map(name).collect();
    let (end, mut pause) = (Instant::now() + LONGEST_WAIT, FIRST_PAUSE);
    let mut unknown = clients;
    while !names.is_empty() && Instant::now() < end {
        unknown.retain(|client| !NAMES.prepare(*client));
        if unknown.is_empty() {
            break;
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    names
}
