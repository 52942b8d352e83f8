//! The caches of a server, and the memory of its host. Scripts read it: fields may be added, never renamed or removed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Advice, AdviceRequest};

/// A request about caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum CachesRequest {
    /// What they hold, and how well they work.
    Show,
    /// Sets limits. All of them are set, or none.
    Set {
        /// Names and limits as they were typed: `64M`, `5000`.
        limits: Vec<(String, String)>,
    },
    /// The best mount commands for each client system.
    Mounts,
    /// What would make the server faster.
    Advise(AdviceRequest),
}

/// The answer to a request about caches.
#[derive(Debug, Clone, PartialEq)]
pub enum CachesAnswer {
    /// The answer to [`CachesRequest::Show`].
    Shown(Box<CachesStatus>),
    /// The limits are set; lines about them.
    Done(Vec<String>),
    /// The answer to [`CachesRequest::Mounts`].
    Mounts(Vec<ShareMounts>),
    /// The answer to [`CachesRequest::Advise`].
    Advice(Vec<Advice>),
}

/// The caches under their one budget.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CachesStatus {
    /// Bytes that the caches may take together.
    pub budget: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Memory for data on its way to and from clients: bytes in use.
    pub transfers: u64,
    /// The most of it.
    pub transfers_limit: u64,
    /// What of the limits applies: 1, or less while memory is short.
    pub part: f64,
    /// How often the limits were lowered because memory was short.
    pub gave_way: u64,
    /// Seconds since the server began.
    pub uptime_s: u64,
    /// Each cache.
    pub caches: Vec<CacheStatus>,
    /// What clients have read and written.
    pub traffic: TrafficStatus,
    /// The memory of the host.
    pub host: HostMemory,
}

/// A cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CacheStatus {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub holds: String,
    /// `bytes` or `entries`: the unit of its limits.
    pub unit: String,
    /// The limit that was set.
    pub wanted: u64,
    /// The limit in force.
    pub limit: u64,
    /// The limit cannot be changed.
    pub fixed: bool,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Its entries.
    pub entries: u64,
    /// Look-ups that it answered.
    pub hits: u64,
    /// Look-ups that it did not answer.
    pub misses: u64,
    /// Entries that were dropped to make room.
    pub evictions: u64,
    /// The part of the look-ups that it answered; `None`: there were none, or they are not counted.
    pub hit_ratio: Option<f64>,
    /// Milliseconds that the hits would have taken without the cache; 0: not measured.
    pub saved_ms: u64,
    /// The hit ratios of other sizes; `None`: unknown.
    pub predicted: Option<PredictedRatios>,
}

/// Hit ratios that a ghost list predicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PredictedRatios {
    /// With half the limit.
    pub half: f64,
    /// With the limit of now.
    pub same: f64,
    /// With twice the limit.
    pub double: f64,
    /// With four times the limit.
    pub four_times: f64,
}

/// What clients have read and written since the server began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TrafficStatus {
    /// Reads of file data.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Writes of file data.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Of the reads, those of resource forks and named streams, which have the icons of Macs.
    pub stream_reads: u64,
    /// Their bytes.
    pub stream_bytes: u64,
}

/// How far ahead the host reads the files of a share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ReadAheadStatus {
    /// The share.
    pub share: String,
    /// Bytes that the host reads ahead by itself for a file on this disk.
    pub disk: u64,
    /// Bytes with the setting of the share.
    pub bytes: u64,
    /// The setting: `normal`, `double` or `none`.
    pub setting: String,
}

/// The memory of the host, and what its own caches do for the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HostMemory {
    /// Bytes that the server may use: those of the machine, or of its control group.
    pub usable: u64,
    /// The control group allows less than the machine has.
    pub by_group: bool,
    /// Bytes of the machine.
    pub total: u64,
    /// Bytes that programs can still have without swapping.
    pub available: u64,
    /// Bytes of files in the page cache.
    pub page_cache: u64,
    /// Bytes of dentries, inodes and the like that the host can give back.
    pub reclaimable: u64,
    /// Names of files that the host remembers.
    pub dentries: Option<u64>,
    /// Bytes in swap.
    pub swapped: u64,
    /// The percentage of the last ten seconds in which some task waited for memory.
    pub pressure_some: Option<f64>,
    /// The same for all tasks.
    pub pressure_full: Option<f64>,
    /// The file with the pressure.
    pub pressure_from: Option<String>,
    /// Pages of files per second that were read again soon after they had left memory, over the last minute.
    pub refaults_per_s: f64,
    /// Pages since the server began that were.
    pub refaults: u64,
    /// Pages that went to swap since the server began.
    pub swap_outs: u64,
    /// Of the files that clients have open: how many were looked at.
    pub sampled_files: u64,
    /// Their bytes.
    pub sampled_bytes: u64,
    /// The bytes of them in the page cache; `None`: the host cannot tell.
    pub sampled_cached: Option<u64>,
    /// The read-ahead of the shares on disks of this host.
    pub read_ahead: Vec<ReadAheadStatus>,
    /// Bytes that came from disks because the server read, with what was read ahead; `None`: the host does not tell.
    pub disk_read_bytes: Option<u64>,
}

/// The best mount commands of a share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareMounts {
    /// Its name.
    pub share: String,
    /// One for each client system.
    pub mounts: Vec<BestMount>,
}

/// The best way of a client system to reach a share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BestMount {
    /// `macOS`, `Windows`, `Linux (NFS)`, `Linux (SMB)`, `classic Mac OS`.
    pub client: String,
    /// What to type.
    pub command: String,
    /// Options or parts of it, each with the reason.
    pub reasons: Vec<(String, String)>,
}

impl CacheStatus {
    /// Bytes for each entry; `None` without entries.
    #[must_use]
    pub fn entry_bytes(&self) -> Option<u64> {
        self.bytes.checked_div(self.entries)
    }
}
