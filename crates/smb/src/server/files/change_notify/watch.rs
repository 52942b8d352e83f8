//! The watch that the first CHANGE_NOTIFY of an open begins. It keeps what happens between one request and the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::Mutex;
use tokio::sync::Notify;
use vfs::Watching;
use vfs::backend::Found;
use vfs::events::{Aspects, Depth, Event, Filter};

use super::changes;
use crate::ranks;
use crate::server::clients::open::File;
use crate::server::config::Share;
use crate::server::context::Context;
use crate::wire::Status;
use crate::wire::change_notify::{CompletionFilter, Flags, Request};
use crate::wire::fscc::notify::Change;

/// What one change takes at least: a record with a name of one character.
const LEAST: usize = 16;

/// The watch of an open folder, once there is one. Dropping it, with its open, ends the requests that wait.
#[derive(Default)]
pub(in crate::server) struct FolderWatch(Mutex<Option<Arc<Watch>>, ranks::SmbWatch>);

pub(super) struct Watch {
    /// Requests are answered in the order in which they came.
    watching: tokio::sync::Mutex<Watching>,
    /// The room of the first request. No later request gets more at once.
    room: usize,
    wanted: CompletionFilter,
    share: Arc<Share>,
    closed: AtomicBool,
    closing: Notify,
}

/// The answer to a request.
pub(super) enum NotifyReply {
    Changes(Vec<Change>),
    /// The changes did not fit: the client must list the folder.
    TooMany,
    /// The folder is being removed.
    Going,
    /// The open is closed.
    Closed,
}

impl FolderWatch {
    /// The watch. The first request begins it and decides for good which changes it reports.
    pub(super) fn watch(
        &self,
        context: &Context,
        file: &File,
        request: &Request,
    ) -> Result<Arc<Watch>, Status> {
        let mut watch = self.0.lock();
        if let Some(watch) = &*watch {
            return Ok(watch.clone());
        }
        let begun = Arc::new(Watch::begin(context, file, request)?);
        *watch = Some(begun.clone());
        Ok(begun)
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        if let Some(watch) = self.0.get_mut() {
            watch.closed.store(true, Ordering::Release);
            watch.closing.notify_waiters();
        }
    }
}

impl Watch {
    fn begin(context: &Context, file: &File, request: &Request) -> Result<Self, Status> {
        let folder = Found { attributes: file.open.attributes()?, object: file.open.node().clone() };
        let depth = match request.flags.contains(Flags::WATCH_TREE) {
            true => Depth::Below,
            false => Depth::Entries,
        };
        let filter =
            Filter { aspects: aspects(request.completion_filter), except: None, identifies_removed: false };
        let room = request.output_buffer_length as usize;
        let volume = context.tree().volume()?;
        // The open's access to list the folder was checked when it was opened.
        let watching = volume.watch(&vfs::Caller::root(), &folder, depth, filter, (room / LEAST).max(1))?;
        Ok(Self {
            watching: tokio::sync::Mutex::new(watching),
            room,
            wanted: request.completion_filter,
            share: context.tree().share.clone(),
            closed: AtomicBool::new(false),
            closing: Notify::new(),
        })
    }

    /// What has happened since the last request, or else what happens next.
    pub(super) async fn next(&self, room: usize) -> NotifyReply {
        let closing = self.closing.notified();
        tokio::pin!(closing);
        closing.as_mut().enable();
        if self.closed.load(Ordering::Acquire) {
            return NotifyReply::Closed;
        }
        tokio::select! {
            biased;
            told = self.changes(room.min(self.room)) => told,
            () = closing => NotifyReply::Closed,
        }
    }

    async fn changes(&self, room: usize) -> NotifyReply {
        let mut watching = self.watching.lock().await;
        let mut changes = Vec::new();
        let mut event = watching.next().await;
        loop {
            match event {
                Event::Changed(seen) => changes::of(&seen, self.wanted, &self.share, &mut changes),
                Event::Overflowed => return too_many(&mut watching),
                Event::Going if changes.is_empty() => return NotifyReply::Going,
                Event::Going => {} // seen by the next request, which asks whether the folder goes
            }
            if changes.iter().map(Change::padded_len).sum::<usize>() > room {
                return too_many(&mut watching);
            }
            event = match watching.try_next() {
                Some(event) => event,
                None if changes.is_empty() => watching.next().await,
                None => return NotifyReply::Changes(changes),
            };
        }
    }
}

/// Drops all changes that still wait: the client lists the folder now and sees them there.
fn too_many(watching: &mut Watching) -> NotifyReply {
    while watching.try_next().is_some() {}
    NotifyReply::TooMany
}

/// The aspects of a file that the client wants to know of. A write changes a file's size and
/// modification time.
fn aspects(filter: CompletionFilter) -> Aspects {
    let wanted = [
        (CompletionFilter::FILE_NAME, Aspects::FILE_NAME),
        (CompletionFilter::DIR_NAME, Aspects::FOLDER_NAME),
        (CompletionFilter::ATTRIBUTES, Aspects::ATTRIBUTES),
        (CompletionFilter::SIZE, Aspects::SIZE.union(Aspects::DATA)),
        (CompletionFilter::LAST_WRITE, Aspects::MODIFIED.union(Aspects::DATA)),
        (CompletionFilter::LAST_ACCESS, Aspects::ACCESSED),
        (CompletionFilter::CREATION, Aspects::CREATED),
        (CompletionFilter::EA, Aspects::XATTR),
        (CompletionFilter::SECURITY, Aspects::SECURITY),
        (CompletionFilter::STREAM_NAME, Aspects::STREAM),
        (CompletionFilter::STREAM_SIZE, Aspects::STREAM),
        (CompletionFilter::STREAM_WRITE, Aspects::STREAM),
    ];
    let chosen = wanted.into_iter().filter(|(bit, _)| filter.contains(*bit));
    let moves = if changes::tells_of_moves(filter) { Aspects::FILE_NAME } else { Aspects(0) };
    chosen.fold(moves, |all, (_, aspects)| all.union(aspects))
}
