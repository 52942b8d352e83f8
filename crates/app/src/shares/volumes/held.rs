//! What clients hold of the shares' files: opens, locks and leases, with their owners.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use admin::control::{LeaseStatus, LockStatus, OpenFilesStatus, OpenStatus, Status};
use vfs::state::{Caching, ClientId, LockKind, Modes};
use vfs::{FileId, Site};

use super::Volumes;
use crate::serve::component::ResourceCounts;

/// The most opens, and the most locks, of a share in a status.
const MOST_SHOWN: usize = 1000;

/// The opens, locks and leases; `shares` are the names of the shares of each volume.
pub(super) fn held(site: &Site, shares: &HashMap<u32, String>, status: &mut Status) {
    let share = |view: u32| shares.get(&view).cloned().unwrap_or_default();
    let file = |id: FileId| site.open_name(id).map(|name| String::from_utf8_lossy(&name).into_owned());
    let modes = |modes: Modes| {
        let letters = [(Modes::READ, 'r'), (Modes::WRITE, 'w'), (Modes::DELETE, 'd')];
        letters.into_iter().filter(|(mode, _)| modes.intersects(*mode)).map(|(_, letter)| letter).collect()
    };
    let caching = |caching: Caching| {
        let letters = [(Caching::READ, 'r'), (Caching::WRITE, 'w'), (Caching::HANDLE, 'h')];
        letters.into_iter().filter(|(bit, _)| caching.intersects(*bit)).map(|(_, letter)| letter).collect()
    };
    let state = site.state();
    status.opens.extend(state.opens(None, MOST_SHOWN).into_iter().map(|open| OpenStatus {
        share: share(open.view),
        file: file(open.file),
        inode: open.file.inode,
        owner: owner(open.client),
        access: modes(open.access),
        deny: modes(open.deny),
    }));
    status.locks.extend(state.ranges(None, MOST_SHOWN).into_iter().map(|range| LockStatus {
        share: share(range.view),
        file: file(range.file),
        inode: range.file.inode,
        owner: owner(range.lock.owner.client),
        start: range.lock.range.start(),
        length: range.lock.range.length().unwrap_or(0),
        exclusive: range.lock.kind == LockKind::Exclusive,
    }));
    status.leases.extend(state.leases(MOST_SHOWN).into_iter().map(|lease| LeaseStatus {
        share: share(lease.view),
        file: file(lease.file),
        inode: lease.file.inode,
        owner: owner(lease.client),
        caching: caching(lease.held),
        recalled: lease.breaking,
    }));
}

/// How much clients hold, for metrics.
pub(super) fn count(site: &Site, held: &mut ResourceCounts) {
    let state = site.state();
    held.opens += state.opens(None, usize::MAX).len();
    held.open_counts = site.open_counts();
    held.locks += state.ranges(None, usize::MAX).len();
    held.leases += state.leases(usize::MAX).len();
}

/// How much of the budget of open files is used.
pub(super) fn open_files(counts: vfs::OpenCounts) -> OpenFilesStatus {
    let vfs::OpenCounts { all, limit, guests, guests_limit, refused } = counts;
    OpenFilesStatus { open: all, limit, guests, guests_limit, refused }
}

/// Fills in the owners of opens, locks and leases: the client, its user and its address.
pub(crate) fn name_owners(
    people: impl Iterator<Item = (ClientId, String, Option<IpAddr>)>,
    status: &mut Status,
) {
    let people: HashMap<String, String> = people
        .map(|(client, name, from)| {
            let from = from.map_or(String::new(), |ip| format!(" at {}", wire::ClientIp(ip)));
            (owner(client), format!("{name}{from}"))
        })
        .collect();
    let opens = status.opens.iter_mut().map(|open| &mut open.owner);
    let locks = status.locks.iter_mut().map(|lock| &mut lock.owner);
    let leases = status.leases.iter_mut().map(|lease| &mut lease.owner);
    for owner in opens.chain(locks).chain(leases) {
        if let Some(person) = people.get(owner) {
            owner.clone_from(person);
        }
    }
}

/// The text for a client, until its protocol gives a better one.
fn owner(client: ClientId) -> String {
    format!("client {}", client.0)
}

impl Volumes {
    /// Those of these shares that have a file that a client of this server has open for writing.
    pub(crate) fn being_written(&self, shares: Vec<String>) -> Vec<String> {
        let views: HashMap<String, u32> = {
            let known = self.known.lock();
            let of = |share: &String| Some((share.clone(), known.get(share)?.volume.view()));
            shares.iter().filter_map(of).collect()
        };
        let opens = self.site.state().opens(None, usize::MAX);
        let written: HashSet<u32> =
            opens.iter().filter(|open| open.access.intersects(Modes::WRITE)).map(|open| open.view).collect();
        shares
            .into_iter()
            .filter(|share| views.get(share).is_some_and(|view| written.contains(view)))
            .collect()
    }
}
