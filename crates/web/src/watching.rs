//! Changes in folders of the shares as server-sent events.

use std::sync::Arc;

use axum::body::Bytes;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use utoipa::ToSchema;
use vfs::Watching;
use vfs::events::Event;

/// The most listeners to folders.
const MOST_LISTENERS: usize = 32;
/// Events that may wait for one of them, besides those that the watch keeps.
const AHEAD: usize = 64;

/// A change of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FileChange {
    /// `created`, `removed`, `renamed` or `modified`. What is moved into the watched folder is created there, what is moved
    /// out is removed.
    pub what: &'static str,
    /// Its path from the watched folder.
    pub path: String,
    /// The path that it had, if it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// `file`, `folder`, `link` or `other`.
    pub kind: &'static str,
    /// What was modified: `data`, `size`, `attributes`, `stream` …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aspects: Vec<String>,
    /// A client of the server made the change, and not a program of the host.
    pub by_client: bool,
}

/// What a watch hears next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A change.
    Changed(FileChange),
    /// Changes were too many: the listener looks at the whole folder again.
    Missed,
    /// The watched folder itself is removed.
    Gone,
}

impl Next {
    /// The event as it is sent.
    pub(crate) fn bytes(&self) -> Bytes {
        let (name, data) = match self {
            Self::Changed(change) => ("change", serde_json::to_string(change).unwrap_or_default()),
            Self::Missed => ("missed", "{}".to_owned()),
            Self::Gone => ("gone", "{}".to_owned()),
        };
        Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
    }
}

/// A folder that is watched, until it is dropped.
pub struct FolderWatch {
    watching: Watching,
    next: fn(Event) -> Next,
}

impl std::fmt::Debug for FolderWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FolderWatch")
    }
}

impl FolderWatch {
    /// `next` has the words for an event.
    #[must_use]
    pub fn new(watching: Watching, next: fn(Event) -> Next) -> Self {
        Self { watching, next }
    }

    /// The next event.
    pub async fn next(&mut self) -> Next {
        (self.next)(self.watching.next().await)
    }
}

/// The places of listeners to folders.
#[derive(Debug, Clone)]
pub(crate) struct Places(Arc<Semaphore>);

impl Default for Places {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_LISTENERS)))
    }
}

impl Places {
    /// A place; `None`: there are too many listeners.
    pub(crate) fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.0.clone().try_acquire_owned().ok()
    }
}

/// Sends what a watch hears, until the listener has gone.
pub(crate) fn send(mut watched: FolderWatch, place: OwnedSemaphorePermit) -> mpsc::Receiver<Bytes> {
    let (queue, events) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let _place = place;
        loop {
            let next = tokio::select! {
                next = watched.next() => next,
                () = queue.closed() => return,
            };
            let is_last = next == Next::Gone;
            // While the listener is slow, the watch keeps changes, and tells when there are too many.
            if queue.send(next.bytes()).await.is_err() || is_last {
                return;
            }
        }
    });
    events
}
