//! Files and folders that clients have in their caches, guarded against local processes.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use formats::FileId;

/// The opens of local processes that must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Against {
    /// Opens for writing, and truncation by a path.
    Writers,
    /// All opens.
    Everyone,
}

/// What clients may not cache any more when a local process opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Writes.
    Writes,
    /// All of it.
    All,
}

/// What a local process did, or may have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalChange {
    /// The file may have been moved, or have lost a name.
    Names,
    /// The attributes of the file may have changed, or its names, whose number is an attribute.
    Attributes,
    /// An entry of the folder came, went or was renamed.
    Entry,
    /// The file is not guarded any more as it was: a local process, or another part of the server, has it open.
    Unguarded(Ends),
}

/// What is done about local processes. The one thread of the guards calls it, without a lock: it must not wait.
pub trait HearsLocal: Send + Sync {
    /// A local process waits in open(2) or truncate(2) until `open` is dropped.
    fn opening(&self, open: LocalOpen);
    /// A local process has changed something.
    fn changed(&self, file: FileId, change: LocalChange);
}

/// An open by a local process, which waits. Dropping this lets it go on.
pub struct LocalOpen {
    /// The file.
    pub file: FileId,
    /// What clients must stop to cache before.
    pub ends: Ends,
    /// The host lets the process go on after this time in any case.
    pub at_most: Duration,
    go_on: Option<Box<dyn FnOnce() + Send>>,
}

impl LocalOpen {
    /// An open that goes on by calling `go_on`, once.
    pub fn new(file: FileId, ends: Ends, at_most: Duration, go_on: impl FnOnce() + Send + 'static) -> Self {
        Self { file, ends, at_most, go_on: Some(Box::new(go_on)) }
    }
}

impl Drop for LocalOpen {
    fn drop(&mut self) {
        if let Some(go_on) = self.go_on.take() {
            go_on();
        }
    }
}

impl fmt::Debug for LocalOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "local open of {:?}, which ends {:?}", self.file, self.ends)
    }
}

/// One use of a guard. Dropping it ends the use.
pub struct Hold(#[allow(dead_code, reason = "kept to be dropped")] Box<dyn Any + Send + Sync>);

impl Hold {
    /// A use that ends when `inner` is dropped.
    pub fn new(inner: impl Any + Send + Sync) -> Self {
        Self(Box::new(inner))
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}
