//! Names: made, moved and removed.

use super::{Kind, Model, ModelOpen, Node, NodeId, Outcome, Reasons, Stop, parent, refuse};
use crate::op::{Class, PLACES, Place, Protocol, Who};

impl Model {
    /// The file or folder at a place.
    pub fn found(&self, at: Place) -> Outcome<NodeId> {
        self.settled(at)?;
        refuse(self.no_folder(at))?;
        Ok(*self.names.get(at).ok_or(Class::NotFound)?)
    }

    /// What may be in a folder that is about to go is not stated.
    pub(super) fn settled(&self, at: Place) -> Outcome<()> {
        let folder = parent(at).and_then(|folder| self.names.get(folder));
        if folder.is_some_and(|folder| self.nodes[*folder].going) { Err(Stop::Skipped) } else { Ok(()) }
    }

    /// Why there can be nothing at a place.
    fn no_folder(&self, at: Place) -> Reasons {
        match parent(at).map(|folder| self.names.get(folder)) {
            None => Reasons::new(),
            Some(None) => vec![Class::NotFound],
            Some(Some(&folder)) if self.nodes[folder].kind == Kind::File => vec![Class::NotFolder],
            Some(Some(_)) => Reasons::new(),
        }
    }

    /// Why nothing can be made at a place.
    pub(super) fn taken(&self, at: Place) -> Reasons {
        let mut reasons = self.no_folder(at);
        if self.names.contains_key(at) {
            reasons.push(Class::Exists);
        }
        reasons
    }

    pub(super) fn add(&mut self, at: Place, node: Node) {
        self.nodes.push(node);
        self.names.insert(at, self.nodes.len() - 1);
        self.folder_changed(at);
    }

    fn folder_changed(&mut self, at: Place) {
        if let Some(folder) = parent(at).and_then(|folder| self.names.get(folder)) {
            self.nodes[*folder].date = None;
        }
    }

    /// Something about a file has changed. That may be kept in a file beside it, which changes the folder.
    pub(super) fn touched(&mut self, node: NodeId) {
        self.nodes[node].date = None;
        let places: Vec<Place> =
            self.names.iter().filter(|(_, one)| **one == node).map(|(place, _)| *place).collect();
        places.into_iter().for_each(|place| self.folder_changed(place));
    }

    pub(super) fn names_of(&self, node: NodeId) -> usize {
        self.names.values().filter(|one| **one == node).count()
    }

    /// What is in a folder.
    fn below(&self, at: Place) -> Vec<(Place, NodeId)> {
        let inside = self.names.iter().filter(|(place, _)| parent(place) == Some(at));
        inside.map(|(place, node)| (*place, *node)).collect()
    }

    pub(super) fn make(&mut self, who: Who, at: Place, kind: Kind) -> Outcome<()> {
        self.settled(at)?;
        let mut reasons = self.taken(at);
        let over_folder = self.names.get(at).is_some_and(|there| self.nodes[*there].kind == Kind::Folder);
        if who.protocol() == Protocol::Afp && kind == Kind::File && over_folder {
            reasons.push(Class::IsFolder);
        }
        refuse(reasons)?;
        self.add(at, Node::new(kind));
        Ok(())
    }

    pub(super) fn hard_link(&mut self, who: Who, at: Place, new: Place) -> Outcome<()> {
        let node = self.found(at)?;
        // MS-FSA 2.1.5.15.6: the name that it has already.
        if who.protocol() == Protocol::Smb && self.names.get(new) == Some(&node) {
            return Err(Stop::Skipped);
        }
        if self.nodes[node].going || self.nodes[node].kind == Kind::Folder {
            return Err(Stop::Skipped);
        }
        self.settled(new)?;
        let mut reasons = self.taken(new);
        if who.protocol() != Protocol::Smb {
            reasons.extend(self.immutable(node));
        }
        refuse(reasons)?;
        self.names.insert(new, node);
        self.nodes[node].linked = true;
        self.folder_changed(new);
        Ok(())
    }

    /// A file that has had several names, by one of which it is open. What happens to the others is not stated: an
    /// open of a resource fork, and a removal by SMB, belong to one name.
    fn is_open_by_some_name(&self, node: NodeId) -> bool {
        self.nodes[node].linked && self.is_open(node)
    }

    pub(super) fn remove_link(&mut self, _: Who) -> Outcome<()> {
        if std::mem::take(&mut self.link) { Ok(()) } else { Err(Class::NotFound.into()) }
    }

    pub(super) fn remove(&mut self, who: Who, at: Place, kind: Kind) -> Outcome<()> {
        let node = self.found(at)?;
        let afp = who.protocol() == Protocol::Afp;
        if self.nodes[node].going || self.is_open_by_some_name(node) {
            return Err(Stop::Skipped);
        }
        let mut reasons = self.not_to_go(who, node);
        match (self.nodes[node].kind, kind) {
            // FPDelete and REMOVE of NFSv4 remove both.
            _ if afp || who.protocol() == Protocol::Nfs4 => {}
            (Kind::File, Kind::Folder) => reasons.push(Class::NotFolder),
            (Kind::Folder, Kind::File) => reasons.push(Class::IsFolder),
            _ => {}
        }
        if !self.below(at).is_empty() {
            reasons.push(Class::NotEmpty);
        }
        if afp && self.is_open(node) {
            reasons.push(Class::InUse);
        }
        refuse(reasons)?;
        if who.protocol() == Protocol::Smb && self.is_open(node) {
            self.nodes[node].going = true;
            return Ok(());
        }
        self.names.remove(at);
        self.folder_changed(at);
        self.forget_unused();
        Ok(())
    }

    /// Why a file may not lose its name.
    fn not_to_go(&self, who: Who, node: NodeId) -> Reasons {
        let mut reasons = self.denied_to_leave(who, node);
        let of = &self.nodes[node];
        // A file that a Mac has locked against writing is read-only to Windows, which removes no such files.
        let shown = who.protocol() == Protocol::Smb && of.is_inhibited();
        if of.kind == Kind::File && (of.locked.delete || of.is_read_only() || shown) {
            reasons.push(Class::Inhibited);
        }
        reasons
    }

    /// Why a file may not be moved.
    fn not_to_move(&self, who: Who, from: Place, node: NodeId) -> Reasons {
        let mut reasons = self.denied_to_leave(who, node);
        let (of, smb) = (&self.nodes[node], who.protocol() == Protocol::Smb);
        if of.kind == Kind::File && (of.locked.rename || (of.is_read_only() && !smb)) {
            reasons.push(Class::Inhibited);
        }
        // MS-FSA 2.1.5.15.11: a file with other streams open, and a folder with open files below, as far as the client's
        // server knows of them ("What is not built" in docs/cluster.md).
        let is_known = |open: &ModelOpen| !self.apart || open.who.machine() == who.machine();
        let is_below = |(_, node): &(Place, NodeId)| {
            self.opens.values().any(|open| open.node == *node && open.is_open() && is_known(open))
        };
        if smb && (self.has_stream_open(node) || self.below(from).iter().any(is_below)) {
            reasons.push(Class::NoAccess);
        }
        reasons
    }

    pub(super) fn rename(&mut self, who: Who, from: Place, to: Place, replace: bool) -> Outcome<()> {
        self.settled(to)?;
        let mut missing = self.no_folder(to);
        let node = match self.found(from) {
            Err(Stop::Refused(reasons)) => {
                missing.extend(reasons);
                missing.extend(self.names.get(to).iter().flat_map(|there| self.not_to_go(who, **there)));
                return Err(Stop::Refused(missing));
            }
            other => other?,
        };
        let is_folder = self.nodes[node].kind == Kind::Folder;
        let inside = self.below(from);
        let goes_along = |place: &str| {
            let name = place.rsplit_once('/').map_or(place, |(_, name)| name);
            PLACES.into_iter().find(|known| known.strip_prefix(to) == Some(&format!("/{name}")[..]))
        };
        let moved: Option<Vec<(Place, NodeId)>> =
            inside.iter().map(|(place, node)| Some((goes_along(place)?, *node))).collect();
        let going = self.nodes[node].going || inside.iter().any(|(_, node)| self.nodes[*node].going);
        let several = self.is_open_by_some_name(node)
            || inside.iter().any(|(_, node)| self.is_open_by_some_name(*node))
            || self.names.get(to).is_some_and(|there| self.is_open_by_some_name(*there));
        // Whether a file without a name is still open below a folder is not stated.
        let nameless = who.protocol() == Protocol::Smb
            && is_folder
            && self.opens.values().any(|open| self.names_of(open.node) == 0);
        let stated = !going && !several && !nameless && from != to && parent(to) != Some(from);
        let Some(moved) = moved.filter(|_| stated) else {
            return Err(Stop::Skipped);
        };
        let mut reasons = self.not_to_move(who, from, node);
        if !missing.is_empty() {
            return Err(Stop::Refused([missing, reasons].concat()));
        }
        if let Some(&there) = self.names.get(to) {
            if there == node || self.nodes[there].going || parent(from) == Some(to) {
                return Err(Stop::Skipped);
            }
            reasons.extend(self.not_to_replace(who, (node, is_folder), (to, there), replace));
        }
        refuse(reasons)?;
        for (place, _) in &inside {
            self.names.remove(place);
        }
        self.names.remove(from);
        self.names.insert(to, node);
        self.names.extend(moved);
        self.folder_changed(from);
        self.folder_changed(to);
        self.forget_unused();
        Ok(())
    }

    fn not_to_replace(
        &self,
        who: Who,
        (_, is_folder): (NodeId, bool),
        (to, there): (Place, NodeId),
        replace: bool,
    ) -> Reasons {
        let over_folder = self.nodes[there].kind == Kind::Folder;
        let mut reasons = self.not_to_go(who, there);
        match who.protocol() {
            Protocol::Afp => reasons.push(Class::Exists),
            Protocol::Smb if !replace => reasons.push(Class::Exists),
            // MS-FSA 2.1.5.15.11: over a folder, and over an open file.
            Protocol::Smb if over_folder || is_folder || !reasons.is_empty() => reasons.push(Class::NoAccess),
            Protocol::Smb => {}
            Protocol::Nfs3 | Protocol::Nfs4 => match (is_folder, over_folder) {
                (true, false) => reasons.extend([Class::NotFolder, Class::Exists]),
                (false, true) => reasons.extend([Class::IsFolder, Class::Exists]),
                (true, true) if !self.below(to).is_empty() => {
                    reasons.extend([Class::NotEmpty, Class::Exists])
                }
                _ => {}
            },
        }
        reasons
    }

    /// The names of files that were to go, and that no client has open any more.
    pub(super) fn forget_unused(&mut self) {
        let opens: Vec<&ModelOpen> = self.opens.values().collect();
        let gone = |node: NodeId| {
            self.nodes[node].going && !opens.iter().any(|open| open.node == node && open.is_open())
        };
        let places: Vec<Place> =
            self.names.iter().filter(|(_, node)| gone(**node)).map(|(place, _)| *place).collect();
        for place in places {
            self.names.remove(place);
            self.folder_changed(place);
        }
    }
}
