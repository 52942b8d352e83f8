//! Hosts, networks and sizes, as other servers write them.

use std::net::IpAddr;

use super::share::quoted;

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

/// A rule for clients: its settings, with values in TOML.
pub(super) type Rule = Vec<(&'static str, String)>;

/// The rule that refuses every host.
pub(super) fn nobody() -> Rule {
    vec![("match", quoted("*")), ("access", quoted("none"))]
}

/// Rules that allow what both lists allow; `None`: they name hosts that cannot be compared. Of each list the first rule that matches
/// counts, so the pairs in their order say the same.
pub(super) fn both(one: &[Rule], other: &[Rule]) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    for a in one {
        for b in other {
            let hosts = common(&hosts(a), &hosts(b))?;
            if !hosts.is_empty() {
                rules.push(narrower(hosts, a, b)?);
            }
        }
    }
    Some(if rules.is_empty() { vec![nobody()] } else { rules })
}

/// The hosts of a rule.
fn hosts(rule: &Rule) -> Vec<String> {
    let text = rule.iter().find(|(name, _)| *name == "match").map_or("", |(_, value)| value);
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The hosts that are in both lists.
fn common(one: &[String], other: &[String]) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for a in one {
        for b in other {
            let net = |text: &String| {
                text.parse::<ipnet::IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(Into::into))
            };
            match (net(a), net(b)) {
                _ if a == b || b == "*" => all.push(a.clone()),
                _ if a == "*" => all.push(b.clone()),
                (Some(x), Some(y)) if x.contains(&y) => all.push(b.clone()),
                (Some(x), Some(y)) if y.contains(&x) => all.push(a.clone()),
                (Some(_), Some(_)) => {}
                _ => return None,
            }
        }
    }
    Some(all)
}

/// One rule for these hosts that allows what both allow; `None`: they differ in something else.
fn narrower(hosts: Vec<String>, a: &Rule, b: &Rule) -> Option<Rule> {
    let access = |rule: &Rule| {
        let said = rule.iter().find(|(name, _)| *name == "access").map_or("\"rw\"", |(_, value)| value);
        ["\"none\"", "\"ro\"", "\"rw\""].iter().position(|one| *one == said)
    };
    let least = access(a)?.min(access(b)?);
    let hosts: Vec<String> = hosts.iter().map(|host| quoted(host)).collect();
    let mut rule = vec![
        ("match", format!("[{}]", hosts.join(", "))),
        ("access", quoted(["none", "ro", "rw"].get(least)?)),
    ];
    for (name, value) in a.iter().chain(b).filter(|(name, _)| !matches!(*name, "match" | "access")) {
        match rule.iter().find(|(known, _)| known == name) {
            Some((_, known)) if known != value => return None,
            Some(_) => {}
            None => rule.push((name, value.clone())),
        }
    }
    Some(rule)
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
    fn two_lists_of_rules_allow_what_both_allow() {
        let rule =
            |hosts: &str, access: &str| vec![("match", format!("[{hosts}]")), ("access", quoted(access))];
        let one = [rule("\"10.0.0.7\"", "none"), rule("\"10.0.0.0/8\", \"fd00::/8\"", "rw")];
        let other = [rule("\"10.1.0.0/16\", \"192.168.0.0/16\"", "rw"), rule("\"*\"", "ro")];
        let expected = [
            rule("\"10.0.0.7\"", "none"),
            rule("\"10.1.0.0/16\"", "rw"),
            rule("\"10.0.0.0/8\", \"fd00::/8\"", "ro"),
        ];
        assert_eq!(both(&one, &other).unwrap(), expected);
        assert_eq!(both(&[rule("\"10.0.0.1\"", "rw")], &[rule("\"10.0.0.2\"", "rw")]).unwrap(), [nobody()]);
        assert_eq!(both(&[rule("\"host\"", "rw")], &[rule("\"10.0.0.2\"", "rw")]), None);
    }

    #[test]
    fn sizes() {
        let found = ["500G", "2 TB", "100", "32KiB", "x", "5P"].map(size);
        let expected = [Some("500 GiB"), Some("2 TiB"), Some("100"), Some("32 KiB"), None, None];
        assert_eq!(found, expected.map(|text| text.map(str::to_owned)));
    }
}
