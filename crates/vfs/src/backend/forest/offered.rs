//! The folder of offered trees, which each folder of the main tree has.

use std::any::Any;
use std::sync::Arc;

use siphasher::sip::SipHasher24;

use auth::Grant;

use super::gates::GatePath;
use super::table::{AttachedTree, ForestState, OfferedNames, Place};
use crate::backend::{Call, Found, ListEntry, NewKind, Object, Stability};
use crate::caller::server;
use crate::permission::by_mode;
use crate::{Access, Attributes, Caller, Error, FileId, HostKey, Kind, Result};

/// The entry for the folder itself, and for the folder above. Those of trees follow.
const SELF: u64 = 1;
const PARENT: u64 = 2;
pub(super) const FIRST_TREE: u64 = 3;

/// A folder that has, for each offered tree, the counterpart of one folder of the main tree.
pub(super) struct OfferedFolder {
    shared: Arc<ForestState>,
    /// The folder of the main tree.
    of: Arc<dyn Object>,
    id: FileId,
    key: HostKey,
}

impl OfferedFolder {
    pub(super) fn new(shared: Arc<ForestState>, of: Arc<dyn Object>, offer: &OfferedNames) -> Result<Self> {
        let key = of.key().on_mount(offer.number).ok_or(Error::NotSupported)?;
        let id = of.id();
        // Mounts inside the main tree may number their folders alike.
        let inode = if id.device == shared.root.1.device {
            id.inode
        } else {
            let mut bytes = id.device.to_be_bytes().to_vec();
            bytes.extend_from_slice(&id.inode.to_be_bytes());
            SipHasher24::new().hash(&bytes) | 1 << 63
        };
        Ok(Self { shared, of, id: FileId::new(offer.device, inode), key })
    }

    /// The gate that the folders at this path are behind, in all trees.
    fn gate(&self, path: &[Vec<u8>]) -> Option<GatePath> {
        self.shared.has_gates().then(|| self.shared.table().gates.of_path(path)).flatten()
    }

    fn grant(&self, caller: &Caller, gate: Option<&GatePath>) -> Option<Grant> {
        let table = self.shared.table();
        gate.and_then(|gate| table.gates.at(gate))
            .map_or(Some(Grant::ReadOnly), |gate| gate.rules.grant(caller))
    }

    /// The folder of a tree that is where this one's is in the main tree, as far as the caller may go.
    fn counterpart(&self, caller: &Caller, tree: &Arc<AttachedTree>, path: &[Vec<u8>]) -> Result<Found> {
        let root = tree.tree.backend.root()?;
        let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
        let found = match names.is_empty() {
            true => root,
            false => match root.object.lookup_path(caller, &names) {
                Err(Error::NotFolder | Error::IsLink) => return Err(Error::NotFound),
                found => found?,
            },
        };
        match found.attributes.kind {
            Kind::Folder => {
                let gate = self.gate(path);
                if self.grant(caller, gate.as_ref()).is_none() {
                    return Err(Error::AccessDenied);
                }
                self.shared.found_behind(Some(tree), found, gate)
            }
            _ => Err(Error::NotFound),
        }
    }
}

impl Object for OfferedFolder {
    fn id(&self) -> FileId {
        self.id
    }

    fn key(&self) -> HostKey {
        self.key
    }

    fn kind(&self) -> Kind {
        Kind::Folder
    }

    fn attributes(&self) -> Result<Attributes> {
        let of = self.of.attributes()?;
        let changed = of.changed.max(self.shared.table().changed);
        Ok(Attributes {
            id: self.id,
            mode: 0o555,
            uid: 0,
            gid: 0,
            links: 2,
            size: 0,
            allocated: 0,
            modified: changed,
            changed,
            ..of
        })
    }

    fn access(&self, caller: &Caller, attributes: &Attributes, want: Access) -> Result<Access> {
        Ok(by_mode(attributes, caller).intersection(want).difference(Access::WRITE))
    }

    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found> {
        let table = self.shared.table();
        let tree = table.offered(name).ok_or(Error::NotFound)?;
        self.counterpart(caller, tree, &self.shared.path_of(&self.of)?)
    }

    fn parent(&self) -> Result<Found> {
        let attributes = self.of.attributes()?;
        self.shared.found(None, Found { object: self.of.clone(), attributes })
    }

    /// Trees in which the folder is missing are left out.
    fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> Result<bool> {
        let path = self.shared.path_of(&self.of)?;
        for (at, name, id) in [(SELF, &b"."[..], self.id), (PARENT, b"..", self.of.id())] {
            if at > cookie && !sink(ListEntry { name, id, kind: Some(Kind::Folder), cookie: at }) {
                return Ok(false);
            }
        }
        for tree in self.shared.table().all.iter().filter(|tree| tree.cookie > cookie) {
            let Place::Offered(name) = &tree.place else { continue };
            let Ok(found) = self.counterpart(server(), tree, &path) else { continue };
            let (id, kind) = (found.object.id(), Some(Kind::Folder));
            if !sink(ListEntry { name, id, kind, cookie: tree.cookie }) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn prepare(&self, _: &Caller, _: &Attributes, want: Access, _: bool) -> Result<()> {
        if want.contains(Access::WRITE) { Err(Error::ReadOnly) } else { Ok(()) }
    }

    fn sync(&self, _: Stability) -> Result<()> {
        Ok(())
    }

    fn list_xattrs(&self) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn create(&self, _: &Caller, _: &[u8], _: NewKind<'_>, _: u32) -> Result<Found> {
        Err(Error::ReadOnly)
    }

    /// It cannot be changed, has no attributes and is no file.
    fn through(&self, call: Call) -> Result<&dyn Object> {
        Err(match call {
            Call::Xattr => Error::NoSuchAttribute,
            Call::ReadLink => Error::NotLink,
            Call::ReadAt | Call::WriteAt | Call::Truncate | Call::Punch | Call::Seek => Error::IsFolder,
            Call::Allocate | Call::Reserve => Error::IsFolder,
            Call::CopyRange | Call::CloneRange => Error::NotSupported,
            _ => Error::ReadOnly,
        })
    }
}
