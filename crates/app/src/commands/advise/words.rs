//! The advice: sentences with their numbers.

use admin::control::{Advice, CacheStatus, CachesStatus, speed_words as speed};

use super::curve::{Curve, most_telling};
use super::formats::{HEADROOM, common};
use super::rules;
use crate::commands::caches::{percent, size};

/// Look-ups and operations before which nothing is said about ratios.
const ENOUGH: u64 = 100;
/// A hit ratio must gain so much to be worth more memory.
const GAIN: f64 = 0.02;
/// Bytes of files per second that come back from the disk soon after they left memory, from which on more memory helps.
const REFAULTS: f64 = 1e6;
/// The percentage of time in which tasks wait for memory, below which such reads cost nothing that counts.
const WAITS: f64 = 1.0;
/// Bytes of a page.
const PAGE: f64 = 4096.0;
/// Links, and the bytes per second of content that TCP carries over them with packets of 1,500 bytes: 94 % of the rate.
const LINKS: [(&str, f64); 2] = [("1 Gbit/s", 117.5e6), ("10 Gbit/s", 1175e6)];
/// The percentage of time in which tasks wait for memory, from which on the host has too little.
const PRESSURE: f64 = 10.0;

/// What the advice is made of.
pub(super) struct Facts {
    pub(super) status: CachesStatus,
    /// Users or clients that are connected.
    pub(super) users: usize,
    /// Files and folders of the shares' file systems; `None`: they do not tell.
    pub(super) files: Option<u64>,
    pub(super) curves: Vec<Curve>,
    /// Bytes per second that each user must have.
    pub(super) floor: f64,
}

/// All advice, in the order in which it is read.
pub(super) fn all(facts: &Facts) -> Vec<Advice> {
    let topic = |topic: &str, text| Advice { topic: topic.into(), text };
    vec![
        topic("memory", memory(facts)),
        topic("read-write", read_write(facts)),
        topic("users", users(facts)),
        topic("video", video(facts)),
        topic("rules of 1993", rules::all(facts)),
        topic("next", next(facts)),
    ]
}

/// What memory could change.
struct Shortages<'a> {
    /// A cache that gains, and by how much if its limit is doubled.
    cache: Option<(&'a CacheStatus, f64)>,
    /// Bytes per second that the page cache had to read again.
    refaults: f64,
    /// They are many, and tasks wait for them.
    rereads: bool,
    pressure: bool,
}

fn shortages(status: &CachesStatus) -> Shortages<'_> {
    let gain = |cache: &CacheStatus| cache.predicted.map(|at| at.double - at.same);
    let gains = status.caches.iter().filter(|cache| cache.hits + cache.misses >= ENOUGH);
    let gains = gains.filter_map(|cache| Some((cache, gain(cache)?)));
    let best = gains.max_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|(_, gain)| *gain >= GAIN);
    let host = &status.host;
    let refaults = host.refaults_per_s * PAGE;
    Shortages {
        cache: best,
        refaults,
        rereads: refaults >= REFAULTS && host.pressure_some.is_none_or(|some| some >= WAITS),
        pressure: host.pressure_some.is_some_and(|some| some >= PRESSURE)
            || host.swap_outs > 0
            || status.part < 1.0,
    }
}

/// Would more memory help?
fn memory(facts: &Facts) -> Vec<String> {
    let (status, host) = (&facts.status, &facts.status.host);
    let short = shortages(status);
    let mut text = Vec::new();
    if short.pressure {
        text.push(format!(
            "More memory would help: tasks waited for memory in {:.1} % of the last 10 s, {} pages went to swap since the \
             server began, and {} of the caches' limits apply.",
            host.pressure_some.unwrap_or(0.0),
            host.swap_outs,
            percent(status.part)
        ));
    }
    if short.rereads {
        text.push(format!(
            "More memory would help: {:.1} MB/s of files are read from the disk again soon after they left memory{}. The page \
             cache has {}, and would need more.",
            short.refaults / 1e6,
            if host.by_group { "" } else { ", by this server or by other programs" },
            size(host.page_cache)
        ));
    }
    if let Some((cache, gain)) = short.cache {
        text.push(larger(cache, gain, host.available));
    }
    if !text.is_empty() {
        return text;
    }
    let looks: u64 = status.caches.iter().map(|cache| cache.hits + cache.misses).sum();
    let so_far = format!(
        "nothing was swapped out, {:.2} MB/s of files come back from the disk, and {} of memory are available",
        short.refaults / 1e6,
        size(host.available)
    );
    vec![if looks < ENOUGH {
        format!(
            "It cannot be told yet whether more memory would help: the caches had {looks} look-ups. So far {so_far}."
        )
    } else {
        format!(
            "More memory would not help: no cache would answer {} more with twice its size, {so_far}.",
            percent(GAIN)
        )
    }]
}

fn larger(cache: &CacheStatus, gain: f64, available: u64) -> String {
    let name = &cache.name;
    let at = cache.predicted.unwrap_or_default();
    let saved = match cache.saved_ms {
        0 => String::new(),
        saved => format!(
            ", which would have saved {:.1} s more so far",
            saved as f64 / 1e3 * gain / cache.hit_ratio.filter(|ratio| *ratio > 0.0).unwrap_or(1.0)
        ),
    };
    let more = if cache.unit == "bytes" { cache.limit } else { cache.bytes };
    let twice = if cache.unit == "bytes" { size(2 * cache.limit) } else { (2 * cache.limit).to_string() };
    let memory = if more < available / 2 {
        format!("The machine has {} available, so no memory must be bought", size(available))
    } else {
        format!("The machine has only {} available, so it needs more memory first", size(available))
    };
    format!(
        "A larger cache `{name}` would help: with twice the limit ({twice}) it would answer {}, not {}{saved}; with four times \
         {}. {memory}.",
        percent(at.double),
        percent(at.same),
        percent(at.four_times)
    )
}

/// The site's own ratio of reads to writes.
fn read_write(facts: &Facts) -> Vec<String> {
    let traffic = &facts.status.traffic;
    if traffic.reads + traffic.writes < ENOUGH {
        return vec![format!(
            "Too little traffic for a ratio of reads to writes: {} reads and {} writes since the server began.",
            traffic.reads, traffic.writes
        )];
    }
    let ratio = |reads: u64, writes: u64| match writes {
        0 => "only reads".to_owned(),
        _ if reads >= writes => format!("{:.1}:1", reads as f64 / writes as f64),
        _ => format!("1:{:.1}", writes as f64 / reads.max(1) as f64),
    };
    let kind = match traffic.read_bytes.checked_div(traffic.written_bytes) {
        None | Some(10..) => {
            "The site reads: memory for the page cache is worth most, and synchronous writes cost little."
        }
        Some(2..10) => "The site reads more than it writes, as most do.",
        Some(1) => "The site reads as much as it writes.",
        Some(0) => "The site writes: the disk's own speed counts, and more memory helps little.",
    };
    vec![
        format!(
            "Reads to writes: {} by bytes ({} read, {} written), {} by operations. A server of 1993 was tuned for up to 25:1.",
            ratio(traffic.read_bytes, traffic.written_bytes),
            size(traffic.read_bytes),
            size(traffic.written_bytes),
            ratio(traffic.reads, traffic.writes)
        ),
        kind.into(),
    ]
}

/// How many active users the machine carries.
fn users(facts: &Facts) -> Vec<String> {
    let curves = most_telling(&facts.curves);
    if curves.is_empty() {
        return vec![
            "How many users it carries is not known: no load curve was given. Measure one with `fourfold bench --all \
             USER@HOST/SHARE --workload seq-read --clients 1,5,10,50 --output curve`, then `fourfold advise --bench curve.jsonl`."
                .into(),
        ];
    }
    let line = |curve: &&Curve| {
        let carried = curve.carries(facts.floor);
        let measured = curve.points.last().map_or(0, |(clients, _)| *clients);
        let beyond = match carried.is_extrapolated {
            true => format!(" (measured with {measured}, the rest by their speed)"),
            false => String::new(),
        };
        let knee = curve.knee().map_or_else(
            || "no knee was measured".to_owned(),
            |knee| format!("from {knee} on more of them only share it"),
        );
        format!(
            "{} carries {} active users who have {} each{beyond}; all together have {} at most, and {knee} ({}).",
            curve.target,
            carried.users,
            speed(facts.floor),
            speed(curve.best()),
            curve.workload
        )
    };
    let mut text: Vec<String> = curves.iter().map(line).collect();
    if facts.users > 0 {
        text.push(format!("{} users are connected now.", facts.users));
    }
    text
}

/// Which formats of video it sustains.
fn video(facts: &Facts) -> Vec<String> {
    let curves = most_telling(&facts.curves);
    let best = curves.iter().max_by(|a, b| a.best().total_cmp(&b.best()));
    let Some(curve) = best else {
        return by_format();
    };
    let mut text = vec![format!(
        "Streams of video that {} sustains, with {:.0} % more than each needs ({}):",
        curve.target,
        100.0 * (HEADROOM - 1.0),
        curve.workload
    )];
    text.extend(common().iter().map(|format| {
        let carried = curve.carries(HEADROOM * format.speed);
        let count = match carried.users {
            0 => "none".to_owned(),
            users => {
                format!("{users}{}", if carried.is_extrapolated { ", by the speed of fewer" } else { "" })
            }
        };
        format!("  {}, {}: {count} ({})", format.name, speed(format.speed), format.id)
    }));
    text
}

/// What the formats need, and what links carry of them, before anything was measured.
fn by_format() -> Vec<String> {
    let links = LINKS.map(|(name, speed)| format!("{name} ({:.0} MB/s)", speed / 1e6)).join(" and ");
    let mut text = vec![format!(
        "No load curve was given, so this assumes that only the link limits, with {:.0} % more than each stream needs: streams over \
         {links}. What the disks and the server sustain, `fourfold bench --workload seq-read --clients 1,5,10,50` measures.",
        100.0 * (HEADROOM - 1.0)
    )];
    text.extend(common().iter().map(|format| {
        let streams = LINKS.map(|(name, link)| match (link / (HEADROOM * format.speed)) as u64 {
            0 => format!("none over {name}"),
            count => format!("{count} over {name}"),
        });
        format!("  {}, {}: {} ({})", format.name, speed(format.speed), streams.join(", "), format.id)
    }));
    text
}

/// What to change next, the most useful first, and what it would bring.
fn next(facts: &Facts) -> Vec<String> {
    let (status, short) = (&facts.status, shortages(&facts.status));
    let mut text = Vec::new();
    if short.pressure {
        text.push("Take other programs off the machine, or add memory: until then the server keeps its caches small.".to_owned());
    }
    if let Some((cache, gain)) = short.cache.filter(|_| !short.pressure) {
        let limit = match cache.unit.as_str() {
            "bytes" => format!("{}M", (2 * cache.limit).div_ceil(1 << 20)),
            _ => (2 * cache.limit).to_string(),
        };
        text.push(format!(
            "fourfold caches set {}={limit} --keep: {} of its look-ups would be hits in addition. If the budget of all \
             caches ({}) is too small for that, raise `cache-memory` first.",
            cache.name,
            percent(gain),
            size(status.budget)
        ));
    }
    if short.rereads {
        text.push(format!(
            "Add memory for the page cache: up to {:.1} MB/s of reads would not wait for the disk.",
            short.refaults / 1e6
        ));
    }
    let cached = status.host.sampled_cached.filter(|_| status.host.sampled_bytes > 0);
    let ratio = cached.map(|cached| cached as f64 / status.host.sampled_bytes as f64);
    if let Some(ratio) = ratio.filter(|ratio| *ratio < 0.5 && !short.rereads) {
        text.push(format!(
            "{} of the open files' data are in memory. They are not read again, or only once: a faster disk helps, and more \
             memory does not.",
            percent(ratio)
        ));
    }
    if facts.curves.is_empty() {
        text.push("Measure a load curve (see users): without one, the number of users is a guess.".into());
    }
    if text.is_empty() {
        text.push("Nothing: the caches answer what they can, and the host has memory. The load curve says what limits.".into());
    }
    text
}

#[cfg(test)]
mod tests;
