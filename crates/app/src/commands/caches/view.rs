//! The caches of the running server, under one budget that gives way while the host is short of memory.

use std::sync::Arc;
use std::time::Instant;

use admin::ServerSettings;
use admin::control::{
    CacheStatus, CachesAnswer, CachesRequest, CachesStatus, HostMemory, PredictedRatios, TrafficStatus,
};
use admin::recipe::{self, Reachable};
use admin::settings::units::parse_size;
use conn::{Budget, BufferPools};
use lock::Mutex;
use vfs::backend::host::{FILE_BYTES, as_ourselves};
use vfs::caches::{Caches, Entry, Rules, SetError, Unit};
use vfs::index::PAGE_CACHE;

use super::read_ahead;
use super::shown::size;
use crate::host::memory::{KernelCounters, KernelMemory, cache_budget};
use crate::host::privileges;
use crate::ranks;
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;

/// Files whose pages in memory are counted for a status.
const SAMPLE: usize = 64;
/// Looks whose refaults are added up, at one look every 2 seconds.
const LOOKS: usize = 30;
/// Files whose ACLs are remembered.
const ACLS: u64 = 16 * 1_024;
/// What each of them takes.
const ACL_BYTES: u64 = 240;

/// The caches of the server.
pub(crate) struct CachesView {
    caches: Caches,
    volumes: Arc<Volumes>,
    /// Memory for data on its way to and from clients.
    transfers: Arc<Budget>,
    machine: KernelMemory,
    began: Instant,
    first: KernelCounters,
    reach: Reachable,
    seen: Mutex<MemoryReadings, ranks::MemoryLooks>,
}

struct MemoryReadings {
    /// The limits of the settings that were applied last, in the order of [`super::KEYS`].
    applied: [Option<u64>; 3],
    /// What the kernel had counted at the last looks, with their times.
    looks: std::collections::VecDeque<(Instant, KernelCounters)>,
    current: Arc<Current>,
}

impl CachesView {
    /// All caches of a server with so many event loops.
    pub(crate) fn new(
        current: &Arc<Current>,
        volumes: Arc<Volumes>,
        (transfers, machine): (Arc<Budget>, KernelMemory),
        loops: usize,
        reach: Reachable,
    ) -> Arc<Self> {
        let settings = &current.settings.server;
        let caches = register(settings, &volumes, cache_budget(settings, &machine), loops);
        let first = machine.now().counted;
        let looks = [(Instant::now(), first)].into();
        let seen = Mutex::new(MemoryReadings { applied: set_in(settings), looks, current: current.clone() });
        Arc::new(Self { caches, volumes, transfers, machine, began: Instant::now(), first, reach, seen })
    }

    /// Shows or limits the caches.
    pub(crate) fn answer(&self, request: &CachesRequest) -> Result<CachesAnswer, Vec<String>> {
        match request {
            CachesRequest::Show => Ok(CachesAnswer::Shown(Box::new(self.status()))),
            CachesRequest::Set { limits } => self.set(limits).map(CachesAnswer::Done),
            CachesRequest::Mounts => {
                let current = self.seen.lock().current.clone();
                Ok(CachesAnswer::Mounts(recipe::best_mounts(&current.settings, self.reach)))
            }
            CachesRequest::Advise(_) => Err(vec!["advice needs more than the caches".into()]),
        }
    }

    /// Looks at the host's memory. Called every 2 seconds.
    pub(crate) fn look(&self) {
        let now = self.machine.now();
        let before = {
            let mut seen = self.seen.lock();
            let before = seen.looks.back().map_or(self.first, |(_, counted)| *counted);
            seen.looks.push_back((Instant::now(), now.counted));
            if seen.looks.len() > LOOKS {
                seen.looks.pop_front();
            }
            before
        };
        let shortage = now.shortage(before);
        let used = self.volumes.listings().used();
        if self.caches.look(shortage.is_some()) {
            let why = shortage.unwrap_or_default();
            tracing::warn!(
                part = self.part(),
                some = now.some,
                full = now.full,
                available = now.available,
                "{why}: the caches give way"
            );
            let _ = as_ourselves(|| self.volumes.limit_listings(used));
        }
    }

    fn part(&self) -> f64 {
        f64::from(self.caches.part()) / 1_000.0
    }

    fn status(&self) -> CachesStatus {
        let entries = self.caches.entries();
        let traffic = self.volumes.traffic();
        CachesStatus {
            budget: self.caches.budget(),
            bytes: entries.iter().map(|entry| entry.report.bytes).sum(),
            transfers: self.transfers.used() as u64,
            transfers_limit: self.transfers.limit() as u64,
            part: self.part(),
            gave_way: self.caches.gave_way(),
            uptime_s: self.began.elapsed().as_secs(),
            caches: entries.iter().map(shown).collect(),
            traffic: TrafficStatus {
                reads: traffic.reads,
                read_bytes: traffic.read_bytes,
                writes: traffic.writes,
                written_bytes: traffic.written_bytes,
                stream_reads: traffic.stream_reads,
                stream_bytes: traffic.stream_bytes,
            },
            host: self.host(),
        }
    }

    fn host(&self) -> HostMemory {
        let now = self.machine.now();
        let usable = self.machine.usable();
        let resident = as_ourselves(|| self.volumes.files().resident(SAMPLE)).ok().flatten();
        let current = self.seen.lock().current.clone();
        let read_ahead = as_ourselves(|| read_ahead::of_shares(&current.settings)).unwrap_or_default();
        let seen = self.seen.lock();
        let (since, counted) = seen.looks.front().copied().unwrap_or((self.began, self.first));
        let refaults = now.counted.refaults.saturating_sub(counted.refaults);
        HostMemory {
            usable: usable.map_or(0, |usable| usable.bytes),
            by_group: usable.is_some_and(|usable| usable.by_group),
            total: now.total,
            available: now.available,
            page_cache: now.page_cache,
            reclaimable: now.reclaimable,
            dentries: now.dentries,
            swapped: now.swapped,
            pressure_some: now.some,
            pressure_full: now.full,
            pressure_from: now.pressure_from,
            refaults_per_s: refaults as f64 / since.elapsed().as_secs_f64().max(1.0),
            refaults: now.counted.refaults.saturating_sub(self.first.refaults),
            swap_outs: now.counted.swap_outs.saturating_sub(self.first.swap_outs),
            sampled_files: resident.map_or(0, |resident| resident.files),
            sampled_bytes: resident.map_or(0, |resident| resident.bytes),
            sampled_cached: resident.map(|resident| resident.cached),
            read_ahead,
            disk_read_bytes: read_ahead::from_disks(),
        }
    }

    /// All limits, or none: they are checked one after the other, and set back if one is refused.
    fn set(&self, limits: &[(String, String)]) -> Result<Vec<String>, Vec<String>> {
        let (mut set, mut refused) = (Vec::new(), Vec::new());
        let used = self.volumes.listings().used();
        for (name, text) in limits {
            match self.set_one(name, text) {
                Ok((rules, before, limit)) => set.push((rules, before, limit)),
                Err(why) => refused.push(why),
            }
        }
        if !refused.is_empty() || set.is_empty() {
            for (rules, before, _) in set.iter().rev() {
                let _ = self.caches.set(rules.name, *before); // it was in force a moment ago
            }
            return Err(if refused.is_empty() { vec!["no limit was given".into()] } else { refused });
        }
        let _ = as_ourselves(|| self.volumes.limit_listings(used));
        let line = |(rules, before, limit): &(Rules, u64, u64)| {
            let was = in_unit(rules.unit, *before);
            format!("{}: {} (was {was})", rules.name, in_unit(rules.unit, *limit))
        };
        Ok(set.iter().map(line).collect())
    }

    fn set_one(&self, name: &str, text: &str) -> Result<(Rules, u64, u64), String> {
        let rules = self.caches.rules(name).map_err(|error| error.to_string())?;
        let (limit, example) = match rules.unit {
            Unit::Bytes => (parse_size(text), "a size such as 64M or 1.5 GiB"),
            Unit::Entries => (text.parse().ok(), "a number such as 5000"),
        };
        let limit = limit.ok_or_else(|| format!("`{name}={text}` is no limit: write {example}"))?;
        let before = self.caches.set(name, limit).map_err(|error| explained(&error, &rules))?;
        Ok((rules, before, limit))
    }
}

/// The same in the unit of the cache.
fn explained(error: &SetError, rules: &Rules) -> String {
    match error {
        SetError::TooSmall { name, least } => {
            format!("the cache `{name}` needs at least {}", in_unit(rules.unit, *least))
        }
        SetError::TooLarge { name, most, .. } if *most == rules.most => {
            format!(
                "the cache `{name}` may have at most {}: more makes nothing faster, or the host has not so many \
                     descriptors",
                in_unit(rules.unit, *most)
            )
        }
        SetError::TooLarge { name, most, budget } => format!(
            "the cache `{name}` may have at most {}: the caches together have {} (setting `cache-memory`), and the \
             limits of the others take the rest",
            in_unit(rules.unit, *most),
            size(*budget)
        ),
        other => other.to_string(),
    }
}

fn in_unit(unit: Unit, limit: u64) -> String {
    match unit {
        Unit::Bytes => size(limit),
        Unit::Entries => limit.to_string(),
    }
}

/// The limits that the settings set, in the order of [`super::KEYS`].
fn set_in(settings: &ServerSettings) -> [Option<u64>; 3] {
    [settings.cache_size, settings.cache_files, settings.cache_buffers]
}

/// Registers each cache. Later ones have what the earlier ones leave of the budget.
fn register(settings: &ServerSettings, volumes: &Volumes, budget: u64, loops: usize) -> Caches {
    let mut caches = Caches::new(budget);
    let bytes = |name, holds| Rules {
        name,
        holds,
        unit: Unit::Bytes,
        unit_bytes: 1,
        least: 1 << 20,
        most: u64::MAX,
        is_fixed: false,
    };
    let index = Rules { is_fixed: true, ..bytes("index", "pages of the database of the state folder") };
    caches.register(index, PAGE_CACHE as u64, Arc::new(volumes.index().clone()));
    let acls = Rules {
        unit: Unit::Entries,
        unit_bytes: ACL_BYTES,
        is_fixed: true,
        ..bytes("acls", "stored ACLs of files")
    };
    caches.register(acls, ACLS, volumes.acls());
    let descriptors = privileges::files_to_keep_open() as u64;
    let files = Rules {
        unit: Unit::Entries,
        unit_bytes: FILE_BYTES,
        least: 16,
        most: descriptors,
        ..bytes("files", "open files, by their handles and ids")
    };
    let default = descriptors.min(budget / 8 / FILE_BYTES);
    caches.register(files, settings.cache_files.unwrap_or(default), volumes.files().clone());
    let pools = BufferPools::of(loops);
    let buffers =
        Rules { most: pools.most(), ..bytes("buffers", "buffers for messages, free for the next one") };
    let default = pools.most().min(budget / 4);
    caches.register(buffers, settings.cache_buffers.unwrap_or(default), Arc::new(pools));
    let most = 4 * search::FULL_TABLE as u64;
    let least = search::LEAST_TABLE as u64;
    let searches = Rules { least, most, ..bytes("search", "what search indexes have not written yet") };
    caches.register(searches, most.min(budget / 16), volumes.indexes.clone());
    let directory = bytes("directory", "entries and names of folders, with attributes");
    caches.register(directory, settings.cache_size.unwrap_or(budget / 2), volumes.listings().clone());
    caches
}

fn shown(entry: &Entry) -> CacheStatus {
    let Entry { rules, wanted, limit, report } = entry;
    CacheStatus {
        name: rules.name.into(),
        holds: rules.holds.into(),
        unit: if rules.unit == Unit::Bytes { "bytes" } else { "entries" }.into(),
        wanted: *wanted,
        limit: *limit,
        fixed: rules.is_fixed,
        bytes: report.bytes,
        entries: report.entries,
        hits: report.hits,
        misses: report.misses,
        evictions: report.evictions,
        hit_ratio: report.hit_ratio(),
        saved_ms: report.saved_nanos() / 1_000_000,
        predicted: report.predicted.map(|predicted| PredictedRatios {
            half: predicted.half,
            same: predicted.same,
            double: predicted.double,
            four_times: predicted.four_times,
        }),
    }
}

impl Component for CachesView {
    fn count(&self, held: &mut ResourceCounts) {
        held.caches = self.caches.entries();
    }

    /// Applies the limits of the settings that have changed. Those that were set by the command stay otherwise.
    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        let new = set_in(&current.settings.server);
        let old = {
            let mut seen = self.seen.lock();
            seen.current = current.clone();
            std::mem::replace(&mut seen.applied, new)
        };
        let used = self.volumes.listings().used();
        let mut lines = Vec::new();
        for (((name, key), new), old) in super::KEYS.into_iter().zip(new).zip(old) {
            let Some(limit) = new.filter(|_| new != old) else { continue };
            if let Err(error) = self.caches.set(name, limit) {
                let why =
                    self.caches.rules(name).map_or_else(|e| e.to_string(), |rules| explained(&error, &rules));
                lines.push(format!("server.{key} is not applied: {why}"));
            }
        }
        self.volumes.limit_listings(used);
        lines
    }
}
