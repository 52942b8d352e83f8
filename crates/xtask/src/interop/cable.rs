//! Another machine, for tests that need two machines: a network namespace at the end of a cable.

use std::time::Duration;

use anyhow::Result;

use crate::process;

/// The other machine: a network namespace of this name.
pub const CLIENT: &str = "fourfold-client";
/// This end of the cable.
pub const ADDRESS: &str = "192.0.2.1";
const LIMIT: Duration = Duration::from_secs(20);

/// Two machines on one cable.
pub struct CableNetwork;

impl CableNetwork {
    pub fn new() -> Result<Self> {
        let ip = |words: &str| -> Result<()> {
            process::stdout_of("ip", &words.split(' ').collect::<Vec<_>>(), LIMIT).map(drop)
        };
        std::fs::create_dir_all("/run/netns")?;
        ip(&format!("netns add {CLIENT}"))?;
        let network = Self; // from here on dropping it removes the network
        ip(&format!("link add fourfold0 type veth peer name fourfold1 netns {CLIENT}"))?;
        ip(&format!("addr add {ADDRESS}/24 dev fourfold0"))?;
        ip("link set fourfold0 up")?;
        ip(&format!("-n {CLIENT} addr add 192.0.2.2/24 dev fourfold1"))?;
        ip(&format!("-n {CLIENT} link set fourfold1 up"))?;
        Ok(network)
    }
}

impl Drop for CableNetwork {
    fn drop(&mut self) {
        // Its end of the cable is removed with it, and so is ours.
        let _ = process::output("ip", &["netns", "del", CLIENT], LIMIT);
    }
}
