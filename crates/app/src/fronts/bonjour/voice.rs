//! The multicast DNS responder, for one announcement with one name.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use if_addrs::Interface;
use mdns_sd::{DaemonEvent, IfKind, IfPredicate, RRType, Receiver, ServiceDaemon, ServiceInfo, TxtProperty};
use socket2::{Domain, Socket, Type};

use super::services::{Announcement, Service};
use crate::host::here;

/// The port of multicast DNS.
const PORT: u16 = 5353;
/// How many names are tried if other machines have the same.
const MOST_NAMES: u32 = 99;
/// The suffix of a separate host name, if another program answers for the host's.
const BESIDE: &str = "-fourfold";

/// How long after the end of its thread another responder is started.
const RAISE_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Why a responder is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Another machine has one of its names.
    NameTaken,
    /// Its thread has ended.
    Lost,
}

/// A running responder.
pub(super) struct Voice {
    daemon: ServiceDaemon,
    events: Receiver<DaemonEvent>,
    announcement: Announcement,
    /// The name of the host.
    host: String,
    /// How many names were tried, including this one.
    tries: u32,
}

impl Voice {
    /// Announces this, from the host with this name; `None` if that is impossible, which was
    /// logged.
    pub(super) fn raise(announcement: Announcement, host: &str) -> Option<Self> {
        Self::try_name(announcement, host.to_owned(), 1)
    }

    fn try_name(announcement: Announcement, host: String, tries: u32) -> Option<Self> {
        match Self::speak(&announcement, &host, tries) {
            Ok((daemon, events)) => Some(Self { daemon, events, announcement, host, tries }),
            Err(error) => {
                tracing::warn!(%error, "nothing is announced by Bonjour");
                None
            }
        }
    }

    fn speak(
        announcement: &Announcement,
        host: &str,
        tries: u32,
    ) -> mdns_sd::Result<(ServiceDaemon, Receiver<DaemonEvent>)> {
        let (listen, loopback) = (announcement.listen.clone(), announcement.loopback);
        let wanted = IfKind::Predicate(IfPredicate::new(move |interface: &Interface| {
            (loopback || !interface.is_loopback()) && listens_on(&listen, interface.ip())
        }));
        let daemon = ServiceDaemon::new()?;
        let events = daemon.monitor()?;
        daemon.disable_interface(IfKind::All)?;
        daemon.enable_interface(wanted.clone())?;
        let name = numbered(&announcement.name, tries);
        for service in &announcement.services {
            let mut info = info(service, &name, host)?;
            info.set_interfaces(vec![wanted.clone()]);
            daemon.register(info)?;
        }
        tracing::info!(name, services = announcement.services.len(), "announced by Bonjour");
        Ok((daemon, events))
    }

    /// The sockets that the library opens: one for each address family of the interfaces.
    pub(super) fn sockets(&self) -> Vec<SocketAddr> {
        let Announcement { listen, loopback, .. } = &self.announcement;
        let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
        let wanted = |one: &&Interface| (*loopback || !one.is_loopback()) && listens_on(listen, one.ip());
        let families: Vec<bool> = interfaces.iter().filter(wanted).map(|one| one.ip().is_ipv4()).collect();
        let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let there = any.into_iter().filter(|any| families.contains(&any.is_ipv4()));
        there.map(|any| SocketAddr::new(any, PORT)).collect()
    }

    /// Waits until this responder is unusable. Without a responder, it waits forever.
    pub(super) async fn until_over(voice: Option<&Self>) -> Over {
        let Some(voice) = voice else { return std::future::pending().await };
        while let Ok(event) = voice.events.recv_async().await {
            match event {
                // The library has changed the host's name, for all services at once.
                DaemonEvent::NameChange(change) if matches!(change.rr_type, RRType::A | RRType::AAAA) => {
                    let (was, now) = (change.original, change.new_name);
                    tracing::info!(was, now, "another machine has the host's name");
                }
                DaemonEvent::NameChange(_) => return Over::NameTaken,
                DaemonEvent::Error(error) => tracing::warn!(%error, "Bonjour"),
                _ => {}
            }
        }
        tokio::time::sleep(RAISE_AGAIN_AFTER).await;
        Over::Lost
    }

    /// Starts another responder. If another machine has one of its names, all services get the next
    /// one: the library would rename only the services that the other machine has, too, but Macs
    /// show services with one name as one server.
    pub(super) async fn again(self, over: Over) -> Option<Self> {
        let (announcement, host) = (self.announcement.clone(), self.host.clone());
        let tries = self.tries + u32::from(over == Over::NameTaken);
        self.goodbye().await;
        let name = &announcement.name;
        if tries > MOST_NAMES {
            tracing::warn!(name, "nothing is announced by Bonjour: all its names are taken");
            return None;
        }
        match over {
            Over::NameTaken => {
                tracing::info!(name, "another machine is announced by this name; a number is added");
            }
            Over::Lost => tracing::warn!(name, "the Bonjour responder has ended; another is begun"),
        }
        Self::try_name(announcement, host, tries)
    }

    /// Withdraws all services.
    pub(super) async fn goodbye(self) {
        if let Ok(done) = self.daemon.shutdown() {
            let _ = done.recv_async().await; // the thread ends either way
        }
    }
}

/// The host name to announce: the host's own, unless another program on this machine answers for
/// that name, and would have to withdraw it whenever this server answers. Checked once, because the
/// server's own responder would look like another program. `None` if announcing is impossible,
/// which was logged.
pub(super) fn host() -> Option<String> {
    match who_has_the_port() {
        Ok(Company::Alone) => Some(host_label(&here::host_name(), "")),
        Ok(Company::Others) => {
            tracing::info!("another program speaks multicast DNS on this machine; Bonjour shares its port");
            Some(host_label(&here::host_name(), BESIDE))
        }
        Err(error) => {
            tracing::warn!(%error, "nothing is announced by Bonjour: UDP port {PORT} cannot be shared");
            None
        }
    }
}

/// Other responders of multicast DNS on this machine.
enum Company {
    Alone,
    Others,
}

/// Whether the port is free, or shared; an error if it is neither.
fn who_has_the_port() -> io::Result<Company> {
    let address = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT);
    if UdpSocket::bind(address).is_ok() {
        return Ok(Company::Alone);
    }
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(Company::Others)
}

/// Whether a server that listens on these addresses is reachable at that one.
fn listens_on(listen: &[IpAddr], ip: IpAddr) -> bool {
    listen
        .iter()
        .any(|address| *address == ip || (address.is_unspecified() && address.is_ipv4() == ip.is_ipv4()))
}

fn info(service: &Service, name: &str, host: &str) -> mdns_sd::Result<ServiceInfo> {
    let kind = format!("{}.local.", service.kind);
    let text: Vec<TxtProperty> = service.text.iter().map(TxtProperty::from).collect();
    let none: &[IpAddr] = &[];
    let info = ServiceInfo::new(&kind, &service.instance(name), host, none, service.port, text)?;
    Ok(info.enable_addr_auto())
}

/// `Studio`, `Studio (2)`, `Studio (3)`.
fn numbered(name: &str, tries: u32) -> String {
    if tries == 1 { name.to_owned() } else { format!("{name} ({tries})") }
}

/// The host's name for multicast DNS: its first label, in the characters of host names.
fn host_label(host: &str, more: &str) -> String {
    const MOST_LABEL: usize = 63;
    /// Room for the number that the library adds if two hosts have one name: `-12`.
    const NUMBER_ROOM: usize = 4;
    let first = host.split('.').next().unwrap_or_default();
    let plain: String = first.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let plain = if plain.is_empty() { "fourfold" } else { &plain };
    let most = MOST_LABEL - NUMBER_ROOM - more.len();
    format!("{}{more}.local.", &plain[..plain.len().min(most)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_label_has_only_what_host_names_may_have_and_room_for_a_number() {
        assert_eq!(host_label("nas.example.com", ""), "nas.local.");
        assert_eq!(host_label("nas", BESIDE), "nas-fourfold.local.");
        assert_eq!(host_label("_ü_", ""), "fourfold.local.");
        assert_eq!(host_label(&"x".repeat(64), BESIDE).len(), 59 + ".local.".len());
    }

    #[test]
    fn every_address_means_those_of_its_family_alone() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(listens_on(&[ip("0.0.0.0")], ip("192.0.2.1")));
        assert!(!listens_on(&[ip("0.0.0.0")], ip("2001:db8::1")));
        assert!(listens_on(&[ip("192.0.2.1")], ip("192.0.2.1")));
        assert!(!listens_on(&[ip("192.0.2.1")], ip("192.0.2.2")));
    }

    #[test]
    fn the_first_name_has_no_number() {
        assert_eq!([1, 2, 13].map(|tries| numbered("A", tries)), ["A", "A (2)", "A (13)"]);
    }
}
