//! SendTargets, RFC 7143 appendix C: the targets and their addresses.

use std::net::{IpAddr, SocketAddr};

use super::name::iscsi_name;
use super::text::TextSender;
use crate::server::login::SessionKind;
use crate::wire::Writer;
use crate::wire::keys;

/// Answers SendTargets with this value.
pub(super) fn send_targets(wanted: &str, asker: &TextSender<'_>, w: &mut Writer) {
    let names: Vec<String> = match asker.kind {
        SessionKind::Discovery => {
            let one = match wanted {
                "All" => None,
                name => match iscsi_name(name) {
                    Some(name) => Some(name),
                    None => return keys::encode("SendTargets", keys::REJECT, w),
                },
            };
            let all = asker.gate.targets(&asker.initiator());
            let names = all.iter().map(|target| target.name.clone());
            names.filter(|name| one.as_ref().is_none_or(|one| one == name)).collect()
        }
        // In a normal session, it gives the addresses of the session's own target only.
        SessionKind::Normal(target) => {
            if !wanted.is_empty() && iscsi_name(wanted).as_ref() != Some(&target.name) {
                return keys::encode("SendTargets", keys::REJECT, w);
            }
            vec![target.name.clone()]
        }
    };
    for name in names {
        keys::encode("TargetName", &name, w);
        for (portal, group) in asker.gate.portals(&name, asker.peer.local) {
            keys::encode("TargetAddress", &format!("{},{group}", address(portal)), w);
        }
    }
}

/// TargetAddress, RFC 7143 13.8, without its portal group.
pub(crate) fn address(portal: SocketAddr) -> String {
    match portal.ip().to_canonical() {
        IpAddr::V4(ip) => format!("{ip}:{}", portal.port()),
        IpAddr::V6(ip) => format!("[{ip}]:{}", portal.port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_in_rfc_7143_13_8() {
        let written = |portal: &str| address(portal.parse().unwrap());
        assert_eq!(written("10.1.0.45:3000"), "10.1.0.45:3000");
        assert_eq!(written("[2001:db8::8:800:200c:417a]:3260"), "[2001:db8::8:800:200c:417a]:3260");
        assert_eq!(written("[::ffff:10.1.0.45]:3260"), "10.1.0.45:3260");
    }
}
