//! Hosts, networks and sizes, as other servers write them.

use std::net::IpAddr;

use super::share::{Share, quoted, words};

/// A host or network for a rule for clients; `None` if it is a name or a pattern.
pub(super) fn host(text: &str) -> Option<String> {
    if matches!(text, "*" | "ALL" | "all") {
        return Some("*".into());
    }
    if text.parse::<IpAddr>().is_ok() {
        return Some(text.into());
    }
    if let Some((address, mask)) = text.split_once('/') {
        let address: IpAddr = address.parse().ok()?;
        let bits = match mask.parse::<std::net::Ipv4Addr>() {
            Ok(mask) => {
                let bits = u32::from(mask);
                (bits.leading_ones() + bits.trailing_zeros() == 32).then(|| bits.leading_ones())?
            }
            Err(_) => mask.parse().ok()?,
        };
        let most = if address.is_ipv4() { 32 } else { 128 };
        return (bits <= most).then(|| format!("{address}/{bits}"));
    }
    // "192.168." is each host whose address begins so.
    let octets: Vec<&str> = text.strip_suffix('.')?.split('.').collect();
    let is_octet = |octet: &&str| octet.parse::<u8>().is_ok();
    if octets.len() > 3 || !octets.iter().all(is_octet) {
        return None;
    }
    let zeros = vec!["0"; 4 - octets.len()];
    Some(format!("{}.{}/{}", octets.join("."), zeros.join("."), 8 * octets.len()))
}

/// Adds a rule for the hosts of a list.
pub(super) fn allow(share: &mut Share, list: &str) {
    let mut hosts = Vec::new();
    for word in words(list) {
        match host(&word) {
            Some(host) => hosts.push(quoted(&host)),
            None => {
                share.untranslated.push(format!("the host {word}: rules have addresses and networks only"))
            }
        }
    }
    if !hosts.is_empty() {
        share.clients.push(vec![("match", format!("[{}]", hosts.join(", ")))]);
    }
}

/// A size such as `500G`, as the settings have it. Letters are powers of 1024.
pub(super) fn size(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => return Some(number.to_string()),
        "K" => "KiB",
        "M" => "MiB",
        "G" => "GiB",
        "T" => "TiB",
        _ => return None,
    };
    Some(format!("{number} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_networks_of_other_servers() {
        for (theirs, ours) in [
            ("192.168.", "192.168.0.0/16"),
            ("10.1.2.3", "10.1.2.3"),
            ("10.0.0.0/255.255.255.0", "10.0.0.0/24"),
            ("fe80::/10", "fe80::/10"),
            ("*", "*"),
        ] {
            assert_eq!(host(theirs).as_deref(), Some(ours), "{theirs}");
        }
        for name in [
            "client.example.com",
            "*.example.com",
            "@staff",
            "10.0.0.0/255.0.255.0",
            "1.2.3.4.",
            "10.0.0.0/33",
        ] {
            assert_eq!(host(name), None, "{name}");
        }
    }

    #[test]
    fn sizes() {
        let found = ["500G", "2 TB", "100", "32KiB", "x", "5P"].map(size);
        let expected = [Some("500 GiB"), Some("2 TiB"), Some("100"), Some("32 KiB"), None, None];
        assert_eq!(found, expected.map(|text| text.map(str::to_owned)));
    }
}
