//! The networks that the host is on.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use if_addrs::{IfAddr, Interface};

/// The port of descriptions, DPWS 1.0, appendix. Windows uses the same.
pub(super) const HTTP_PORT: u16 = 5357;
/// The most networks that the device is announced on. Hosts of containers have hundreds of
/// addresses.
const MOST_LINKS: usize = 32;

/// An address of the host, with the network around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) ip: IpAddr,
    pub(super) interface: u32,
    prefix: u8,
}

impl Link {
    /// Whether a client is on this network. Other clients get no answer.
    pub(super) fn has(&self, client: SocketAddr) -> bool {
        match (self.ip, client) {
            (IpAddr::V4(own), SocketAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.ip().to_bits();
                self.prefix != 0 && differ.leading_zeros() >= self.prefix.into()
            }
            (IpAddr::V6(_), SocketAddr::V6(other)) => {
                other.ip().is_unicast_link_local() && other.scope_id() == self.interface
            }
            _ => false,
        }
    }

    /// An address of this host on this network.
    pub(super) fn at(&self, port: u16) -> SocketAddr {
        match self.ip {
            IpAddr::V4(_) => SocketAddr::new(self.ip, port),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, self.interface).into(),
        }
    }

    /// The address of descriptions for clients. Clients add the interface themselves.
    pub(super) fn http_address(&self) -> SocketAddr {
        SocketAddr::new(self.ip, HTTP_PORT)
    }
}

/// The networks from which clients can reach a server that listens on these addresses, in order.
pub(super) fn of(listen: &[IpAddr]) -> Vec<Link> {
    let mut links: Vec<Link> =
        if_addrs::get_if_addrs().unwrap_or_default().iter().filter_map(|one| link(one, listen)).collect();
    links.sort_by_key(|link| (link.interface, link.ip));
    links.truncate(MOST_LINKS);
    links
}

/// For IPv6 only link-local addresses: multicast reaches no others.
fn link(interface: &Interface, listen: &[IpAddr]) -> Option<Link> {
    let (ip, prefix) = match &interface.addr {
        IfAddr::V4(address) => (IpAddr::V4(address.ip), address.prefixlen),
        IfAddr::V6(address) => (IpAddr::V6(address.ip), address.prefixlen),
    };
    let can_multicast = match ip {
        IpAddr::V4(_) => !interface.is_p2p(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    let any = match ip {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let listens = listen.contains(&ip) || listen.contains(&any);
    let is_wanted = listens && can_multicast && !interface.is_loopback();
    is_wanted.then(|| Some(Link { ip, interface: interface.index?, prefix }))?
}

#[cfg(test)]
impl Link {
    /// The network of [`super::testing::CLIENT`].
    pub(super) fn example() -> Self {
        Self { ip: IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), interface: 3, prefix: 24 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_clients_of_the_same_network_are_answered() {
        let link = Link { ip: ip("192.0.2.130"), interface: 3, prefix: 25 };
        let has = |text: &str| link.has(text.parse().unwrap());
        assert!(has("192.0.2.129:1") && has("192.0.2.255:1"));
        assert!(!has("192.0.2.1:1") && !has("198.51.100.130:1") && !has("[fe80::1%3]:1"));
        let link = Link { ip: ip("fe80::2"), interface: 3, prefix: 64 };
        let has = |text: &str| link.has(text.parse().unwrap());
        assert!(has("[fe80::1%3]:1"));
        assert!(!has("[fe80::1%4]:1") && !has("[2001:db8::1]:1") && !has("192.0.2.129:1"));
        let point = Link { ip: ip("192.0.2.1"), interface: 3, prefix: 0 };
        assert!(!point.has("198.51.100.1:1".parse().unwrap()));
    }

    /// RFC 3986 3.2.2.
    #[test]
    fn urls_have_ipv6_addresses_in_brackets_without_the_interface() {
        let link = Link { ip: ip("fe80::2"), interface: 3, prefix: 64 };
        assert_eq!(link.http_address().to_string(), "[fe80::2]:5357");
        assert_eq!(link.at(1).to_string(), "[fe80::2%3]:1");
    }

    #[test]
    fn nothing_is_announced_on_loopback() {
        assert!(of(&[ip("127.0.0.1"), ip("::1")]).is_empty());
        assert!(of(&[ip("0.0.0.0"), ip("::")]).iter().all(|link| !link.ip.is_loopback()));
    }
}
