//! Which connections the API keeps: limits, and the connection that ends when one too many comes.
//!
//! A client that holds many connections and shows no token could keep administrators out. So at a limit, a further
//! connection ends another one that has shown neither a token nor a session: one without a request in flight, of the
//! address that has the most of them, the oldest. Connections that have shown one are never ended for others.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use lock::Mutex;
use tokio::sync::Notify;

use crate::admitted::Standing;
use crate::ranks;

/// Connections at the same time.
pub(crate) const MOST_CONNECTIONS: usize = 256;
/// Connections of one address, or of one IPv6 network of 64 bits.
const MOST_OF_ADDRESS: usize = 64;

/// The connections of the API. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Door {
    guests: Arc<Mutex<Guests, ranks::ApiConnections>>,
}

#[derive(Debug, Default)]
struct Guests {
    /// The number of the next connection: the oldest one has the smallest number.
    next: u64,
    present: Vec<Guest>,
}

#[derive(Debug)]
struct Guest {
    number: u64,
    network: IpAddr,
    standing: Standing,
    leave: Arc<Notify>,
}

/// A connection that counts, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    door: Door,
    number: u64,
    standing: Standing,
    leave: Arc<Notify>,
}

impl ConnectionGuard {
    /// What the requests of the connection have shown.
    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Waits until the connection must end for another one.
    pub(crate) async fn must_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.door.guests.lock().present.retain(|guest| guest.number != self.number);
    }
}

impl Door {
    /// Lets a connection of this address in, if need be by ending another one. `None`: it is refused.
    pub(crate) fn enter(&self, place: IpAddr) -> Option<ConnectionGuard> {
        let network = auth::network(place);
        let mut guests = self.guests.lock();
        let of_network = guests.present.iter().filter(|guest| guest.network == network).count();
        if of_network >= MOST_OF_ADDRESS {
            guests.end_one(|guest| guest.network == network)?;
        } else if guests.present.len() >= MOST_CONNECTIONS {
            guests.end_one(|_| true)?;
        }
        let (number, standing, leave) = (guests.next, Standing::default(), Arc::new(Notify::new()));
        guests.next += 1;
        guests.present.push(Guest { number, network, standing: standing.clone(), leave: leave.clone() });
        drop(guests);
        Some(ConnectionGuard { door: self.clone(), number, standing, leave })
    }
}

impl Guests {
    /// Ends a connection that has shown no token, among those that are meant. `None`: there is none.
    fn end_one(&mut self, is_meant: impl Fn(&Guest) -> bool) -> Option<()> {
        let is_stranger = |guest: &&Guest| !guest.standing.is_known();
        let mut strangers: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for guest in self.present.iter().filter(is_stranger) {
            *strangers.entry(guest.network).or_default() += 1;
        }
        let meant =
            self.present.iter().enumerate().filter(|(_, guest)| is_stranger(guest) && is_meant(guest));
        let (at, _) = meant.min_by_key(|(_, guest)| {
            (guest.standing.is_busy(), Reverse(strangers[&guest.network]), guest.number)
        })?;
        self.present.swap_remove(at).leave.notify_one();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(door: &Door, address: &str) -> Option<ConnectionGuard> {
        door.enter(address.parse().unwrap())
    }

    /// Whether the connection has been told to end.
    async fn is_ended(entered: &ConnectionGuard) -> bool {
        tokio::select! {
            biased;
            () = entered.must_leave() => true,
            () = std::future::ready(()) => false,
        }
    }

    fn present(door: &Door) -> usize {
        door.guests.lock().present.len()
    }

    #[tokio::test]
    async fn a_further_connection_of_an_ipv6_network_ends_its_oldest_idle_stranger() {
        let door = Door::default();
        let from = |host: usize| enter(&door, &format!("2001:db8::{host:x}")).unwrap();
        let entered: Vec<ConnectionGuard> = (0..MOST_OF_ADDRESS).map(from).collect();
        let busy = entered[0].standing().busy();
        entered[1].standing().know();
        let other = enter(&door, "2001:db8:0:1::1").unwrap();
        let further = from(0xffff);
        assert!(is_ended(&entered[2]).await, "0 has a request in flight, 1 has shown a token");
        for stays in [&entered[0], &entered[1], &entered[3], &other, &further] {
            assert!(!is_ended(stays).await);
        }
        drop(busy);
        let last = from(0xfffe);
        assert!(is_ended(&entered[0]).await && !is_ended(&last).await);
        assert_eq!(present(&door), MOST_OF_ADDRESS + 1);
        drop(entered);
        assert_eq!(present(&door), 3, "the two that were ended do not count twice");
    }

    #[tokio::test]
    async fn the_address_with_the_most_strangers_makes_room_for_others() {
        let door = Door::default();
        let few: Vec<ConnectionGuard> = (0..2).map(|_| enter(&door, "192.0.2.1").unwrap()).collect();
        let of = |network: usize, count: usize| -> Vec<ConnectionGuard> {
            (0..count).map(|_| enter(&door, &format!("198.51.100.{network}")).unwrap()).collect()
        };
        let known = of(1, MOST_OF_ADDRESS);
        known.iter().for_each(|one| one.standing().know());
        let many: Vec<Vec<ConnectionGuard>> = [of(2, 64), of(3, 63), of(4, 63)].into();
        assert_eq!(present(&door), MOST_CONNECTIONS);
        let late = enter(&door, "203.0.113.9").unwrap();
        assert_eq!(present(&door), MOST_CONNECTIONS);
        assert!(is_ended(&many[0][0]).await);
        for stays in few.iter().chain(&known).chain(&many[0][1..]).chain(&many[1]).chain([&late]) {
            assert!(!is_ended(stays).await);
        }
    }

    #[test]
    fn connections_with_tokens_are_not_ended_for_others() {
        let door = Door::default();
        let entered: Vec<ConnectionGuard> =
            (0..MOST_OF_ADDRESS).map(|_| enter(&door, "192.0.2.7").unwrap()).collect();
        entered.iter().for_each(|one| one.standing().know());
        assert!(enter(&door, "192.0.2.7").is_none());
        assert!(enter(&door, "192.0.2.8").is_some());
    }
}
