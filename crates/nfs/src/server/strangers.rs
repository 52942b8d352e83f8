//! What hosts get by UDP that may be others than they say. The sender of a datagram can write any address into it, and the reply goes
//! there. So a host that no share admits gets no reply that is longer than its call, and its calls, as all calls of portmap,
//! which answers everybody, are answered only so often.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::Service;
use crate::wire::portmap;
use crate::wire::rpc::program;

/// The most such calls that are answered in a second: those of one address, and of all together. The latter bounds the table.
const OF_ADDRESS: u32 = 20;
const OF_ALL: u32 = 500;
const PERIOD: Duration = Duration::from_secs(1);

/// How a call may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answerable {
    /// By any reply.
    Fully,
    /// By a reply of this length at most.
    UpTo(usize),
    /// Not at all: too many of its kind have come.
    Dropped,
}

/// The calls of this second, on one socket.
#[derive(Default)]
pub(super) struct Strangers {
    since: Option<Instant>,
    answered: HashMap<IpAddr, u32>,
    all: u32,
}

impl Strangers {
    pub(super) fn judge(
        &mut self,
        service: &Service,
        from: IpAddr,
        message: &[u8],
        now: Instant,
    ) -> Answerable {
        let is_stranger = !service.exports().iter().any(|export| export.admits(from));
        if !is_stranger && program(message) != Some(portmap::PROGRAM) {
            return Answerable::Fully;
        }
        match (self.has_room(from, now), is_stranger) {
            (false, _) => Answerable::Dropped,
            (true, true) => Answerable::UpTo(message.len()),
            (true, false) => Answerable::Fully,
        }
    }

    fn has_room(&mut self, from: IpAddr, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= PERIOD) {
            *self = Self { since: Some(now), ..Self::default() };
        }
        if self.all >= OF_ALL {
            return false;
        }
        let of_address = self.answered.entry(from).or_default();
        if *of_address >= OF_ADDRESS {
            return false;
        }
        *of_address += 1;
        self.all += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u16) -> IpAddr {
        let [high, low] = number.to_be_bytes();
        [192, 0, high, low].into()
    }

    #[test]
    fn one_address_and_all_together_are_answered_so_often() {
        let (mut strangers, begun) = (Strangers::default(), Instant::now());
        let mut answered = |number, now| strangers.has_room(address(number), now);
        assert_eq!((0..30).filter(|_| answered(1, begun)).count(), 20);
        assert_eq!((2..1000).filter(|&number| answered(number, begun)).count(), 480);
        let later = begun + PERIOD;
        assert!(answered(1, later) && answered(999, later), "the next second");
    }
}
