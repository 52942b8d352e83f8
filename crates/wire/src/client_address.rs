//! The address of a client. A client over AppleTalk has one that fits where those of IP are kept: in tables, limits, rules of
//! shares and the log. It is an address of the block that no router forwards (100::/64, RFC 6666), so that no client over IP has
//! it, and it is shown as `appletalk:NETWORK.NODE`: what reads `2.17` in a log could take it for a short form of 2.0.0.17.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The first 96 bits of the address of a client over AppleTalk: the discard-only block, and `AT`.
const PREFIX: [u16; 6] = [0x100, 0, 0, 0, 0, 0x4154];
/// What is before the number of the network where people see it.
const WORD: &str = "appletalk:";

/// A client over AppleTalk: the node and the socket in it, *Inside AppleTalk*, "Datagram Delivery Protocol".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppleTalkClient {
    /// The number of its network.
    pub network: u16,
    /// Its node there.
    pub node: u8,
    /// The socket in the node.
    pub socket: u8,
    /// Which of its sessions: several can have one socket.
    pub session: u8,
}

impl AppleTalkClient {
    /// The client at this address, if it is one over AppleTalk.
    #[must_use]
    pub fn of(address: SocketAddr) -> Option<Self> {
        let (network, node) = node(address.ip())?;
        let [session, socket] = address.port().to_be_bytes();
        Some(Self { network, node, socket, session })
    }

    /// Its address among those of IP.
    #[must_use]
    pub fn address(self) -> SocketAddr {
        let port = u16::from_be_bytes([self.session, self.socket]);
        SocketAddr::new(ip(self.network, self.node), port)
    }
}

fn ip(network: u16, node: u8) -> IpAddr {
    let [a, b, c, d, e, f] = PREFIX;
    Ipv6Addr::new(a, b, c, d, e, f, network, u16::from(node)).into()
}

/// The network and node of a client over AppleTalk; `None`: it is one over IP.
fn node(address: IpAddr) -> Option<(u16, u8)> {
    let IpAddr::V6(address) = address else { return None };
    let [prefix @ .., network, node] = address.segments();
    Some((network, u8::try_from(node).ok()?)).filter(|_| prefix == PREFIX)
}

/// Whether the address is that of a client over AppleTalk.
#[must_use]
pub fn is_appletalk(address: IpAddr) -> bool {
    node(address).is_some()
}

/// The address of a client, without the port, as it is shown to people and written by them: one of IP, or
/// `appletalk:NETWORK.NODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientIp(pub IpAddr);

impl fmt::Display for ClientIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match node(self.0) {
            Some((network, node)) => write!(f, "{WORD}{network}.{node}"),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for ClientIp {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse() {
            return Ok(Self(address));
        }
        let parts = text.strip_prefix(WORD).and_then(|text| text.split_once('.'));
        let parts = parts.and_then(|(network, node)| Some((network.parse().ok()?, node.parse().ok()?)));
        let (network, node) = parts.ok_or("no address of IP, and no appletalk:NETWORK.NODE")?;
        Ok(Self(ip(network, node)))
    }
}

/// The address of a client as it is shown to people: `192.0.2.7:51515`, or `appletalk:NETWORK.NODE:SOCKET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub SocketAddr);

impl ClientAddress {
    /// What is shown as its port: over AppleTalk the socket.
    #[must_use]
    pub fn port(self) -> u16 {
        AppleTalkClient::of(self.0).map_or(self.0.port(), |client| u16::from(client.socket))
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match is_appletalk(self.0.ip()) {
            true => write!(f, "{}:{}", ClientIp(self.0.ip()), self.port()),
            false => self.0.fmt(f),
        }
    }
}

impl FromStr for ClientAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse() {
            return Ok(Self(address));
        }
        let parts = text
            .rsplit_once(':')
            .and_then(|(node, socket)| Some((node.parse().ok()?, socket.parse::<u8>().ok()?)));
        let (ClientIp(node), socket) =
            parts.ok_or("no ADDRESS:PORT, and no appletalk:NETWORK.NODE:SOCKET")?;
        let is_known = is_appletalk(node).then_some(Self(SocketAddr::new(node, socket.into())));
        is_known.ok_or("a port is missing or wrong")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_over_appletalk_is_shown_with_its_transport() {
        let client = AppleTalkClient { network: 65280, node: 12, socket: 252, session: 3 };
        let address = client.address();
        assert_eq!(AppleTalkClient::of(address), Some(client));
        assert!(is_appletalk(address.ip()));
        assert_eq!(ClientAddress(address).to_string(), "appletalk:65280.12:252");
        assert_eq!(ClientIp(address.ip()).to_string(), "appletalk:65280.12");
        assert_eq!("appletalk:65280.12".parse(), Ok(ClientIp(address.ip())));
        let written = AppleTalkClient { session: 0, ..client }.address();
        assert_eq!("appletalk:65280.12:252".parse(), Ok(ClientAddress(written)));
    }

    #[test]
    fn clients_over_ip_are_shown_as_before() {
        for text in ["192.0.2.7:51515", "[2001:db8::7]:2049", "[100::7]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(
                (ClientAddress(address).to_string(), AppleTalkClient::of(address)),
                (text.to_owned(), None)
            );
            assert_eq!(ClientIp(address.ip()).to_string().parse(), Ok(ClientIp(address.ip())));
        }
        assert!(
            ["", "1.2", "appletalk:1", "appletalk:1.256", "appletalk:65536.1", "appletalk:1.2.3"]
                .iter()
                .all(|text| text.parse::<ClientIp>().is_err())
        );
    }
}
