//! Hearing of changes by anybody, through inotify: the kernel queues an event before the call that caused it returns.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

use super::object::HostObject;
use crate::backend::{WatchEvent, WatchId};

/// Bytes of events that one call brings.
const EVENT_BYTES: usize = 16 * 1024;
/// Most calls for events at one time; what is left then is taken for missed.
const MOST_CALLS: usize = 64;

/// The volume's one event queue.
pub(super) struct Watches {
    queue: Option<OwnedFd>,
}

impl Watches {
    pub(super) fn new() -> Self {
        Self { queue: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok() }
    }

    pub(super) fn add(&self, folder: &HostObject) -> Option<WatchId> {
        let entries = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
        let attributes = WatchFlags::ATTRIB | WatchFlags::MODIFY;
        let itself = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
        let watch =
            inotify::add_watch(self.queue.as_ref()?, folder.path(), entries | attributes | itself).ok()?;
        Some(WatchId(watch))
    }

    pub(super) fn remove(&self, watch: WatchId) {
        if let Some(queue) = &self.queue {
            let _ = inotify::remove_watch(queue, watch.0); // gone already when its folder is
        }
    }

    pub(super) fn take(&self, sink: &mut dyn FnMut(WatchEvent)) {
        let Some(queue) = &self.queue else { return };
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut events = Reader::new(queue, &mut buffer);
        let most = MOST_CALLS * EVENT_BYTES / 32;
        for _ in 0..most {
            let Ok(event) = events.next() else { return };
            let watch = WatchId(event.wd());
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                sink(WatchEvent::Missed);
            } else if what.intersects(ReadFlags::ATTRIB | ReadFlags::MODIFY) {
                match event.file_name() {
                    Some(name) => sink(WatchEvent::Entry(watch, name.to_bytes().into())),
                    None => sink(WatchEvent::Folder(watch)),
                }
            } else if !what.contains(ReadFlags::IGNORED) {
                sink(WatchEvent::Folder(watch));
            }
        }
        sink(WatchEvent::Missed);
    }
}
