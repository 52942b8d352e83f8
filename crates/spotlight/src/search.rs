//! One search of a client: what was found and has not been fetched, and where the search goes on.
//!
//! ```text
//!              begin_looking                    deliver: more to come
//!   resting ──────────────────► looking ───────────────────────────────► resting
//!                                  └── deliver: the last page, or fail ──► over
//! ```

use std::collections::VecDeque;

use lock::Mutex;
use query::Query;
use vfs::SearchPlace;

use crate::found::FoundFile;
use crate::ranks;

/// The most results of a search: people look at no more, and Finder shows no more at once.
pub const MOST_RESULTS: usize = 10_000;

/// A search.
pub struct ClientSearch {
    /// What is asked.
    pub query: Query,
    /// The names of the folder that is searched, below the share; none for the whole share.
    pub scope: Vec<String>,
    /// Only files of these numbers, in their order; none for all.
    pub only: Option<Vec<u64>>,
    progress: Mutex<Progress, ranks::SpotlightSearch>,
}

/// Where a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Resting,
    Looking,
    Over,
    Failed,
}

struct Progress {
    phase: Phase,
    waiting: VecDeque<FoundFile>,
    /// Where the next page begins.
    place: Option<SearchPlace>,
    found: usize,
}

/// What was found since the last fetch.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The files.
    pub files: Vec<FoundFile>,
    /// There may be more.
    pub is_running: bool,
}

impl ClientSearch {
    /// A search that has not begun.
    pub fn new(query: Query, scope: Vec<String>, only: Option<Vec<u64>>) -> Self {
        let progress = Progress { phase: Phase::Resting, waiting: VecDeque::new(), place: None, found: 0 };
        Self { query, scope, only, progress: Mutex::new(progress) }
    }

    /// Whether the caller is to look for the next page: nobody does, and everything was fetched.
    pub(crate) fn begin_looking(&self) -> bool {
        let mut progress = self.progress.lock();
        let is_next = progress.phase == Phase::Resting && progress.waiting.is_empty();
        if is_next {
            progress.phase = Phase::Looking;
        }
        is_next
    }

    /// Where the page begins that is looked for; none for the first one.
    pub fn place(&self) -> Option<SearchPlace> {
        self.progress.lock().place.clone()
    }

    /// Adds a page of results, and where the next page begins if there is one.
    pub fn deliver(&self, files: Vec<FoundFile>, next: Option<SearchPlace>) {
        let mut progress = self.progress.lock();
        let wanted = |file: &FoundFile| self.only.as_ref().is_none_or(|only| only.contains(&file.number));
        let room = MOST_RESULTS - progress.found;
        let files: Vec<_> = files.into_iter().filter(wanted).take(room).collect();
        progress.found += files.len();
        progress.waiting.extend(files);
        progress.phase = match next {
            Some(place) if progress.found < MOST_RESULTS => {
                progress.place = Some(place);
                Phase::Resting
            }
            _ => Phase::Over,
        };
    }

    /// Ends the search: it could not be done.
    pub fn fail(&self) {
        self.progress.lock().phase = Phase::Failed;
    }

    /// At most `most` results that there is room for, and at least one. `None` if the search has failed.
    pub(crate) fn take(&self, most: usize, mut has_room: impl FnMut(&FoundFile) -> bool) -> Option<Results> {
        let mut progress = self.progress.lock();
        if progress.phase == Phase::Failed {
            return None;
        }
        let mut files = Vec::new();
        while files.len() < most
            && progress.waiting.front().is_some_and(|file| has_room(file) || files.is_empty())
        {
            files.extend(progress.waiting.pop_front());
        }
        let is_running = progress.phase != Phase::Over || !progress.waiting.is_empty();
        Some(Results { files, is_running })
    }
}
