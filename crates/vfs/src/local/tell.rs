//! Publishes the events of the host to the subscribers.

use std::sync::Arc;

use super::own::EchoKind;
use super::watched::{WatchedFolders, entries_of};
use super::{HeardEntry, HeardEvents};
use crate::access::Permissions;
use crate::backend::{Found, Heard, Node};
use crate::events::{Aspects, Change, ChangeKind, Hub, MAX_QUEUE, Name};
use crate::mac::layout::{self, is_sidecar_name};
use crate::names::own::is_own_name;
use crate::streams::{File, Streams};
use crate::{Caller, FileId, Kind, Site};

/// How far ahead the other half of a move is looked for.
const MOST_BETWEEN: usize = 64;

/// The aspects of a file that change with its data.
pub(crate) const DATA: Aspects = Aspects(Aspects::DATA.0 | Aspects::SIZE.0 | Aspects::MODIFIED.0);
const ATTRIBUTES: Aspects = Aspects(
    Aspects::ATTRIBUTES.0
        | Aspects::MODIFIED.0
        | Aspects::ACCESSED.0
        | Aspects::XATTR.0
        | Aspects::SECURITY.0,
);
/// The aspects of a file that may change with its sidecar.
pub(crate) const SIDECAR: Aspects = Aspects(Aspects::STREAM.0 | Aspects::ATTRIBUTES.0 | Aspects::XATTR.0);

/// One thing that happened.
#[derive(Debug)]
enum Step {
    One(HeardEntry),
    Moved { from: HeardEntry, to: HeardEntry },
}

/// The notices of what local processes did, on their way to the subscribers of a volume.
pub(super) struct LocalNotices<'a> {
    pub(super) watched: WatchedFolders<'a>,
    pub(super) site: &'a Site,
    pub(super) events: &'a Hub,
    pub(super) streams: Option<&'a Arc<Streams>>,
    pub(super) permissions: Permissions<'a>,
}

impl LocalNotices<'_> {
    /// Publishes the events until now.
    pub(super) fn tell(&self) {
        let HeardEvents { entries, lost, waiting } = std::mem::take(&mut *self.watched.locals.heard.lock());
        if lost {
            let tops = self.watched.locals.tree.lock().tops();
            let tops = tops.iter().filter_map(|key| self.watched.backend.by_key(key).ok());
            tops.for_each(|top| self.watched.watch_below(&top));
            self.events.lost();
        }
        let (steps, waiting) = steps(waiting, entries);
        for step in steps {
            match step {
                Step::One(entry) => self.tell_one(&entry),
                Step::Moved { from, to } => self.tell_move(&from, &to),
            }
        }
        self.watched.locals.heard.lock().waiting = waiting;
    }

    fn tell_one(&self, entry: &HeardEntry) {
        if entry.what == Heard::Closed && !is_sidecar_name(&entry.name) && !is_own_name(&entry.name) {
            // Its subscribers look at the file themselves.
            let modified = ChangeKind::Modified(DATA);
            return self.watched.locals.publish(self.events, &change(entry, modified, None));
        }
        let Some(folder) = self.watched.found(entry.folder).filter(|_| !is_own_name(&entry.name)) else {
            return;
        };
        let gone = matches!(entry.what, Heard::Removed | Heard::MovedFrom(_));
        if let Some((name, owner)) = owner_of_sidecar(self.streams, &folder.object, &entry.name, gone) {
            return self.tell_of(&owner, entry.folder, name, ChangeKind::Modified(SIDECAR));
        }
        let what = match entry.what {
            Heard::Created | Heard::MovedTo(_) => ChangeKind::Created,
            Heard::Removed | Heard::MovedFrom(_) => ChangeKind::Removed,
            Heard::Data | Heard::Closed => ChangeKind::Modified(DATA),
            Heard::Attributes => ChangeKind::Modified(ATTRIBUTES),
        };
        let found = match what {
            ChangeKind::Removed => None,
            _ => folder.object.lookup(&Caller::root(), &entry.name).ok(),
        };
        if found.is_none() && matches!(what, ChangeKind::Modified(_)) {
            return; // the event of its removal comes next
        }
        if matches!(entry.what, Heard::MovedTo(_)) {
            self.bring_sidecar(None, &folder, &entry.name, found.as_ref());
        }
        self.tell_change(&change(entry, what, found.as_ref()), found.as_ref());
        if let Some(found) = found.filter(|_| entry.what == Heard::Created) {
            self.tell_contents(found);
        }
    }

    fn tell_move(&self, from: &HeardEntry, to: &HeardEntry) {
        let is_sidecar = |entry: &HeardEntry| is_sidecar_name(&entry.name) || is_own_name(&entry.name);
        if is_sidecar(from) || is_sidecar(to) {
            self.tell_one(from);
            return self.tell_one(to);
        }
        let Some(folder) = self.watched.found(to.folder) else { return self.tell_one(from) };
        let found = folder.object.lookup(&Caller::root(), &to.name).ok();
        self.bring_sidecar(Some(from), &folder, &to.name, found.as_ref());
        let what = ChangeKind::Renamed { old_folder: from.folder, old_name: from.name.clone() };
        self.tell_change(&change(to, what, found.as_ref()), found.as_ref());
    }

    /// A file that a local process moved gets its sidecar, which that process has left behind. Where no folder is
    /// watched, this is done when the file is looked at next, if the sidecar is this server's.
    fn bring_sidecar(&self, from: Option<&HeardEntry>, folder: &Found, name: &[u8], moved: Option<&Found>) {
        let (Some(streams), Some(moved)) = (self.streams, moved) else { return };
        if moved.attributes.kind != Kind::File || self.permissions.refuses_changes(&moved.object) {
            return;
        }
        // Another server that has the file may be moving it: it brings the sidecar along.
        let Ok(pins) = self.site.state.pin(&[moved.object.id()]) else { return };
        let places = [(folder.object.id(), name), (moved.object.id(), &b""[..])];
        let _changing = self.site.busy.change_pinned(&places, pins);
        let file = File { folder: &*folder.object, name, object: &*moved.object };
        let old = from.and_then(|from| Some((self.watched.found(from.folder)?, from)));
        let brought = streams.pairs().mend(&file).and_then(|_| match &old {
            Some((old, from)) => streams.pairs().bring_unowned((&*old.object, &from.name), &file),
            None => Ok(()),
        });
        if let Err(error) = brought {
            tracing::debug!(%error, "the sidecar of a renamed file stays until the file is looked at");
        }
    }

    /// The contents of a new folder came before it was watched.
    fn tell_contents(&self, new: Found) {
        let mut told = 0;
        let mut waiting = vec![new];
        while let Some(folder) = waiting.pop() {
            let id = folder.object.id();
            if folder.attributes.kind != Kind::Folder || !self.watched.locals.tree.lock().is_below(id) {
                continue;
            }
            for (name, _) in entries_of(&folder) {
                told += 1;
                if told > MAX_QUEUE {
                    return self.events.lost();
                }
                // It may have come since then. In that case there is an event, too.
                self.site.announce(&[(id, &name, EchoKind::Created)]).made();
                let Ok(found) = folder.object.lookup(&Caller::root(), &name) else { continue };
                if !is_sidecar_name(&name) {
                    self.tell_of(&found, id, name, ChangeKind::Created);
                }
                waiting.push(found);
            }
        }
    }

    fn tell_of(&self, found: &Found, folder: FileId, name: Name, what: ChangeKind) {
        let (file, of) = (Some(found.object.id()), found.attributes.kind);
        self.tell_change(&Change { folder, name, file, of, what, by: None }, Some(found));
    }

    fn tell_change(&self, change: &Change, found: Option<&Found>) {
        self.watched.follow(change, found);
        self.watched.locals.publish(self.events, change);
    }
}

/// The file to which a sidecar belongs.
pub(crate) fn owner_of_sidecar(
    streams: Option<&Arc<Streams>>,
    folder: &Node,
    name: &[u8],
    gone: bool,
) -> Option<(Name, Found)> {
    let (streams, owner) = (streams?, layout::sidecar_owner(name)?);
    let found = folder.lookup(&Caller::root(), owner).ok()?;
    let is_sidecar = gone || streams.sidecar_files().hidden(folder.as_ref(), name).unwrap_or(false);
    is_sidecar.then(|| (owner.into(), found))
}

fn change(entry: &HeardEntry, what: ChangeKind, found: Option<&Found>) -> Change {
    let of = if entry.of_folder { Kind::Folder } else { Kind::File };
    Change {
        folder: entry.folder,
        name: Arc::clone(&entry.name),
        file: found.map(|found| found.object.id()),
        of: found.map_or(of, |found| found.attributes.kind),
        what,
        by: None,
    }
}

/// Joins the two halves of each move. If the first half of a move is at the very end, it waits once
/// for the other half.
fn steps(waiting: Option<HeardEntry>, entries: Vec<HeardEntry>) -> (Vec<Step>, Option<HeardEntry>) {
    let waited = waiting.is_some();
    let mut entries: Vec<Option<HeardEntry>> = waiting.into_iter().chain(entries).map(Some).collect();
    let mut steps = Vec::new();
    for at in 0..entries.len() {
        let Some(entry) = entries[at].take() else { continue };
        let Heard::MovedFrom(cookie) = entry.what else {
            steps.push(Step::One(entry));
            continue;
        };
        let is_last = at + 1 == entries.len();
        let other = |other: &&mut Option<HeardEntry>| {
            other.as_ref().is_some_and(|other| other.what == Heard::MovedTo(cookie))
        };
        match entries[at + 1..].iter_mut().take(MOST_BETWEEN).find(other).and_then(Option::take) {
            Some(to) => steps.push(Step::Moved { from: entry, to }),
            None if is_last && !(waited && at == 0) => return (steps, Some(entry)),
            None => steps.push(Step::One(entry)),
        }
    }
    (steps, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, what: Heard) -> HeardEntry {
        HeardEntry { folder: FileId::new(0, 1), name: name.as_bytes().into(), what, of_folder: false }
    }

    fn told(steps: &[Step]) -> String {
        let text = |name: &Name| String::from_utf8_lossy(name).into_owned();
        let one = |step: &Step| match step {
            Step::One(entry) => text(&entry.name),
            Step::Moved { from, to } => format!("{}->{}", text(&from.name), text(&to.name)),
        };
        steps.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_halves_of_a_move_find_each_other() {
        let (a, b) = (entry("a", Heard::MovedFrom(1)), entry("b", Heard::MovedTo(1)));
        let (c, d) = (entry("c", Heard::MovedFrom(2)), entry("d", Heard::MovedTo(2)));
        let mixed = vec![a.clone(), c.clone(), b.clone(), d.clone()];
        assert_eq!(told(&steps(None, mixed).0), "a->b c->d");
        // Moved in from a folder that is not watched, and out to one.
        assert_eq!(told(&steps(None, vec![b.clone(), a.clone(), d]).0), "b a d");
        // Cut in two by the end of the queue: the first half waits once.
        let (none, waiting) = steps(None, vec![a.clone()]);
        assert_eq!((told(&none), waiting.is_some()), (String::new(), true));
        assert_eq!(told(&steps(waiting.clone(), vec![b]).0), "a->b");
        assert_eq!(told(&steps(waiting, Vec::new()).0), "a");
    }
}
