//! The clients of an export: hosts, networks, patterns, netgroups, everybody, in the order in which they count.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::netgroups::Netgroups;

/// Clients, as exports(5) counts them: of several that match a host, the first kind decides, and of one kind the first that stands in
/// the file. nfs-utils counts an address as a network of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Client {
    Host(String),
    Net(IpNet),
    Pattern(String),
    Netgroup(Vec<String>),
    Anyone,
    /// Hosts that no rule can name, with the reason, and the kind that they are of.
    Unknown(usize, String),
}

impl Client {
    pub(super) fn of(text: &str, netgroups: Netgroups) -> Self {
        if matches!(text, "" | "*") {
            return Self::Anyone;
        }
        if let Some(name) = text.strip_prefix('@') {
            return match netgroups(name) {
                Ok(members) => Self::Netgroup(members.into_iter().map(|member| member.host).collect()),
                Err(why) => Self::Unknown(3, why),
            };
        }
        if text.starts_with("gss/") {
            return Self::Unknown(5, "name the flavour in `sec` of a rule instead".into());
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Self::Net(IpNet::from(address.to_canonical()));
        }
        if text.contains('/') && !text.contains(['*', '?', '[']) {
            let why = || "it is no network with a mask of leading ones".to_owned();
            return network(text).map_or_else(|| Self::Unknown(1, why()), Self::Net);
        }
        let is_pattern = text.contains(['*', '?', '[']);
        match auth::is_host_pattern(text) {
            Ok(()) if is_pattern => Self::Pattern(text.to_ascii_lowercase()),
            Ok(()) => Self::Host(text.to_ascii_lowercase()),
            Err(why) => Self::Unknown(if is_pattern { 2 } else { 0 }, why.to_string()),
        }
    }

    /// Its place among the kinds.
    pub(super) fn kind(&self) -> usize {
        match self {
            Self::Host(_) => 0,
            Self::Net(_) => 1,
            Self::Pattern(_) => 2,
            Self::Netgroup(_) => 3,
            Self::Anyone => 4,
            Self::Unknown(kind, _) => *kind,
        }
    }

    /// What `match` of a rule has for it.
    pub(super) fn matches(&self) -> Vec<String> {
        match self {
            Self::Host(name) | Self::Pattern(name) => vec![name.clone()],
            Self::Net(net) if net.prefix_len() == net.max_prefix_len() => vec![net.addr().to_string()],
            Self::Net(net) => vec![net.to_string()],
            Self::Netgroup(hosts) => hosts.clone(),
            Self::Anyone => vec!["*".into()],
            Self::Unknown(..) => Vec::new(),
        }
    }
}

/// `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `fd00::/8`.
fn network(text: &str) -> Option<IpNet> {
    let (address, mask) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let net = match mask.parse::<IpAddr>() {
        Ok(mask) => IpNet::with_netmask(address, mask).ok()?,
        Err(_) => IpNet::new(address, mask.parse().ok()?).ok()?,
    };
    Some(net.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Client {
        Client::of(text, |_| Err("none".into()))
    }

    #[test]
    fn clients_are_of_the_kinds_that_nfs_utils_makes_of_them() {
        for (text, kind, matches) in [
            ("pc.example.org", 0, "pc.example.org"),
            ("10.0.0.5", 1, "10.0.0.5"),
            ("10.0.0.0/8", 1, "10.0.0.0/8"),
            ("10.1.2.3/255.255.0.0", 1, "10.1.0.0/16"),
            ("fd00::1", 1, "fd00::1"),
            ("fd00::/8", 1, "fd00::/8"),
            ("*.Example.org", 2, "*.example.org"),
            ("pc[0-9]", 2, "pc[0-9]"),
            ("*", 4, "*"),
            ("", 4, "*"),
        ] {
            let client = of(text);
            assert_eq!((client.kind(), client.matches()), (kind, vec![matches.to_owned()]), "{text}");
        }
        for (text, kind) in [
            ("192.168.1.*", 2),
            ("@staff", 3),
            ("gss/krb5", 5),
            ("10.0.0.0/33", 1),
            ("10.0.0.0/255.0.255.0", 1),
            ("192.168.", 0),
            ("-rw", 0),
        ] {
            assert!(matches!(of(text), Client::Unknown(found, _) if found == kind), "{text}: {:?}", of(text));
        }
        assert_eq!(of("ALL"), Client::Host("all".into()));
    }
}
