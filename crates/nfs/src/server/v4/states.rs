//! Stateids, RFC 7530 9.1.4, and the opens and locks that they name.
//!
//! | bytes of `other` | what |
//! |---|---|
//! | 4 | the run of the server that made it |
//! | 4 | the number of the client |
//! | 4 | the number of the state at this client |

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use lock::Mutex;
use vfs::state::{LockOwner as TreeOwner, Modes, OpenGuard, OpenId, Party};
use vfs::{Actor, Caller, Error, FileId, OpenPermit};
use wire::Reader;

use super::client::Client;
use super::copying::AsyncCopy;
use super::delegations::Delegation;
use super::owners::StateOwner;
use super::principal::Principal;
use crate::ranks;
use crate::server::clients::NFS_CLIENT;
use crate::server::export::Export;
use crate::server::handle::HandleContent;
use crate::wire::v4::types::{StateId, Status};

/// The numbers in a stateid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StateidNumbers {
    pub(super) boot: u32,
    pub(super) client: u32,
    pub(super) state: u32,
}

impl StateidNumbers {
    pub(super) fn of(state: &StateId) -> Self {
        // Of twelve bytes there are four at each of these places.
        let word = |at: usize| Reader::new(&state.other[at..]).u32_be().unwrap_or(0);
        Self { boot: word(0), client: word(4), state: word(8) }
    }

    pub(super) fn stateid(self, sequence: u32) -> StateId {
        let mut other = [0; 12];
        for (word, part) in [self.boot, self.client, self.state].iter().zip(other.chunks_exact_mut(4)) {
            part.copy_from_slice(&word.to_be_bytes());
        }
        StateId { sequence, other }
    }
}

/// The sequence number of a stateid: it counts the changes of a state. It is never 0.
pub(super) struct StateSequence(AtomicU32);

impl StateSequence {
    pub(super) fn first() -> Self {
        Self(AtomicU32::new(1))
    }

    pub(super) fn now(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// After a change of the state.
    pub(super) fn advance(&self) -> u32 {
        let next = self.now().checked_add(1).unwrap_or(1);
        self.0.store(next, Ordering::Release); // the owner's turn excludes a second change
        next
    }

    /// Whether a stateid is the present one, RFC 7530 9.1.4.2. `None` stands for that one, RFC 8881 8.2.2.
    pub(super) fn check(&self, sent: Option<u32>) -> Result<(), Status> {
        let now = self.now();
        match sent.unwrap_or(now).cmp(&now) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => Err(Status::OLD_STATEID),
            std::cmp::Ordering::Greater => Err(Status::BAD_STATEID),
        }
    }
}

/// What the tree knows of an open.
pub(super) enum TreeOpen {
    Open(Arc<vfs::Open>),
    /// Of a sidecar that the server composes.
    Sidecar {
        guard: OpenGuard,
        _permit: OpenPermit,
    },
}

impl TreeOpen {
    pub(super) fn guard(&self) -> &OpenGuard {
        match self {
            Self::Open(open) => open.guard(),
            Self::Sidecar { guard, .. } => guard,
        }
    }
}

/// A file that an owner has open.
pub(super) struct OpenState {
    pub(super) numbers: StateidNumbers,
    pub(super) sequence: StateSequence,
    pub(super) owner: Arc<StateOwner>,
    pub(super) opener: Principal,
    pub(super) export: Arc<Export>,
    pub(super) named: HandleContent,
    /// The file; for a sidecar: the file that it belongs to.
    pub(super) file: FileId,
    pub(super) id: OpenId,
    pub(super) party: Party,
    /// `None`: it is closed.
    pub(super) held: Mutex<Option<TreeOpen>, ranks::Nfs4Open>,
    pub(super) shares: ShareCombinations,
}

impl OpenState {
    /// Access and denials.
    pub(super) fn modes(&self) -> (Modes, Modes) {
        self.held.lock().as_ref().map_or((Modes::NONE, Modes::NONE), |held| held.guard().modes())
    }

    /// Changes access and denials, if the opens of others allow it.
    pub(super) fn change(&self, access: Modes, deny: Modes) -> vfs::Result<()> {
        self.held.lock().as_ref().map_or(Err(Error::Stale), |held| held.guard().change(access, deny))
    }

    /// Counts it as one that writes.
    pub(super) fn count_as_writing(&self) -> vfs::Result<()> {
        match &*self.held.lock() {
            Some(TreeOpen::Open(open)) => open.count_as_writing(),
            _ => Ok(()),
        }
    }

    /// Closes it in the tree.
    pub(super) fn shut(&self) {
        let held = self.held.lock().take();
        drop(held);
    }

    /// A caller that acts through this open.
    pub(super) fn acting(&self, caller: &Caller) -> Actor {
        Actor { open: Some(self.id), ..Actor::new(caller.clone(), self.party) }.with_profile(NFS_CLIENT)
    }

    /// Whether it has decided that this user may do this: the mode of the file does not count any more. Several users of a client
    /// may know a stateid.
    pub(super) fn permits(&self, caller: &Caller, mode: Modes) -> bool {
        let is_of = |open: &vfs::Open| open.actor().caller.uid == caller.uid;
        let permits = |open: &vfs::Open| is_of(open) && open.guard().modes().0.intersects(mode);
        matches!(&*self.held.lock(), Some(TreeOpen::Open(open)) if permits(open))
    }

    pub(super) fn stateid(&self) -> StateId {
        self.numbers.stateid(self.sequence.now())
    }
}

/// The ranges that an owner has locked by one open.
pub(super) struct LockState {
    pub(super) numbers: StateidNumbers,
    pub(super) sequence: StateSequence,
    pub(super) owner: Arc<StateOwner>,
    pub(super) open: Arc<OpenState>,
    /// The owner as the tree knows it.
    pub(super) in_tree: TreeOwner,
}

/// A stateid as a request names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentStateId {
    pub(super) state: StateId,
    /// `None`: whatever it is now. Only from minor version 1.
    pub(super) sequence: Option<u32>,
}

/// What a stateid names.
#[derive(Clone)]
pub(super) enum State {
    Open(Arc<OpenState>),
    Lock(Arc<LockState>),
    Delegation(Arc<Delegation>),
    Copy(Arc<AsyncCopy>),
    /// The last open that this owner has closed: its CLOSE may be repeated.
    Closed(Arc<StateOwner>),
}

/// By what data are read or written.
pub(super) struct DataAccess {
    pub(super) client: Arc<Client>,
    pub(super) by: By,
}

/// An open, or a delegation.
pub(super) enum By {
    Open(Arc<OpenState>),
    Delegation(Arc<Delegation>),
}

impl By {
    /// What it permits.
    pub(super) fn modes(&self) -> Modes {
        match self {
            Self::Open(open) => open.modes().0,
            Self::Delegation(delegation) => delegation.modes(),
        }
    }

    /// Whether it has decided that this user may do this.
    pub(super) fn permits(&self, caller: &Caller, mode: Modes) -> bool {
        matches!(self, Self::Open(open) if open.permits(caller, mode))
    }

    /// A caller that acts through it.
    pub(super) fn acting(&self, caller: &Caller) -> Actor {
        match self {
            Self::Open(open) => open.acting(caller),
            Self::Delegation(delegation) => delegation.acting(caller),
        }
    }
}

/// The combinations of access and denials with which an owner has opened a file, as one bit each.
#[derive(Default)]
pub(super) struct ShareCombinations(AtomicU16);

impl ShareCombinations {
    pub(super) fn add(&self, access: Modes, deny: Modes) {
        self.0.fetch_or(bit(access, deny), Ordering::AcqRel);
    }

    /// Whether OPEN_DOWNGRADE may leave this: it must be what some of the opens make together, RFC 7530 16.19.4.
    pub(super) fn allows(&self, access: Modes, deny: Modes) -> bool {
        let mut sum = (Modes::NONE, Modes::NONE);
        for (own_access, own_deny) in self.within(access, deny) {
            sum = (sum.0.union(own_access), sum.1.union(own_deny));
        }
        sum == (access, deny)
    }

    /// Forgets the opens that are not part of this.
    pub(super) fn keep(&self, access: Modes, deny: Modes) {
        let kept = self.within(access, deny).fold(0, |bits, (access, deny)| bits | bit(access, deny));
        self.0.store(kept, Ordering::Release);
    }

    fn within(&self, access: Modes, deny: Modes) -> impl Iterator<Item = (Modes, Modes)> {
        let bits = self.0.load(Ordering::Acquire);
        let all = (0..16_u8).filter(move |at| bits >> at & 1 == 1).map(|at| (Modes(at & 3), Modes(at >> 2)));
        all.filter(move |(own_access, own_deny)| access.contains(*own_access) && deny.contains(*own_deny))
    }
}

fn bit(access: Modes, deny: Modes) -> u16 {
    1 << (access.0 & 3 | (deny.0 & 3) << 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stateid_has_its_numbers() {
        let numbers = StateidNumbers { boot: 7, client: 0x0102_0304, state: u32::MAX };
        let state = numbers.stateid(9);
        assert_eq!(state.other, [0, 0, 0, 7, 1, 2, 3, 4, 255, 255, 255, 255]);
        assert_eq!((state.sequence, StateidNumbers::of(&state)), (9, numbers));
    }

    #[test]
    fn a_stateid_of_another_time_is_old_or_bad() {
        let sequence = StateSequence::first();
        assert_eq!(sequence.advance(), 2);
        assert_eq!(sequence.check(Some(2)), Ok(()));
        assert_eq!(sequence.check(Some(1)), Err(Status::OLD_STATEID));
        assert_eq!(sequence.check(Some(3)), Err(Status::BAD_STATEID));
        assert_eq!(sequence.check(None), Ok(()));
        let last = StateSequence(AtomicU32::new(u32::MAX));
        assert_eq!(last.advance(), 1); // 0 is not used, RFC 7530 9.1.3
    }

    #[test]
    fn a_downgrade_leaves_what_some_opens_make_together() {
        let shares = ShareCombinations::default();
        shares.add(Modes::READ, Modes::NONE);
        shares.add(Modes::WRITE, Modes::WRITE);
        let both = Modes::READ.union(Modes::WRITE);
        assert!(shares.allows(Modes::READ, Modes::NONE) && shares.allows(both, Modes::WRITE));
        assert!(!shares.allows(Modes::WRITE, Modes::NONE) && !shares.allows(Modes::READ, Modes::WRITE));
        shares.keep(Modes::READ, Modes::NONE);
        assert!(!shares.allows(both, Modes::WRITE));
    }
}
