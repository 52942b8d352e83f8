//! Registers the programs with the rpcbind that runs on this host.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use super::{Netid, OWNER, PORT, PROGRAMS, ProgramAddresses, Text, UniversalAddress, any};
use crate::server::Service;
use crate::server::outgoing::{self, CallEndpoint, CallNetwork, RpcError};
use crate::wire::portmap::{self, PortMapping, Procedure, Rpcb, RpcbProcedure};
use crate::wire::{mount, nlm, nsm, v3};

/// The sockets at which rpcbind accepts registrations from users without privilege.
const SOCKETS: [&str; 2] = ["/run/rpcbind.sock", "/var/run/rpcbind.sock"];

/// How clients find the programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Portmap {
    /// Through this host's rpcbind. It has all our programs, except those that another server has
    /// registered.
    Registered {
        /// Programs that another server has registered.
        others: Vec<ForeignProgram>,
    },
    /// Through this server's own portmap.
    Served(SocketAddr),
    /// Not at all, with the reason. Clients must be given the port.
    Off(String),
}

/// A program of another server. This host's rpcbind reports it, and it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignProgram {
    /// The program's number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The port at which it answers.
    pub port: u16,
}

impl Portmap {
    /// Whether kernels find our lock service: they ask port 111 only.
    pub fn finds_locks(&self) -> bool {
        self.finds(&[nlm::PROGRAM])
    }

    /// Whether clients that are given no port find our files: they ask port 111, too.
    pub fn finds_files(&self) -> bool {
        self.finds(&[v3::PROGRAM, mount::PROGRAM])
    }

    fn finds(&self, programs: &[u32]) -> bool {
        match self {
            Self::Registered { others } => !others.iter().any(|other| programs.contains(&other.program)),
            Self::Served(address) => address.port() == PORT,
            Self::Off(_) => false,
        }
    }
}

/// As `rpcinfo` shows it: `nlockmgr version 4 (port 40123)`.
impl fmt::Display for ForeignProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, version, port } = self;
        match *program {
            v3::PROGRAM => write!(f, "nfs")?,
            mount::PROGRAM => write!(f, "mountd")?,
            nlm::PROGRAM => write!(f, "nlockmgr")?,
            nsm::PROGRAM => write!(f, "status")?,
            other => write!(f, "program {other}")?,
        }
        write!(f, " version {version} (port {port})")
    }
}

/// Registers the programs with a running rpcbind. If there is none, asks `serve` to open our own
/// portmap.
pub async fn announce(service: &Arc<Service>, serve: impl FnOnce() -> Result<SocketAddr, String>) -> Portmap {
    match running(service.network()).await {
        Some(rpcbind) => match rpcbind.register(service).await {
            Ok(others) => Portmap::Registered { others },
            Err(error) => Portmap::Off(format!("rpcbind takes no registration ({error})")),
        },
        None => match serve() {
            Ok(address) => {
                let places = ProgramAddresses { portmap: Some(address.port()), ..service.places() };
                service.set_places(places);
                Portmap::Served(address)
            }
            Err(reason) => Portmap::Off(reason),
        },
    }
}

/// Removes the registrations of [`announce`].
pub async fn withdraw(service: &Arc<Service>) {
    if service.places().portmap.is_none()
        && let Some(rpcbind) = running(service.network()).await
    {
        rpcbind.withdraw(service).await;
    }
}

/// A running rpcbind.
struct Rpcbind<'a> {
    network: &'a dyn CallNetwork,
    at: CallEndpoint,
}

/// The first address at which rpcbind answers.
async fn running(network: &dyn CallNetwork) -> Option<Rpcbind<'_>> {
    let here = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT);
    let sockets = SOCKETS.map(|path| CallEndpoint::Unix(PathBuf::from(path)));
    // TCP: over UDP it would take long to find out that no rpcbind runs.
    for at in sockets.into_iter().chain([CallEndpoint::Tcp(here)]) {
        let null = (portmap::PROGRAM, 2, Procedure::NULL.0);
        let rpcbind4 = (portmap::PROGRAM, 4, RpcbProcedure::NULL.0);
        let procedure = if matches!(at, CallEndpoint::Unix(_)) { rpcbind4 } else { null };
        if outgoing::call(network, &at, procedure, &()).await.is_ok() {
            return Some(Rpcbind { network, at });
        }
    }
    None
}

impl Rpcbind<'_> {
    /// Registers every program. Returns the programs that another server has. Fails if no program
    /// could be registered.
    async fn register(&self, service: &Arc<Service>) -> Result<Vec<ForeignProgram>, RpcError> {
        let (places, mut any, mut others) =
            (service.places(), Err(RpcError::Malformed), Vec::<ForeignProgram>::new());
        for (program, low, high) in PROGRAMS {
            for version in low..=high {
                for netid in places.netids() {
                    match self.set(program, version, netid, places.programs).await {
                        Ok(None) => any = Ok(()),
                        Ok(Some(port)) => {
                            any = Ok(());
                            if !others.iter().any(|one| (one.program, one.version) == (program, version)) {
                                others.push(ForeignProgram { program, version, port });
                            }
                        }
                        Err(error) if any.is_err() => any = Err(error),
                        Err(error) => tracing::warn!(program, version, %error, "not registered"),
                    }
                }
            }
        }
        any.map(|()| others)
    }

    async fn withdraw(&self, service: &Arc<Service>) {
        let places = service.places();
        for (program, low, high) in PROGRAMS {
            for version in low..=high {
                for netid in places.netids() {
                    if self.registered(program, version, netid).await == Some(places.programs) {
                        let _ = self.change(false, program, version, netid, places.programs).await;
                    }
                }
            }
        }
    }

    /// Registers one program. It replaces the entry of a server that does not answer any more. If
    /// the server answers, its port is returned.
    async fn set(
        &self,
        program: u32,
        version: u32,
        netid: Netid,
        port: u16,
    ) -> Result<Option<u16>, RpcError> {
        if self.change(true, program, version, netid, port).await? {
            return Ok(None);
        }
        let old = self.registered(program, version, netid).await.unwrap_or(0);
        if old == port {
            return Ok(None);
        }
        if old != 0 && self.answers((program, version), netid, old).await {
            return Ok(Some(old));
        }
        self.change(false, program, version, netid, old).await?;
        let taken = self.change(true, program, version, netid, port).await?;
        Ok((!taken).then_some(old))
    }

    /// Whether a server answers at the port of a transport. The kernel's lock service has one port for each transport.
    async fn answers(&self, (program, version): (u32, u32), netid: Netid, port: u16) -> bool {
        let here: IpAddr = if netid.ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let at = SocketAddr::new(here, port);
        let at = if netid.protocol == portmap::Protocol::UDP {
            CallEndpoint::Udp(at)
        } else {
            CallEndpoint::Tcp(at)
        };
        outgoing::call(self.network, &at, (program, version, 0), &()).await.is_ok()
    }

    /// SET or UNSET, in the version that this address of rpcbind supports.
    async fn change(
        &self,
        set: bool,
        program: u32,
        version: u32,
        netid: Netid,
        port: u16,
    ) -> Result<bool, RpcError> {
        if let CallEndpoint::Unix(_) = self.at {
            let address = UniversalAddress(SocketAddr::new(any(netid.ipv6), port)).to_string();
            let (netid, address) = (Text::new(netid.name.as_bytes()), Text::new(address.as_bytes()));
            let rpcb = Rpcb { program, version, netid, address, owner: Text::new(OWNER) };
            let procedure = if set { RpcbProcedure::SET } else { RpcbProcedure::UNSET };
            return self.call(4, procedure.0, &rpcb).await?.value();
        }
        if netid.ipv6 {
            return Ok(true); // version 2 does not support IPv6
        }
        let mapping = PortMapping { program, version, protocol: netid.protocol, port: port.into() };
        let procedure = if set { Procedure::SET } else { Procedure::UNSET };
        self.call(2, procedure.0, &mapping).await?.value()
    }

    /// The port that is registered now.
    async fn registered(&self, program: u32, version: u32, netid: Netid) -> Option<u16> {
        if let CallEndpoint::Unix(_) = self.at {
            let (netid, nothing) = (Text::new(netid.name.as_bytes()), Text::new(b""));
            let rpcb = Rpcb { program, version, netid, address: nothing, owner: nothing };
            let results = self.call(4, RpcbProcedure::DUMP.0, &()).await.ok()?;
            let all = results.read(portmap::rpcbs).ok()?;
            let found = all.iter().find(|line| {
                (line.program, line.version, line.netid) == (rpcb.program, rpcb.version, rpcb.netid)
            })?;
            return Some(UniversalAddress::parse(&found.address)?.0.port());
        }
        let results = self.call(2, Procedure::DUMP.0, &()).await.ok()?;
        let all = results.read(portmap::mappings).ok()?;
        let found = all
            .iter()
            .find(|line| (line.program, line.version, line.protocol) == (program, version, netid.protocol))?;
        u16::try_from(found.port).ok()
    }

    async fn call(
        &self,
        version: u32,
        procedure: u32,
        arguments: &(impl crate::wire::xdr::Encode + Sync),
    ) -> Result<outgoing::CallResults, RpcError> {
        outgoing::call(self.network, &self.at, (portmap::PROGRAM, version, procedure), arguments).await
    }
}

/// The port of a program at another host, by version 2, which every portmapper supports.
pub(in crate::server) async fn port_of(
    network: &dyn CallNetwork,
    host: std::net::IpAddr,
    (program, version): (u32, u32),
    protocol: portmap::Protocol,
) -> Result<Option<u16>, RpcError> {
    let asked = PortMapping { program, version, protocol, port: 0 };
    let procedure = (portmap::PROGRAM, 2, Procedure::GETPORT.0);
    let address = SocketAddr::new(host, PORT);
    let results = match outgoing::call(network, &CallEndpoint::Udp(address), procedure, &asked).await {
        Err(RpcError::Unanswered(_)) => {
            outgoing::call(network, &CallEndpoint::Tcp(address), procedure, &asked).await?
        }
        other => other?,
    };
    let port: u32 = results.value()?;
    Ok(u16::try_from(port).ok().filter(|port| *port != 0))
}
