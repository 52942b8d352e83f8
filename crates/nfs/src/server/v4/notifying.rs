//! Notices of changes in folders of which clients have delegations: RFC 8881 10.9 and 20.4.
//!
//! ```text
//! GET_DIR_DELEGATION ─► Watch ─► change by another client or a local program ─► CB_NOTIFY ─► accepted
//!                                   └─ of a kind that was not asked for, lost events, no answer ─► the delegation is recalled
//! ```

use std::sync::{Arc, Weak};

use vfs::events::{Aspects, ChangeKind, Depth, Event, Filter, ScopedChange};

use vfs::names::long::is_long;
use vfs::state::{Cause, ClientId, Party};
use vfs::{Actor, Caller, FileId, Kind, PermittedActor, Volume, Watching};

use super::backchannel::{CallbackOutcome, LONGEST_NOTICE};
use super::client::Client;
use super::delegations::{Delegation, call_back};
use crate::server::Service;
use crate::server::v3::Target;
use crate::wire::v4::attributes::{FILEID, TYPE};
use crate::wire::v4::callbacks::{
    ADD_ENTRY, Callback, EntryChange, Notify, NotifyEntry, REMOVE_ENTRY, RENAME_ENTRY,
};
use crate::wire::v4::types::{Bitmap, FileType, Name};

/// The kinds of notices.
const KINDS: &[u32] = &[REMOVE_ENTRY, ADD_ENTRY, RENAME_ENTRY];
/// The attributes of an entry that a notice tells.
const TOLD: &[u32] = &[TYPE, FILEID];
/// The most changes that wait to be told. If there are more, the delegation is recalled.
const QUEUE: usize = 256;
/// The most folders of one client of which it is told. It gets delegations of others without notices.
const FOLDERS_OF_CLIENT: usize = 256;
/// The longest change: two names of 765 bytes, attributes, and what is around them.
const LONGEST_CHANGE: usize = 2 * (765 + 3) + 160;
/// The most bytes before the changes of a call.
const HEADS: usize = 600;

/// What a client is told of a folder.
pub(super) struct NoticeFilter {
    /// notify_type4.
    pub(super) kinds: Bitmap,
    /// Attributes of entries.
    pub(super) attributes: Bitmap,
}

impl NoticeFilter {
    /// What the server tells of what a client asks for. `None`: nothing.
    pub(super) fn of(kinds: &Bitmap, attributes: &Bitmap) -> Option<Self> {
        let both = |asked: &Bitmap, known: &[u32]| {
            let told: Vec<u32> = known.iter().copied().filter(|&number| asked.has(number)).collect();
            Bitmap::of(&told)
        };
        let wanted = Self { kinds: both(kinds, KINDS), attributes: both(attributes, TOLD) };
        (!wanted.kinds.is_empty()).then_some(wanted)
    }
}

/// Begins to watch a folder, before the client gets its delegation. `None`: it gets one without notices.
pub(super) fn watch(client: &Client, target: &Target) -> Option<Watching> {
    if client.told_folders() >= FOLDERS_OF_CLIENT {
        return None;
    }
    let aspects = Aspects::FILE_NAME.union(Aspects::FOLDER_NAME);
    let filter = Filter { aspects, except: Some(client.party), identifies_removed: true };
    let caller = &target.actor.caller;
    target.export.volume.watch(caller, &target.found, Depth::Entries, filter, QUEUE).ok()
}

/// A folder of which a client is told.
pub(super) struct Watch {
    pub(super) service: Weak<Service>,
    pub(super) client: Weak<Client>,
    pub(super) delegation: Arc<Delegation>,
    pub(super) volume: Arc<Volume>,
    pub(super) wanted: NoticeFilter,
}

impl Watch {
    /// Tells the client of changes until the delegation is over.
    pub(super) fn begin(self, mut watching: Watching) {
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    biased;
                    () = self.delegation.ended() => return,
                    event = watching.next() => event,
                };
                let more = std::iter::from_fn(|| watching.try_next());
                let events: Vec<Event> = std::iter::once(event).chain(more.take(QUEUE)).collect();
                if self.tell(&events).await.is_none() {
                    return self.recall();
                }
            }
        });
    }

    /// `None`: the client cannot be told of all.
    async fn tell(&self, events: &[Event]) -> Option<()> {
        let changes = events.iter().map(|event| match event {
            Event::Changed(seen) => self.change(seen),
            Event::Overflowed | Event::Going => None,
        });
        let changes: Vec<EntryChange<'_>> = changes.collect::<Option<_>>()?;
        for changes in changes.chunks((LONGEST_NOTICE - HEADS) / LONGEST_CHANGE) {
            let (service, client) = (self.service.upgrade()?, self.client.upgrade()?);
            let (state, handle) = (self.delegation.stateid(), self.delegation.handle());
            let notify = Callback::Notify(Notify { state, handle, changes });
            if call_back(&service, &client, notify).await != CallbackOutcome::Accepted {
                return None;
            }
        }
        Some(())
    }

    /// A change as the client sees it. `None` if it has not asked for this kind, or a name is too long to be told: listings show
    /// another form of it.
    fn change<'a>(&self, seen: &'a ScopedChange) -> Option<EntryChange<'a>> {
        let change = &*seen.change;
        let now = self.entry(&change.name, change.file, change.of)?;
        let change = match &change.what {
            ChangeKind::Created => EntryChange::Added(now),
            ChangeKind::Removed => EntryChange::Removed(now),
            ChangeKind::Renamed { old_name, .. } => {
                let from = self.entry(old_name, change.file, change.of)?;
                match (seen.was.is_some(), seen.at.is_some()) {
                    (true, true) => EntryChange::Renamed { from, to: now },
                    (true, false) => EntryChange::Removed(from),
                    _ => EntryChange::Added(now),
                }
            }
            ChangeKind::Modified(_) => return None, // not subscribed to
        };
        self.wanted.kinds.has(change.number()).then_some(change)
    }

    fn entry<'a>(&self, name: &'a [u8], file: Option<FileId>, of: Kind) -> Option<NotifyEntry<'a>> {
        if is_long(name) {
            return None;
        }
        let wants = |number| self.wanted.attributes.has(number);
        let fileid = file.filter(|_| wants(FILEID)).map(|file| self.volume.number(file));
        Some(NotifyEntry { name: Name::new(name), kind: wants(TYPE).then(|| file_type(of)), fileid })
    }

    /// Takes the delegation back, as a change of the folder by any other client would.
    fn recall(&self) {
        let by = Actor::new(Caller::root(), Party::client(ClientId::unused()));
        let permitted = PermittedActor::by_server(&self.volume, &by);
        let _ = permitted.recall(self.delegation.file, Cause::Attributes); // nothing waits for it
    }
}

fn file_type(of: Kind) -> FileType {
    match of {
        Kind::File => FileType::REG,
        Kind::Folder => FileType::DIR,
        Kind::Link => FileType::LNK,
        Kind::Fifo => FileType::FIFO,
        Kind::Socket => FileType::SOCK,
        Kind::CharDevice => FileType::CHR,
        Kind::BlockDevice => FileType::BLK,
    }
}
