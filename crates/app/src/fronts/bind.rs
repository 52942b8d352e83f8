//! Opens the listeners of a protocol: every address, TCP and UDP, on one port.

use std::io;
use std::net::{IpAddr, SocketAddr};

use admin::control::{Listener, ListenerStatus};
use admin::settings::candidates;
use admin::{Protocol, ServerSettings};
use tokio::net::{TcpListener, UdpSocket};

/// How often another free port is tried because its counterpart (UDP, or on another address) is in
/// use.
const MOST_PICKS: usize = 16;

/// The listeners of one protocol.
#[derive(Debug)]
pub(crate) struct ProtocolListeners {
    pub(crate) port: u16,
    pub(crate) tcp: Vec<TcpListener>,
    /// Empty for a protocol without UDP.
    pub(crate) udp: Vec<UdpSocket>,
}

impl ProtocolListeners {
    /// The listeners for a status.
    pub(crate) fn listeners(&self, protocol: Protocol) -> Vec<ListenerStatus> {
        let tcp = self.tcp.iter().map(|tcp| ("tcp", tcp.local_addr()));
        let udp = self.udp.iter().map(|udp| ("udp", udp.local_addr()));
        let listeners = tcp.chain(udp).filter_map(|(transport, address)| {
            let (protocol, transport) = (Listener::Protocol(protocol), transport.to_owned());
            Some(ListenerStatus { protocol, transport, address: address.ok()? })
        });
        listeners.collect()
    }
}

/// Opens the listeners; `None` if the protocol is off. Needs a tokio runtime.
pub(crate) fn open(
    settings: &ServerSettings,
    protocol: Protocol,
    privileged: bool,
) -> anyhow::Result<Option<ProtocolListeners>> {
    let mut refused = None;
    for port in candidates(settings.ports.of(protocol), protocol, privileged) {
        let picks = if port == 0 { MOST_PICKS } else { 1 };
        for _ in 0..picks {
            match bind(&settings.listen, port, protocol.has_datagrams()) {
                Ok(bound) => return Ok(Some(bound)),
                Err((address, error)) => refused = Some((SocketAddr::new(address, port), error)),
            }
        }
    }
    let Some((at, error)) = refused else { return Ok(None) };
    Err(complaint(protocol.title(), protocol.word(), at, error))
}

/// Opens the listeners of a service over TCP; its setting is `WORD-port`. Needs a tokio runtime.
pub(crate) fn tcp(
    title: &str,
    word: &str,
    addresses: &[IpAddr],
    port: u16,
) -> anyhow::Result<ProtocolListeners> {
    bind(addresses, port, false)
        .map_err(|(address, error)| complaint(title, word, SocketAddr::new(address, port), error))
}

/// The error of a service that cannot listen at this address, with a hint.
fn complaint(title: &str, word: &str, at: SocketAddr, error: io::Error) -> anyhow::Error {
    let (address, port) = (at.ip(), at.port());
    let another = format!("choose another port with --{word}-port, or turn {title} off: --{word}-port off");
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            let own: Vec<String> =
                if_addrs::get_if_addrs().unwrap_or_default().iter().map(|one| one.ip().to_string()).collect();
            anyhow::anyhow!(
                "{title} cannot listen on {address}: this machine has no such address; --listen takes one of {}",
                own.join(", ")
            )
        }
        io::ErrorKind::PermissionDenied => anyhow::anyhow!(
            "{title} cannot listen on port {port}: ports below 1024 need root or CAP_NET_BIND_SERVICE; {another}"
        ),
        io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "{title} cannot listen on port {port} of {address}: another program has it; stop that program, {another}"
        ),
        _ => anyhow::anyhow!("{title} cannot listen on port {port} of {address}: {error}; {another}"),
    }
}

/// Binds one port on every address; an error contains the address.
pub(crate) fn bind(
    addresses: &[IpAddr],
    port: u16,
    udp: bool,
) -> Result<ProtocolListeners, (IpAddr, io::Error)> {
    let mut bound = ProtocolListeners { port, tcp: Vec::new(), udp: Vec::new() };
    for address in addresses {
        let refused = |error| (*address, error);
        let tcp = match conn::bind_tcp(SocketAddr::new(*address, bound.port)) {
            Err(error) if without_ipv6(*address, &error) && !bound.tcp.is_empty() => continue,
            other => other.map_err(refused)?,
        };
        bound.port = tcp.local_addr().map_err(refused)?.port();
        bound.tcp.push(tcp);
        if udp {
            bound.udp.push(conn::bind_udp(SocketAddr::new(*address, bound.port)).map_err(refused)?);
        }
    }
    Ok(bound)
}

/// Whether the machine has no IPv6: then the default `::` is ignored.
fn without_ipv6(address: IpAddr, error: &io::Error) -> bool {
    let unsupported = rustix::io::Errno::AFNOSUPPORT.raw_os_error();
    matches!(address, IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED | std::net::Ipv6Addr::LOCALHOST))
        && (error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(nfs: &str) -> ServerSettings {
        listening("127.0.0.1", nfs)
    }

    fn listening(address: &str, nfs: &str) -> ServerSettings {
        let folder = tempfile::tempdir().unwrap();
        let flags = vec![("listen".into(), address.into()), ("nfs-port".into(), nfs.into())];
        let shares = vec![folder.path().into()];
        let elsewhere = std::env::temp_dir().join("elsewhere");
        let arguments = admin::Arguments { flags, shares, ..admin::Arguments::new(false, elsewhere) };
        admin::Settings::load(&arguments).unwrap().server
    }

    #[tokio::test]
    async fn a_free_port_is_the_same_for_tcp_and_udp() {
        let bound = open(&settings("0"), Protocol::Nfs, false).unwrap().unwrap();
        assert_ne!(bound.port, 0);
        assert_eq!(bound.tcp[0].local_addr().unwrap(), bound.udp[0].local_addr().unwrap());
    }

    #[tokio::test]
    async fn a_protocol_that_is_off_has_no_listener_and_a_taken_port_is_said() {
        assert!(open(&settings("off"), Protocol::Nfs, false).unwrap().is_none());
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let _held = std::net::TcpListener::bind(("127.0.0.1", taken)).unwrap();
        let error = open(&settings(&taken.to_string()), Protocol::Nfs, false).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "NFS cannot listen on port {taken} of 127.0.0.1: another program has it; stop that program, choose \
                 another port with --nfs-port, or turn NFS off: --nfs-port off"
            )
        );
    }

    #[tokio::test]
    async fn an_address_that_the_machine_has_not_is_not_blamed_on_the_port() {
        let error = open(&listening("192.0.2.1", "0"), Protocol::Nfs, false).unwrap_err().to_string();
        let expected =
            "NFS cannot listen on 192.0.2.1: this machine has no such address; --listen takes one of ";
        assert!(error.starts_with(expected) && error.contains("127.0.0.1"), "{error}");
    }

    #[test]
    fn a_port_that_needs_a_privilege_is_explained() {
        let at = "0.0.0.0:445".parse().unwrap();
        let error = complaint("SMB", "smb", at, io::ErrorKind::PermissionDenied.into()).to_string();
        assert_eq!(
            error,
            "SMB cannot listen on port 445: ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another port \
             with --smb-port, or turn SMB off: --smb-port off"
        );
    }
}
