//! Which protocol is the best for a client: by what it is, and by what it has done since the server began.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use admin::Protocol;
use admin::control::ProtocolAdvice;

use super::sample::Activity;
use crate::fronts::{self, ClientSystem};

/// The most clients that are remembered. Later ones take the place of the one that did least.
const MOST: usize = 1024;
/// Requests from which on something is said of a client.
const ENOUGH: u64 = 1000;
/// Bytes of transfers, and requests, from which on two protocols of a client are compared.
const COMPARABLE: (u64, u64) = (1 << 30, 10_000);
/// How much faster another protocol must have been.
const FASTER: f64 = 1.15;

/// What the clients have done.
#[derive(Default)]
pub(super) struct Histories(HashMap<IpAddr, ClientHistory>);

#[derive(Default)]
struct ClientHistory {
    user: Option<String>,
    system: ClientSystem,
    protocols: BTreeMap<&'static str, (Protocol, ProtocolHistory)>,
}

/// What a client has done over one protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ProtocolHistory {
    requests: u64,
    /// Bytes of transfers, and the time of them.
    bytes: u64,
    transferring: Duration,
    /// Requests that were no transfers, and their time in the server and on the network.
    short: u64,
    waited: Duration,
}

impl ProtocolHistory {
    /// Bytes per second of transfers, if there were enough.
    fn speed(&self) -> Option<f64> {
        (self.bytes >= COMPARABLE.0).then(|| self.bytes as f64 / self.transferring.as_secs_f64().max(1e-3))
    }

    /// Seconds that a short request takes, if there were enough.
    fn latency(&self) -> Option<f64> {
        (self.short >= COMPARABLE.1).then(|| self.waited.as_secs_f64() / self.short as f64)
    }
}

impl Histories {
    /// Adds what a client did.
    pub(super) fn add(
        &mut self,
        client: IpAddr,
        (protocol, system, user): (Protocol, ClientSystem, Option<&str>),
        activity: &Activity,
    ) {
        if wire::is_appletalk(client) {
            return; // each connection has an address of its own, and there is no other protocol
        }
        if self.0.len() >= MOST && !self.0.contains_key(&client) {
            let least = self.0.iter().min_by_key(|(_, history)| history.requests()).map(|(least, _)| *least);
            least.iter().for_each(|least| drop(self.0.remove(least)));
        }
        let history = self.0.entry(client).or_default();
        if system != ClientSystem::Unknown {
            history.system = system;
        }
        if let Some(user) = user {
            history.user = Some(user.to_owned());
        }
        let of =
            &mut history.protocols.entry(protocol.word()).or_insert((protocol, ProtocolHistory::default())).1;
        of.requests += activity.requests;
        let parts = activity.parts(client.is_loopback());
        let (moved, waited) = (activity.bytes_in + activity.bytes_out, parts.network + parts.server);
        if activity.transfers() || activity.arriving > activity.answering {
            of.bytes += moved;
            of.transferring += waited;
        } else {
            of.short += activity.requests;
            of.waited += waited;
        }
    }

    /// What is said of the clients, those that should change first.
    pub(super) fn advice(&self) -> Vec<ProtocolAdvice> {
        let mut all: Vec<ProtocolAdvice> =
            self.0.iter().filter_map(|(client, history)| history.advice(*client)).collect();
        all.sort_by_key(|advice| (!advice.is_change(), advice.client));
        all
    }
}

impl ClientHistory {
    fn requests(&self) -> u64 {
        self.protocols.values().map(|(_, of)| of.requests).sum()
    }

    fn advice(&self, client: IpAddr) -> Option<ProtocolAdvice> {
        if client.is_loopback() || self.requests() < ENOUGH {
            return None;
        }
        let mut used: Vec<(Protocol, ProtocolHistory)> =
            self.protocols.values().filter(|(protocol, _)| *protocol != Protocol::Iscsi).copied().collect();
        used.sort_by_key(|(_, of)| std::cmp::Reverse(of.requests));
        let first = used.first()?.0;
        let (best, reason) = measured(&used).unwrap_or_else(|| {
            let (best, reason) =
                fronts::best_for(self.system).unwrap_or((first, "nothing is known that would be better."));
            (best, reason.to_owned())
        });
        Some(ProtocolAdvice {
            client,
            user: self.user.clone(),
            uses: used.into_iter().map(|(protocol, _)| protocol).collect(),
            best,
            reason,
            system: fronts::mount_command(self.system, best).unwrap_or_default().into(),
            commands: Vec::new(),
        })
    }
}

/// The protocol that was faster for this client, if it used two of them enough, and none of both was faster in one way and slower
/// in the other.
fn measured(used: &[(Protocol, ProtocolHistory)]) -> Option<(Protocol, String)> {
    let [(one, first), (other, second), ..] = used else { return None };
    // Above 1: the first is faster.
    let speeds = first.speed().zip(second.speed());
    let latencies = first.latency().zip(second.latency());
    let ratios = [speeds.map(|(a, b)| a / b), latencies.map(|(a, b)| b / a)];
    let ratios: Vec<f64> = ratios.into_iter().flatten().collect();
    let is_first = ratios.iter().all(|ratio| *ratio >= 1.0) && ratios.iter().any(|ratio| *ratio >= FASTER);
    let is_second =
        ratios.iter().all(|ratio| *ratio <= 1.0) && ratios.iter().any(|ratio| *ratio <= 1.0 / FASTER);
    if !is_first && !is_second {
        return None;
    }
    let mut said = Vec::new();
    if let Some((a, b)) = speeds {
        said.push(format!(
            "transfers of {:.0} MB/s over {} and {:.0} over {}",
            a / 1e6,
            one.title(),
            b / 1e6,
            other.title()
        ));
    }
    if let Some((a, b)) = latencies {
        let (a, b) = (a * 1e6, b * 1e6);
        said.push(format!(
            "short requests in {a:.0} µs over {} and {b:.0} over {}",
            one.title(),
            other.title()
        ));
    }
    Some((if is_first { *one } else { *other }, format!("this client had {}.", said.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::doctor::sample::PathActivity;

    const MAC: [u8; 4] = [192, 0, 2, 7];

    fn short(requests: u64, micros: u64) -> Activity {
        let answering = Duration::from_micros(micros * requests);
        Activity { span: answering * 2, requests, answering, ..Activity::default() }
    }

    fn transfer(bytes_out: u64, speed: u64) -> Activity {
        let busy = Duration::from_secs_f64(bytes_out as f64 / speed as f64);
        let path = PathActivity { busy, segment: 1448, ..PathActivity::default() };
        Activity { span: busy * 2, requests: 1000, bytes_out, path: Some(path), ..Activity::default() }
    }

    fn advice(done: &[(Protocol, ClientSystem, Activity)]) -> Option<ProtocolAdvice> {
        let mut histories = Histories::default();
        for (protocol, system, activity) in done {
            histories.add(MAC.into(), (*protocol, *system, Some("ada")), activity);
        }
        histories.advice().pop()
    }

    #[test]
    fn a_client_gets_the_protocol_that_its_system_is_made_for() {
        let mac = advice(&[(Protocol::Afp, ClientSystem::Mac, short(2000, 100))]).unwrap();
        assert_eq!((mac.best, mac.system.as_str(), mac.is_change()), (Protocol::Smb, "macOS (SMB)", true));
        let linux = advice(&[(Protocol::Smb, ClientSystem::Linux, short(2000, 100))]).unwrap();
        assert_eq!((linux.best, linux.system.as_str()), (Protocol::Nfs, "Linux (NFS)"));
        let windows = advice(&[(Protocol::Smb, ClientSystem::Windows, short(2000, 100))]).unwrap();
        assert!(!windows.is_change() && windows.user.as_deref() == Some("ada"));
        let old = advice(&[(Protocol::Afp, ClientSystem::ClassicMac, short(2000, 100))]).unwrap();
        assert!(!old.is_change());
        assert_eq!(advice(&[(Protocol::Afp, ClientSystem::Mac, short(10, 100))]), None, "it has done little");
    }

    #[test]
    fn what_was_faster_for_this_client_counts_more() {
        let both = |smb: Activity, afp: Activity| {
            advice(&[(Protocol::Smb, ClientSystem::Mac, smb), (Protocol::Afp, ClientSystem::Mac, afp)])
                .unwrap()
        };
        let faster = both(short(30_000, 400), short(20_000, 200));
        assert_eq!(faster.best, Protocol::Afp);
        assert_eq!(faster.reason, "this client had short requests in 400 µs over SMB and 200 over AFP.");
        assert_eq!(both(short(30_000, 210), short(20_000, 200)).best, Protocol::Smb, "hardly faster");
        assert_eq!(both(short(30_000, 400), short(500, 200)).best, Protocol::Smb, "too few to compare");
        let speeds = both(transfer(4 << 30, 50_000_000), transfer(2 << 30, 100_000_000));
        assert!(speeds.best == Protocol::Afp && speeds.reason.contains("100 MB/s over AFP and 50 over SMB"));
    }

    #[test]
    fn the_number_of_remembered_clients_has_a_limit() {
        let mut histories = Histories::default();
        for number in 0..2 * MOST as u32 {
            let client = IpAddr::from(std::net::Ipv4Addr::from(0x0A00_0000 + number));
            histories.add(
                client,
                (Protocol::Nfs, ClientSystem::Unknown, None),
                &short(u64::from(number) + 1, 1),
            );
        }
        assert_eq!(histories.0.len(), MOST);
    }
}
