//! What is to be measured, and how often.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::link::Rate;
use crate::{Error, Result, Suite, Target, Workload};

/// The most clients at the same time.
const MAX_CLIENTS: usize = 500;
/// The most repeats of a measurement.
const MAX_REPEATS: usize = 1000;
/// The most transfers in flight of a client.
const MAX_DEPTH: usize = 256;

/// Whether the server has the data in its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residency {
    /// It has just written them.
    Warm,
    /// The data were dropped from the page cache before each repeat.
    Cold,
}

/// What a write promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Nothing: the server writes when it likes to.
    None,
    /// The data are on the disk when the file is closed, and the clock runs until then.
    End,
    /// Each write is on the disk before its answer.
    Each,
}

impl std::fmt::Display for Residency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        })
    }
}

impl std::fmt::Display for Durability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::End => "end",
            Self::Each => "each",
        })
    }
}

/// A whole measurement.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is compared.
    pub targets: Vec<Target>,
    /// What the clients do.
    pub workloads: Vec<&'static Workload>,
    /// Numbers of clients.
    pub clients: Vec<usize>,
    /// States of the server's cache, for workloads that read.
    pub caches: Vec<Residency>,
    /// Promises, for workloads that write.
    pub durabilities: Vec<Durability>,
    /// Links to the servers: as they are, or slowed down. Local folders are measured with the first only.
    pub links: Vec<Option<Rate>>,
    /// Repeats of each.
    pub repeats: usize,
    /// Transfers in flight of one client.
    pub depth: usize,
    /// A factor for all sizes and numbers of files.
    pub scale: f64,
    /// The longest time of one repeat.
    pub limit: Duration,
    /// How long a client waits for an answer.
    pub timeout: Duration,
    /// What data and random places depend on.
    pub seed: u64,
    /// The served folder, if the server is on this machine: it makes cold runs possible.
    pub server_folder: Option<PathBuf>,
    /// The server's process, if it is on this machine and cannot be found by its port.
    pub server_pid: Option<u32>,
    /// Lengths of real images, for the workload that opens images. Without them all have the same.
    pub images: Vec<u64>,
    /// The published measurement that is repeated.
    pub suite: Option<&'static Suite>,
    /// The command that repeats the measurement, without passwords.
    pub command: String,
}

/// One measurement, with its repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) workload: &'static Workload,
    pub(crate) clients: usize,
    pub(crate) cache: Residency,
    pub(crate) durability: Durability,
}

impl Plan {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`Error::Address`] with the reason.
    pub fn check(&self) -> Result<()> {
        let cold = self.caches.contains(&Residency::Cold);
        let local = |target: &Target| target.protocol == crate::Protocol::File;
        let wrong = if self.targets.is_empty() {
            "no target is given"
        } else if self.workloads.is_empty() {
            "no workload is given"
        } else if self.clients.iter().any(|clients| !(1..=MAX_CLIENTS).contains(clients)) {
            "the number of clients must be from 1 to 500"
        } else if !(1..=MAX_REPEATS).contains(&self.repeats) {
            "the number of repeats must be from 1 to 1000"
        } else if !(1..=MAX_DEPTH).contains(&self.depth) {
            "the depth must be from 1 to 256"
        } else if !(self.scale > 0.0 && self.scale <= 100.0) {
            "the scale must be above 0 and at most 100"
        } else if self.suite.is_some_and(|suite| self.repeats < suite.least_repeats) {
            "this suite was measured three times or more: --repeats must be at least 3"
        } else if self.links.is_empty() {
            "no link is given"
        } else if self.timeout.is_zero() || self.limit.is_zero() {
            "a time must be at least 1 s"
        } else if cold && self.server_folder.is_none() && !self.targets.iter().all(local) {
            "a cold run needs --server-folder: the served folder on this machine, whose files are dropped \
             from the page cache"
        } else {
            return Ok(());
        };
        Err(Error::Address(wrong.into()))
    }

    /// The measurements of one target.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for workload in &self.workloads {
            let caches = if workload.reads { &self.caches[..] } else { &[Residency::Warm] };
            let durabilities = if workload.writes { &self.durabilities[..] } else { &[Durability::None] };
            for &clients in &self.clients {
                for &cache in caches {
                    for &durability in durabilities {
                        cells.push(Cell { workload, clients, cache, durability });
                    }
                }
            }
        }
        cells
    }

    /// The number of repeats of all measurements.
    #[must_use]
    pub fn runs(&self) -> usize {
        let remote = self.targets.iter().filter(|target| target.protocol != crate::Protocol::File).count();
        let places = self.targets.len() + remote * self.links.len().saturating_sub(1);
        places * self.cells().len() * self.repeats
    }

    /// The most bytes that lie on a server at the same time.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let clients = self.clients.iter().copied().max().unwrap_or(1);
        self.workloads.iter().map(|workload| workload.bytes(self.scale, clients)).max().unwrap_or(0)
    }
}
