//! How initiators reach a LUN.

use std::net::{IpAddr, SocketAddr};

use crate::control::MountLine;
use crate::settings::Protocol;
use crate::shell::quote;

/// The standard port.
const PORT: u16 = Protocol::Iscsi.standard_port();

/// The address of a LUN in the form of libiscsi and qemu; for long lists.
#[must_use]
pub fn lun_url(name: &str, target: &str, number: u16, (host, port): (IpAddr, u16)) -> MountLine {
    MountLine {
        protocol: Protocol::Iscsi,
        client: name.into(),
        line: format!("iscsi://{}/{target}/{number}", SocketAddr::new(host, port)),
        why: Some("`fourfold lun show` has the lines for Linux, Windows and libiscsi's programs".into()),
    }
}

/// The commands with which initiators reach a LUN: its target's name and its number there.
/// `guests`: logins need no account.
#[must_use]
pub fn lun(target: &str, number: u16, (host, port): (IpAddr, u16), guests: bool) -> Vec<MountLine> {
    let line = |client: &str, line: String, why: Option<&str>| MountLine {
        protocol: Protocol::Iscsi,
        client: client.into(),
        line,
        why: why.map(Into::into),
    };
    let at = SocketAddr::new(host, port);
    let account = if guests { "" } else { "NAME%SECRET@" };
    let chap =
        "NAME and SECRET are those of an account with a CHAP secret: `fourfold user add NAME --chap-secret`";
    let chap = Some(chap).filter(|_| !guests);
    // Without guests, discovery returns targets only to authenticated initiators; a node record
    // needs no discovery.
    let node = format!("sudo iscsiadm -m node -T {target} -p {at}");
    let begin = match guests {
        true => format!("sudo iscsiadm -m discovery -t sendtargets -p {at}"),
        false => {
            let set = ["authmethod -v CHAP", "username -v NAME", "password -v SECRET"]
                .map(|set| format!(" && {node} -o update -n node.session.auth.{set}"));
            format!("{node} -o new{}", set.concat())
        }
    };
    let linux = format!("{begin} && {node} --login");
    let port = if port == PORT { String::new() } else { format!(" -TargetPortalPortNumber {port}") };
    let proof =
        if guests { "" } else { " -AuthenticationType ONEWAYCHAP -ChapUsername NAME -ChapSecret SECRET" };
    let windows = format!(
        "New-IscsiTargetPortal -TargetPortalAddress {host}{port}{proof}; Connect-IscsiTarget -NodeAddress {target} \
         -IsPersistent $true{proof}"
    );
    vec![
        line("Linux", linux, chap),
        line("Windows", windows, chap),
        line(
            "libiscsi",
            format!("iscsi-inq {}", quote(&format!("iscsi://{account}{at}/{target}/{number}"))),
            chap,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 10));

    #[test]
    fn a_lun_is_reached_with_a_secret_unless_its_share_lets_guests_in() {
        let lines = |port, guests| -> Vec<String> {
            let lines = lun("iqn.2026-11.test:a.b", 3, (HOST, port), guests);
            lines.into_iter().map(|line| line.line).collect()
        };
        assert_eq!(
            lines(3260, true),
            [
                "sudo iscsiadm -m discovery -t sendtargets -p 192.168.1.10:3260 && sudo iscsiadm -m node -T \
                 iqn.2026-11.test:a.b -p 192.168.1.10:3260 --login",
                "New-IscsiTargetPortal -TargetPortalAddress 192.168.1.10; Connect-IscsiTarget -NodeAddress \
                 iqn.2026-11.test:a.b -IsPersistent $true",
                "iscsi-inq iscsi://192.168.1.10:3260/iqn.2026-11.test:a.b/3",
            ]
        );
        let lines = lines(13260, false);
        assert!(lines[0].contains("-n node.session.auth.username -v NAME"), "{}", lines[0]);
        let begin = "sudo iscsiadm -m node -T iqn.2026-11.test:a.b -p 192.168.1.10:13260 -o new && ";
        assert!(lines[0].starts_with(begin), "{}", lines[0]);
        assert_eq!(lines[1].matches(" -AuthenticationType ONEWAYCHAP ").count(), 2, "{}", lines[1]);
        assert!(
            lines[1].contains("-TargetPortalPortNumber 13260") && lines[1].contains("-ChapUsername NAME")
        );
        assert_eq!(lines[2], "iscsi-inq iscsi://NAME%SECRET@192.168.1.10:13260/iqn.2026-11.test:a.b/3");
    }
}
