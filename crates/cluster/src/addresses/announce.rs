//! Tells the network that a virtual address is at this host now.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6, UdpSocket};

use rustix::net::sockopt::{set_ipv6_multicast_hops, set_ipv6_multicast_loop};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, ipproto, sendto, socket_with};

use super::{Address, netlink};

/// The discard service: what is sent there is not read.
const DISCARD: u16 = 9;
/// All hosts of the link, RFC 4291 2.7.1.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// RFC 4861 4.4: others are ignored, as they may come from another link.
const HOPS: u32 = 255;

/// The ways of IPv4 and IPv6.
pub(super) fn announce(address: &Address) -> io::Result<()> {
    match address.ip {
        IpAddr::V4(ip) => by_questions(ip, address),
        IpAddr::V6(ip) => by_advertisement(ip, &address.device),
    }
}

/// Has the kernel ask the network for other addresses: each host that hears the question learns where this address is, as
/// the question has both of its addresses (RFC 826). A gratuitous ARP says no more, and would need raw sockets.
fn by_questions(ip: Ipv4Addr, address: &Address) -> io::Result<()> {
    let socket = UdpSocket::bind((ip, 0))?;
    for neighbour in neighbours(ip, address.prefix) {
        let _ = netlink::forget_neighbour(&address.device, neighbour); // not known
        let _ = socket.send_to(&[0], (neighbour, DISCARD)); // only the question for it matters
    }
    Ok(())
}

/// Two other addresses of the network.
fn neighbours(ip: Ipv4Addr, prefix: u8) -> Vec<Ipv4Addr> {
    let host_bits = 32_u32.saturating_sub(u32::from(prefix));
    if host_bits < 3 {
        return Vec::new();
    }
    let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
    let network = u32::from(ip) & mask;
    let last = network | !mask;
    let all = [last - 1, last - 2, network + 1].map(Ipv4Addr::from);
    all.into_iter().filter(|other| *other != ip).take(2).collect()
}

/// An unsolicited Neighbor Advertisement, RFC 4861 7.2.6: hosts that know the address replace its link-layer address. A question
/// to a neighbour, as of ARP, would be heard by that neighbour only. It needs CAP_NET_RAW.
fn by_advertisement(ip: Ipv6Addr, device: &str) -> io::Result<()> {
    let (index, link) = netlink::link(device)?;
    let kind = (AddressFamily::INET6, SocketType::RAW, SocketFlags::CLOEXEC);
    let socket = socket_with(kind.0, kind.1, kind.2, Some(ipproto::ICMPV6))?; // the kernel writes the checksum, RFC 3542 3.1
    set_ipv6_multicast_hops(&socket, HOPS)?;
    set_ipv6_multicast_loop(&socket, false)?;
    bind(&socket, &SocketAddrV6::new(ip, 0, 0, 0))?;
    let to = SocketAddrV6::new(ALL_NODES, 0, 0, index);
    sendto(&socket, &advertisement(ip, &link), SendFlags::empty(), &to)?;
    Ok(())
}

/// RFC 4861 4.4, with the flag Override.
fn advertisement(target: Ipv6Addr, link: &[u8]) -> Vec<u8> {
    const NEIGHBOR_ADVERTISEMENT: u8 = 136;
    const OVERRIDE: u8 = 0x20;
    const TARGET_LINK_LAYER_ADDRESS: u8 = 2;
    let mut packet = vec![NEIGHBOR_ADVERTISEMENT, 0, 0, 0, OVERRIDE, 0, 0, 0];
    packet.extend(target.octets());
    let units = (2 + link.len()).div_ceil(8); // a link-layer address has 32 bytes at most
    packet.extend([TARGET_LINK_LAYER_ADDRESS, u8::try_from(units).unwrap_or(0)]);
    packet.extend(link);
    packet.resize(24 + units * 8, 0);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_other_hosts_of_the_network() {
        let of = |last, prefix| neighbours([192, 0, 2, last].into(), prefix);
        assert_eq!(of(7, 24), [Ipv4Addr::new(192, 0, 2, 254), Ipv4Addr::new(192, 0, 2, 253)]);
        assert_eq!(of(254, 24), [Ipv4Addr::new(192, 0, 2, 253), Ipv4Addr::new(192, 0, 2, 1)]);
        assert!(of(1, 32).is_empty());
    }

    #[test]
    fn an_advertisement_has_the_address_and_its_link_layer_address() {
        // RFC 4861 4.4 and 4.6.1; the checksum is the kernel's.
        let packet = advertisement("2001:db8::7".parse().unwrap(), &[2, 0, 0, 0, 0, 9]);
        let target = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
        assert_eq!(packet, [&[136, 0, 0, 0, 0x20, 0, 0, 0][..], &target, &[2, 1, 2, 0, 0, 0, 0, 9]].concat());
        assert_eq!(
            advertisement(ALL_NODES, &[7; 20]).len(),
            24 + 24,
            "IP over InfiniBand: three units of 8 bytes"
        );
    }
}
