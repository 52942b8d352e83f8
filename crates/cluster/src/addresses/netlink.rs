//! Addresses of this host, by rtnetlink (rtnetlink(7)): values in the byte order of the host.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{netdevice, recv, send, socket_with};

use super::Address;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_DELNEIGH: u16 = 29;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_CREATE: u16 = 0x400;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_CACHEINFO: u16 = 6;
const IFA_FLAGS: u16 = 8;
/// The address is used at once: its former host may not answer any more, so there is no duplicate to look for.
const IFA_F_NODAD: u32 = 0x02;
/// Otherwise the route to the network, which the host's own address has, too, would end with the lifetime of this one.
const IFA_F_NOPREFIXROUTE: u32 = 0x200;
const IFLA_ADDRESS: u16 = 1;
const NDA_DST: u16 = 1;
/// The head of a message.
const HEAD: usize = 16;
/// The head of a message about a device: struct ifinfomsg.
const LINK_HEAD: usize = 16;
/// The kernel answers at once.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// Adds an address to its device, or lets it live longer. The kernel removes it after so many seconds.
pub(super) fn add(address: &Address, seconds: u32) -> io::Result<()> {
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    // The kernel takes an address of IPv6 that is not preferred for no connection that this host opens: it would end when the
    // address moves.
    let preferred = if address.ip.is_ipv6() { 0 } else { seconds };
    let mut life = Vec::new(); // preferred and valid; two times that the kernel does not read
    [preferred, seconds, 0, 0].iter().for_each(|value| life.extend(value.to_ne_bytes()));
    let mut more = attribute(IFA_CACHEINFO, &life);
    if address.ip.is_ipv6() {
        more.extend(attribute(IFA_FLAGS, &(IFA_F_NODAD | IFA_F_NOPREFIXROUTE).to_ne_bytes()));
    }
    change(address, (RTM_NEWADDR, flags), &more)
}

/// Removes an address, if it is there.
pub(super) fn remove(address: &Address) -> io::Result<()> {
    match change(address, (RTM_DELADDR, NLM_F_REQUEST | NLM_F_ACK), &[]) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::ADDRNOTAVAIL.raw_os_error()) => Ok(()),
        done => done,
    }
}

/// Forgets what the host knows of a neighbour, so that it asks for it.
pub(super) fn forget_neighbour(device: &str, neighbour: Ipv4Addr) -> io::Result<()> {
    let socket = open()?;
    let mut body = vec![AF_INET, 0, 0, 0]; // ndmsg
    body.extend(netdevice::name_to_index(&socket, device)?.to_ne_bytes());
    body.extend([0; 4]);
    body.extend(attribute(NDA_DST, &neighbour.octets()));
    ask(&socket, (RTM_DELNEIGH, NLM_F_REQUEST | NLM_F_ACK), &body)
}

fn change(address: &Address, what: (u16, u16), more: &[u8]) -> io::Result<()> {
    let socket = open()?;
    let (family, octets) = match address.ip {
        IpAddr::V4(ip) => (AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (AF_INET6, ip.octets().to_vec()),
    };
    let mut body = vec![family, address.prefix, 0, 0]; // ifaddrmsg
    body.extend(netdevice::name_to_index(&socket, &address.device)?.to_ne_bytes());
    body.extend(attribute(IFA_LOCAL, &octets));
    body.extend(attribute(IFA_ADDRESS, &octets));
    body.extend(more);
    ask(&socket, what, &body)
}

fn open() -> io::Result<OwnedFd> {
    let route = None::<Protocol>; // NETLINK_ROUTE is 0
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, route)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_WITHIN))?;
    Ok(socket)
}

/// The number of a device, and its link-layer address.
pub(super) fn link(device: &str) -> io::Result<(u32, Vec<u8>)> {
    let socket = open()?;
    let index = netdevice::name_to_index(&socket, device)?;
    let mut body = vec![0; LINK_HEAD];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    let answer = answer(&socket, (RTM_GETLINK, NLM_F_REQUEST), &body)?;
    Ok((index, link_address(&answer)?))
}

fn ask(socket: &OwnedFd, what: (u16, u16), body: &[u8]) -> io::Result<()> {
    acknowledged(&answer(socket, what, body)?)
}

/// The one datagram that the kernel answers with.
fn answer(socket: &OwnedFd, what: (u16, u16), body: &[u8]) -> io::Result<Vec<u8>> {
    send(socket, &message(what, body), SendFlags::empty())?;
    let mut answer = vec![0; 16384];
    let (_, length) = recv(socket, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

fn message((kind, flags): (u16, u16), body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEAD + body.len());
    message.extend(((HEAD + body.len()) as u32).to_ne_bytes()); // some hundred bytes
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]); // the sequence number and the sender: there is one request for a socket
    message.extend(body);
    message
}

/// An attribute, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut attribute = Vec::with_capacity(value.len() + 8);
    attribute.extend(((value.len() + 4) as u16).to_ne_bytes()); // 20 bytes at most
    attribute.extend(kind.to_ne_bytes());
    attribute.extend(value);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
}

/// The answer of the kernel: NLMSG_ERROR with a number, 0 for success.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
    let number = answer.get(HEAD..HEAD + 4).and_then(|number| number.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, number) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(number)) => Err(io::Error::from_raw_os_error(number.saturating_neg())),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The link-layer address in RTM_NEWLINK; other answers are errors.
fn link_address(answer: &[u8]) -> io::Result<Vec<u8>> {
    let number =
        |at: usize| answer.get(at..at + 2).and_then(|two| two.try_into().ok()).map(u16::from_ne_bytes);
    if number(4) != Some(RTM_NEWLINK) {
        acknowledged(answer)?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut at = HEAD + LINK_HEAD;
    while let (Some(length), Some(kind)) = (number(at).map(usize::from), number(at + 2)) {
        if length < 4 {
            break;
        }
        if kind == IFLA_ADDRESS {
            return answer
                .get(at + 4..at + length)
                .map(<[u8]>::to_vec)
                .ok_or(io::ErrorKind::InvalidData.into());
        }
        at += length.next_multiple_of(4);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "the device has no link-layer address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_as_iproute2_sends_it() {
        // `strace -e sendmsg ip address add 192.0.2.7/24 dev lo`, without the scope and the sequence number.
        let value = attribute(IFA_LOCAL, &[192, 0, 2, 7]);
        if cfg!(target_endian = "little") {
            assert_eq!(value, [8, 0, 2, 0, 192, 0, 2, 7]);
            let sent = message((RTM_NEWADDR, 0x605), &value);
            assert_eq!(sent[..8], [24, 0, 0, 0, 20, 0, 5, 6]);
            assert_eq!(sent.len(), 24);
        }
        assert_eq!(attribute(1, &[1]).len(), 8, "padded");
    }

    #[test]
    fn the_address_of_a_device_is_found_among_its_attributes() {
        let answer =
            |kind: u16, attributes: &[u8]| message((kind, 0), &[&[0; LINK_HEAD], attributes].concat());
        let name = attribute(3, b"eth0\0"); // IFLA_IFNAME
        let found =
            answer(RTM_NEWLINK, &[name.clone(), attribute(IFLA_ADDRESS, &[2, 0, 0, 0, 0, 9])].concat());
        assert_eq!(link_address(&found).unwrap(), [2, 0, 0, 0, 0, 9]);
        assert_eq!(link_address(&answer(RTM_NEWLINK, &name)).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(link_address(&answer(RTM_NEWLINK, &[0; 8])).is_err(), "an attribute without a length");
        assert_eq!(link_address(&answer(NLMSG_ERROR, &[])).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let whole = found.len() - 2; // the rest is padding
        assert!((0..whole).all(|length| link_address(&found[..length]).is_err()));
        assert!(link("no-such-device").is_err());
    }

    #[test]
    fn answers_are_errors_by_their_numbers() {
        let answer =
            |kind: u16, number: i32| [message((kind, 0), &number.to_ne_bytes()), vec![0; 16]].concat();
        assert!(acknowledged(&answer(NLMSG_ERROR, 0)).is_ok());
        assert_eq!(acknowledged(&answer(NLMSG_ERROR, -1)).unwrap_err().raw_os_error(), Some(1)); // EPERM
        assert!(acknowledged(&answer(NLMSG_ERROR, i32::MIN)).is_err());
        assert!(acknowledged(&answer(3, 0)).is_err()); // NLMSG_DONE
        assert!((0..20).all(|length| acknowledged(&answer(NLMSG_ERROR, 0)[..length]).is_err()));
    }
}
