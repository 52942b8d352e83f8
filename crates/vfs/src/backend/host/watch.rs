//! Events about changes by clients and local programs, through inotify.
//!
//! inotify and not fanotify, which needs a privilege (CAP_SYS_ADMIN) to tell names. inotify works
//! for an ordinary user as well, and has the property that the cache of listings needs: the kernel
//! queues an event before the call that caused it returns. It needs one watch per folder, so a
//! subtree is watched folder by folder and has a named limit.
//!
//! inotify gives one number per folder, however often it is watched, and ends the watch when the
//! first user stops it. So users are counted here. An event of each write costs the host about as
//! much as a small write itself, so a user that does not need it gets one when a file is closed. A
//! watch goes on to have events of writes when the last user that wanted them has stopped it, until
//! it is added anew.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use lock::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::inotify::{self, CreateFlags, Event, ReadFlags, Reader, WatchFlags};

use super::object::HostObject;
use crate::backend::{DataNotice, Heard, WatchEvent, WatchId};
use crate::ranks;

/// Bytes of events that one call brings.
const EVENT_BYTES: usize = 16 * 1024;
/// The longest event: a struct inotify_event with a name, whose length is a multiple of the struct's.
const LONGEST_EVENT: usize = EVENT_HEAD + 256;
const EVENT_HEAD: usize = 16;
/// Most calls for events at one time; events left after that count as missed.
const MOST_CALLS: usize = 64;

/// The volume's one event queue.
pub(super) struct Watches {
    queue: Option<OwnedFd>,
    users: Mutex<HashMap<i32, WatchUsers>, ranks::WatchUsers>,
}

/// How many users a watch has.
#[derive(Default)]
struct WatchUsers {
    each_write: usize,
    at_close: usize,
}

impl WatchUsers {
    fn count(&mut self, data: DataNotice) -> &mut usize {
        match data {
            DataNotice::EachWrite => &mut self.each_write,
            DataNotice::AtClose => &mut self.at_close,
        }
    }

    /// The events of data that they need.
    fn flags(&self) -> WatchFlags {
        match (self.each_write, self.at_close) {
            (0, _) => WatchFlags::CLOSE_WRITE,
            (_, 0) => WatchFlags::MODIFY,
            _ => WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE,
        }
    }
}

impl Watches {
    pub(super) fn new() -> Self {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        Self { queue, users: Mutex::default() }
    }

    /// Watches that hear of nothing.
    pub(super) fn none() -> Self {
        Self { queue: None, users: Mutex::default() }
    }

    pub(super) fn add(&self, folder: &HostObject, data: DataNotice) -> Option<WatchId> {
        let entries = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ATTRIB;
        let itself = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
        let (queue, path) = (self.queue.as_ref()?, folder.path());
        let mut users = self.users.lock();
        let mut new = WatchUsers::default();
        *new.count(data) += 1;
        // Only this call says which watch the folder has: what its other users need is added then.
        let flags = entries | itself;
        let watch = inotify::add_watch(queue, &path, flags | new.flags() | WatchFlags::MASK_ADD).ok()?;
        let all = users.entry(watch).or_default();
        *all.count(data) += 1;
        let is_first = all.each_write + all.at_close == 1;
        if !is_first && all.flags() != WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE {
            let _ = inotify::add_watch(queue, &path, flags | all.flags()); // if it fails, there are events too many
        }
        Some(WatchId(watch))
    }

    pub(super) fn remove(&self, watch: WatchId, data: DataNotice) {
        let mut users = self.users.lock();
        let Some(of_watch) = users.get_mut(&watch.0) else { return };
        let count = of_watch.count(data);
        *count = count.saturating_sub(1);
        if of_watch.each_write + of_watch.at_close == 0 {
            users.remove(&watch.0);
            let queue = self.queue.as_ref().expect("a watch has a queue");
            let _ = inotify::remove_watch(queue, watch.0); // gone already when its folder is
        }
    }

    pub(super) fn take(&self, sink: &mut dyn FnMut(WatchEvent)) {
        let Some(queue) = &self.queue else { return };
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut events = Reader::new(queue, &mut buffer);
        let most = MOST_CALLS * EVENT_BYTES / 32;
        let mut bytes = 0;
        for _ in 0..most {
            let Ok(event) = events.next() else { return };
            bytes += length(&event);
            let event = heard(&event);
            if let WatchEvent::Over(watch) = event {
                self.users.lock().remove(&watch.0); // its number is not used again
            }
            sink(event);
            if events.is_buffer_empty() {
                // If there was room for another event, there was none: no call is needed to learn that.
                if bytes + LONGEST_EVENT <= EVENT_BYTES {
                    return;
                }
                bytes = 0;
            }
        }
        sink(WatchEvent::Missed);
    }

    pub(super) fn wait(&self, most: Duration) -> bool {
        let Some(queue) = &self.queue else {
            std::thread::sleep(most);
            return false;
        };
        let most = Timespec::try_from(most).ok();
        let mut queues = [PollFd::new(queue, PollFlags::IN)];
        rustix::event::poll(&mut queues, most.as_ref()).is_ok_and(|ready| ready > 0)
    }
}

/// The bytes of an event in the buffer, inotify(7).
fn length(event: &Event<'_>) -> usize {
    let name = event.file_name().map_or(0, |name| name.count_bytes() + 1);
    EVENT_HEAD + name.next_multiple_of(EVENT_HEAD)
}

fn heard(event: &Event<'_>) -> WatchEvent {
    let (watch, flags) = (WatchId(event.wd()), event.events());
    if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
        return WatchEvent::Missed;
    }
    if flags.contains(ReadFlags::IGNORED) {
        return WatchEvent::Over(watch);
    }
    let kinds = [
        (ReadFlags::CREATE, Heard::Created),
        (ReadFlags::DELETE, Heard::Removed),
        (ReadFlags::MOVED_FROM, Heard::MovedFrom(event.cookie())),
        (ReadFlags::MOVED_TO, Heard::MovedTo(event.cookie())),
        (ReadFlags::MODIFY, Heard::Data),
        (ReadFlags::CLOSE_WRITE, Heard::Closed),
        (ReadFlags::ATTRIB, Heard::Attributes),
    ];
    let what = kinds.into_iter().find(|(flag, _)| flags.contains(*flag));
    match (event.file_name(), what) {
        (Some(name), Some((_, what))) => {
            let (name, of_folder) = (name.to_bytes().into(), flags.contains(ReadFlags::ISDIR));
            WatchEvent::Entry { watch, name, what, of_folder }
        }
        _ => WatchEvent::Folder(watch),
    }
}
