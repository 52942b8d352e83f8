//! Which server of a cluster serves the LUNs of a target: the one with the target's virtual address. So an initiator
//! that knows this address only is always at the right server. Without virtual addresses, targets are spread over the
//! members.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use cluster::{Cluster, UnitPlaces};
use iscsi::server::{AccessState, MAIN_PORT, Paths, RelayFuture, TargetPort, Way};
use tokio::sync::watch;

use super::relay::Relay;

/// What this server knows of the cluster.
pub(crate) struct Roles {
    places: watch::Receiver<UnitPlaces>,
    /// The virtual addresses.
    addresses: Vec<IpAddr>,
    /// The TCP port of iSCSI.
    port: u16,
    targets: watch::Sender<Targets>,
    relay: Option<Relay>,
}

/// The targets of this server.
#[derive(Default)]
struct Targets {
    /// The addresses that the settings give, by the targets' names.
    addresses: HashMap<String, IpAddr>,
    /// The names of those whose LUNs this server serves.
    active: HashSet<String>,
}

impl Roles {
    /// The roles of a member of this cluster, which listens on this port.
    pub(crate) fn new(cluster: &Arc<Cluster>, port: u16) -> Arc<Self> {
        let addresses = cluster.addresses().iter().map(|address| address.ip).collect();
        let relay = Some(Relay::new(cluster.clone()));
        Arc::new(Self { relay, ..Self::of(cluster.places(), addresses, port) })
    }

    /// How commands come to the servers that serve their units.
    pub(crate) fn relay(&self) -> Option<&Relay> {
        self.relay.as_ref()
    }

    pub(super) fn of(places: watch::Receiver<UnitPlaces>, mut addresses: Vec<IpAddr>, port: u16) -> Self {
        addresses.sort_unstable();
        Self { places, addresses, port, targets: watch::Sender::default(), relay: None }
    }

    /// The number of this server, which no other server has or had.
    pub(super) fn me(&self) -> u16 {
        self.places.borrow().me
    }

    /// What changes when servers or addresses come and go.
    pub(crate) fn places(&self) -> watch::Receiver<UnitPlaces> {
        self.places.clone()
    }

    /// The addresses that the settings give, by the targets' names.
    pub(super) fn set_addresses(&self, addresses: HashMap<String, IpAddr>) {
        self.targets.send_modify(|targets| targets.addresses = addresses);
    }

    /// The names of the targets whose LUNs this server serves.
    pub(super) fn set_active(&self, active: HashSet<String>) {
        self.targets.send_modify(|targets| targets.active = active);
    }

    /// The server that is to serve a target's LUNs. `None`: its address is at no server.
    pub(super) fn server(&self, target: &str) -> Option<u16> {
        let places = self.places.borrow();
        match self.home(target) {
            Some(home) => places.addresses.iter().find(|(ip, _)| *ip == home).map(|(_, server)| *server),
            None => {
                let by_name = |name: &str| weight(target, name.as_bytes());
                let serving = places.members.iter().filter(|member| !member.portals.is_empty());
                let first = serving.max_by_key(|member| by_name(&member.name));
                first.map(|member| member.number)
            }
        }
    }

    /// The name of the server that is to serve a target's LUNs, if it is another one.
    pub(super) fn elsewhere(&self, target: &str) -> Option<String> {
        let (server, places) = (self.server(target), self.places.borrow());
        let other = places.members.iter().find(|member| Some(member.number) == server)?;
        (other.number != places.me).then(|| other.name.clone())
    }

    /// Where initiators without multipath reach a target. `None`: the cluster has no virtual addresses.
    pub(super) fn home(&self, target: &str) -> Option<IpAddr> {
        let set = self.targets.borrow().addresses.get(target).copied();
        let octets = |ip: &IpAddr| match ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let chosen = || self.addresses.iter().copied().max_by_key(|ip| weight(target, &octets(ip)));
        set.filter(|ip| self.addresses.contains(ip)).or_else(chosen)
    }

    fn is_virtual(&self, local: IpAddr) -> bool {
        self.addresses.contains(&local.to_canonical())
    }
}

impl Paths for Roles {
    fn port(&self, local: IpAddr) -> u16 {
        if self.is_virtual(local) {
            return MAIN_PORT;
        }
        let places = self.places.borrow();
        let me = places.members.iter().find(|member| member.number == places.me);
        me.map_or(MAIN_PORT, |member| member.port)
    }

    /// At a virtual address the virtual address of the target, at another one those of all servers. So an initiator
    /// without multipath does not see one disk several times.
    fn portals(&self, target: &str, local: SocketAddr) -> Vec<(SocketAddr, u16)> {
        if self.is_virtual(local.ip()) {
            let home = self.home(target).unwrap_or(local.ip());
            return vec![(SocketAddr::new(home, local.port()), MAIN_PORT)];
        }
        let own = (local, self.port(local.ip()));
        let places = self.places.borrow();
        let all = places
            .members
            .iter()
            .flat_map(|member| member.portals.iter().map(|portal| (*portal, member.port)));
        let is_of_family = |(portal, _): &(SocketAddr, u16)| portal.is_ipv4() == local.is_ipv4();
        let mut found: Vec<(SocketAddr, u16)> = all.filter(is_of_family).collect();
        if !found.contains(&own) {
            found.insert(0, own);
        }
        found
    }

    fn ports(&self, target: &str) -> Vec<TargetPort> {
        let server = self.server(target);
        let places = self.places.borrow();
        let moving = (!self.addresses.is_empty())
            .then_some(TargetPort { number: MAIN_PORT, access: AccessState::Active });
        let own = places.members.iter().filter(|member| member.port != 0).map(|member| {
            let access =
                if Some(member.number) == server { AccessState::Active } else { AccessState::Standby };
            TargetPort { number: member.port, access }
        });
        let mut ports: Vec<TargetPort> = moving.into_iter().chain(own).collect();
        ports.sort_by_key(|port| port.number);
        ports
    }

    fn way(&self, target: &str, local: IpAddr) -> Way {
        let home = self.home(target).filter(|_| self.is_virtual(local));
        match home {
            Some(home) if home != local.to_canonical() => Way::Elsewhere(SocketAddr::new(home, self.port)),
            Some(_) if !self.targets.borrow().active.contains(target) => Way::Soon,
            _ => Way::Here,
        }
    }

    fn relay<'a>(&'a self, target: &'a str, naa: u64, command: Vec<u8>) -> RelayFuture<'a> {
        Box::pin(async move { self.relay.as_ref()?.command(self, target, naa, &command).await })
    }

    fn tell(&self, naa: u64, attentions: Vec<u8>) {
        self.relay.iter().for_each(|relay| relay.tell(naa, &attentions));
    }
}

/// Rendezvous hashing: the candidate with the highest weight has the target, so a candidate that comes or goes moves its
/// own targets only. The same in all versions: FNV-1a, and the last step of splitmix64, as FNV changes the upper bits little.
fn weight(target: &str, candidate: &[u8]) -> u64 {
    let bytes = target.bytes().chain([0]).chain(candidate.iter().copied());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use cluster::membership::Member;

    use super::*;

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    /// Two servers, 7 and 9, of which this one is 7.
    fn places(addresses: &[(u8, u16)]) -> UnitPlaces {
        let member = |number: u16| Member {
            number,
            name: format!("gate{number}"),
            port: number - 5,
            portals: vec![SocketAddr::new(ip(number as u8), 3260)],
            ..Member::default()
        };
        let addresses = addresses.iter().map(|(last, server)| (ip(*last), *server)).collect();
        UnitPlaces { me: 7, members: vec![member(7), member(9)], addresses, ..UnitPlaces::default() }
    }

    fn roles(virtual_addresses: &[u8], held: &[(u8, u16)]) -> (watch::Sender<UnitPlaces>, Roles) {
        let (told, hears) = watch::channel(places(held));
        (told, Roles::of(hears, virtual_addresses.iter().map(|last| ip(*last)).collect(), 3260))
    }

    #[test]
    fn a_target_is_at_the_server_that_has_its_address() {
        let (told, roles) = roles(&[50], &[(50, 9)]);
        assert_eq!((roles.server("t"), roles.elsewhere("t")), (Some(9), Some("gate9".to_owned())));
        let port = |number, access| TargetPort { number, access };
        let [active, standby] = [AccessState::Active, AccessState::Standby];
        assert_eq!(roles.ports("t"), [port(1, active), port(2, standby), port(4, active)]);
        told.send_replace(places(&[]));
        assert_eq!(roles.server("t"), None); // its server is lost, and no other has the address yet
        told.send_replace(places(&[(50, 7)]));
        assert_eq!((roles.server("t"), roles.elsewhere("t")), (Some(7), None));
        assert_eq!(roles.ports("t"), [port(1, active), port(2, active), port(4, standby)]);
    }

    #[test]
    fn targets_are_spread_over_the_addresses_unless_the_settings_say_so() {
        let (_told, roles) = roles(&[50, 51], &[]);
        let homes = (0..64).filter(|number| roles.home(&format!("t{number}")) == Some(ip(50))).count();
        assert!((16..=48).contains(&homes), "{homes}");
        for set in [50, 51] {
            roles.set_addresses([("t".to_owned(), ip(set))].into());
            assert_eq!(roles.home("t"), Some(ip(set)));
        }
    }

    #[test]
    fn without_virtual_addresses_targets_are_spread_over_the_members() {
        let (told, roles) = roles(&[], &[]);
        let here = (0..64).filter(|number| roles.server(&format!("t{number}")) == Some(7)).count();
        assert!((16..=48).contains(&here), "{here}");
        let mut alone = places(&[]);
        alone.members.truncate(1);
        told.send_replace(alone);
        assert!((0..64).all(|number| roles.server(&format!("t{number}")) == Some(7)));
        assert_eq!(roles.way("t", ip(7)), Way::Here);
    }

    #[test]
    fn initiators_are_sent_to_the_address_of_the_target_and_wait_for_it_there() {
        let (_told, roles) = roles(&[50, 51], &[(50, 7), (51, 7)]);
        roles.set_addresses([("t".to_owned(), ip(51))].into());
        assert_eq!(roles.way("t", ip(50)), Way::Elsewhere((ip(51), 3260).into()));
        assert_eq!((roles.way("t", ip(51)), roles.way("t", ip(7))), (Way::Soon, Way::Here));
        roles.set_active(["t".to_owned()].into());
        assert_eq!(roles.way("t", ip(51)), Way::Here);
    }

    #[test]
    fn portals_are_that_of_the_target_at_virtual_addresses_and_those_of_all_servers_at_others() {
        let (_told, roles) = roles(&[50], &[(50, 9)]);
        let at = |last| SocketAddr::from((ip(last), 3260));
        assert_eq!(roles.portals("t", at(50)), [(at(50), 1)]);
        assert_eq!(roles.portals("t", at(7)), [(at(7), 2), (at(9), 4)]);
        assert_eq!(roles.portals("t", at(8)), [(at(8), 2), (at(7), 2), (at(9), 4)]);
        assert_eq!([50, 7, 8].map(|last| roles.port(ip(last))), [1, 2, 2]);
    }
}
