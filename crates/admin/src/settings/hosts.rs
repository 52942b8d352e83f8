//! The hosts of client rules and sites, as they are written.

use std::net::IpAddr;

use ipnet::IpNet;

use super::kind::{ClientMatch, Raw, Value, Wrong, wrong};

/// One of these, or a list.
pub(super) fn list(
    raw: &Raw,
    one: fn(&Raw) -> Result<ClientMatch, Option<String>>,
) -> Result<Value, Vec<Wrong>> {
    let mut wrongs = match raw {
        Raw::List(_) => match super::kind::list(raw, one) {
            Ok(all) => return Ok(Value::Clients(all)),
            Err(wrongs) => wrongs,
        },
        single => match one(single) {
            Ok(one) => return Ok(Value::Clients(vec![one])),
            Err(better) => vec![wrong(single, None, better)],
        },
    };
    let is_netgroup = |wrong: &Wrong| wrong.found.starts_with("\"@");
    wrongs.iter_mut().filter(|wrong| is_netgroup(wrong)).for_each(|wrong| {
        wrong.why = Some("netgroups are not looked up: write the names of their hosts");
    });
    Err(wrongs)
}

/// An address, a network, a name, a pattern, or `"*"`.
pub(super) fn client(raw: &Raw) -> Result<ClientMatch, Option<String>> {
    match network(raw) {
        Err(better) => {
            let text = raw.text().ok_or(None)?;
            auth::is_host_pattern(text).map(|()| ClientMatch::Name(text.into())).map_err(|_| better)
        }
        known => known,
    }
}

/// The same, or `"all"`.
pub(super) fn client_or_all(raw: &Raw) -> Result<ClientMatch, Option<String>> {
    match raw.text() {
        Some(text) if text.eq_ignore_ascii_case("all") => Ok(ClientMatch::Any),
        _ => client(raw),
    }
}

/// An address, a network, or `"*"`.
pub(super) fn network(raw: &Raw) -> Result<ClientMatch, Option<String>> {
    let text = raw.text().ok_or(None)?;
    if text == "*" {
        return Ok(ClientMatch::Any);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(ClientMatch::Net(IpNet::from(address.to_canonical())));
    }
    text.parse::<IpNet>().map(|net| ClientMatch::Net(net.trunc())).map_err(|_| better_client(text))
}

/// A correction of an address with a netmask, which other servers accept, or with a prefix that is
/// too long.
fn better_client(text: &str) -> Option<String> {
    if let Some(octets) = text.strip_suffix(".*") {
        let octets: Vec<u8> =
            octets.trim_end_matches(".*").split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        let mut address = [0; 4];
        address.get_mut(..octets.len())?.copy_from_slice(&octets);
        return Some(format!("\"{}/{}\"", std::net::Ipv4Addr::from(address), 8 * octets.len()));
    }
    let (address, mask) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let net = match mask.parse::<IpAddr>() {
        Ok(mask) => IpNet::with_netmask(address, mask).ok()?.trunc(),
        Err(_) => IpNet::from(address),
    };
    Some(format!("\"{net}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClientMatch, Option<String>> {
        client(&Raw::Text(text.into()))
    }

    #[test]
    fn client_rules_name_hosts_and_a_pattern_of_addresses_is_none() {
        for name in ["pc.example.org", "*.lab.example.org", "pc[0-9]"] {
            assert_eq!(read(name), Ok(ClientMatch::Name(name.into())));
        }
        assert_eq!(read("192.168.1.*"), Err(Some("\"192.168.1.0/24\"".into())));
        assert_eq!(read("10.*.*.*"), Err(Some("\"10.0.0.0/8\"".into())));
        for bad in ["192.168.1.300", "@staff", "two words", "*.*", ""] {
            assert_eq!(read(bad), Err(None), "{bad}");
        }
        let netgroup = list(&Raw::List(vec![Raw::Text("@staff".into())]), client).unwrap_err();
        assert!(netgroup[0].why.is_some_and(|why| why.contains("netgroups are not looked up")));
        assert!(network(&Raw::Text("pc.example.org".into())).is_err());
    }
}
