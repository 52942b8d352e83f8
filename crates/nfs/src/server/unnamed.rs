//! The hosts that were refused because nobody has named them, each once for each share, for the log.

use std::collections::HashSet;
use std::net::IpAddr;

use lock::Mutex;

use crate::ranks;

/// The most lines that are remembered. Then no more are written: an attacker that has many addresses fills no log.
const MOST_TOLD: usize = 1024;

/// What the log has said.
#[derive(Default)]
pub(in crate::server) struct UnnamedHosts {
    told: Mutex<HashSet<(IpAddr, String)>, ranks::UnnamedHosts>,
}

impl UnnamedHosts {
    /// Logs what lets the host in, unless the log has it.
    pub(in crate::server) fn tell(&self, host: IpAddr, share: &str) {
        let host = host.to_canonical();
        if self.is_new(host, share) {
            tracing::warn!(client = %host, export = share,
                "refused: NFS gives this share to hosts that are named, or that log in; if you trust this one, write \
                 `nfs-clients = [\"{host}\"]` in [server], or serve with `--nfs-clients {host}`; see docs/nfs.md");
        }
    }

    fn is_new(&self, host: IpAddr, share: &str) -> bool {
        let mut told = self.told.lock();
        told.len() < MOST_TOLD && told.insert((host, share.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_is_told_once_for_each_share() {
        let unnamed = UnnamedHosts::default();
        let host = |last: u8| IpAddr::from([192, 0, 2, last]);
        let is_new = |last, share| unnamed.is_new(host(last), share);
        assert_eq!(
            [is_new(1, "a"), is_new(1, "a"), is_new(1, "b"), is_new(2, "a"), is_new(2, "a")],
            [true, false, true, true, false]
        );
    }
}
