//! What is noted of a client's operation while it runs, if an observer wants it: the files that it concerns, and where its
//! time goes.
//!
//! The code that executes an operation makes its notes current on the thread, for each part of the operation that runs
//! there. A note outside an operation is dropped. While no observer wants notes, each place that would make one costs a
//! relaxed load.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::ranks;

/// The most files that are noted of one operation.
const MOST_FILES: usize = 8;
/// The longest path that is noted, in bytes; of a longer one the end is kept.
const LONGEST_PATH: usize = 4096;

/// The observers that want files, one bit each.
static FILES: AtomicU32 = AtomicU32::new(0);
/// Of these, the observers that need the paths as they are when the operation runs.
static PATHS: AtomicU32 = AtomicU32::new(0);
/// The observers that want times, one bit each.
static TIMES: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The notes of the operation that runs on this thread.
    static CURRENT: RefCell<Option<Arc<Notes>>> = const { RefCell::new(None) };
}

/// What an operation does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// Opens it for reading, or to see what it is.
    Open,
    /// Opens it for changes.
    OpenToChange,
    /// Reads its data.
    Read,
    /// Lists a folder.
    List,
    /// Makes it.
    Create,
    /// Changes its data or size.
    Write,
    /// Changes its attributes, rights or extended attributes.
    Attributes,
    /// Gives it another name in addition.
    Link,
    /// Moves it.
    Rename,
    /// Removes it, or has it removed when it is closed.
    Remove,
}

impl Act {
    /// The word in the audit log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open | Self::OpenToChange => "open",
            Self::Read => "read",
            Self::List => "list",
            Self::Create => "create",
            Self::Write => "write",
            Self::Attributes => "attributes",
            Self::Link => "link",
            Self::Rename => "rename",
            Self::Remove => "remove",
        }
    }

    /// Whether it changes something, or has `failed` and would have.
    #[must_use]
    pub fn is_change(self, failed: bool) -> bool {
        match self {
            Self::Open | Self::Read | Self::List => false,
            Self::OpenToChange => failed,
            _ => true,
        }
    }
}

/// When the path of a noted file is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paths {
    /// With the note: the path that the operation meets, also of a file without a name. It takes two calls of the host.
    AtOnce,
    /// When it is asked for, by what the host has in memory then.
    Later,
}

/// Finds the path of a noted file when it is asked for.
pub trait LaterPath: Send + Sync {
    /// The names from the share's folder down to the file, as far as they are known now.
    fn parts(&self) -> Vec<Vec<u8>>;
}

/// The path of a noted file from the share's folder.
#[derive(Clone)]
pub struct NotedPath(PathOf);

#[derive(Clone)]
enum PathOf {
    Known(String),
    Later(Arc<dyn LaterPath>),
}

impl NotedPath {
    /// This path, which was found with the note.
    pub fn found(path: &[u8]) -> Self {
        Self(PathOf::Known(text(path)))
    }

    /// A path that is found when it is asked for.
    pub fn later(path: Arc<dyn LaterPath>) -> Self {
        Self(PathOf::Later(path))
    }

    /// The path without a slash at the front; empty for the share's folder, and for a file whose path the host does not
    /// tell. Bytes that are not UTF-8 are written as `\xNN`.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            PathOf::Known(path) => Cow::Borrowed(path),
            PathOf::Later(path) => Cow::Owned(text(&path.parts().join(&b'/'))),
        }
    }
}

impl From<&str> for NotedPath {
    fn from(path: &str) -> Self {
        Self(PathOf::Known(path.to_owned()))
    }
}

impl PartialEq for NotedPath {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl std::fmt::Debug for NotedPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.text().fmt(f)
    }
}

/// What an operation does, or tries to do, to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileNote {
    /// What it does.
    pub act: Act,
    /// Where the file is.
    pub path: NotedPath,
    /// The path after a move, or of a further name.
    pub to: Option<NotedPath>,
    /// The inode number, if the file was known before the operation.
    pub inode: Option<u64>,
}

/// Where an operation spends time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// Waiting for clients to return leases.
    Leases,
    /// Waiting for a permit of a file that many calls wait for.
    Permits,
    /// Waiting for a free thread of the pool.
    Queue,
    /// In calls of the host that may wait for the disk.
    Disk,
}

/// What was noted of an operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OperationTrace {
    /// The files; at most eight. Only the first one if all observers are content with [`Paths::Later`].
    pub files: Vec<FileNote>,
    /// See [`Spent::Leases`].
    pub leases: Duration,
    /// See [`Spent::Permits`].
    pub permits: Duration,
    /// See [`Spent::Queue`].
    pub queue: Duration,
    /// See [`Spent::Disk`].
    pub disk: Duration,
}

/// The notes of one operation.
#[derive(Debug, Default)]
pub struct Notes(Mutex<OperationTrace, ranks::OperationNotes>);

/// An observer, by its number below 32, wants files or times, or wants them no longer.
pub fn want(observer: u32, files: Option<Paths>, times: bool) {
    let bit = 1 << observer;
    let at_once = files == Some(Paths::AtOnce);
    for (wanted, bits) in [(files.is_some(), &FILES), (at_once, &PATHS), (times, &TIMES)] {
        match wanted {
            true => bits.fetch_or(bit, Ordering::Relaxed),
            false => bits.fetch_and(!bit, Ordering::Relaxed),
        };
    }
}

impl Notes {
    /// Notes for an operation that begins, if an observer wants any.
    #[must_use]
    pub fn begin() -> Option<Arc<Self>> {
        (FILES.load(Ordering::Relaxed) | TIMES.load(Ordering::Relaxed) != 0).then(Arc::default)
    }

    /// What was noted up to now.
    #[must_use]
    pub fn taken(&self) -> OperationTrace {
        self.0.lock().clone()
    }
}

/// Runs a part of the operation that these notes belong to.
pub fn during<T>(notes: Option<&Arc<Notes>>, part: impl FnOnce() -> T) -> T {
    let Some(notes) = notes else { return part() };
    let _before = Before(CURRENT.replace(Some(notes.clone())));
    part()
}

/// The notes that were current before a part of an operation. They are current again when this is dropped.
struct Before(Option<Arc<Notes>>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The notes of the operation on this thread, to take them to another thread.
pub fn current() -> Option<Arc<Notes>> {
    if FILES.load(Ordering::Relaxed) | TIMES.load(Ordering::Relaxed) == 0 {
        return None;
    }
    CURRENT.with_borrow(Clone::clone)
}

/// The time now, if an observer wants times.
pub fn clock() -> Option<Instant> {
    (TIMES.load(Ordering::Relaxed) != 0).then(Instant::now)
}

/// Notes the time since `begun`.
pub fn spent(on: Spent, begun: Option<Instant>) {
    let (Some(begun), Some(notes)) = (begun, current()) else { return };
    let took = begun.elapsed();
    let mut noted = notes.0.lock();
    let sum = match on {
        Spent::Leases => &mut noted.leases,
        Spent::Permits => &mut noted.permits,
        Spent::Queue => &mut noted.queue,
        Spent::Disk => &mut noted.disk,
    };
    *sum = sum.saturating_add(took);
}

/// Notes the time from here to its end, also if what waits gives up.
pub fn timed(on: Spent) -> Stopwatch {
    Stopwatch(on, clock())
}

/// See [`timed`].
pub struct Stopwatch(Spent, Option<Instant>);

impl Drop for Stopwatch {
    fn drop(&mut self) {
        spent(self.0, self.1);
    }
}

/// Whether an observer needs the paths as they are when the operation runs.
pub fn wants_paths_at_once() -> bool {
    PATHS.load(Ordering::Relaxed) != 0
}

/// Adds a note, unless there is one about the same file that says as much.
pub fn add(notes: &Notes, note: FileNote) {
    let mut noted = notes.0.lock();
    let says_as_much = |known: &FileNote| {
        let is_part = known.act == Act::Create
            && matches!(note.act, Act::Open | Act::OpenToChange | Act::Attributes | Act::Write);
        known.path == note.path && known.to == note.to && (known.act == note.act || is_part)
    };
    if noted.files.len() < MOST_FILES && !noted.files.iter().any(says_as_much) {
        noted.files.push(note);
    }
}

/// The notes of the operation on this thread, if an observer wants this file among them.
pub fn wanted() -> Option<Arc<Notes>> {
    if FILES.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let notes = CURRENT.with_borrow(Clone::clone)?;
    let is_wanted = PATHS.load(Ordering::Relaxed) != 0 || notes.0.lock().files.is_empty();
    is_wanted.then_some(notes)
}

/// A path as text.
fn text(path: &[u8]) -> String {
    let from = path.len().saturating_sub(LONGEST_PATH);
    let mut text = String::with_capacity(path.len() - from);
    for chunk in path[from..].utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_shown_as_numbers() {
        assert_eq!(text("straße".as_bytes()), "straße");
        assert_eq!(text(b"a\xff/b"), "a\\xff/b");
        assert_eq!(text(&[b'a'; 5000]).len(), LONGEST_PATH);
    }
}
