//! How clients of AFP reach a share.

use std::net::IpAddr;

use super::{MountRecipe, Reachable, best, url};
use crate::control::{BestMount, MountLine};
use crate::settings::protocol::afp::Login;
use crate::settings::{Protocol, ServerSettings, ShareSettings};

pub(super) const RECIPE: MountRecipe = MountRecipe { protocol: Protocol::Afp, lines, best: best_mounts };

/// The standard port.
const PORT: u16 = Protocol::Afp.standard_port();

fn lines(_: &ServerSettings, share: &ShareSettings, reach: Reachable, port: u16) -> Vec<MountLine> {
    mount_lines(&share.flat_name(), reach.host, port)
}

fn mount_lines(share: &str, host: IpAddr, port: u16) -> Vec<MountLine> {
    let line = |client: &str, line: String, why: Option<&str>| MountLine {
        protocol: Protocol::Afp,
        client: client.into(),
        line,
        why: why.map(Into::into),
    };
    let mac = line("macOS", format!("open {}", url("afp", share, host, (port, PORT))), None);
    // Macs before Mac OS X have no IPv6.
    let IpAddr::V4(host) = host else { return vec![mac] };
    let chooser = "Chooser, AppleShare, Server IP Address...:";
    let classic = match port {
        PORT => line("classic", format!("{chooser} {host}"), None),
        _ => {
            let why = "without a port a Mac asks port 548, which only root can give it";
            line("classic", format!("{chooser} {host}:{port}"), Some(why))
        }
    };
    vec![mac, classic]
}

fn best_mounts(
    server: &ServerSettings,
    share: &ShareSettings,
    reach: Reachable,
    port: u16,
) -> Vec<BestMount> {
    let at = (reach.host, port);
    [mac(share, at)].into_iter().chain(classic(server, share, at)).collect()
}

fn mac(share: &ShareSettings, (host, port): (IpAddr, u16)) -> BestMount {
    let command = format!("open {}", url("afp", &share.flat_name(), host, (port, PORT)));
    let reasons = [("afp://", "for Mac OS X 10.4 to 10.8, which are made for it; macOS 27 has no AFP")];
    best("Mac OS X (AFP)", command, &reasons)
}

/// Macs before Mac OS X. They have no IPv6.
fn classic(server: &ServerSettings, share: &ShareSettings, (host, port): (IpAddr, u16)) -> Option<BestMount> {
    let IpAddr::V4(host) = host else { return None };
    let colon_port = if port == PORT { String::new() } else { format!(":{port}") };
    let old = [Login::Dhx, Login::Cleartext, Login::Randnum, Login::TwoWayRandnum];
    let login = if server.protocols.afp.logins.iter().any(|login| old.contains(login)) {
        "an account can log in: `afp-logins` has a method that these Macs know"
    } else if share.guests {
        "guests only: `afp-logins` has no method that these Macs know; `dhx` or `randnum` is the least bad one"
    } else {
        "impossible now: `afp-logins` has no method that these Macs know (`dhx` or `randnum` is the least bad one), and guests \
         may not enter"
    };
    let mut reasons = vec![
        ("AFP over TCP", "the only protocol of Mac OS 8 and 9 here; needs AppleShare client 3.7 or later"),
        ("login", login),
    ];
    if port != PORT {
        reasons.push(("port", "without it a Mac asks port 548, which only root can give the server"));
    }
    Some(best(
        "classic Mac OS (AFP)",
        format!("Chooser, AppleShare, Server IP Address...: {host}{colon_port}"),
        &reasons,
    ))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 10));

    #[test]
    fn afp_is_shown_as_an_address_for_macos_and_as_what_to_type_in_the_chooser_for_older_macs() {
        let lines = |port| -> Vec<String> {
            mount_lines("My Work", HOST, port).into_iter().map(|line| line.line).collect()
        };
        let chooser = "Chooser, AppleShare, Server IP Address...: 192.168.1.10";
        assert_eq!(lines(548), ["open afp://192.168.1.10/My%20Work", chooser]);
        assert_eq!(
            lines(10548),
            ["open afp://192.168.1.10:10548/My%20Work".to_owned(), format!("{chooser}:10548")]
        );
        assert!(mount_lines("A", HOST, 10548)[1].why.as_ref().is_some_and(|why| why.contains("548")));
        assert_eq!(mount_lines("A", "fd00::1".parse().unwrap(), 548).len(), 1);
    }
}
