//! A virtual address of a cluster.

use std::net::IpAddr;
use std::str::FromStr;

/// A virtual address, `192.0.2.7/24@eth0` or `2001:db8::7/64@eth0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAddress {
    /// The address.
    pub ip: IpAddr,
    /// The length of its network's prefix.
    pub prefix: u8,
    /// The device that gets it.
    pub device: String,
}

impl FromStr for ClusterAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (network, device) = text.split_once('@').ok_or("it has no `@DEVICE`")?;
        let (ip, prefix) = network.split_once('/').ok_or("it has no `/PREFIX`")?;
        let ip: IpAddr = ip.parse().map_err(|_| "it is not an address of IPv4 or IPv6")?;
        let (most, why) = match ip {
            IpAddr::V4(_) => (32, "its prefix is not 0 to 32"),
            IpAddr::V6(_) => (128, "its prefix is not 0 to 128"),
        };
        let prefix: u8 = prefix.parse().ok().filter(|prefix| *prefix <= most).ok_or(why)?;
        let fits = !device.is_empty() && device.len() < 16 && !device.contains(['/', ' ']);
        if !fits {
            return Err("its device is not a name");
        }
        let is_no_host = match ip {
            IpAddr::V4(ip) => ip.is_broadcast(),
            // Addresses of one link need a device at the client, too.
            IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.to_ipv4_mapped().is_some(),
        };
        if is_no_host || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() {
            return Err("a server cannot have it");
        }
        Ok(Self { ip, prefix, device: device.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_wrong_ones_refused() {
        let address: ClusterAddress = "192.0.2.7/24@eth0".parse().unwrap();
        assert_eq!((address.ip, address.prefix, &*address.device), ([192, 0, 2, 7].into(), 24, "eth0"));
        let address: ClusterAddress = "2001:db8::7/64@eth0".parse().unwrap();
        assert_eq!((address.ip.to_string(), address.prefix), ("2001:db8::7".to_owned(), 64));
        let wrong = [
            "192.0.2.7",
            "192.0.2.7/24",
            "192.0.2.7@eth0",
            "192.0.2.7/33@eth0",
            "::1/64@eth0",
            "fe80::7/64@eth0",
            "ff02::1/64@eth0",
            "2001:db8::7/129@eth0",
            "::ffff:192.0.2.7/96@eth0",
            "127.0.0.1/8@lo",
        ];
        for wrong in
            wrong.into_iter().chain(["0.0.0.0/0@eth0", "192.0.2.7/24@", "192.0.2.7/24@a b", "x/24@eth0"])
        {
            assert!(wrong.parse::<ClusterAddress>().is_err(), "{wrong}");
        }
    }
}
