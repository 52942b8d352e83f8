//! Searches in a volume, for all protocols: [`Searches::find`].
//!
//! A [`Finder`], such as an index, proposes entries that may match. What becomes a result is decided here, in the tree and at the
//! time of asking: the entry must still be there, the caller must be allowed to list each folder on the way to it, and the facts
//! of now must match. So an index needs to know nothing of permissions, and its age shows in missing results only.
//!
//! ```text
//! Finder::propose ─► folder: where it is now, may the caller list the way to it? ─► entry: there? seen? ─► facts ─► Query::matches
//! ```

mod facts;
mod judging;
mod past;
mod survey;

use std::sync::Arc;

use query::{Facts, Query, Test};

use self::judging::Judge;
use crate::backend::{Finds, Found};
use crate::{Caller, Error, LastingKey, Result, Time, Volume};

pub use self::past::{PastCandidate, PastEntry, PastPage};
pub use self::survey::Surveyed;

/// Entries that one call of [`Searches::find`] looks at. A caller that may see few of them gets a page with few results, and asks for
/// the next one.
const MOST_JUDGED: usize = 50_000;

/// A search.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// What is asked.
    pub query: &'a Query,
    /// Only what is in this folder or below it.
    pub within: Option<&'a Found>,
}

/// The place of an entry in the order of a finder: a search goes on after it, also if the entry is gone. It may name an entry that
/// the caller may not see, so it is never told to clients.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SearchPlace {
    /// The key of the folder: [`LastingKey::to_bytes`].
    pub folder: Vec<u8>,
    /// The stored name of the entry.
    pub name: Vec<u8>,
}

/// What a finder knows of an entry that may match.
pub struct Candidate<'a> {
    /// The folder that it was in.
    pub folder: LastingKey,
    /// Its stored name.
    pub name: &'a [u8],
    /// What its contents say. It counts for callers that may read the file, as long as `read` says what the host says.
    pub contents: &'a Facts,
    /// Whether the words of its contents pass a test. The same holds for it.
    pub text: &'a dyn Fn(&Test) -> bool,
    /// The inode number and the change time of the file when its contents were read; `None` if they were not.
    pub read: Option<(u64, Time)>,
}

/// How an index is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinderStatus {
    /// How many entries it has.
    pub entries: u64,
    /// Bytes that it takes in the state folder.
    pub bytes: u64,
    /// It is being built or checked: so many folders of the known ones are done. Results may be missing.
    pub building: Option<(u64, u64)>,
    /// Why it is not kept up to date, for people.
    pub problem: Option<String>,
    /// Snapshots that it has not read yet: what was in them may be missing from searches in snapshots.
    pub unread_snapshots: usize,
}

/// Something that proposes entries of a volume quickly: an index.
pub trait Finder: Send + Sync {
    /// Calls `each` with entries that may match, in the order of their [`SearchPlace`]s and from after one of them, until it answers
    /// false. An entry that matches by the facts of now may be missing if it has just changed. A finder that has looked long enough
    /// returns the place after which it goes on.
    fn propose(
        &self,
        query: &Query,
        after: Option<&SearchPlace>,
        each: &mut dyn FnMut(&Candidate<'_>) -> bool,
    ) -> Result<Option<SearchPlace>>;

    /// The same for entries of snapshots. A finder may not know any.
    fn propose_past(
        &self,
        _query: &Query,
        _after: Option<&SearchPlace>,
        _each: &mut dyn FnMut(&PastCandidate<'_>) -> bool,
    ) -> Result<()> {
        Ok(())
    }

    /// The name of a user of the host, by which people search for owners.
    fn owner_name(&self, uid: u32) -> Option<String>;

    /// How it is.
    fn status(&self) -> FinderStatus;
}

/// Results of a search.
pub struct FoundPage {
    /// The results.
    pub entries: Vec<FoundEntry>,
    /// Where to go on; `None`: these were all.
    pub next: Option<SearchPlace>,
}

/// A result: an entry that matches and that the caller may list.
pub struct FoundEntry {
    /// The stored names from the share's folder to the entry.
    pub path: Vec<Vec<u8>>,
    /// The folder that it is in.
    pub folder: Found,
    /// The entry.
    pub found: Found,
    /// What is known of it, as far as the query asks for it.
    pub facts: Facts,
}

/// A volume as searches and their indexes use it.
#[derive(Clone, Copy)]
pub struct Searches<'a> {
    volume: &'a Volume,
}

impl Volume {
    /// This volume as searches and their indexes use it.
    pub fn searches(&self) -> Searches<'_> {
        Searches { volume: self }
    }
}

impl Searches<'_> {
    /// From now on searches ask this finder, or fail.
    pub fn set_finder(self, finder: Option<Arc<dyn Finder>>) {
        *self.volume.finder.write() = finder;
    }

    /// The finder of this volume.
    pub fn finder(self) -> Option<Arc<dyn Finder>> {
        self.volume.finder.read().clone()
    }

    /// Whether searches are possible.
    pub fn is_searchable(self) -> bool {
        self.volume.finder.read().is_some()
    }

    /// The entries that match and that the caller may list, from after a place on; at most `limit`. `NotSupported` without a
    /// finder. It may wait for a disk.
    pub fn find(
        self,
        caller: &Caller,
        search: Search<'_>,
        after: Option<&SearchPlace>,
        limit: usize,
    ) -> Result<FoundPage> {
        let finder = self.finder().ok_or(Error::NotSupported)?;
        let mut judge = Judge::new(self.volume, caller, search, &*finder)?;
        let mut page = FoundPage { entries: Vec::new(), next: None };
        let mut judged = 0;
        let paused = finder.propose(search.query, after, &mut |candidate| {
            judged += 1;
            page.entries.extend(judge.result(candidate));
            let is_full = page.entries.len() >= limit.max(1) || judged >= MOST_JUDGED;
            if is_full {
                page.next =
                    Some(SearchPlace { folder: candidate.folder.to_bytes(), name: candidate.name.to_vec() });
            }
            !is_full
        })?;
        page.next = page.next.or(paused);
        Ok(page)
    }

    /// The file with a key that does not depend on this volume, if it is in the share.
    pub fn by_lasting_key(self, key: &LastingKey) -> Result<Found> {
        let backend = &self.volume.backend;
        let keys = backend.keys_of(key, false);
        let mut failure = Error::Stale;
        for key in &keys {
            match backend.by_key(key) {
                Ok(found) => return Ok(found),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Whether [`Searches::by_lasting_key`] finds files that this server has not seen since it began.
    pub fn finds_by_key(self) -> bool {
        let backend = &self.volume.backend;
        backend.root().is_ok_and(|root| backend.finds(&root.object.key()) == Finds::Always)
    }
}
