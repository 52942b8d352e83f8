//! Opening the listeners of a protocol: every address, TCP and UDP, on one and the same port.

use std::io;
use std::net::{IpAddr, SocketAddr};

use admin::settings::candidates;
use admin::{Protocol, ServerSettings};
use anyhow::Context;
use tokio::net::{TcpListener, UdpSocket};

/// How often a free port is picked anew because its twin (UDP, or on another address) is taken.
const MOST_PICKS: usize = 16;

/// The listeners of one protocol.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) port: u16,
    pub(crate) tcp: Vec<TcpListener>,
    /// Empty for a protocol without UDP.
    pub(crate) udp: Vec<UdpSocket>,
}

/// Opens them; `None` when the protocol is off. Needs a tokio runtime.
pub(crate) fn open(
    settings: &ServerSettings,
    protocol: Protocol,
    udp: bool,
    privileged: bool,
) -> anyhow::Result<Option<Bound>> {
    let mut refused = None;
    for port in candidates(settings.ports.of(protocol), protocol, privileged) {
        let picks = if port == 0 { MOST_PICKS } else { 1 };
        for _ in 0..picks {
            match bind(&settings.listen, port, udp) {
                Ok(bound) => return Ok(Some(bound)),
                Err(error) => refused = Some((port, error)),
            }
        }
    }
    let Some((port, error)) = refused else { return Ok(None) };
    let (title, word) = (protocol.title(), protocol.word());
    Err(error).with_context(|| {
        format!("{title} cannot listen on port {port}; choose another with --{word}-port, or turn it off: --{word}-port off")
    })
}

fn bind(addresses: &[IpAddr], port: u16, udp: bool) -> io::Result<Bound> {
    let mut bound = Bound { port, tcp: Vec::new(), udp: Vec::new() };
    for address in addresses {
        let tcp = match conn::bind_tcp(SocketAddr::new(*address, bound.port)) {
            Err(error) if without_ipv6(*address, &error) && !bound.tcp.is_empty() => continue,
            other => other?,
        };
        bound.port = tcp.local_addr()?.port();
        bound.tcp.push(tcp);
        if udp {
            bound.udp.push(conn::bind_udp(SocketAddr::new(*address, bound.port))?);
        }
    }
    Ok(bound)
}

/// A machine without IPv6 has no `::`, which is in the default.
fn without_ipv6(address: IpAddr, error: &io::Error) -> bool {
    let unsupported = rustix::io::Errno::AFNOSUPPORT.raw_os_error();
    address == IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED)
        && (error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(nfs: &str) -> ServerSettings {
        let folder = tempfile::tempdir().unwrap();
        let flags = vec![("listen".into(), "127.0.0.1".into()), ("nfs-port".into(), nfs.into())];
        let shares = vec![folder.path().into()];
        let elsewhere = std::env::temp_dir().join("elsewhere");
        let arguments = admin::Arguments { flags, shares, ..admin::Arguments::new(false, elsewhere) };
        admin::Settings::load(&arguments).unwrap().server
    }

    #[tokio::test]
    async fn a_free_port_is_the_same_for_tcp_and_udp() {
        let bound = open(&settings("0"), Protocol::Nfs, true, false).unwrap().unwrap();
        assert_ne!(bound.port, 0);
        assert_eq!(bound.tcp[0].local_addr().unwrap(), bound.udp[0].local_addr().unwrap());
    }

    #[tokio::test]
    async fn a_protocol_that_is_off_has_no_listener_and_a_taken_port_is_said() {
        assert!(open(&settings("off"), Protocol::Nfs, true, false).unwrap().is_none());
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let _held = std::net::TcpListener::bind(("127.0.0.1", taken)).unwrap();
        let error = open(&settings(&taken.to_string()), Protocol::Nfs, true, false).unwrap_err().to_string();
        assert!(error.contains("choose another with --nfs-port"), "{error}");
    }
}
