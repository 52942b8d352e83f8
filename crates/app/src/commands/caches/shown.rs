//! The caches as a table for people.

use std::fmt::Write as _;

use admin::control::{CacheStatus, CachesStatus, HostMemory, ReadAheadStatus, TrafficStatus};
use admin::settings::units::format_size;

use crate::terminal::out;

/// `256 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    format_size(bytes)
}

/// `97.3 %`.
pub(crate) fn percent(ratio: f64) -> String {
    format!("{:.1} %", 100.0 * ratio)
}

/// The whole page.
pub(super) fn table(status: &CachesStatus) -> String {
    let mut text = format!(
        "Caches: {} of {} together; data on its way to and from clients: {} of {}\n",
        size(status.bytes),
        size(status.budget),
        size(status.transfers),
        size(status.transfers_limit)
    );
    if status.part < 1.0 {
        let _ = writeln!(
            text,
            "Memory is short, or was a short time ago: {} of the limits apply",
            percent(status.part)
        );
    }
    text.push('\n');
    text.push_str(&caches(&status.caches));
    text.push('\n');
    text.push_str(&predictions(&status.caches));
    text.push_str(&host(&status.host));
    text.push_str(&read_ahead(&status.host, &status.traffic));
    text
}

/// What plays the parts that caches of read-ahead and of icons had in older servers.
fn read_ahead(host: &HostMemory, traffic: &TrafficStatus) -> String {
    let share = |one: &ReadAheadStatus| match one.setting.as_str() {
        "double" => format!("{} {} (twice the disk's)", one.share, size(one.bytes)),
        "none" => format!("{} none", one.share),
        _ => format!("{} {}", one.share, size(one.bytes)),
    };
    let shares: Vec<String> = host.read_ahead.iter().map(share).collect();
    let mut text = format!(
        "  read-ahead of the host: {}",
        if shares.is_empty() { "no share is on a disk".into() } else { shares.join(", ") }
    );
    if let Some(read) = host.disk_read_bytes {
        let _ = write!(
            text,
            "; {} came from disks for {} that clients have read",
            size(read),
            size(traffic.read_bytes)
        );
        if read > traffic.read_bytes {
            let _ = write!(text, ", so at least {} of it was of no use", size(read - traffic.read_bytes));
        }
    }
    let _ = writeln!(
        text,
        "\n  icons and resource forks: from the page cache; {} reads of forks and streams with {}",
        traffic.stream_reads,
        size(traffic.stream_bytes)
    );
    text
}

fn caches(caches: &[CacheStatus]) -> String {
    let headings =
        ["CACHE", "LIMIT", "USED", "ENTRIES", "EACH", "HITS", "MISSES", "RATIO", "EVICTED", "SAVED", "HOLDS"];
    let row = |cache: &CacheStatus| {
        let in_bytes = cache.unit == "bytes";
        let limit = if in_bytes { size(cache.limit) } else { cache.limit.to_string() };
        let looks = cache.hits + cache.misses > 0;
        let count = |count: u64| if looks { count.to_string() } else { "-".into() };
        [
            cache.name.clone(),
            limit,
            size(cache.bytes),
            if cache.entries > 0 { cache.entries.to_string() } else { "-".into() },
            cache.entry_bytes().map_or_else(|| "-".into(), size),
            count(cache.hits),
            count(cache.misses),
            cache.hit_ratio.map_or_else(|| "-".into(), percent),
            count(cache.evictions),
            if cache.saved_ms > 0 { seconds(cache.saved_ms) } else { "-".into() },
            cache.holds.clone(),
        ]
    };
    out::table([headings.map(str::to_owned)].into_iter().chain(caches.iter().map(row)))
}

/// What a cache of another size would do.
fn predictions(caches: &[CacheStatus]) -> String {
    let known: Vec<_> = caches.iter().filter_map(|cache| Some((cache, cache.predicted?))).collect();
    if known.is_empty() {
        return "Hit ratios of other sizes: too few look-ups yet\n\n".into();
    }
    let headings = ["HIT RATIO WITH", "HALF", "THE LIMIT", "DOUBLE", "4 TIMES"].map(str::to_owned);
    let rows = known.iter().map(|(cache, at)| {
        let ratios = [at.half, at.same, at.double, at.four_times].map(percent);
        let [half, same, double, four_times] = ratios;
        [cache.name.clone(), half, same, double, four_times]
    });
    out::table([headings].into_iter().chain(rows)) + "\n"
}

/// What the host does, which no cache of the server repeats.
fn host(host: &HostMemory) -> String {
    let whose = if host.by_group { "its control group" } else { "the machine" };
    let mut text = format!(
        "Host: {} of memory for the server ({whose}), {} available, {} in swap\n",
        size(host.usable),
        size(host.available),
        size(host.swapped)
    );
    let _ = write!(text, "  contents of files: the page cache, {}", size(host.page_cache));
    match host.sampled_cached {
        Some(cached) if host.sampled_bytes > 0 => {
            let ratio = cached as f64 / host.sampled_bytes as f64;
            let _ = writeln!(
                text,
                "; of {} open files with {} it has {}",
                host.sampled_files,
                size(host.sampled_bytes),
                percent(ratio)
            );
        }
        _ => text.push('\n'),
    }
    let dentries = host.dentries.map_or_else(|| "unknown".into(), |count| count.to_string());
    let _ = writeln!(
        text,
        "  names and attributes: {dentries} names; {} of them and of inodes can be given back",
        size(host.reclaimable)
    );
    let _ = writeln!(
        text,
        "  pages read again soon after they left memory: {:.0} per second",
        host.refaults_per_s
    );
    match (host.pressure_some, host.pressure_full) {
        (Some(some), full) => {
            let _ = writeln!(
                text,
                "  pressure: some task waited for memory in {some:.1} %, all in {:.1} % of the last 10 s",
                full.unwrap_or(0.0)
            );
        }
        _ => text.push_str("  pressure: the kernel does not tell\n"),
    }
    text
}

/// `12.3 s`, `45 ms`.
fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        _ => format!("{:.1} s", milliseconds as f64 / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use admin::control::PredictedRatios;

    use super::*;

    #[test]
    fn a_table_has_limits_ratios_and_what_the_host_does() {
        let directory = CacheStatus {
            name: "directory".into(),
            holds: "entries".into(),
            unit: "bytes".into(),
            limit: 64 << 20,
            bytes: 2_300_000,
            entries: 10_000,
            hits: 97,
            misses: 3,
            hit_ratio: Some(0.97),
            saved_ms: 2_500,
            predicted: Some(PredictedRatios { half: 0.9, same: 0.97, double: 0.98, four_times: 0.99 }),
            ..CacheStatus::default()
        };
        let index = CacheStatus {
            name: "index".into(),
            unit: "bytes".into(),
            limit: 16 << 20,
            ..CacheStatus::default()
        };
        let host = HostMemory {
            usable: 8 << 30,
            sampled_files: 2,
            sampled_bytes: 1 << 20,
            sampled_cached: Some(3 << 18),
            pressure_some: Some(0.5),
            read_ahead: vec![ReadAheadStatus {
                share: "Video".into(),
                disk: 128 << 10,
                bytes: 256 << 10,
                setting: "double".into(),
            }],
            disk_read_bytes: Some(3 << 30),
            ..HostMemory::default()
        };
        let traffic = TrafficStatus {
            read_bytes: 2 << 30,
            stream_reads: 7,
            stream_bytes: 4 << 10,
            ..TrafficStatus::default()
        };
        let caches = vec![index, directory];
        let text = table(&CachesStatus {
            caches,
            host,
            traffic,
            part: 0.5,
            budget: 1 << 30,
            ..CachesStatus::default()
        });
        for expected in [
            "Caches: 0 B of 1 GiB together",
            "50.0 % of the limits apply",
            "directory  64 MiB  2.1 MiB  10000    230 B  97    3       97.0 %  0        2.5 s  entries",
            "index      16 MiB  0 B      -        -      -     -       -       -        -",
            "directory       90.0 %  97.0 %     98.0 %  99.0 %",
            "of 2 open files with 1 MiB it has 75.0 %",
            "waited for memory in 0.5 %, all in 0.0 %",
            "read-ahead of the host: Video 256 KiB (twice the disk's); 3 GiB came from disks for 2 GiB that clients have read, so at \
             least 1 GiB of it was of no use",
            "7 reads of forks and streams with 4 KiB",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
