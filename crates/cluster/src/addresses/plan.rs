//! Which addresses a server takes, and which it gives away. Pure.

use std::net::IpAddr;

/// An address and the number of its server.
pub(crate) type AddressAssignment = (IpAddr, u16);

/// What a server does next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressPlan {
    /// No server has these.
    pub(crate) take: Vec<IpAddr>,
    /// No client uses these, and a server has fewer.
    pub(crate) give: Vec<IpAddr>,
}

/// Spreads the addresses over the servers that take some (`takers`, ascending; this one is `me`). An address stays where
/// clients use it.
pub(crate) fn plan(
    wanted: &[IpAddr],
    held: &[AddressAssignment],
    (takers, me): (&[u16], u16),
    is_used: impl Fn(IpAddr) -> bool,
) -> AddressPlan {
    let Some(rank) = takers.iter().position(|taker| *taker == me) else { return AddressPlan::default() };
    let share = wanted.len().div_ceil(takers.len());
    let has = |ip: &IpAddr| held.iter().any(|(other, _)| other == ip);
    let own: Vec<IpAddr> = wanted.iter().copied().filter(|ip| held.contains(&(*ip, me))).collect();
    // Servers that look at the same time try different ones first.
    let free: Vec<IpAddr> = wanted.iter().copied().filter(|ip| !has(ip)).collect();
    let first = rank % free.len().max(1);
    let free = free[first..].iter().chain(&free[..first]).copied();
    let take = free.take(share.saturating_sub(own.len())).collect();
    let excess = own.len().saturating_sub(share);
    AddressPlan { take, give: own.into_iter().filter(|ip| !is_used(*ip)).take(excess).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn addresses_are_spread_and_stay_where_they_are_used() {
        let wanted = [ip(1), ip(2), ip(3)];
        let of = |held: &[AddressAssignment], takers: &[u16], me, used: &[IpAddr]| {
            let plan = plan(&wanted, held, (takers, me), |ip| used.contains(&ip));
            (plan.take, plan.give)
        };
        assert_eq!(of(&[], &[7], 7, &[]), (wanted.to_vec(), vec![]));
        let all = [(ip(1), 7), (ip(2), 7), (ip(3), 7)];
        // A second server: one idle address moves.
        assert_eq!(of(&all, &[7, 9], 7, &[ip(1)]), (vec![], vec![ip(2)]));
        assert_eq!(of(&all, &[7, 9], 7, &wanted), (vec![], vec![]));
        assert_eq!(of(&all, &[7, 9], 9, &[]), (vec![], vec![]));
        // The first one is lost: its addresses are free.
        assert_eq!(of(&[(ip(2), 9)], &[9], 9, &[]), (vec![ip(1), ip(3)], vec![]));
        // Two servers that start together try different addresses.
        assert_eq!(of(&[], &[7, 9], 7, &[]).0, [ip(1), ip(2)]);
        assert_eq!(of(&[], &[7, 9], 9, &[]).0, [ip(2), ip(3)]);
        // A server without addresses in its settings.
        assert_eq!(of(&[], &[9], 7, &[]), (vec![], vec![]));
    }
}
