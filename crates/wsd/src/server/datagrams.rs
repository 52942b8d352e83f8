//! Probe and Resolve over UDP, SOAP-over-UDP 1.0.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use super::links::Link;
use super::{AnnouncedDevice, PortError, message_id, random_delay};
use crate::wire::answer;
use crate::wire::namespace::{DEVICE_PROFILE, PUBLICATION};
use crate::wire::request::{Ask, MOST_BYTES, Request, Type as Kind};

/// WS-Discovery 2.4.
pub(super) const PORT: u16 = 3702;
const GROUP_V4: Ipv4Addr = Ipv4Addr::new(239, 255, 255, 250);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0xC);
/// The most answers of one link that wait for their delay.
const MOST_WAITING: usize = 64;

/// The sockets of a link.
pub(super) struct Sockets {
    pub(super) link: Link,
    group: SocketAddr,
    /// Bound to the multicast group. It receives messages to all devices.
    all: UdpSocket,
    /// Bound to the host's address. It receives messages to this host, and sends.
    own: UdpSocket,
}

impl Sockets {
    pub(super) fn open(link: &Link) -> Result<Self, PortError> {
        Self::try_open(link).map_err(|error| PortError { port: "UDP 3702", error })
    }

    fn try_open(link: &Link) -> io::Result<Self> {
        let group: SocketAddr = match link.ip {
            IpAddr::V4(_) => (GROUP_V4, PORT).into(),
            IpAddr::V6(_) => SocketAddrV6::new(GROUP_V6, PORT, 0, link.interface).into(),
        };
        let (all, own) = (bound(group)?, bound(link.at(PORT))?);
        match link.ip {
            IpAddr::V4(ip) => {
                // Only messages that arrive on this link, not those of groups that other sockets
                // have joined.
                all.set_multicast_all_v4(false)?;
                all.join_multicast_v4(&GROUP_V4, &ip)?;
                own.set_multicast_if_v4(&ip)?;
            }
            IpAddr::V6(_) => {
                all.set_multicast_all_v6(false)?;
                all.join_multicast_v6(&GROUP_V6, link.interface)?;
                own.set_multicast_if_v6(link.interface)?;
            }
        }
        let (all, own) = (UdpSocket::from_std(all.into())?, UdpSocket::from_std(own.into())?);
        Ok(Self { link: link.clone(), group, all, own })
    }

    /// Sends a message to every device on the link.
    pub(super) async fn to_everyone(&self, message: &str) {
        self.send(message, self.group).await;
    }

    async fn send(&self, message: &str, to: SocketAddr) {
        if let Err(error) = self.own.send_to(message.as_bytes(), to).await {
            tracing::debug!(%error, %to, "WS-Discovery"); // any datagram may be lost
        }
    }
}

/// The port is shared with other programs that answer to the group: a computer may be several
/// devices.
fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Answers the datagrams that arrive.
pub(super) async fn serve(announced: Arc<AnnouncedDevice>, sockets: Arc<Sockets>) {
    let (mut to_all, mut to_us) = (vec![0; MOST_BYTES + 1], vec![0; MOST_BYTES + 1]);
    let mut waiting = JoinSet::new();
    loop {
        let received = tokio::select! {
            received = sockets.all.recv_from(&mut to_all) => received.map(|(length, from)| (&to_all[..length], from)),
            received = sockets.own.recv_from(&mut to_us) => received.map(|(length, from)| (&to_us[..length], from)),
            Some(_) = waiting.join_next() => continue,
        };
        let Ok((message, from)) = received else {
            // An earlier answer may have caused the error.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        if !sockets.link.has(from) || waiting.len() == MOST_WAITING {
            continue;
        }
        let Some((answer, delay)) = answer_to(&announced, &sockets.link, message, from.ip()) else {
            continue;
        };
        let sockets = sockets.clone();
        waiting.spawn(async move {
            tokio::time::sleep(delay).await;
            sockets.send(&answer, from).await;
        });
    }
}

/// The answer to a datagram, and the delay before it. `None` if the datagram is no question, or
/// concerns other devices.
fn answer_to(
    announced: &AnnouncedDevice,
    link: &Link,
    message: &[u8],
    from: IpAddr,
) -> Option<(String, Duration)> {
    let request = Request::decode(message).ok()?;
    let (is_probe, is_about_us) = match &request.ask {
        Ask::Probe { types, scoped } => (true, !scoped && types.iter().all(is_ours)),
        Ask::Resolve { address } => (false, address.eq_ignore_ascii_case(&announced.endpoint)),
        Ask::Get | Ask::Other => return None,
    };
    let id = &request.message_id;
    if !is_about_us || !announced.limiter.lock().admits(from, id, Instant::now()) {
        return None;
    }
    let (place, sequence) = (announced.place(link), announced.sequence());
    let about = announced.about(&place);
    Some(match is_probe {
        // A Probe reaches all devices at once. They answer at random times, WS-Discovery 3.1.3.
        true => (answer::probe_matches(&message_id(), sequence, id, about), random_delay()),
        false => (answer::resolve_matches(&message_id(), sequence, id, about), Duration::ZERO),
    })
}

fn is_ours(kind: &Kind) -> bool {
    [(DEVICE_PROFILE, "Device"), (PUBLICATION, "Computer")].contains(&(&kind.namespace, &kind.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::{CLIENT, announced, message};
    use crate::wire::namespace::DISCOVERY;

    fn asked(name: &str, id: &str, body: &str) -> Option<String> {
        let announced = announced();
        let message = message(&format!("{DISCOVERY}/{name}"), id, body);
        answer_to(&announced, &Link::example(), &message, CLIENT).map(|(answer, _)| answer)
    }

    fn resolve(address: &str) -> String {
        let reference =
            format!("<a:EndpointReference><a:Address>{address}</a:Address></a:EndpointReference>");
        format!("<d:Resolve>{reference}</d:Resolve>")
    }

    /// WS-Discovery 5.2: the device must have all types of a Probe. 6.2: only the device itself
    /// answers a Resolve.
    #[test]
    fn only_questions_about_this_device_are_answered() {
        for types in ["", "p:Device", "c:Computer", "p:Device c:Computer"] {
            let answer =
                asked("Probe", "urn:uuid:1", &format!("<d:Probe><d:Types>{types}</d:Types></d:Probe>"));
            let answer = answer.unwrap_or_else(|| panic!("no answer to {types:?}"));
            assert!(answer.contains("<wsa:RelatesTo>urn:uuid:1</wsa:RelatesTo>"), "{answer}");
            let place = "<wsd:XAddrs>http://192.0.2.1:5357/00000000-0000-0000-0000-000000000007</wsd:XAddrs>";
            assert!(answer.contains(place), "{answer}");
        }
        for body in
            ["<d:Probe><d:Types>p:Printer</d:Types></d:Probe>", "<d:Probe><d:Scopes>x:y</d:Scopes></d:Probe>"]
        {
            assert_eq!(asked("Probe", "urn:uuid:1", body), None, "{body}");
        }
        let ours = "urn:uuid:00000000-0000-0000-0000-000000000007";
        assert!(asked("Resolve", "urn:uuid:1", &resolve(ours)).unwrap().contains("ResolveMatch>"));
        assert_eq!(asked("Resolve", "urn:uuid:1", &resolve("urn:uuid:8")), None);
        assert_eq!(asked("Hello", "urn:uuid:1", "<d:Hello/>"), None);
    }

    #[test]
    fn an_answer_is_not_much_longer_than_its_question_and_given_once() {
        const MOST_TIMES: usize = 5;
        let (announced, link) = (announced(), Link::example());
        let probe = message(&format!("{DISCOVERY}/Probe"), "urn:uuid:1", "<d:Probe/>");
        let (answer, _) = answer_to(&announced, &link, &probe, CLIENT).unwrap();
        assert!(answer.len() < MOST_TIMES * probe.len(), "{} for {}", answer.len(), probe.len());
        assert!(answer_to(&announced, &link, &probe, CLIENT).is_none());
    }
}
