//! Lists of people and of hosts, as afpd reads them.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// Accounts and groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct People {
    pub(super) users: Vec<String>,
    pub(super) groups: Vec<String>,
}

impl People {
    /// Names of groups begin with `@`. An empty list names no user.
    pub(super) fn of(list: &str) -> Option<Self> {
        let (groups, users): (Vec<String>, Vec<String>) =
            words(list).into_iter().partition(|word| word.starts_with('@'));
        let groups =
            groups.iter().map(|group| group[1..].to_owned()).filter(|group| !group.is_empty()).collect();
        Some(Self { users, groups }).filter(|all| !all.users.is_empty() || !all.groups.is_empty())
    }

    pub(super) fn has_user(&self, name: &str) -> bool {
        self.users.iter().any(|user| user.eq_ignore_ascii_case(name))
    }
}

/// The words of a list, between commas and blanks. Words in quotes are one.
pub(super) fn words(list: &str) -> Vec<String> {
    super::super::share::words(list)
}

/// A host for a rule, as afpd compares it; `None`: it cannot.
///
/// A mask is the number of bits. One with dots is taken for 255 bits, which are all: `is_denied` takes the network then, and else
/// the address alone.
pub(super) fn host(word: &str, is_denied: bool) -> Option<String> {
    let (address, mask) = match word.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (word, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return (mask.is_none() && auth::is_host_name(word)).then(|| word.to_lowercase());
    };
    let Some(mask) = mask else { return Some(address.to_string()) };
    let most = if address.is_ipv4() { 32 } else { 128 };
    match (mask.parse::<u8>(), mask.parse::<IpAddr>()) {
        (Ok(bits), _) if bits <= most => IpNet::new(address, bits).ok().map(|net| net.trunc().to_string()),
        (_, Ok(mask)) if is_denied => {
            IpNet::with_netmask(address, mask).ok().map(|net| net.trunc().to_string())
        }
        _ if is_denied => None,
        _ => Some(address.to_string()),
    }
}

/// The address of `192.168.1.1`, `192.168.1.1:548` or `[fd00::1]:548`.
pub(super) fn listened(word: &str) -> Option<String> {
    let address = word.parse::<IpAddr>().ok();
    let address = address.or_else(|| Some(word.parse::<SocketAddr>().ok()?.ip()));
    let bare = || word.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    Some(address.or_else(bare)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_those_that_afpd_compares() {
        for (word, allowed, denied) in [
            ("10.0.0.5", Some("10.0.0.5"), Some("10.0.0.5")),
            ("10.0.0.0/8", Some("10.0.0.0/8"), Some("10.0.0.0/8")),
            ("10.0.0.0/255.0.0.0", Some("10.0.0.0"), Some("10.0.0.0/8")),
            ("fd00::/8", Some("fd00::/8"), Some("fd00::/8")),
            ("Mac.example.org", Some("mac.example.org"), Some("mac.example.org")),
            ("192.168.1.*", None, None),
            ("*.example.org", None, None),
            ("192.168.", None, None),
            ("10.0.0.0/33", Some("10.0.0.0"), None),
            ("10.0.0.0/x", Some("10.0.0.0"), None),
        ] {
            assert_eq!(
                (host(word, false).as_deref(), host(word, true).as_deref()),
                (allowed, denied),
                "{word}"
            );
        }
    }

    #[test]
    fn people_are_users_and_groups_with_a_sign() {
        let people = People::of("ada, \"two words\" @staff,\"@old staff\" +x").unwrap();
        assert_eq!(people.users, ["ada", "two words", "+x"]);
        assert_eq!(people.groups, ["staff", "old staff"]);
        assert!(people.has_user("ADA") && People::of(" , ").is_none());
    }

    #[test]
    fn addresses_with_ports() {
        let all = ["10.0.0.1", "10.0.0.1:548", "[fd00::1]:548", "[fd00::1]", "mac", "eth0"].map(listened);
        let expected = ["10.0.0.1", "10.0.0.1", "fd00::1", "fd00::1"].map(|one| Some(one.to_owned()));
        assert_eq!((&all[..4], &all[4..]), (&expected[..], &[None, None][..]));
    }
}
