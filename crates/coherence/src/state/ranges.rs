//! The rules of byte-range locks on one stream, without limits or waiting.

use super::io::IoClient;
use super::range::{Flavour, Lock, LockKind, LockOwner, Range};

/// The locks on one stream: the rules alone, without limits or waiting.
#[derive(Default)]
pub(super) struct Ranges {
    held: Vec<Lock>,
}

/// A change that is not yet made: the locks to remove, and the locks that replace them.
pub(super) struct Plan {
    /// Indices, ascending.
    gone: Vec<usize>,
    new: Vec<Lock>,
}

impl Plan {
    /// How many locks more there will be, and how many fewer.
    pub(super) fn growth(&self) -> (usize, usize) {
        (self.new.len().saturating_sub(self.gone.len()), self.gone.len().saturating_sub(self.new.len()))
    }

    /// Whether it changes nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }
}

impl Ranges {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Lock> {
        self.held.iter()
    }

    /// Adds a lock that another server has granted.
    pub(super) fn put(&mut self, lock: Lock) {
        self.held.push(lock);
    }

    /// The held lock of lowest start that keeps `wanted` from being granted.
    pub(super) fn blocker(&self, wanted: &Lock) -> Option<&Lock> {
        self.held.iter().filter(|held| held.blocks(wanted)).min_by_key(|held| held.range.start())
    }

    /// How to grant `wanted`, which nothing blocks.
    pub(super) fn grant(&self, wanted: &Lock) -> Plan {
        match wanted.flavour {
            Flavour::Mandatory => Plan { gone: Vec::new(), new: vec![wanted.clone()] },
            Flavour::Advisory => self.grant_merged(wanted),
        }
    }

    /// The new lock absorbs locks of its own kind that it overlaps or touches, and cuts its range
    /// out of locks of the other kind.
    fn grant_merged(&self, wanted: &Lock) -> Plan {
        let (mut gone, mut new, mut hull) = (Vec::new(), Vec::new(), wanted.range);
        for (index, own) in self.own(wanted) {
            if own.kind == wanted.kind && own.range.joins(&wanted.range) {
                gone.push(index);
                hull = hull.hull(&own.range);
            } else if own.range.overlaps(&wanted.range) {
                gone.push(index);
                new.extend(pieces(own, &wanted.range));
            }
        }
        new.push(Lock { range: hull, ..wanted.clone() });
        Plan { gone, new }
    }

    /// How to unlock: exactly one lock of that range, or every byte of this owner in it. An empty
    /// plan if there is none.
    pub(super) fn unlock(&self, owner: &LockOwner, range: Range, flavour: Flavour) -> Plan {
        let wanted = Lock { owner: owner.clone(), range, kind: LockKind::Exclusive, flavour };
        match flavour {
            Flavour::Mandatory => self.unlock_exactly(&wanted),
            Flavour::Advisory => self.unlock_any(&wanted),
        }
    }

    /// Of stacked locks the exclusive one is removed first.
    fn unlock_exactly(&self, wanted: &Lock) -> Plan {
        let matching = self.own(wanted).filter(|(_, own)| own.range == wanted.range);
        let first = matching.min_by_key(|(_, own)| own.kind != LockKind::Exclusive);
        Plan { gone: first.map(|(index, _)| index).into_iter().collect(), new: Vec::new() }
    }

    fn unlock_any(&self, wanted: &Lock) -> Plan {
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        for (index, own) in self.own(wanted).filter(|(_, own)| own.range.overlaps(&wanted.range)) {
            gone.push(index);
            new.extend(pieces(own, &wanted.range));
        }
        Plan { gone, new }
    }

    fn own<'a>(&'a self, wanted: &'a Lock) -> impl Iterator<Item = (usize, &'a Lock)> {
        self.held.iter().enumerate().filter(|(_, held)| held.same_owner(wanted))
    }

    /// Makes the change.
    pub(super) fn apply(&mut self, plan: Plan) {
        for index in plan.gone.into_iter().rev() {
            self.held.swap_remove(index);
        }
        self.held.extend(plan.new);
    }

    /// Removes every lock of the owners that `whose` names, telling `gone` of each.
    pub(super) fn release(&mut self, whose: impl Fn(&LockOwner) -> bool, mut gone: impl FnMut(&Lock)) {
        self.held.retain(|held| {
            let stays = !whose(&held.owner);
            if !stays {
                gone(held);
            }
            stays
        });
    }

    /// The lock that keeps `who` from reading or writing the range.
    pub(super) fn io_blocker(
        &self,
        who: &IoClient<'_>,
        range: Range,
        write: bool,
        advisory_binds: bool,
    ) -> Option<&Lock> {
        self.held.iter().find(|held| {
            let binds = match held.flavour {
                Flavour::Mandatory => true,
                Flavour::Advisory => advisory_binds && who.flavour == Flavour::Mandatory,
            };
            binds && held.range.overlaps(&range) && stops_io(held, who, write)
        })
    }
}

/// An exclusive lock stops all but its owner. A shared lock stops every write. A mandatory one
/// stops even writes of its owner, as it promises other clients that there are no writes.
fn stops_io(held: &Lock, who: &IoClient<'_>, write: bool) -> bool {
    match held.kind {
        LockKind::Exclusive => !who.owns(&held.owner),
        LockKind::Shared => write && (held.flavour == Flavour::Mandatory || !who.owns(&held.owner)),
    }
}

fn pieces<'a>(own: &'a Lock, hole: &Range) -> impl Iterator<Item = Lock> + 'a {
    own.range.without(hole).into_iter().flatten().map(|range| Lock { range, ..own.clone() })
}
