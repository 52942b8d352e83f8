//! How many entries a folder has that clients see.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{CurrentListings, Entry, Listing, Page, is_hidden};
use crate::backend::Node;
use crate::backend::{Found, ListEntry};
use crate::caller::server;
use crate::mac::layout::is_sidecar_name;
use crate::names::own::is_own_name;
use crate::streams::Streams;
use crate::{Attributes, Result, Time};

/// After this time, a change gives a folder another time than it had before. Kernels stamp times by
/// a clock that goes in steps of up to 10 ms.
const NEXT_STEP: Duration = Duration::from_millis(100);

/// A count, and the state of the folder to which it belongs. It counts as right once it was made
/// again, after any change would have shown.
pub(super) struct OffspringCount {
    count: u32,
    version: (Time, Time),
    first: Instant,
    settled: bool,
}

impl OffspringCount {
    /// The next one, just counted.
    fn again(before: Option<&Self>, count: u32, version: (Time, Time)) -> Self {
        let first = before.filter(|before| before.version == version).map_or_else(Instant::now, |b| b.first);
        Self { count, version, first, settled: first.elapsed() > NEXT_STEP }
    }
}

impl CurrentListings<'_> {
    /// How many entries of a folder listings show, `.` and `..` not counted. The same for all
    /// callers.
    pub(crate) fn offspring(&self, streams: Option<&Arc<Streams>>, folder: &Found) -> Result<u32> {
        self.hear();
        match self.listings.kept_count(folder.object.id(), &folder.attributes) {
            Some(count) => Ok(count),
            None => count(streams, &folder.object),
        }
    }

    /// The same of an entry of a page, which has these fresh attributes. Remembered as long as it is true.
    pub(crate) fn offspring_of(
        &self,
        streams: Option<&Arc<Streams>>,
        page: &Page,
        entry: &Entry,
        now: &Attributes,
    ) -> Result<u32> {
        let version = (now.changed, now.modified);
        if let Some(known) = &*entry.details.lock()
            && let Some(counted) = known.offspring.as_deref()
            && counted.settled
            && counted.version == version
        {
            return Ok(counted.count);
        }
        if let Some(count) = self.listings.kept_count(now.id, now) {
            return Ok(count);
        }
        let folder = page.listing.folder.lookup(server(), entry.name())?;
        let count = count(streams, &folder.object)?;
        if let Some(known) = &mut *entry.details.lock() {
            let counted = OffspringCount::again(known.offspring.as_deref(), count, version);
            known.offspring = Some(Box::new(counted));
        }
        Ok(count)
    }
}

impl Listing {
    /// Entries without `.` and `..`.
    pub(super) fn shown(&self) -> u32 {
        self.entries.len() as u32 - self.dots
    }
}

/// By one listing of the host.
fn count(streams: Option<&Arc<Streams>>, folder: &Node) -> Result<u32> {
    let (mut count, mut doubtful) = (0, Vec::new());
    folder.list(0, &mut |entry: ListEntry<'_>| {
        match entry.name {
            b"." | b".." => {}
            name if is_own_name(name) => {}
            name if streams.is_some() && is_sidecar_name(name) => doubtful.push(name.to_vec()),
            _ => count += 1,
        }
        true
    })?;
    let hides = |name: &[u8]| streams.is_some_and(|streams| is_hidden(streams, folder, name));
    Ok(count + doubtful.iter().filter(|name| !hides(name)).count() as u32)
}
