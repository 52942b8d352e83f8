//! Opens with deny modes, byte ranges, and the data that is read and written through them.

use super::{Kind, Model, NodeId, Outcome, Reasons, Stop, refuse};
use crate::op::{At, Class, Fork, Modes, Place, Protocol, Slot, Who};

/// What a client has open. A slot of NFSv3 is a handle: it denies and holds nothing.
#[derive(Debug, Clone, Copy)]
pub struct ModelOpen {
    pub who: Who,
    pub node: NodeId,
    pub fork: Fork,
    pub access: Modes,
    pub deny: Modes,
}

/// A locked range of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub slot: Slot,
    pub node: NodeId,
    pub fork: Fork,
    pub at: At,
    pub exclusive: bool,
    /// It binds reads and writes: of SMB and AFP.
    pub mandatory: bool,
}

impl ModelOpen {
    pub fn is_open(&self) -> bool {
        self.who.protocol() != Protocol::Nfs3
    }

    /// It denies that the file is removed or renamed. A Mac that denies writing denies that, too.
    fn denies_leaving(&self) -> bool {
        self.deny.d || (self.who.protocol() == Protocol::Afp && self.deny.w)
    }

    fn conflicts(&self, other: &Self) -> bool {
        let leaves = self.access.d && other.denies_leaving() || self.denies_leaving() && other.access.d;
        let denied = |access: Modes, deny: Modes| access.r && deny.r || access.w && deny.w;
        let data = denied(self.access, other.deny) || denied(other.access, self.deny);
        leaves || self.fork == other.fork && data
    }
}

impl At {
    fn overlaps(self, other: Self) -> bool {
        self.0 < other.0 + other.1 && other.0 < self.0 + self.1
    }
}

impl Model {
    pub fn is_open(&self, node: NodeId) -> bool {
        self.opens.values().any(|open| open.node == node && open.is_open())
    }

    pub(super) fn has_stream_open(&self, node: NodeId) -> bool {
        self.opens.values().any(|open| open.node == node && open.is_open() && open.fork == Fork::Resource)
    }

    /// Macs rename files that Macs have open, whatever these deny (`vfs::ClientProfile::renames_open`). They do not remove them.
    pub(super) fn denied_to_leave(&self, who: Who, node: NodeId) -> Reasons {
        let afp = who.protocol() == Protocol::Afp;
        let denies =
            |open: &ModelOpen| open.node == node && if afp { open.deny.d } else { open.denies_leaving() };
        if self.opens.values().any(denies) { vec![Class::Shared] } else { Reasons::new() }
    }

    /// Whether an open denies reading, of the data fork or of both.
    pub(super) fn denied_to_read(&self, node: NodeId, both: bool) -> Reasons {
        let denies = |open: &ModelOpen| open.node == node && (both || open.fork == Fork::Data) && open.deny.r;
        if self.opens.values().any(denies) { vec![Class::Shared] } else { Reasons::new() }
    }

    pub(super) fn open(&mut self, wanted: ModelOpen, at: Place, slot: Slot) -> Outcome<()> {
        if self.opens.contains_key(&slot) {
            return Err(Stop::Skipped);
        }
        let node = self.found(at)?;
        let wanted = ModelOpen { node, ..wanted };
        if self.nodes[node].kind == Kind::Folder {
            // To SMB, a folder has no such stream.
            let smb = wanted.who.protocol() == Protocol::Smb && wanted.fork == Fork::Resource;
            return Err(Stop::Refused(if smb {
                vec![Class::IsFolder, Class::NotFound]
            } else {
                vec![Class::IsFolder]
            }));
        }
        let reads_empty = wanted.fork == Fork::Resource && self.nodes[node].fork(Fork::Resource).is_empty();
        if reads_empty
            && wanted.who.protocol() == Protocol::Smb
            && !wanted.access.w
            && self.has_stream_open(node)
        {
            return Err(Stop::Skipped); // whether an empty fork is there while a client has it open
        }
        if wanted.is_open() {
            refuse(self.not_to_open(&wanted))?;
        }
        self.opens.insert(slot, wanted);
        Ok(())
    }

    fn not_to_open(&self, wanted: &ModelOpen) -> Reasons {
        let node = &self.nodes[wanted.node];
        let mut reasons = Reasons::new();
        if node.going {
            reasons.push(Class::Going);
        }
        if wanted.access.w && node.is_inhibited() {
            reasons.push(Class::Inhibited);
        }
        if self
            .opens
            .values()
            .any(|open| open.node == wanted.node && open.is_open() && open.conflicts(wanted))
        {
            reasons.push(Class::Shared);
        }
        if wanted.fork == Fork::Resource && wanted.who.protocol() == Protocol::Smb && !wanted.access.w {
            // SMB: a resource fork that is empty is not there.
            if node.fork(Fork::Resource).is_empty() {
                reasons.push(Class::NotFound);
            }
        }
        reasons
    }

    fn held(&self, slot: Slot) -> Outcome<ModelOpen> {
        let held = self.opens.get(&slot).copied().ok_or(Stop::Skipped)?;
        if self.names_of(held.node) > 0 {
            return Ok(held);
        }
        // A handle may lead to a file without a name as long as some client has it open, or not. The resource fork of
        // such a file may have no place where it is stored.
        match held.is_open() {
            true if held.fork == Fork::Data => Ok(held),
            false if !self.is_open(held.node) => Err(Class::Stale.into()),
            _ => Err(Stop::Skipped),
        }
    }

    /// Why a slot cannot transfer this range.
    fn not_to_transfer(&self, slot: Slot, held: &ModelOpen, at: At, write: bool) -> Outcome<Reasons> {
        let mut reasons = Reasons::new();
        if !held.is_open() {
            let denies = |open: &ModelOpen| if write { open.deny.w } else { open.deny.r };
            let of = |open: &&ModelOpen| open.node == held.node && open.fork == held.fork && open.is_open();
            if self.opens.values().filter(of).any(denies) {
                reasons.push(Class::Shared);
            }
            if write && self.nodes[held.node].is_inhibited() {
                reasons.push(Class::Inhibited);
            }
        } else if !(if write { held.access.w } else { held.access.r }) {
            reasons.push(Class::NoAccess);
        }
        let stops = |range: &&Range| {
            range.mandatory
                && range.node == held.node
                && range.fork == held.fork
                && range.at.overlaps(at)
                && if range.exclusive { range.slot != slot } else { write }
        };
        if self.ranges.iter().any(|range| stops(&range)) {
            reasons.push(Class::Locked);
        }
        Ok(reasons)
    }

    pub(super) fn read(&self, slot: Slot, at: At) -> Outcome<Vec<u8>> {
        let held = self.held(slot)?;
        // RFC 8881 18.22.3: a server may let a client read what it has open for writing.
        if held.who.protocol() == Protocol::Nfs4 && !held.access.r {
            return Err(Stop::Skipped);
        }
        refuse(self.not_to_transfer(slot, &held, at, false)?)?;
        let bytes = self.nodes[held.node].fork(held.fork);
        let end = bytes.len().min((at.0 + at.1) as usize);
        Ok(bytes.get(at.0 as usize..end).unwrap_or_default().to_vec())
    }

    pub(super) fn write(&mut self, slot: Slot, at: At, byte: u8) -> Outcome<()> {
        let held = self.held(slot)?;
        refuse(self.not_to_transfer(slot, &held, at, true)?)?;
        let node = &mut self.nodes[held.node];
        let (bytes, end) = (&mut node.forks[held.fork as usize], (at.0 + at.1) as usize);
        bytes.resize(bytes.len().max(end), 0);
        bytes[at.0 as usize..end].fill(byte);
        self.touched(held.node);
        Ok(())
    }

    pub(super) fn truncate(&mut self, slot: Slot, length: u64) -> Outcome<()> {
        let held = self.held(slot)?;
        let now = self.nodes[held.node].fork(held.fork).len() as u64;
        // Locks do not stop a Mac from making a fork longer.
        let grows = held.who.protocol() == Protocol::Afp && length >= now;
        let range = if grows { At(1 << 40, 1) } else { At(length.min(now), 1 << 20) };
        refuse(self.not_to_transfer(slot, &held, range, true)?)?;
        let node = &mut self.nodes[held.node];
        node.forks[held.fork as usize].resize(length as usize, 0);
        self.touched(held.node);
        Ok(())
    }

    pub(super) fn lock(&mut self, slot: Slot, at: At, exclusive: bool) -> Outcome<()> {
        let held = self.lockable(slot)?;
        let (protocol, node, fork) = (held.who.protocol(), held.node, held.fork);
        let mut reasons = Reasons::new();
        if protocol == Protocol::Nfs4 && !(if exclusive { held.access.w } else { held.access.r }) {
            reasons.push(Class::NoAccess);
        }
        let mandatory = matches!(protocol, Protocol::Smb | Protocol::Afp);
        let exclusive = exclusive || protocol == Protocol::Afp; // which has no others
        for range in self.ranges.iter().filter(|r| r.node == node && r.fork == fork && r.at.overlaps(at)) {
            match (range.slot == slot, protocol) {
                (true, Protocol::Afp) => reasons.push(Class::OwnRange),
                // MS-FSA 2.1.5.8: an exclusive lock conflicts with each other lock, also of the same open.
                (true, Protocol::Smb) if exclusive => reasons.push(Class::Locked),
                (true, _) => {}
                (false, _) if exclusive || range.exclusive => reasons.push(Class::Locked),
                (false, _) => {}
            }
        }
        refuse(reasons)?;
        if !mandatory {
            self.free(slot, at);
        }
        self.ranges.push(Range { slot, node, fork, at, exclusive, mandatory });
        Ok(())
    }

    /// Frees the bytes of a range as POSIX does.
    fn free(&mut self, slot: Slot, at: At) {
        let end = |range: At| range.0 + range.1;
        let (own, others): (Vec<Range>, Vec<Range>) =
            self.ranges.iter().partition(|range| range.slot == slot);
        self.ranges = others;
        for range in own {
            let before = At(range.at.0, at.0.saturating_sub(range.at.0).min(range.at.1));
            let start = end(at).clamp(range.at.0, end(range.at));
            let after = At(start, end(range.at) - start);
            let parts = if range.at.overlaps(at) { vec![before, after] } else { vec![range.at] };
            let parts = parts.into_iter().filter(|part| part.1 > 0);
            self.ranges.extend(parts.map(|at| Range { at, ..range }));
        }
    }

    /// A lock manager may still know a handle whose file is gone.
    fn lockable(&self, slot: Slot) -> Outcome<ModelOpen> {
        let held = self.opens.get(&slot).ok_or(Stop::Skipped)?;
        if !held.is_open() && self.names_of(held.node) == 0 { Err(Stop::Skipped) } else { self.held(slot) }
    }

    pub(super) fn unlock(&mut self, slot: Slot, at: At) -> Outcome<()> {
        let held = self.lockable(slot)?;
        if !matches!(held.who.protocol(), Protocol::Smb | Protocol::Afp) {
            self.free(slot, at);
            return Ok(());
        }
        let own = |exclusive: bool| {
            let is_it = |range: &Range| range.slot == slot && range.at == at && range.exclusive == exclusive;
            self.ranges.iter().position(is_it)
        };
        let found = own(true).or_else(|| own(false)).ok_or(Class::NotLocked)?;
        self.ranges.remove(found);
        Ok(())
    }

    pub(super) fn close(&mut self, slot: Slot) -> Outcome<()> {
        self.opens.remove(&slot).ok_or(Stop::Skipped)?;
        self.ranges.retain(|range| range.slot != slot);
        self.forget_unused();
        Ok(())
    }

    pub(super) fn lose(&mut self, who: Who) -> Outcome<()> {
        let slots: Vec<Slot> =
            self.opens.iter().filter(|(_, open)| open.who == who).map(|(slot, _)| *slot).collect();
        slots.into_iter().try_for_each(|slot| self.close(slot))
    }
}
