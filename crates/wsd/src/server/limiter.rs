//! The rate limit of answers: one answer for each message, and a limited number for each client.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The answers that a client may get at once.
const BURST: u32 = 16;
/// The wait for each further answer.
const ONE_EVERY: Duration = Duration::from_millis(500);
/// The most clients that are remembered. Beyond that the client with the oldest entry is forgotten.
const MOST_CLIENTS: usize = 1024;
/// The most message ids that are remembered: clients send each message several times (SOAP-over-UDP
/// 2.2).
const MOST_IDS: usize = 64;

/// The state of all clients.
#[derive(Default)]
pub(super) struct Limiter {
    clients: HashMap<IpAddr, Client>,
    ids: VecDeque<(IpAddr, String)>,
}

struct Client {
    left: u32,
    /// The time at which `left` was computed.
    at: Instant,
}

impl Limiter {
    /// Whether a message with this id may be answered.
    pub(super) fn admits(&mut self, from: IpAddr, id: &str, now: Instant) -> bool {
        if self.ids.iter().any(|(client, known)| *client == from && known == id) {
            return false;
        }
        if !self.takes(from, now) {
            return false;
        }
        if self.ids.len() == MOST_IDS {
            self.ids.pop_front();
        }
        self.ids.push_back((from, id.to_owned()));
        true
    }

    /// Whether the client may get one more answer.
    pub(super) fn takes(&mut self, from: IpAddr, now: Instant) -> bool {
        if self.clients.len() == MOST_CLIENTS && !self.clients.contains_key(&from) {
            let oldest = self.clients.iter().min_by_key(|(_, client)| client.at).map(|(ip, _)| *ip);
            oldest.and_then(|ip| self.clients.remove(&ip));
        }
        let client = self.clients.entry(from).or_insert(Client { left: BURST, at: now });
        let passed = now.saturating_duration_since(client.at).as_millis() / ONE_EVERY.as_millis();
        if passed > 0 {
            client.left = BURST.min(client.left.saturating_add(u32::try_from(passed).unwrap_or(BURST)));
            client.at = now;
        }
        let may = client.left > 0;
        client.left = client.left.saturating_sub(1);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn a_message_is_answered_once_whatever_others_send() {
        let (mut limiter, now) = (Limiter::default(), Instant::now());
        assert!(limiter.admits(ONE, "a", now));
        assert!(!limiter.admits(ONE, "a", now));
        assert!(limiter.admits(OTHER, "a", now));
        assert!(limiter.admits(ONE, "b", now));
    }

    #[test]
    fn a_client_gets_so_many_answers_and_then_one_at_a_time() {
        let (mut limiter, now) = (Limiter::default(), Instant::now());
        let admitted = (0..100).filter(|n| limiter.admits(ONE, &n.to_string(), now)).count();
        assert_eq!(admitted, BURST as usize);
        assert!(limiter.admits(OTHER, "x", now));
        assert!(limiter.admits(ONE, "x", now + ONE_EVERY));
        assert!(!limiter.admits(ONE, "y", now + ONE_EVERY));
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let (mut limiter, now) = (Limiter::default(), Instant::now());
        for n in 0..5000_u32 {
            limiter.admits(IpAddr::from(n.to_be_bytes()), &n.to_string(), now);
        }
        assert_eq!((limiter.clients.len(), limiter.ids.len()), (MOST_CLIENTS, MOST_IDS));
    }
}
