//! Targets: initiators log in to them, and each initiator sees certain logical units of them.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use auth::{Grant, SharePolicy};
use lock::RwLock;
use vfs::names::is_like;

use super::config::TargetConfig;
use super::paths::{AccessState, MAIN_PORT, Paths, TargetPort};
use super::scsi::LogicalUnit;
use crate::ranks;

/// A logical unit's place in a target.
#[derive(Clone)]
pub struct TargetLun {
    /// Its number.
    pub number: u16,
    /// The disk.
    pub unit: Arc<LogicalUnit>,
    /// Patterns of the names of the initiators that see it; if it is empty, all initiators see it.
    pub initiators: Vec<String>,
    /// Patterns of the names of the initiators that may only read it.
    pub readers: Vec<String>,
}

/// A logical unit as one initiator sees it.
#[derive(Clone)]
pub(crate) struct VisibleUnit {
    /// Its number.
    pub(crate) number: u16,
    /// The disk.
    pub(crate) unit: Arc<LogicalUnit>,
    /// The initiator may not write to it.
    pub(crate) read_only: bool,
}

/// A target.
pub struct Target {
    /// Its iSCSI name.
    pub name: String,
    /// The displayed name, for initiators that show it.
    pub alias: String,
    offer: RwLock<(SharePolicy, Vec<TargetLun>), ranks::TargetOffer>,
    /// Counts the changes of its units.
    generation: AtomicU64,
    /// The settings that it is part of.
    config: RwLock<Weak<TargetConfig>, ranks::TargetConfig>,
}

impl Target {
    /// A target without units, which refuses all logins.
    pub fn new(name: &str, alias: &str) -> Arc<Self> {
        let (offer, generation) = (RwLock::default(), AtomicU64::new(0));
        let (name, alias, config) = (name.into(), alias.into(), RwLock::default());
        Arc::new(Self { name, alias, offer, generation, config })
    }

    /// Replaces its units. Initiators that see other units than before are told at their next
    /// command.
    pub fn set(&self, policy: SharePolicy, mut luns: Vec<TargetLun>) {
        luns.sort_by_key(|lun| lun.number);
        let before = std::mem::replace(&mut *self.offer.write(), (policy, luns.clone())).1;
        self.generation.fetch_add(1, Ordering::Release);
        let disk = |lun: &TargetLun| (lun.number, lun.unit.identity.naa);
        let same = before.iter().map(disk).eq(luns.iter().map(disk));
        if !same {
            luns.iter().for_each(|lun| lun.unit.tell_all(crate::wire::scsi::Asc::REPORTED_LUNS_CHANGED));
        }
    }

    /// It belongs to these settings now.
    pub(super) fn join(&self, config: &Arc<TargetConfig>) {
        *self.config.write() = Arc::downgrade(config);
    }

    /// All targets of the server.
    pub(crate) fn all(&self) -> Vec<Arc<Self>> {
        self.config.read().upgrade().map(|config| config.targets.clone()).unwrap_or_default()
    }

    /// The logins that it allows: the policy of the share that has the disks.
    pub fn policy(&self) -> SharePolicy {
        self.offer.read().0.clone()
    }

    /// All units.
    pub fn luns(&self) -> Vec<TargetLun> {
        self.offer.read().1.clone()
    }

    /// The units that the initiator with this name sees from this host, ascending.
    pub(crate) fn seen_by(&self, initiator: &str, host: IpAddr) -> Vec<VisibleUnit> {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| is_like(initiator, pattern));
        let offer = self.offer.read();
        let Some(grant) = offer.0.grant_to_host(host) else { return Vec::new() };
        let seen = offer.1.iter().filter(|lun| lun.initiators.is_empty() || any(&lun.initiators));
        let as_seen = |lun: &TargetLun| {
            let read_only = grant == Grant::ReadOnly || any(&lun.readers);
            VisibleUnit { number: lun.number, unit: lun.unit.clone(), read_only }
        };
        seen.map(as_seen).collect()
    }

    /// What the server knows of its ports at other servers. `None`: the server is alone.
    pub(crate) fn paths(&self) -> Option<Arc<dyn Paths>> {
        self.config.read().upgrade()?.paths.clone()
    }

    /// Its ports, by ascending numbers.
    pub(crate) fn ports(&self) -> Vec<TargetPort> {
        match self.paths() {
            Some(paths) => paths.ports(&self.name),
            None => vec![TargetPort { number: MAIN_PORT, access: AccessState::Active }],
        }
    }

    /// The number of the current set of units.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn a_star_is_anything() {
        let name = "iqn.1993-08.org.debian:01:ab";
        for pattern in ["*", name, "iqn.1993-08.org.debian:*", "*:ab", "IQN.*debian*ab", "iqn*0*1*"] {
            assert!(is_like(name, pattern), "{pattern}");
        }
        for pattern in ["", "iqn.1993-08.org.debian:01", "*debian", "iqn*x*", "*:ab:*ab"] {
            assert!(!is_like(name, pattern), "{pattern}");
        }
    }
}
