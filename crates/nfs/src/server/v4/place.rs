//! What a file handle names: a file of a share, or a folder of the pseudo-root, RFC 7530 7.
//!
//! The pseudo-root shows the shares that the client may enter. The name of a share may have several
//! parts, so there are folders on the way to it. The handle of such a folder is a zero byte and the
//! path; handles of files never begin with a zero.

use std::collections::BTreeSet;
use std::sync::Arc;

use vfs::Kind;
use vfs::names::long::{check_long, is_long};
use wire::Writer;

use crate::server::call::Call;
use crate::server::export::Export;
use crate::server::handle::{HandleContent, HandleView};
use crate::server::v3::Target;
use crate::wire::v4::types::{FILE_HANDLE_LIMIT, FileHandle, Status};
use crate::wire::xdr::Encode;

/// The file or folder of a handle.
pub(super) enum HandleTarget {
    /// A folder above the shares, by the names on the way to it: empty, or `parts/of/names`.
    Pseudo(String),
    File(Box<Target>),
    /// The folder of the named attributes of a file, RFC 7530 5.3: [`named`](super::named).
    Attributes(Box<Target>),
    /// One of these. The name is in [`Target::named`].
    Attribute(Box<Target>),
}

impl HandleTarget {
    /// The folder that has all shares.
    pub(super) fn root() -> Self {
        Self::Pseudo(String::new())
    }

    /// The place of a handle.
    pub(super) fn of(call: &Call<'_>, handle: &[u8]) -> Result<Self, Status> {
        let Some(path) = handle.strip_prefix(&[0]) else {
            let named = HandleContent::open(&call.service.secret, handle)?;
            let target = Box::new(call.target_of(named, true)?);
            return Ok(match named.view {
                HandleView::File | HandleView::Sidecar => Self::File(target),
                HandleView::Attributes => Self::Attributes(target),
                HandleView::Attribute(_) => Self::Attribute(target),
            });
        };
        let path = std::str::from_utf8(path).map_err(|_| Status::BADHANDLE)?;
        if path.is_empty() || leads_to_a_share(call, path) {
            return Ok(Self::Pseudo(path.to_owned()));
        }
        Err(Status::STALE)
    }

    /// Writes the handle of this place.
    pub(super) fn put_handle(&self, call: &Call<'_>, w: &mut Writer) -> Result<(), Status> {
        self.with_handle(call, |handle| handle.encode(w))
    }

    /// Passes the handle of this place on.
    pub(super) fn with_handle<T>(
        &self,
        call: &Call<'_>,
        take: impl FnOnce(FileHandle<'_>) -> T,
    ) -> Result<T, Status> {
        match self {
            Self::File(target) => {
                let view = if target.sidecar.is_some() { HandleView::Sidecar } else { HandleView::File };
                let sealed = call.seal_view(target, view, target.found.object.key());
                Ok(take(FileHandle::new(sealed.as_bytes())))
            }
            Self::Attributes(target) | Self::Attribute(target) => {
                Ok(take(FileHandle::new(target.named.seal(&call.service.secret).as_bytes())))
            }
            Self::Pseudo(path) if path.len() >= FILE_HANDLE_LIMIT => Err(Status::NAMETOOLONG),
            Self::Pseudo(path) => Ok(take(FileHandle::new(&[&[0], path.as_bytes()].concat()))),
        }
    }

    /// The folder that a folder is in, RFC 7530 16.14. The folder of a share is in the pseudo-root.
    pub(super) fn parent(&self) -> Result<Self, Status> {
        let target = match self {
            Self::Pseudo(path) if path.is_empty() => return Err(Status::NOENT),
            Self::Pseudo(path) => return Ok(above(path)),
            Self::File(target) => target,
            Self::Attributes(target) => {
                return Ok(Self::File(Box::new(target.sibling(target.found.clone()))));
            }
            Self::Attribute(_) => return Err(Status::NOTDIR),
        };
        match target.found.attributes.kind {
            Kind::Folder if target.sidecar.is_none() => {}
            Kind::Link => return Err(Status::SYMLINK), // of minor version 1
            _ => return Err(Status::NOTDIR),
        }
        if self.is_share() {
            return Ok(above(&target.export.name));
        }
        let parent = target.export.volume.parent(&target.found)?;
        Ok(Self::File(Box::new(target.sibling(parent))))
    }

    /// The same with its present attributes. `None` if they never change, or depend on another file.
    pub(super) fn refreshed(&self) -> Result<Option<Self>, Status> {
        match self {
            Self::File(target) if target.sidecar.is_none() => {
                let mut target = target.clone();
                target.found.attributes = target.found.object.attributes()?;
                Ok(Some(Self::File(target)))
            }
            Self::Attributes(target) | Self::Attribute(target) => {
                let mut target = target.clone();
                target.found.attributes = target.found.object.attributes()?;
                let is_folder = target.named.view == HandleView::Attributes;
                Ok(Some(if is_folder { Self::Attributes(target) } else { Self::Attribute(target) }))
            }
            _ => Ok(None),
        }
    }

    /// The file or folder, unless this is a folder above the shares, which no client can change.
    pub(super) fn target(&self) -> Result<&Target, Status> {
        match self {
            Self::File(target) => Ok(target),
            Self::Pseudo(_) => Err(Status::ROFS),
            // Only files are in such a folder, RFC 7530 5.3.
            Self::Attributes(_) => Err(Status::INVAL),
            Self::Attribute(_) => Err(Status::NOTDIR),
        }
    }

    /// The folder that entries come to or go from. Fails if this is no folder, or cannot be changed.
    pub(super) fn folder(&self) -> Result<&Target, Status> {
        let target = self.target()?;
        match target.found.attributes.kind {
            Kind::Folder if target.sidecar.is_some() => Err(Status::NOTDIR),
            Kind::Folder if !target.writable => Err(Status::ROFS),
            Kind::Folder => Ok(target),
            _ => Err(Status::NOTDIR),
        }
    }

    /// Whether this is the folder of a share.
    pub(super) fn is_share(&self) -> bool {
        let Self::File(target) = self else { return false };
        if target.found.attributes.kind != Kind::Folder {
            return false; // without a question to the host
        }
        let root = target.export.volume.root();
        root.is_ok_and(|root| root.object.id() == target.found.object.id())
    }
}

/// A name that an entry may have, RFC 7530 12.7.
pub(super) fn checked(name: &[u8]) -> Result<&[u8], Status> {
    match name {
        b"" => Err(Status::INVAL),
        b"." | b".." => Err(Status::BADNAME),
        _ if name.contains(&b'/') || name.contains(&0) => Err(Status::BADCHAR),
        _ if is_long(name) && check_long(name).is_err() => Err(Status::NAMETOOLONG),
        _ => Ok(name),
    }
}

fn above(path: &str) -> HandleTarget {
    HandleTarget::Pseudo(path.rsplit_once('/').map_or_else(String::new, |(above, _)| above.to_owned()))
}

/// The path of an entry of a folder of the pseudo-root.
pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// The share of this path, or the folder on the way to one.
pub(super) fn enter(call: &Call<'_>, path: &str, name: &[u8]) -> Result<HandleTarget, Status> {
    let name = std::str::from_utf8(name).map_err(|_| Status::NOENT)?;
    let path = below(path, name);
    let export = call.service.export_named(path.as_bytes());
    if let Some(export) = export.as_ref().filter(|export| export.rule(call.origin).is_some()) {
        let key = export.volume.root()?.object.key();
        let handle =
            HandleContent { tag: export.tag, view: HandleView::File, key }.seal(&call.service.secret);
        return Ok(HandleTarget::File(Box::new(call.target(handle.as_bytes())?)));
    }
    match export.filter(|export| export.is_closed_to(call.origin.address)) {
        _ if leads_to_a_share(call, &path) => Ok(HandleTarget::Pseudo(path)),
        Some(closed) => Err(closed.refuse(call).into()),
        None => Err(Status::NOENT),
    }
}

/// The names that lead from a folder of the pseudo-root to the shares that the client may enter.
pub(super) fn names_below(call: &Call<'_>, path: &str) -> BTreeSet<String> {
    let exports = call.service.exports();
    let open = exports.iter().filter(|export| export.rule(call.origin).is_some());
    let below = open.filter_map(|export| match path {
        "" => Some(export.name.as_str()),
        _ => export.name.strip_prefix(path)?.strip_prefix('/'),
    });
    below.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()).collect()
}

/// Whether the client may enter a share below this path.
fn leads_to_a_share(call: &Call<'_>, path: &str) -> bool {
    let is_below =
        |export: &Arc<Export>| export.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    call.service.exports().iter().any(|export| is_below(export) && export.rule(call.origin).is_some())
}
