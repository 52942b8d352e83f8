//! The rules of thumb of Apple's configuration guide of 1993 (Workgroup Server 95), for this machine, beside what was
//! measured.

use super::words::Facts;
use crate::commands::caches::size;

/// A buffer of 1993, in KB of 1,000 bytes: larger ones were no use.
const BUFFER: u64 = 64_000;
/// Bytes of the directory cache for each file and folder: 0.2 KB of 1,000 bytes.
const ENTRY: f64 = 0.2 * 1000.0;

/// The sentences, one for each rule.
pub(super) fn all(facts: &Facts) -> Vec<String> {
    vec![buffers(facts), directory(facts), icons(), remainder(facts)]
}

fn buffers(facts: &Facts) -> String {
    let status = &facts.status;
    let users = facts.users.max(1) as u64;
    format!(
        "One buffer of 64 KB for each active user: {} for {users}. Here data on its way to and from clients take {} now, of \
         at most {}, and the page cache has {}.",
        size(users * BUFFER),
        size(status.transfers),
        size(status.transfers_limit),
        size(status.host.page_cache)
    )
}

fn directory(facts: &Facts) -> String {
    let cache = facts.status.caches.iter().find(|cache| cache.name == "directory");
    let measured = cache.and_then(admin::control::CacheStatus::entry_bytes);
    let limit = cache.map_or(0, |cache| cache.limit);
    let rule = match facts.files {
        Some(files) => format!(
            "{} for the {files} files and folders of the shares' file systems",
            size((ENTRY * files as f64) as u64)
        ),
        None => "the file systems of the shares do not tell how many they are".into(),
    };
    let here = match (measured, cache) {
        (Some(bytes), Some(cache)) => {
            format!("{bytes} bytes for each of the {} entries that clients use now", cache.entries)
        }
        _ => "no folder that is large enough for the cache was listed yet".into(),
    };
    format!(
        "0.2 KB of directory cache for each file and folder: {rule}. Measured here: {here}; the limit is {}.",
        size(limit)
    )
}

fn icons() -> String {
    "256 KB of icon cache for each 100 sets of colour icons: here icons are in files and in the index of the state folder. \
     The page cache has the former, and the cache `index` the latter, so they need no memory of their own."
        .into()
}

fn remainder(facts: &Facts) -> String {
    let (status, host) = (&facts.status, &facts.status.host);
    let rule = host.available.saturating_add(status.bytes);
    format!(
        "Memory minus the system is the cache, half of it at first: {} are usable, programs and the system leave {}. The host \
         uses {} as page cache by itself, and the server's caches take {} of at most {}.",
        size(host.usable),
        size(rule),
        size(host.page_cache),
        size(status.bytes),
        size(status.budget)
    )
}
