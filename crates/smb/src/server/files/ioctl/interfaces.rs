//! QUERY_NETWORK_INTERFACE_INFO, MS-SMB2 3.3.5.15.11: where else the server can be reached, for more connections.

use std::net::IpAddr;

use super::{IoctlCall, IoctlOutput};
use crate::server::context::{Context, Failure};
use crate::wire::Status;
use crate::wire::fsctl::network::{self, Capability, NetworkInterface};
use crate::wire::values::Capabilities;

/// The speed of an interface whose speed the host does not know: 1 Gb/s.
const USUAL_SPEED: u64 = 1_000_000_000;
/// The most addresses in an answer.
const MAX_ADDRESSES: usize = 64;

pub(super) fn query(asked: &IoctlCall<'_>) -> Result<IoctlOutput, Failure> {
    asked.without_file()?;
    let negotiated = asked.context.connection.negotiated().ok_or(Status::INVALID_PARAMETER)?;
    if !negotiated.server_capabilities.contains(Capabilities::MULTI_CHANNEL) {
        return Err(Status::NOT_SUPPORTED.into());
    }
    let all = interfaces(asked.context);
    if asked.room() < all.len() * NetworkInterface::LEN || asked.room() < NetworkInterface::LEN {
        return Err(Status::BUFFER_TOO_SMALL.into());
    }
    Ok(IoctlOutput::encoded(|w| network::encode(&all, w)))
}

/// The addresses of this host that the server listens on. A client on the loopback interface gets
/// only loopback addresses. Other clients get none of them.
fn interfaces(context: &Context) -> Vec<NetworkInterface> {
    let loopback = context.connection.peer.address.ip().to_canonical().is_loopback();
    let listens = &context.service().config().listens_on;
    let listens_at = |address: IpAddr| {
        let same_family = |at: &IpAddr| at.is_ipv4() == address.is_ipv4();
        listens.is_empty()
            || listens.iter().any(|at| *at == address || (at.is_unspecified() && same_family(at)))
    };
    let usable = |address: IpAddr| {
        let link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
        address.is_loopback() == loopback && !link_local && listens_at(address)
    };
    let found = if_addrs::get_if_addrs().unwrap_or_default().into_iter();
    let found = found.filter(|interface| usable(interface.ip()) && interface.is_oper_up());
    let of_one = |interface: if_addrs::Interface| NetworkInterface {
        index: interface.index.unwrap_or(0),
        capability: if has_queues(&interface.name) { Capability::RSS_CAPABLE } else { Capability::NONE },
        link_speed: link_speed(&interface.name).unwrap_or(USUAL_SPEED),
        address: interface.ip(),
    };
    found.map(of_one).take(MAX_ADDRESSES).collect()
}

/// In bits per second, as the host knows it.
fn link_speed(name: &str) -> Option<u64> {
    let megabits = std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?;
    megabits.trim().parse::<u64>().ok().filter(|speed| *speed > 0).map(|speed| speed * 1_000_000)
}

/// Whether the interface spreads received packets over several processors. Only then do several
/// connections to it help.
fn has_queues(name: &str) -> bool {
    let queues = std::fs::read_dir(format!("/sys/class/net/{name}/queues"));
    let receives = |entry: &std::fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"rx-");
    queues.is_ok_and(|queues| queues.flatten().filter(receives).count() > 1)
}
