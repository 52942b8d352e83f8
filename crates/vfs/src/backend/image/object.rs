//! A file, folder or link of an image, or the sidecar of a file.

use std::any::Any;
use std::sync::Arc;

use images::tree::{Fork, Node};

use super::{ImageState, Place, ShownModes, fact, names};
use crate::backend::{Call, Found, ListEntry, NewKind, Object, Wait};
use crate::mac::layout::sidecar_owner;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result};

/// The bytes of a block on the disk, as hosts count them.
const BLOCK: u64 = 512;

/// Which part of a file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePart {
    Whole,
    /// The file `._NAME`, which is composed.
    Sidecar,
}

pub(super) struct ImageObject {
    state: Arc<ImageState>,
    place: Place,
    kind: Kind,
    part: FilePart,
    /// Its whole name, if that is longer than names of hosts, and it was found by its name.
    long_name: Option<Vec<u8>>,
}

impl ImageObject {
    pub(super) fn of_node(
        state: Arc<ImageState>,
        place: Place,
        kind: Kind,
        long_name: Option<Vec<u8>>,
    ) -> Self {
        Self { state, place, kind, part: FilePart::Whole, long_name }
    }

    /// The sidecar of a file.
    pub(super) fn sidecar(state: Arc<ImageState>, place: Place) -> Self {
        Self { state, place, kind: Kind::File, part: FilePart::Sidecar, long_name: None }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    fn is_sidecar(&self) -> bool {
        self.part == FilePart::Sidecar
    }

    fn node(&self) -> Result<Node> {
        self.state.files.node(self.place.node).map_err(|error| fact(&error))
    }

    fn folder(&self) -> Result<()> {
        if self.kind == Kind::Folder { Ok(()) } else { Err(Error::NotFolder) }
    }

    /// Whether a caller is the one that sees the image, or the server itself.
    fn shows(&self, caller: &Caller) -> bool {
        caller.uid == 0 || caller.uid == self.state.options.owner.0
    }

    pub(super) fn attributes_of(&self, node: &Node) -> Attributes {
        let stored = u32::from(node.mode) & 0o777;
        let runs = if stored & 0o111 == 0 { 0 } else { 0o100 };
        let mode = match (self.state.options.modes, self.kind) {
            (_, Kind::Link) => 0o777,
            (ShownModes::Stored, _) => stored,
            (ShownModes::Private, Kind::Folder) => 0o500,
            (ShownModes::Private, _) => 0o400 | runs,
        };
        let (mode, size) = match self.part {
            FilePart::Whole => (mode, node.size),
            FilePart::Sidecar => {
                (mode & 0o666, ImageState::sidecar_head(node).len() as u64 + node.resource_size)
            }
        };
        let is_one = self.kind == Kind::Folder || self.is_sidecar();
        Attributes {
            id: self.id(),
            kind: self.kind,
            mode,
            uid: self.state.options.owner.0,
            gid: self.state.options.owner.1,
            links: if is_one { 1 } else { node.links.max(1) },
            size,
            allocated: size.next_multiple_of(BLOCK),
            device: (0, 0),
            accessed: node.accessed,
            modified: node.modified,
            changed: node.changed,
            created: Some(node.created),
        }
    }

    /// The sidecar of the entry with this name, if it has a resource fork.
    fn find_sidecar(&self, owner: &[u8]) -> Result<Found> {
        let (entry, _) = names::find(&*self.state.files, self.place.node, owner)?;
        let node = self.state.files.node(entry.node).map_err(|error| fact(&error))?;
        if node.kind != Kind::File || node.resource_size == 0 {
            return Err(Error::NotFound);
        }
        let object = Self::sidecar(self.state.clone(), Place::plain(entry.node));
        Ok(Found { attributes: object.attributes_of(&node), object: Arc::new(object) })
    }

    fn find(&self, name: &[u8]) -> Result<Found> {
        match names::find(&*self.state.files, self.place.node, name) {
            Ok((entry, long_name)) => {
                let place = self.state.place_of(self.place, &entry)?;
                self.state.found(place, long_name)
            }
            Err(Error::NotFound) => match sidecar_owner(name) {
                Some(owner) => self.find_sidecar(owner),
                None => Err(Error::NotFound),
            },
            Err(other) => Err(other),
        }
    }

    fn read_sidecar(&self, offset: u64, length: usize, into: &mut Vec<u8>) -> Result<usize> {
        let node = self.node()?;
        let head = ImageState::sidecar_head(&node);
        let start = into.len();
        if let Some(rest) = usize::try_from(offset).ok().and_then(|at| head.get(at..)) {
            into.extend_from_slice(&rest[..rest.len().min(length)]);
        }
        let done = into.len() - start;
        let from = (offset + done as u64).saturating_sub(head.len() as u64);
        let left = node.resource_size.saturating_sub(from).min((length - done) as u64) as usize;
        if left == 0 {
            return Ok(done);
        }
        Ok(done + self.state.read(self.place, Fork::Resource, (from, left), into)?)
    }
}

impl Object for ImageObject {
    fn id(&self) -> FileId {
        self.state.id(self.place.number(self.is_sidecar()))
    }

    fn key(&self) -> HostKey {
        self.place.key(self.state.options.identity, self.is_sidecar())
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn attributes(&self) -> Result<Attributes> {
        Ok(self.attributes_of(&self.node()?))
    }

    fn access(&self, caller: &Caller, attributes: &Attributes, want: Access) -> Result<Access> {
        if !self.shows(caller) {
            return Ok(Access::NONE);
        }
        let runs = attributes.kind == Kind::Folder || attributes.mode & 0o111 != 0;
        let granted = if runs { Access::READ.union(Access::EXECUTE) } else { Access::READ };
        Ok(granted.intersection(want))
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        self.folder()?;
        if !self.shows(caller) {
            return Err(Error::AccessDenied);
        }
        self.find(name)
    }

    /// Looks at files only: most folders have no sidecars.
    fn may_have(&self, name: &[u8]) -> bool {
        self.kind == Kind::Folder && !matches!(self.find(name), Err(Error::NotFound))
    }

    fn parent(&self) -> Result<Found> {
        self.folder()?;
        self.state.found(self.state.above(self.place)?, None)
    }

    fn create(&self, _: &Caller, _: &[u8], _: NewKind<'_>, _: u32) -> Result<Found> {
        Err(Error::ReadOnly)
    }

    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        self.folder()?;
        self.state.list(self.place, cookie, sink)
    }

    fn read_link(&self) -> Result<Vec<u8>> {
        if self.kind != Kind::Link {
            return Err(Error::NotLink);
        }
        self.state.files.link_target(self.place.node).map_err(|error| fact(&error))
    }

    fn prepare(&self, caller: &Caller, attributes: &Attributes, want: Access, owner_may: bool) -> Result<()> {
        if self.kind == Kind::Folder {
            return Err(Error::IsFolder);
        }
        if want.contains(Access::WRITE) {
            return Err(Error::ReadOnly);
        }
        let is_owners = owner_may && caller.uid == attributes.uid;
        let granted = self.access(caller, attributes, want)?;
        if is_owners || granted.contains(want) { Ok(()) } else { Err(Error::AccessDenied) }
    }

    fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> Result<usize> {
        if wait == Wait::Never {
            return Err(Error::WouldBlock); // the image may be on a disk
        }
        if self.is_sidecar() {
            return self.read_sidecar(offset, length, into);
        }
        let left = self.node()?.size.saturating_sub(offset).min(length as u64) as usize;
        if left == 0 { Ok(0) } else { self.state.read(self.place, Fork::Data, (offset, left), into) }
    }

    /// Holes are not told apart: they read as zeros.
    fn seek(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        let size = self.attributes()?.size;
        Ok((offset < size).then_some(if data { offset } else { size }))
    }

    fn xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        match self.part {
            FilePart::Whole => self.state.xattr(self.place, self.long_name.as_deref(), name),
            FilePart::Sidecar => Err(Error::NoSuchAttribute),
        }
    }

    fn list_xattrs(&self) -> Result<Vec<Vec<u8>>> {
        match self.part {
            FilePart::Whole => self.state.xattrs(self.place, self.long_name.as_deref()),
            FilePart::Sidecar => Ok(Vec::new()),
        }
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn through(&self, call: Call) -> Result<&dyn Object> {
        Err(if call.is_change() { Error::ReadOnly } else { Error::NotSupported })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
