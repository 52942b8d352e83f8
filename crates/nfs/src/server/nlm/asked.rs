//! What a request of NLM is about, in the tree's words.

use std::sync::Arc;

use vfs::backend::Found;
use vfs::state::{ClientId, Flavour, Lock, LockKind, LockOwner, Party, Range, State, Stream};
use vfs::{Access, Actor, HostKey, Kind};

use super::{Call, Stat};
use crate::server::export::Export;
use crate::server::handle::Named;
use crate::wire::nlm;
use crate::wire::v3::types::Status;

/// A range of a file, and who asks for it.
pub(super) struct Asked {
    pub(super) export: Arc<Export>,
    pub(super) found: Found,
    pub(super) actor: Actor,
    pub(super) writable: bool,
    pub(super) lock: Lock,
}

impl Asked {
    /// The file of a handle and the lock asked for, after all checks that hold for every procedure. The client counts
    /// as known from here on.
    pub(super) fn of(call: &Call<'_>, lock: &nlm::Lock<'_>, exclusive: bool) -> Result<Self, Stat> {
        let range = range(lock.offset, lock.len).ok_or(Stat::FBIG)?;
        let (export, found, mut actor, writable) = file(call, &lock.handle)?;
        let client = client(call)?;
        actor.party = Party::client(client);
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        let owner = owner(client, lock.svid, &lock.owner);
        let lock = Lock { owner, range, kind, flavour: Flavour::Advisory };
        Ok(Self { export, found, actor, writable, lock })
    }

    pub(super) fn state(&self) -> &State {
        self.export.volume.state()
    }

    pub(super) fn key(&self) -> HostKey {
        self.found.object.key()
    }

    /// A shared lock needs permission to read, an exclusive one to write. An owner may have opened the file before its
    /// mode changed.
    pub(super) fn permitted(&self) -> Result<(), Stat> {
        let want = match self.lock.kind {
            LockKind::Shared => Access::READ,
            LockKind::Exclusive => Access::WRITE,
        };
        permitted(&self.export, &self.found, &self.actor, self.writable, want)
    }

    /// Keeps the file for as long as the client holds something in it: undone by [`Asked::settle`].
    pub(super) fn hold(&self, call: &Call<'_>) {
        call.service.locks.files.hold(self.export.tag, &self.found, self.lock.owner.client);
    }

    /// Lets go of the file if its client holds nothing in it.
    pub(super) fn settle(&self, call: &Call<'_>) {
        let (client, file) = (self.lock.owner.client, self.found.object.id());
        let holds = || self.state().concerns(file, client) || call.service.locks.shares.any(file, client);
        call.service.locks.files.let_go(self.export.tag, self.key(), client, holds);
    }
}

/// The stream that is locked.
pub(super) const DATA: Stream = Stream::Data;

/// The file of a handle. One that has lost its last name while somebody held it is still found.
pub(super) fn file(call: &Call<'_>, handle: &[u8]) -> Result<(Arc<Export>, Found, Actor, bool), Stat> {
    let target = match call.target(handle) {
        Ok(target) => target,
        Err(Status::STALE) => return nameless(call, handle).ok_or(Stat::STALE_FH),
        Err(status) => return Err(status.into()),
    };
    if target.found.attributes.kind != Kind::File {
        return Err(Stat::FAILED);
    }
    Ok((target.export, target.found, target.actor, target.writable))
}

fn nameless(call: &Call<'_>, handle: &[u8]) -> Option<(Arc<Export>, Found, Actor, bool)> {
    let named = Named::open(&call.service.secret, handle).ok()?;
    let export = call.service.export_tagged(named.tag)?;
    let rule = export.rule(call.origin)?;
    let object = call.service.locks.files.node(named.tag, named.key)?;
    let attributes = object.attributes().ok()?;
    let party = Party::client(call.service.clients.of(call.origin.address));
    let actor = Actor { caller: call.caller(rule), party, open: None };
    let writable = rule.writable && !export.volume.is_read_only();
    Some((export, Found { object, attributes }, actor, writable))
}

/// The client that calls.
pub(super) fn client(call: &Call<'_>) -> Result<ClientId, Stat> {
    let service = call.service;
    service.locks.hosts.enter(call.origin.address, &service.clients).ok_or(Stat::DENIED_NOLOCKS)
}

pub(super) fn permitted(
    export: &Export,
    found: &Found,
    actor: &Actor,
    writable: bool,
    want: Access,
) -> Result<(), Stat> {
    if want.contains(Access::WRITE) && !writable {
        return Err(Stat::ROFS);
    }
    if actor.caller.uid == found.attributes.uid {
        return Ok(());
    }
    match export.volume.access(&actor.caller, found, want) {
        Ok(granted) if granted.contains(want) => Ok(()),
        Ok(_) => Err(Stat::FAILED), // the protocol has no better word
        Err(error) => Err(Status::from(error).into()),
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

/// What [`owner`] was made of. An owner of another protocol has no such parts.
pub(super) fn svid_and_owner(owner: &LockOwner) -> (i32, &[u8]) {
    match owner.opaque.split_first_chunk() {
        Some((svid, name)) if owner.open.is_none() && name.len() <= nlm::NETOBJ_LIMIT => {
            (i32::from_be_bytes(*svid), name)
        }
        _ => (0, &[]),
    }
}

/// What NFSv3 says of a file, in the few words of nlm4_stats.
impl From<Status> for Stat {
    fn from(status: Status) -> Self {
        match status {
            Status::STALE | Status::BADHANDLE => Self::STALE_FH,
            Status::ROFS => Self::ROFS,
            Status::FBIG => Self::FBIG,
            // The client asks again after a while.
            Status::JUKEBOX => Self::DENIED_GRACE_PERIOD,
            _ => Self::FAILED,
        }
    }
}
