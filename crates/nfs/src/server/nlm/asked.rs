//! The file and the range of an NLM request, in the tree's types.

use std::sync::Arc;

use vfs::backend::Found;
use vfs::state::{Cause, ClientId, Flavour, Lock, LockKind, LockOwner, Party, Range, State, Stream};
use vfs::{Access, Actor, Error, FileId, HostKey, Kind, PermittedActor, Plan};

use super::{Call, NlmStat};
use crate::server::export::Export;
use crate::server::handle::{HandleContent, HandleView};
use crate::server::recalling::LIMIT;
use crate::wire::nlm;
use crate::wire::v3::types::Status;

/// The file of a handle, and the user that the caller acts as.
pub(super) struct LockSubject {
    pub(super) export: Arc<Export>,
    /// The file. For a Mac sidecar: the file that the sidecar belongs to.
    pub(super) found: Found,
    /// The stream that the locks are on.
    pub(super) stream: Stream,
    pub(super) actor: Actor,
    writable: bool,
}

impl LockSubject {
    /// The file of a handle. A file that has lost its last name is still found while a client holds
    /// locks in it. From here on the client counts as known.
    pub(super) fn of(call: &Call<'_>, handle: &[u8]) -> Result<Self, NlmStat> {
        let (service, origin) = (call.service, call.origin);
        let named = HandleContent::open(&service.secret, handle)?;
        let stream = stream(named.view).ok_or(NlmStat::STALE_FH)?;
        let export = service.export_tagged(named.tag).ok_or(NlmStat::STALE_FH)?;
        call.note(&export);
        let rule = export.rule(origin).ok_or(NlmStat::FAILED)?;
        let found = found(call, &export, &named)?;
        if found.attributes.kind != Kind::File {
            return Err(NlmStat::FAILED);
        }
        let client = service.locks.hosts.enter(origin.address, &service.clients);
        let party = Party::client(client.ok_or(NlmStat::DENIED_NOLOCKS)?);
        let caller = export.caller(rule, call);
        let holder = call.holder(&caller);
        let actor = Actor::new(caller, party).held_by(holder);
        let writable = rule.writable && !export.volume.is_read_only();
        Ok(Self { found, stream, actor, writable, export })
    }

    /// Whether the caller has this access. The mode does not limit an owner: it may have opened the
    /// file before its mode changed.
    pub(super) fn permit(&self, want: Access) -> Result<PermittedActor<'_>, NlmStat> {
        if want.contains(Access::WRITE) && !self.writable {
            return Err(NlmStat::ROFS);
        }
        self.permit_plan(Plan::Use(&self.found, want))
    }

    /// Whether the caller may ask for locks.
    pub(super) fn permit_test(&self) -> Result<PermittedActor<'_>, NlmStat> {
        self.permit_plan(Plan::Test(&self.found))
    }

    fn permit_plan(&self, plan: Plan<'_>) -> Result<PermittedActor<'_>, NlmStat> {
        self.export.volume.permit(&self.actor, plan).map_err(|error| match error {
            Error::AccessDenied => NlmStat::FAILED, // the protocol has no more precise status
            error => Status::from(error).into(),
        })
    }

    pub(super) fn client(&self) -> ClientId {
        self.actor.party.client
    }

    pub(super) fn file(&self) -> FileId {
        self.found.object.id()
    }

    pub(super) fn key(&self) -> HostKey {
        self.found.object.key()
    }

    pub(super) fn state(&self) -> &State {
        self.export.volume.state()
    }

    /// Asks for others' leases, whose holders may have locks that they keep to themselves. If they are not given back in
    /// time, the client has to ask again.
    pub(super) async fn recall(&self, by: &PermittedActor<'_>, cause: Cause) -> Result<(), NlmStat> {
        let recalled = by.recall_within(LIMIT, self.file(), cause).await;
        recalled.map_err(|_| NlmStat::DENIED_GRACE_PERIOD)
    }

    /// Keeps the file as long as the client holds a lock in it. Undone by [`LockSubject::settle`].
    pub(super) fn hold(&self, call: &Call<'_>) -> Result<(), NlmStat> {
        let permit = || self.export.volume.permit_open(&self.actor).map_err(|_| NlmStat::DENIED_NOLOCKS);
        call.service.locks.files.hold_by(self.export.tag, &self.found, self.client(), permit)
    }

    /// Releases the file if its client holds no lock in it.
    pub(super) fn settle(&self, call: &Call<'_>) {
        self.state().note_view(self.file(), self.export.volume.view());
        let holds = || self.state().concerns(self.file(), self.client());
        call.service.locks.files.let_go(self.export.tag, self.key(), self.client(), holds);
    }
}

fn found(call: &Call<'_>, export: &Export, named: &HandleContent) -> Result<Found, NlmStat> {
    match export.volume.node(&named.key) {
        Err(Error::Stale) => {
            let object = call.service.locks.files.node(named.tag, named.key).ok_or(NlmStat::STALE_FH)?;
            let attributes = object.attributes().map_err(Status::from)?;
            Ok(Found { object, attributes })
        }
        found => Ok(found.map_err(Status::from)?),
    }
}

/// A sidecar has locks of its own, whether or not it is on the disk: macOS locks it whenever it
/// reads an attribute.
fn stream(view: HandleView) -> Option<Stream> {
    match view {
        HandleView::File => Some(Stream::Data),
        HandleView::Sidecar => Some(Stream::Named("._".into())),
        HandleView::Attributes | HandleView::Attribute(_) => None, // of version 4
    }
}

/// A range of a file, and the owner of the requested lock.
pub(super) struct LockTarget {
    pub(super) subject: LockSubject,
    pub(super) lock: Lock,
}

impl LockTarget {
    pub(super) fn of(call: &Call<'_>, lock: &nlm::NlmLock<'_>, exclusive: bool) -> Result<Self, NlmStat> {
        let range = range(lock.offset, lock.len).ok_or(NlmStat::FBIG)?;
        let subject = LockSubject::of(call, &lock.handle)?;
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        let owner = owner(subject.client(), lock.svid, &lock.owner);
        Ok(Self { subject, lock: Lock { owner, range, kind, flavour: Flavour::Advisory } })
    }

    /// A shared lock needs permission to read, an exclusive one to write.
    pub(super) fn permit(&self) -> Result<PermittedActor<'_>, NlmStat> {
        self.subject.permit(match self.lock.kind {
            LockKind::Shared => Access::READ,
            LockKind::Exclusive => Access::WRITE,
        })
    }
}

/// A length of 0 reaches to the end of the file, wherever that will be.
fn range(offset: u64, len: u64) -> Option<Range> {
    if len == 0 { Some(Range::to_end(offset)) } else { Range::new(offset, len) }
}

/// The process id at the client, then the client's own name for the owner.
pub(super) fn owner(client: ClientId, svid: i32, owner: &[u8]) -> LockOwner {
    LockOwner::named(client, &[&svid.to_be_bytes()[..], owner].concat())
}

/// The parts that [`owner`] joined. An owner of another protocol has no such parts.
pub(super) fn svid_and_owner(owner: &LockOwner) -> (i32, &[u8]) {
    match owner.opaque.split_first_chunk() {
        Some((svid, name)) if owner.open.is_none() && name.len() <= nlm::NETOBJ_LIMIT => {
            (i32::from_be_bytes(*svid), name)
        }
        _ => (0, &[]),
    }
}

/// The status of nlm4_stats for a status of NFSv3.
impl From<Status> for NlmStat {
    fn from(status: Status) -> Self {
        match status {
            Status::STALE | Status::BADHANDLE => Self::STALE_FH,
            Status::ROFS => Self::ROFS,
            Status::FBIG => Self::FBIG,
            // The client repeats the request later.
            Status::JUKEBOX => Self::DENIED_GRACE_PERIOD,
            _ => Self::FAILED,
        }
    }
}
