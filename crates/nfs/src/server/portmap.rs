//! Portmap version 2 and rpcbind versions 3 and 4, RFC 1833. They report only the programs of this
//! server. Other servers cannot register here, and calls are not forwarded.

mod register;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wire::Writer;

use super::answer::{Answer, CallResult};
use super::call::Call;
use crate::wire::portmap::{
    PortMapping, Procedure, Protocol, Rpcb, RpcbProcedure, Text, UniversalAddress, put_mappings, put_rpcbs,
};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::Encode;
use crate::wire::{mount, nlm, nsm, portmap, v3};

pub(super) use register::port_of;
pub use register::{ForeignProgram, Portmap, announce, withdraw};

/// The port of every portmapper.
pub(super) const PORT: u16 = portmap::PORT;
/// The owner of our registrations that rpcbind shows.
const OWNER: &[u8] = b"fourfold";

/// A program in the list: number, lowest and highest version.
type Program = (u32, u32, u32);

/// All served programs besides portmap itself.
const PROGRAMS: [Program; 4] = [
    (v3::PROGRAM, 3, 3),
    (mount::PROGRAM, mount::VERSIONS.0, mount::VERSIONS.1),
    (nlm::PROGRAM, nlm::VERSION, nlm::VERSION),
    (nsm::PROGRAM, nsm::VERSION, nsm::VERSION),
];
const PORTMAP: Program = (portmap::PROGRAM, portmap::VERSIONS.0, portmap::VERSIONS.1);

/// The addresses of the programs, as portmap reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgramAddresses {
    /// The port of every program. 0 before the listener is open.
    pub programs: u16,
    /// The port of portmap, if this server serves it.
    pub portmap: Option<u16>,
    /// Datagrams are served on these ports, too.
    pub udp: bool,
    /// IPv4 is served.
    pub ipv4: bool,
    /// IPv6 is served.
    pub ipv6: bool,
}

/// A transport by rpcbind's name, RFC 5665 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Netid {
    name: &'static str,
    protocol: Protocol,
    ipv6: bool,
}

const NETIDS: [Netid; 4] = [
    Netid { name: "tcp", protocol: Protocol::TCP, ipv6: false },
    Netid { name: "udp", protocol: Protocol::UDP, ipv6: false },
    Netid { name: "tcp6", protocol: Protocol::TCP, ipv6: true },
    Netid { name: "udp6", protocol: Protocol::UDP, ipv6: true },
];

impl ProgramAddresses {
    fn netids(self) -> impl Iterator<Item = Netid> {
        NETIDS.into_iter().filter(move |netid| {
            let family = if netid.ipv6 { self.ipv6 } else { self.ipv4 };
            family && (self.udp || netid.protocol == Protocol::TCP)
        })
    }

    /// Every program that is served, with its port.
    fn programs(self) -> impl Iterator<Item = (Program, u16)> {
        let portmap = self.portmap.map(|port| (PORTMAP, port));
        let others = PROGRAMS.into_iter().map(move |program| (program, self.programs));
        portmap.into_iter().chain(others).filter(|(_, port)| *port != 0)
    }

    fn port(self, program: u32) -> Option<u16> {
        self.programs().find(|(served, _)| served.0 == program).map(|(_, port)| port)
    }

    fn speaks(self, program: u32, version: u32) -> bool {
        self.programs().any(|((number, low, high), _)| number == program && (low..=high).contains(&version))
    }

    /// Each version of each program on each transport.
    fn all(self) -> impl Iterator<Item = (u32, u32, Netid, u16)> {
        self.programs().flat_map(move |((program, low, high), port)| {
            (low..=high)
                .flat_map(move |version| self.netids().map(move |netid| (program, version, netid, port)))
        })
    }
}

/// Runs the procedure that a call names.
pub(super) fn dispatch(call: &Call<'_>, w: &mut Writer) -> CallResult {
    match call.header.version {
        2 => portmap_v2(call, w)?,
        version => rpcbind(call, version, w)?,
    }
    Ok(Answer::default())
}

/// RFC 1833 3.2.
fn portmap_v2(call: &Call<'_>, w: &mut Writer) -> Result<(), Outcome> {
    let places = call.service.places();
    match Procedure(call.header.procedure) {
        Procedure::NULL => call.no_arguments()?,
        Procedure::SET | Procedure::UNSET => {
            call.arguments::<PortMapping>()?;
            false.encode(w);
        }
        Procedure::GETPORT => {
            let asked: PortMapping = call.arguments()?;
            let served = places.netids().any(|netid| !netid.ipv6 && netid.protocol == asked.protocol);
            // The version is ignored: a client that asks for an unsupported one learns from the
            // program which ones it has.
            let port = if served { places.port(asked.program) } else { None };
            u32::from(port.unwrap_or(0)).encode(w);
        }
        Procedure::DUMP => {
            call.no_arguments()?;
            let of_ipv4 = places.all().filter(|(_, _, netid, _)| !netid.ipv6);
            put_mappings(
                w,
                of_ipv4.map(|(program, version, Netid { protocol, .. }, port)| PortMapping {
                    program,
                    version,
                    protocol,
                    port: port.into(),
                }),
            );
        }
        _ => return Err(Outcome::ProcUnavail),
    }
    Ok(())
}

/// RFC 1833 2.2.1.
fn rpcbind(call: &Call<'_>, version: u32, w: &mut Writer) -> Result<(), Outcome> {
    match RpcbProcedure(call.header.procedure) {
        RpcbProcedure::NULL => call.no_arguments()?,
        RpcbProcedure::SET | RpcbProcedure::UNSET => {
            call.arguments::<Rpcb<'_>>()?;
            false.encode(w);
        }
        RpcbProcedure::GETADDR => {
            let asked: Rpcb<'_> = call.arguments()?;
            put_address(call, &asked, w);
        }
        RpcbProcedure::GETVERSADDR if version == 4 => {
            let asked: Rpcb<'_> = call.arguments()?;
            if call.service.places().speaks(asked.program, asked.version) {
                put_address(call, &asked, w);
            } else {
                Text::new(b"").encode(w);
            }
        }
        RpcbProcedure::DUMP => {
            call.no_arguments()?;
            dump(call.service.places(), w);
        }
        _ => return Err(Outcome::ProcUnavail),
    }
    Ok(())
}

fn dump(places: ProgramAddresses, w: &mut Writer) {
    let address = |ipv6: bool, port: u16| UniversalAddress(SocketAddr::new(any(ipv6), port)).to_string();
    let lines: Vec<_> = places
        .all()
        .map(|(program, version, netid, port)| (program, version, netid.name, address(netid.ipv6, port)))
        .collect();
    put_rpcbs(
        w,
        lines.iter().map(|(program, version, netid, address)| Rpcb {
            program: *program,
            version: *version,
            netid: Text::new(netid.as_bytes()),
            address: Text::new(address.as_bytes()),
            owner: Text::new(OWNER),
        }),
    );
}

/// The universal address of a program for this caller. Empty if there is none.
fn put_address(call: &Call<'_>, asked: &Rpcb<'_>, w: &mut Writer) {
    let address = address(call, asked).map(|address| UniversalAddress(address).to_string());
    Text::new(address.unwrap_or_default().as_bytes()).encode(w);
}

fn address(call: &Call<'_>, asked: &Rpcb<'_>) -> Option<SocketAddr> {
    let (places, peer) = (call.service.places(), call.origin.address);
    let netid = match &*asked.netid {
        // Version 4 infers it from the transport of the call. An explicit transport takes
        // precedence.
        b"" => transport(call),
        name => NETIDS.into_iter().find(|netid| netid.name.as_bytes() == name)?,
    };
    let served = places.netids().any(|served| served == netid);
    let port = places.port(asked.program).filter(|_| served)?;
    let ours = call.service.network.address_towards(peer).filter(|ours| ours.is_ipv6() == netid.ipv6);
    Some(SocketAddr::new(ours.unwrap_or(any(netid.ipv6)), port))
}

fn transport(call: &Call<'_>) -> Netid {
    let protocol = if call.origin.datagram { Protocol::UDP } else { Protocol::TCP };
    let ipv6 = call.origin.address.is_ipv6();
    let found = NETIDS.into_iter().find(|netid| netid.protocol == protocol && netid.ipv6 == ipv6);
    found.expect("the table has both protocols for both families")
}

fn any(ipv6: bool) -> IpAddr {
    if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}
