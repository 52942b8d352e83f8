//! QUERY_NETWORK_INTERFACE_INFO, MS-SMB2 2.2.32.5.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::{Malformed, Reader, Writer};

use crate::wire::fscc::chain::{self, Chain};

wire::bits! {
    /// Capability of an interface.
    pub Capability: u32 {
        RSS_CAPABLE = 1,
        RDMA_CAPABLE = 2,
    }
}

/// An address of the server. An interface with several addresses has several of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkInterface {
    pub index: u32,
    pub capability: Capability,
    /// In bits per second.
    pub link_speed: u64,
    pub address: IpAddr,
}

/// SOCKADDR_STORAGE.
const SOCKADDR_LEN: usize = 128;
const INTERNETWORK: u16 = 2;
const INTERNETWORK_V6: u16 = 0x17;

impl NetworkInterface {
    /// How long each is.
    pub const LEN: usize = 152;
}

/// The addresses of a response. Addresses of other families are left out.
pub fn decode(r: &mut Reader<'_>) -> Result<Vec<NetworkInterface>, Malformed> {
    let all = chain::entries(r.rest()).map(|entry| interface(&mut entry?));
    all.filter_map(Result::transpose).collect()
}

fn interface(r: &mut Reader<'_>) -> Result<Option<NetworkInterface>, Malformed> {
    let (index, capability) = (r.u32_le()?, Capability(r.u32_le()?));
    r.skip(4)?;
    let link_speed = r.u64_le()?;
    let address = address(&mut Reader::new(r.take(SOCKADDR_LEN)?))?;
    Ok(address.map(|address| NetworkInterface { index, capability, link_speed, address }))
}

fn address(r: &mut Reader<'_>) -> Result<Option<IpAddr>, Malformed> {
    let family = r.u16_le()?;
    r.skip(2)?; // the port, which clients ignore
    match family {
        INTERNETWORK => Ok(Some(Ipv4Addr::from(r.array::<4>()?).into())),
        INTERNETWORK_V6 => {
            r.skip(4)?; // flow information
            Ok(Some(Ipv6Addr::from(r.array::<16>()?).into()))
        }
        _ => Ok(None),
    }
}

/// Writes the addresses.
pub fn encode(interfaces: &[NetworkInterface], w: &mut Writer) {
    let mut chain = Chain::begin(w, 8);
    for interface in interfaces {
        chain.next(w);
        w.u32_le(interface.index);
        w.u32_le(interface.capability.0);
        w.zeros(4);
        w.u64_le(interface.link_speed);
        let end = w.len() + SOCKADDR_LEN;
        match interface.address {
            IpAddr::V4(address) => {
                w.u16_le(INTERNETWORK);
                w.zeros(2);
                w.put(&address.octets());
            }
            IpAddr::V6(address) => {
                w.u16_le(INTERNETWORK_V6);
                w.zeros(6);
                w.put(&address.octets());
            }
        }
        w.zeros(end - w.len());
    }
}
