//! SHARE and UNSHARE: what DOS and Windows clients reserve when they open a file.

use std::collections::HashMap;

use parking_lot::Mutex;
use vfs::backend::Found;
use vfs::state::{Cause, ClientId, LockOwner, Modes, OpenGuard, OpenRequest, Party};
use vfs::{Access, Error, FileId, Node};

use super::asked::{DATA, client, file, owner, permitted};
use super::lock::in_its_time;
use super::{Call, Stat, encoded};
use crate::wire::nlm::{NetObj, Share, ShareRequest, ShareRes};

/// The reservations that clients hold. Each keeps its file alive.
#[derive(Default)]
pub(super) struct Shares {
    held: Mutex<HashMap<Key, (OpenGuard, Node)>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    tag: u32,
    file: FileId,
    owner: LockOwner,
}

impl Shares {
    /// Whether a client holds one of this file.
    pub(super) fn any(&self, file: FileId, client: ClientId) -> bool {
        self.held.lock().keys().any(|key| key.file == file && key.owner.client == client)
    }

    /// Gives back all of a client.
    pub(super) fn release(&self, client: ClientId) {
        self.held.lock().retain(|key, _| key.owner.client != client);
    }
}

/// SHARE. Another one by the same owner takes the place of the first.
pub(super) fn share(call: &Call<'_>, request: &ShareRequest<'_>) -> Vec<u8> {
    let stat = reserve(call, request).map_or_else(|stat| stat, |()| Stat::GRANTED);
    answer(request.cookie, stat)
}

fn reserve(call: &Call<'_>, request: &ShareRequest<'_>) -> Result<(), Stat> {
    let share = &request.share;
    let (access, deny) = (modes(share.access.0)?, modes(share.mode.0)?);
    let (export, found, mut actor, writable) = file(call, &share.handle)?;
    permitted(&export, &found, &actor, writable, wanted(access))?;
    in_its_time(call, request.reclaim)?;
    let key = key(call, share, export.tag, &found)?;
    let (state, party) = (export.volume.state(), Party::client(key.owner.client));
    actor.party = party;
    let cause = if access.meets(Modes::WRITE) { Cause::OpenWrite } else { Cause::OpenRead };
    export.volume.recall(&actor, key.file, cause).map_err(|_| Stat::DENIED_GRACE_PERIOD)?;
    let mut held = call.service.locks.shares.held.lock();
    if let Some((guard, _)) = held.get(&key) {
        return guard.change(access, deny).map_err(refused);
    }
    let guard = state.open(key.file, DATA, OpenRequest { party, access, deny }).map_err(refused)?;
    held.insert(key, (guard, found.object));
    Ok(())
}

/// UNSHARE. To give back what is not held is no mistake.
pub(super) fn unshare(call: &Call<'_>, request: &ShareRequest<'_>) -> Vec<u8> {
    let key = file(call, &request.share.handle)
        .and_then(|(export, found, ..)| key(call, &request.share, export.tag, &found));
    let stat = match key {
        Ok(key) => {
            let held = call.service.locks.shares.held.lock().remove(&key);
            drop(held); // after the table is free again
            Stat::GRANTED
        }
        Err(stat) => stat,
    };
    answer(request.cookie, stat)
}

fn answer(cookie: NetObj<'_>, stat: Stat) -> Vec<u8> {
    encoded(&ShareRes { cookie, stat, sequence: 0 })
}

fn key(call: &Call<'_>, share: &Share<'_>, tag: u32, found: &Found) -> Result<Key, Stat> {
    let owner = owner(client(call)?, 0, &share.owner);
    Ok(Key { tag, file: found.object.id(), owner })
}

/// fsh4_access and fsh4_mode number their bits as the tree does: 1 to read, 2 to write.
fn modes(bits: u32) -> Result<Modes, Stat> {
    match bits {
        0..=3 => Ok(Modes(bits as u8)),
        _ => Err(Stat::FAILED),
    }
}

fn wanted(access: Modes) -> Access {
    let read = if access.meets(Modes::READ) { Access::READ } else { Access::NONE };
    let write = if access.meets(Modes::WRITE) { Access::WRITE } else { Access::NONE };
    read.union(write)
}

fn refused(error: Error) -> Stat {
    match error {
        Error::ShareConflict => Stat::DENIED,
        Error::TooMany => Stat::DENIED_NOLOCKS,
        _ => Stat::FAILED,
    }
}
