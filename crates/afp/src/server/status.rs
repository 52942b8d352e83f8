//! The server's information for clients before a login, Apple Filing Protocol Reference,
//! FPGetSrvrInfo.

use std::net::SocketAddr;

use vfs::names;

use super::config::Config;
use super::reply::{Outcome, Reply};
use super::service::Service;
use super::transport::Transport;
use crate::catalogue::CatalogId;
use crate::server::sessions::uam::UamMethod;
use crate::server::volumes::icon::ICON;
use crate::server::volumes::names::LONG_NAME;
use crate::wire::server_info::{ServerAddress, ServerInfo, flags};

/// The default port.
const PORT: u16 = 548;
/// The most addresses in the block: old clients have little room for it.
const MAX_ADDRESSES: usize = 16;
/// The most principals in it. Clients use the first one.
const MAX_PRINCIPALS: usize = 4;

/// The block of server information.
pub(super) fn run(service: &Service, transport: Transport) -> Outcome {
    let config = service.config();
    Ok(Reply { head: block(&config, &config.name, transport), ..Reply::default() })
}

impl Service {
    /// What clients over AppleTalk are told of the server before they have a session (ASP's GetStatus).
    /// `name` is the one that the Chooser shows.
    pub fn appletalk_status(&self, name: &str) -> Vec<u8> {
        block(&self.config(), name, Transport::AppleTalk)
    }
}

fn block(config: &Config, name: &str, transport: Transport) -> Vec<u8> {
    let short_name = names::short_view(name.as_bytes(), CatalogId::ROOT.0, LONG_NAME);
    let utf8_name = names::mac_view(name.as_bytes());
    let (addresses, is_tcp) = (addresses(&config.addresses), transport == Transport::Tcp);
    let principals = config.principals.iter().map(String::as_bytes).filter(|_| is_tcp);
    let info = ServerInfo {
        machine_type: config.machine_type.as_bytes(),
        versions: transport.versions().iter().map(|version| version.name().as_bytes()).collect(),
        uams: UamMethod::offered(config, transport).into_iter().map(UamMethod::name).collect(),
        icon: Some(&ICON),
        flags: flags(config, &addresses, transport),
        name: &short_name,
        signature: Some(config.signature),
        addresses,
        directory_names: principals.take(MAX_PRINCIPALS).collect(),
        utf8_name: is_tcp.then_some(utf8_name.as_bytes()),
    };
    info.encode()
}

/// The capabilities of the server. Over AppleTalk those that AFP 2 has: a client that finds an address of TCP may use that.
fn flags(config: &Config, addresses: &[ServerAddress<'_>], transport: Transport) -> u16 {
    let always = flags::COPY_FILE
        | flags::SERVER_MESSAGES
        | flags::SIGNATURE
        | flags::TCP
        | flags::NOTIFICATIONS
        | flags::RECONNECT
        | flags::DIRECTORY_SERVICES // without it no client sends names of users as UTF-8
        | flags::UTF8_NAME
        | flags::UUIDS
        | flags::EXTENDED_SLEEP
        | flags::SUPER_CLIENT;
    let passwords = if config.change_password.is_some() { flags::CHANGE_PASSWORD } else { 0 };
    let of_2 = flags::COPY_FILE | flags::SERVER_MESSAGES | flags::SIGNATURE;
    let tcp = if addresses.is_empty() { 0 } else { flags::TCP };
    match transport {
        Transport::Tcp => always | passwords,
        Transport::AppleTalk => of_2 | tcp | passwords,
    }
}

/// The server's addresses in the protocol's form.
fn addresses(known: &[SocketAddr]) -> Vec<ServerAddress<'static>> {
    let reachable = known.iter().filter(|address| !address.ip().is_unspecified() && address.port() != 0);
    let told = reachable.map(|address| match address {
        SocketAddr::V4(v4) if v4.port() == PORT => ServerAddress::Ipv4(*v4.ip()),
        SocketAddr::V4(v4) => ServerAddress::Ipv4Port(*v4),
        SocketAddr::V6(v6) if v6.port() == PORT => ServerAddress::Ipv6(*v6.ip()),
        SocketAddr::V6(v6) => ServerAddress::Ipv6Port(*v6.ip(), v6.port()),
    });
    told.take(MAX_ADDRESSES).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Server;
    use super::*;
    use crate::wire::command;
    use crate::wire::dsi::Command;

    #[tokio::test]
    async fn the_server_describes_itself_without_a_session() {
        let server = Server::with(|config| {
            config.name = "Zoë's Büro".into();
            config.addresses =
                ["192.0.2.7:548", "[2001:db8::7]:5480", "0.0.0.0:548"].map(|a| a.parse().unwrap()).into();
        });
        let mut client = server.connect();
        let status = client.frame(Command::GET_STATUS, 0, &[]).await.unwrap().well();
        let info = ServerInfo::decode(&status).unwrap();
        assert_eq!(info.name, b"Zo\x91's B\x9fro"); // MacRoman: ë is 0x91, ü 0x9F
        assert_eq!(info.utf8_name, Some("Zoe\u{308}'s Bu\u{308}ro".as_bytes()));
        assert_eq!(info.signature, Some(*b"a test signature"));
        let v4 = ServerAddress::Ipv4([192, 0, 2, 7].into());
        assert_eq!(info.addresses, [v4, ServerAddress::Ipv6Port("2001:db8::7".parse().unwrap(), 5480)]);
        assert!(info.versions.contains(&&b"AFPVersion 2.1"[..]) && info.versions.contains(&&b"AFP3.4"[..]));
        assert_eq!(info.uams, [&b"DHX2"[..], b"No User Authent"]);
        // Copy, messages, signature, TCP, notifications, reconnect, directories, UTF-8, UUIDs, sleep, super client.
        assert_eq!(info.flags, 0x8ff9);
        client.open_session().await.well();
        assert_eq!(client.call(command::GET_SRVR_INFO, |_| ()).await.well(), status);
    }

    #[tokio::test]
    async fn what_is_told_fits_old_clients() {
        let server = Server::with(|config| {
            config.name = "a name of a server that is far too long for MacRoman".into();
            config.addresses = (0..100).map(|port| ([192, 0, 2, 7], 6000 + port).into()).collect();
            config.change_password = Some(std::sync::Arc::new(|_, _| true));
        });
        let status = server.connect().frame(Command::GET_STATUS, 0, &[]).await.unwrap().well();
        let info = ServerInfo::decode(&status).unwrap();
        assert!(info.name.len() <= 31 && info.addresses.len() == 16);
        assert_eq!(info.flags, 0x8ffb);
        assert!(status.len() < 1400, "{}", status.len());
    }
}
