//! Writes of data without an open, told to subscribers: [`StatelessWrites`].
//!
//! Such a write knows its file, and no name of it. Where a subscription needs an event of each write, the host tells of it. In other
//! folders the first write after each delivery looks for the name, unless a client has the file open.

use std::array;

use lock::Mutex;

use crate::backend::{Found, Node};
use crate::events::{Change, ChangeKind, Deliveries, Name, PublishedMark};
use crate::local::DATA;
use crate::{Actor, FileId, Volume, ranks};

/// Files that are remembered. If two files have the same place, each of their writes is told.
const FILES: usize = 256;

/// The files of which subscribers have a write in their queues.
pub(crate) struct StatelessWrites([Mutex<(Option<FileId>, PublishedMark), ranks::StatelessWrites>; FILES]);

impl Default for StatelessWrites {
    fn default() -> Self {
        Self(array::from_fn(|_| Mutex::default()))
    }
}

impl StatelessWrites {
    /// Whether subscribers have not been told yet of a write to this file. They count as told then.
    fn is_news(&self, file: FileId, now: Deliveries) -> bool {
        let mut known = self.0[file.inode as usize % FILES].lock();
        if known.0 == Some(file) && known.1.is_current(now) {
            return false;
        }
        known.0 = Some(file);
        known.1.set(now);
        true
    }
}

/// Tells the subscribers of volumes of a write without an open that was made.
pub(crate) fn tell_stateless(volume: &Volume, actor: &Actor, file: &Node) {
    let site = &volume.site;
    let before = site.subscriptions.deliveries();
    if !site.listens() || !site.stateless_writes.is_news(file.id(), before) {
        return;
    }
    let Some((folder, name)) = place_of(volume, file) else { return };
    let change = Change {
        folder: folder.id(),
        name,
        file: Some(file.id()),
        of: file.kind(),
        what: ChangeKind::Modified(DATA),
        by: Some(actor.party.client),
    };
    volume.publish_unheard(&*folder, &change);
}

/// Where a file is. If a client has it open, this asks the host for nothing.
fn place_of(volume: &Volume, file: &Node) -> Option<(Node, Name)> {
    volume.site.places.place_of(file.id()).or_else(|| {
        let found = Found { object: file.clone(), attributes: file.attributes().ok()? };
        let (folder, name) = volume.place_search().hint(&found)?;
        Some((folder.object, name.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::HubCounts;

    #[test]
    fn a_write_is_news_once_until_a_subscriber_took_an_event() {
        let (writes, counts) = (StatelessWrites::default(), HubCounts::default());
        let (file, same_place) = (FileId::new(1, 7), FileId::new(1, 7 + FILES as u64));
        let is_news = |file| writes.is_news(file, counts.deliveries());
        assert!(is_news(file) && !is_news(file));
        counts.delivered();
        assert!(is_news(file) && !is_news(file));
        assert!(is_news(same_place) && is_news(file));
    }
}
