//! What edit applications need of a share.

use serde::Serialize;

use super::{Outcome, Stage, attempts};
use crate::Result;

/// Something that a program needs of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "`what` says it")]
pub enum Ability {
    Names,
    OneCase,
    NoSidecars,
    LockFiles,
    RangeLocks,
    LostLocks,
    OpenAlone,
    SafeSave,
    SparseBundles,
    SmallReads,
    Mapping,
    FullSync,
    DurableOpens,
    LargeFiles,
    Links,
    Attributes,
    Dates,
}

impl Ability {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 17] = [
        Self::Names,
        Self::OneCase,
        Self::NoSidecars,
        Self::LockFiles,
        Self::RangeLocks,
        Self::LostLocks,
        Self::OpenAlone,
        Self::SafeSave,
        Self::SparseBundles,
        Self::SmallReads,
        Self::Mapping,
        Self::FullSync,
        Self::DurableOpens,
        Self::LargeFiles,
        Self::Links,
        Self::Attributes,
        Self::Dates,
    ];

    /// In words.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::Names => "names of clips and mixes, as people write them",
            Self::OneCase => "Clip.MOV and clip.mov are one file",
            Self::NoSidecars => "no ._ files beside files with Finder info",
            Self::LockFiles => "a lock file can be made once",
            Self::RangeLocks => "locks of byte ranges, as databases take them",
            Self::LostLocks => "the locks of a client that is gone end",
            Self::OpenAlone => "an open that is denied to others",
            Self::SafeSave => "a saved project replaces the old one",
            Self::SparseBundles => "sparse bundles: bands, and a rename of the bundle in use",
            Self::SmallReads => "many small reads: 64 tracks",
            Self::Mapping => "mapped files: pages, holes, the end of the file",
            Self::FullSync => "F_FULLFSYNC",
            Self::DurableOpens => "an open that outlives its connection",
            Self::LargeFiles => "media files over 4 GiB",
            Self::Links => "symbolic links to media",
            Self::Attributes => "extended attributes",
            Self::Dates => "dates of media stay, by which clips are found again",
        }
    }

    /// Tries it.
    pub(super) fn attempt(self, stage: &mut Stage) -> Result<Outcome> {
        match self {
            Self::Names => attempts::names(stage),
            Self::OneCase => attempts::one_case(stage),
            Self::NoSidecars => attempts::no_sidecars(stage),
            Self::LockFiles => attempts::lock_files(stage),
            Self::RangeLocks => attempts::range_locks(stage),
            Self::LostLocks => attempts::lost_locks(stage),
            Self::OpenAlone => attempts::open_alone(stage),
            Self::SafeSave => attempts::safe_save(stage),
            Self::SparseBundles => attempts::sparse_bundles(stage),
            Self::SmallReads => attempts::small_reads(stage),
            Self::Mapping => attempts::mapping(stage),
            Self::FullSync => attempts::full_sync(stage),
            Self::DurableOpens => attempts::durable_opens(stage),
            Self::LargeFiles => attempts::large_files(stage),
            Self::Links => attempts::links(stage),
            Self::Attributes => attempts::attributes(stage),
            Self::Dates => attempts::dates(stage),
        }
    }
}
