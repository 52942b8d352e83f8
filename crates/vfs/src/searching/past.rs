//! Searches in the snapshots of a volume: what matched once, and is not there any more.
//!
//! A [`Finder`](super::Finder) proposes paths with the times between which snapshots had them. As for searches of now, the tree decides: the caller
//! must be able to list each folder on the way, in the snapshot.

use query::Facts;

use super::judging::Judge;
use super::{Search, SearchPlace, Searches};
use crate::backend::{Found, Snapshot};
use crate::caller::server;
use crate::{Caller, Error, Result, Time};

/// Entries that one call of [`Searches::find_past`] looks at. Each may be looked for in several snapshots.
const MOST_JUDGED: usize = 10_000;

/// What a finder knows of an entry of snapshots that may match.
pub struct PastCandidate<'a> {
    /// Its place in the order of the finder.
    pub place: &'a SearchPlace,
    /// The stored names from the share's folder to the entry.
    pub path: &'a [Vec<u8>],
    /// When the first snapshot was taken that has it.
    pub first: Time,
    /// When the last one was taken; `None`: it is in the newest one.
    pub last: Option<Time>,
}

/// Results of a search in snapshots.
pub struct PastPage {
    /// The results.
    pub entries: Vec<PastEntry>,
    /// Where to go on; `None`: these were all.
    pub next: Option<SearchPlace>,
}

/// An entry of a snapshot that matches, that the caller may list there, and that does not match at this path now.
pub struct PastEntry {
    /// The stored names from the share's folder to the entry.
    pub path: Vec<Vec<u8>>,
    /// The newest snapshot that has it.
    pub snapshot: Snapshot,
    /// The entry in the snapshot.
    pub found: Found,
    /// What is known of it, as far as the query asks for it.
    pub facts: Facts,
}

impl Searches<'_> {
    /// The folder of the share as it was in a snapshot.
    pub fn snapshot_root(self, snapshot: &Snapshot) -> Result<Found> {
        let [folder, name] = &snapshot.path;
        self.volume.root()?.object.lookup_path(server(), &[folder, name])
    }

    /// The entries that match in snapshots and not at their paths now, from after a place on; at most `limit`. `NotSupported`
    /// without a finder. It may wait for a disk.
    pub fn find_past(
        self,
        caller: &Caller,
        search: Search<'_>,
        after: Option<&SearchPlace>,
        limit: usize,
    ) -> Result<PastPage> {
        let finder = self.finder().ok_or(Error::NotSupported)?;
        let mut judge = Judge::new(self.volume, caller, search, &*finder)?;
        let snapshots = self.volume.snapshots();
        let (mut page, mut judged) = (PastPage { entries: Vec::new(), next: None }, 0);
        finder.propose_past(search.query, after, &mut |candidate| {
            judged += 1;
            page.entries.extend(judge.past_result(candidate, &snapshots));
            let is_full = page.entries.len() >= limit.max(1) || judged >= MOST_JUDGED;
            page.next = is_full.then(|| candidate.place.clone());
            !is_full
        })?;
        Ok(page)
    }
}

impl Judge<'_> {
    /// The newest snapshot in which the entry is a result, unless it is one now.
    fn past_result(&mut self, candidate: &PastCandidate<'_>, snapshots: &[Snapshot]) -> Option<PastEntry> {
        let path = candidate.path;
        if !self.is_within(path) || self.result_at(path).is_some() {
            return None;
        }
        let had_it = |snapshot: &&Snapshot| {
            snapshot.taken >= candidate.first && candidate.last.is_none_or(|last| snapshot.taken <= last)
        };
        for snapshot in snapshots.iter().filter(had_it) {
            let place: Vec<Vec<u8>> = snapshot.path.iter().chain(path).cloned().collect();
            if let Some((found, facts)) = self.result_at(&place) {
                return Some(PastEntry { path: path.to_vec(), snapshot: snapshot.clone(), found, facts });
            }
        }
        None
    }
}
