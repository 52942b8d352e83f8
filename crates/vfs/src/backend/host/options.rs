//! The parameters of a shared folder.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::Advice;

use super::KeptFiles;
use crate::HostKey;
use crate::quota::Meter;

/// The parameters of [`super::Host::open`].
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The files kept open between requests, which several hosts may share. Each costs one descriptor, and a second one
    /// once its data is used.
    pub open_files: Arc<KeptFiles>,
    /// Refuses every change.
    pub read_only: bool,
    /// A folder that clients never reach, where it lies inside the shared one: the server's state.
    pub private: Option<PathBuf>,
    /// Whether file systems that are mounted inside the folder are part of it.
    pub cross_mounts: bool,
    /// The key of the root of the live tree, of which the folder is a snapshot. Where the host's handles of the two differ
    /// only in the number of the tree, the snapshot's files have the keys of the live ones, by which what is kept apart
    /// from a file is found.
    pub snapshot_of: Option<HostKey>,
    /// The quotas that count for the folder's files.
    pub meter: Arc<Meter>,
    /// Other hosts change the files, of which this one is not notified: no folder is watched, and so no listing is kept.
    pub shared: bool,
    /// The umask of the process counts for what is made: for tools that act as their user. A server clears it, because clients
    /// say the modes of new files.
    pub keeps_umask: bool,
    /// How far ahead the host reads files that are opened.
    pub read_ahead: ReadAhead,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            open_files: KeptFiles::new(4096),
            read_only: false,
            private: None,
            cross_mounts: true,
            snapshot_of: None,
            meter: Arc::default(),
            shared: false,
            keeps_umask: false,
            read_ahead: ReadAhead::Normal,
        }
    }
}

/// How far ahead the host reads a file that is read in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAhead {
    /// As far as it does by itself, by the size that its disk has.
    #[default]
    Normal,
    /// Twice as far.
    Double,
    /// Nothing.
    Off,
}

impl ReadAhead {
    /// Tells the host how the data of an open file will be read. Advice that a file system does not take changes nothing.
    pub(super) fn advise(self, file: impl AsFd) {
        let advice = match self {
            Self::Normal => return, // what every new descriptor has
            Self::Double => Advice::Sequential,
            Self::Off => Advice::Random,
        };
        let _ = rustix::fs::fadvise(file, 0, None, advice);
    }
}
