//! The naive model: what a file server of four protocols must answer. It keeps nodes, names, opens and ranges in plain
//! collections, and looks at all of them for each operation.

mod holds;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use crate::op::{
    AfpA, Class, Data, EA, Fork, LINK, LockBits, ModelAnswer, Op, Place, Protocol, Slot, Stat, Who,
};

pub use holds::{ModelOpen, Range};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
}

#[derive(Debug, Clone)]
pub struct Node {
    pub kind: Kind,
    /// The data fork and the resource fork.
    pub forks: [Vec<u8>; 2],
    /// The letter of the Finder info; 0 if the file has no Finder info.
    pub info: u8,
    pub xattrs: [Option<Vec<u8>>; 3],
    /// The last time that a client set, until something else may have changed it.
    pub date: Option<u32>,
    /// Windows' attribute.
    pub read_only: bool,
    pub locked: LockBits,
    /// A client of SMB has removed it: it goes with its last close.
    pub going: bool,
    /// It has had several names.
    pub linked: bool,
}

impl Node {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            forks: [Vec::new(), Vec::new()],
            info: 0,
            xattrs: [None, None, None],
            date: None,
            read_only: false,
            locked: LockBits::default(),
            going: false,
            linked: false,
        }
    }

    pub fn fork(&self, fork: Fork) -> &Vec<u8> {
        &self.forks[fork as usize]
    }

    /// Whether its data may not be changed by those who have not opened it yet.
    pub fn is_inhibited(&self) -> bool {
        self.kind == Kind::File && (self.is_read_only() || self.locked.write)
    }

    /// It has Windows' attribute, which forbids more than writing; all three bits of a Mac count for themselves.
    fn is_read_only(&self) -> bool {
        self.kind == Kind::File && self.read_only && self.locked != ALL_LOCKED
    }
}

/// What the Finder calls "Locked".
const ALL_LOCKED: LockBits = LockBits { write: true, rename: true, delete: true };

pub type NodeId = usize;

/// Why an operation is refused. Empty: it is not.
pub type Reasons = Vec<Class>;

#[derive(Debug, Clone, Default)]
pub struct Model {
    pub nodes: Vec<Node>,
    pub names: BTreeMap<Place, NodeId>,
    pub opens: BTreeMap<Slot, ModelOpen>,
    pub ranges: Vec<Range>,
    /// Whether the symbolic link is there.
    pub link: bool,
    /// The clients of the two machines use different servers of one tree.
    pub apart: bool,
    /// The file system cannot exchange two names.
    pub lacks_exchange: bool,
}

/// The end of an operation that is not done.
pub enum Stop {
    Refused(Reasons),
    Skipped,
}

impl From<Class> for Stop {
    fn from(class: Class) -> Self {
        Self::Refused(vec![class])
    }
}

pub type Outcome<T = Data> = Result<T, Stop>;

/// Stops when there are reasons to refuse.
pub fn refuse(reasons: Reasons) -> Outcome<()> {
    if reasons.is_empty() { Ok(()) } else { Err(Stop::Refused(reasons)) }
}

pub fn parent(at: Place) -> Option<Place> {
    let (folder, _) = at.split_once('/')?;
    crate::op::PLACES.into_iter().find(|place| *place == folder)
}

impl Model {
    /// Does an operation, and states what a server must answer.
    pub fn apply(&mut self, op: &Op) -> ModelAnswer {
        match self.done(op) {
            Ok(data) => ModelAnswer::Done(data),
            Err(Stop::Refused(reasons)) => ModelAnswer::Refused(reasons),
            Err(Stop::Skipped) => ModelAnswer::Skipped,
        }
    }

    fn done(&mut self, op: &Op) -> Outcome {
        let nothing = match *op {
            Op::Make(who, at) => self.make(who, at, Kind::File),
            Op::MakeFolder(who, at) => self.make(who, at, Kind::Folder),
            Op::Open { who, at, fork, access, deny, slot } => {
                self.open(ModelOpen { who, node: 0, fork, access, deny }, at, slot)
            }
            Op::Read(slot, range) => return self.read(slot, range).map(Data::Bytes),
            Op::Write(slot, range, byte) => self.write(slot, range, byte),
            Op::Truncate(slot, length) => self.truncate(slot, length),
            Op::Lock { slot, range, exclusive } => self.lock(slot, range, exclusive),
            Op::Unlock(slot, range) => self.unlock(slot, range),
            Op::Close(slot) => self.close(slot),
            Op::Lose(who) => self.lose(who),
            Op::Rename { who, from, to, replace } => self.rename(who, from, to, replace),
            Op::Remove(who, at) if at == LINK => self.remove_link(who),
            Op::Remove(who, at) => self.remove(who, at, Kind::File),
            Op::RemoveFolder(who, at) => self.remove(who, at, Kind::Folder),
            Op::List(_, at) => return self.list(at).map(Data::Names),
            Op::Link { who, at, new } => self.hard_link(who, at, new),
            Op::Symlink(_) => match std::mem::replace(&mut self.link, true) {
                true => Err(Class::Exists.into()),
                false => Ok(()),
            },
            Op::ReadLink(_) => match self.link {
                true => return Ok(Data::Bytes(b"a".to_vec())),
                false => Err(Class::NotFound.into()),
            },
            _ => return self.done_to_metadata(op),
        };
        nothing.map(|()| Data::Nothing)
    }

    fn done_to_metadata(&mut self, op: &Op) -> Outcome {
        match *op {
            Op::SetInfo(who, at, seed) => {
                self.set_described(who, at, Reasons::new(), |node| node.info = seed)
            }
            Op::GetInfo(_, at) => {
                let node = self.settable(at)?;
                let info = self.nodes[node].info;
                Ok(Data::Bytes(if info == 0 { Vec::new() } else { vec![info; 8] }))
            }
            Op::SetXattr { who, at, name, length, byte } => {
                let set = |node: &mut Node| node.xattrs[name] = Some(vec![byte; length]);
                // Windows' read-only attribute does not bind FILE_WRITE_EA.
                match (who.protocol(), name) {
                    (Protocol::Smb, EA) => self.set_described(AfpA, at, Reasons::new(), set),
                    _ => self.set_described(who, at, Reasons::new(), set),
                }
            }
            Op::GetXattr { at, name, .. } => {
                let node = self.settable(at)?;
                let value = self.nodes[node].xattrs[name].clone();
                Ok(Data::Bytes(value.ok_or(Class::NoAttribute)?))
            }
            Op::RemoveXattr { who, at, name } => self.remove_xattr(who, at, name),
            Op::SetDate(who, at, date) => {
                let node = self.settable(at)?;
                if who.protocol() != Protocol::Smb && who.protocol() != Protocol::Afp {
                    refuse(self.immutable(node))?;
                }
                self.nodes[node].date = Some(date);
                Ok(Data::Nothing)
            }
            Op::SetReadOnly(_, at, on) => self.set_read_only(at, on),
            Op::SetLocked(_, at, locked) => self.set_locked(at, locked),
            Op::Stat(who, at) => {
                let node = self.found(at)?;
                if self.nodes[node].going && who.protocol() == Protocol::Smb {
                    return Err(Class::Going.into());
                }
                Ok(Data::Stat(self.stat(node)))
            }
            Op::Exchange { who, one, other } => self.exchange(who, one, other).map(|()| Data::Nothing),
            Op::Copy { who, from, to } => self.copy(who, from, to).map(|()| Data::Nothing),
            _ => unreachable!("{op:?}"),
        }
    }

    fn stat(&self, node: NodeId) -> Stat {
        let node = &self.nodes[node];
        let folder = node.kind == Kind::Folder;
        let read_only = if folder { None } else { Some(node.is_inhibited()) };
        // The fork of a file with several names may be put beside another of them at any time.
        let date = node.date.filter(|_| !folder || self.nodes.iter().all(|other| !other.linked));
        Stat { folder, size: node.forks[0].len() as u64, date, read_only }
    }

    /// A file or folder that another client is not about to remove.
    fn settable(&self, at: Place) -> Outcome<NodeId> {
        let node = self.found(at)?;
        if self.nodes[node].going { Err(Stop::Skipped) } else { Ok(node) }
    }

    /// Sets what SMB keeps in a stream, unless there are reasons not to.
    fn set_described(
        &mut self,
        who: Who,
        at: Place,
        mut reasons: Reasons,
        set: impl FnOnce(&mut Node),
    ) -> Outcome {
        let node = self.settable(at)?;
        if self.nodes[node].is_inhibited() && who.protocol() != Protocol::Afp {
            reasons.push(Class::Inhibited);
        }
        refuse(reasons)?;
        set(&mut self.nodes[node]);
        self.touched(node);
        Ok(Data::Nothing)
    }

    fn remove_xattr(&mut self, who: Who, at: Place, name: usize) -> Outcome {
        let node = self.settable(at)?;
        let mut reasons = Reasons::new();
        if self.nodes[node].xattrs[name].is_none() {
            reasons.push(Class::NoAttribute);
        }
        let smb = who.protocol() == Protocol::Smb;
        if smb && name != EA {
            reasons.extend(self.denied_to_leave(who, node)); // it is an open for removal
        }
        let who = if smb && name == EA { AfpA } else { who };
        self.set_described(who, at, reasons, |node| node.xattrs[name] = None)
    }

    /// What a client without such attributes may not change.
    pub(super) fn immutable(&self, node: NodeId) -> Reasons {
        if self.nodes[node].is_inhibited() { vec![Class::Inhibited] } else { Reasons::new() }
    }

    fn set_read_only(&mut self, at: Place, on: bool) -> Outcome {
        let node = self.settable(at)?;
        let node = &mut self.nodes[node];
        if node.kind == Kind::Folder {
            return Err(Stop::Skipped);
        }
        match on {
            true if node.is_inhibited() => {} // the client has sent what it was shown
            true => (node.read_only, node.locked.write) = (true, true),
            false => {
                if node.locked.write {
                    node.locked = LockBits::default();
                }
                node.read_only = false;
            }
        }
        Ok(Data::Nothing)
    }

    fn set_locked(&mut self, at: Place, locked: LockBits) -> Outcome {
        let id = self.settable(at)?;
        let node = &mut self.nodes[id];
        if node.kind == Kind::Folder {
            return Err(Stop::Skipped);
        }
        // The client clears the others first, then sets these.
        for clears in [true, false] {
            let shown = if node.is_read_only() { ALL_LOCKED } else { node.locked };
            let bit = |shown: bool, wanted: bool| if clears { shown && wanted } else { shown || wanted };
            let bits = LockBits {
                write: bit(shown.write, locked.write),
                rename: bit(shown.rename, locked.rename),
                delete: bit(shown.delete, locked.delete),
            };
            if !(node.is_read_only() && bits == ALL_LOCKED) {
                (node.locked, node.read_only) = (bits, bits == ALL_LOCKED);
            }
        }
        self.touched(id);
        Ok(Data::Nothing)
    }

    fn exchange(&mut self, _: Who, one: Place, other: Place) -> Outcome<()> {
        let mut reasons: Reasons = Reasons::new();
        for at in [one, other] {
            match self.found(at) {
                Err(Stop::Refused(missing)) => reasons.extend(missing),
                Err(stop) => return Err(stop),
                Ok(node) if self.nodes[node].kind == Kind::Folder => reasons.push(Class::IsFolder),
                Ok(_) => {}
            }
        }
        refuse(reasons)?;
        let (a, b) = (self.found(one)?, self.found(other)?);
        if a == b {
            return Err(Class::Same.into());
        }
        if [a, b].iter().any(|&node| self.nodes[node].going || self.is_open(node) || self.names_of(node) > 1)
        {
            return Err(Stop::Skipped);
        }
        let locked = |node: NodeId| self.nodes[node].is_inhibited() || self.nodes[node].locked.rename;
        if locked(a) || locked(b) {
            return Err(Class::Inhibited.into());
        }
        if self.lacks_exchange {
            return Err(Class::Unsupported.into());
        }
        // The host exchanges the names, which handles do not notice. All but the contents stays with the names.
        (self.nodes[a].forks, self.nodes[b].forks) = {
            let forks = |node: NodeId| self.nodes[node].forks.clone();
            (forks(b), forks(a))
        };
        let (first, second) = (self.nodes[b].clone(), self.nodes[a].clone());
        (self.nodes[a], self.nodes[b]) = (first, second);
        (self.nodes[a].date, self.nodes[b].date) = (None, None);
        self.names.insert(one, b);
        self.names.insert(other, a);
        self.touched(a);
        self.touched(b);
        Ok(())
    }

    fn copy(&mut self, who: Who, from: Place, to: Place) -> Outcome<()> {
        let source = self.found(from)?;
        // Whether a copy that fails leaves an empty file is not stated.
        if self.nodes[source].going || self.ranges.iter().any(|range| range.node == source) {
            return Err(Stop::Skipped);
        }
        let mut reasons = Reasons::new();
        if self.nodes[source].kind == Kind::Folder {
            reasons.push(Class::IsFolder);
        }
        reasons.extend(self.denied_to_read(source, who.protocol() == Protocol::Afp));
        self.settled(to)?;
        reasons.extend(self.taken(to));
        refuse(reasons)?;
        let mut copy = Node::new(Kind::File);
        if who.protocol() == Protocol::Afp {
            let source = &self.nodes[source];
            copy = Node { going: false, linked: false, ..source.clone() };
        } else {
            copy.forks[0] = self.nodes[source].forks[0].clone();
        }
        self.add(to, copy);
        Ok(())
    }

    fn list(&self, at: Place) -> Outcome<BTreeSet<String>> {
        if !at.is_empty() && self.nodes[self.found(at)?].kind == Kind::File {
            return Err(Class::NotFolder.into());
        }
        let names = self.names.keys().filter_map(|place| match place.rsplit_once('/') {
            Some((folder, name)) => (folder == at).then(|| name.to_owned()),
            None => at.is_empty().then(|| (*place).to_owned()),
        });
        let link = (self.link && at.is_empty()).then(|| LINK.to_owned());
        Ok(names.chain(link).collect())
    }
}
