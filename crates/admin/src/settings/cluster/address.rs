//! A virtual address of a cluster.

use std::net::Ipv4Addr;
use std::str::FromStr;

/// A virtual address, `192.0.2.7/24@eth0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAddress {
    /// The address.
    pub ip: Ipv4Addr,
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
        let ip: Ipv4Addr = ip.parse().map_err(|_| "it is not an address of IPv4")?;
        let prefix: u8 =
            prefix.parse().ok().filter(|prefix| *prefix <= 32).ok_or("its prefix is not 0 to 32")?;
        let fits = !device.is_empty() && device.len() < 16 && !device.contains(['/', ' ']);
        if !fits || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || ip.is_broadcast() {
            return Err(if fits { "a server cannot have it" } else { "its device is not a name" });
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
        let wrong = [
            "192.0.2.7",
            "192.0.2.7/24",
            "192.0.2.7@eth0",
            "192.0.2.7/33@eth0",
            "::1/64@eth0",
            "127.0.0.1/8@lo",
        ];
        for wrong in
            wrong.into_iter().chain(["0.0.0.0/0@eth0", "192.0.2.7/24@", "192.0.2.7/24@a b", "x/24@eth0"])
        {
            assert!(wrong.parse::<ClusterAddress>().is_err(), "{wrong}");
        }
    }
}
