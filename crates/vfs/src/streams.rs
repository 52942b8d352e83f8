//! Everything a file is besides its data fork, on the disk: Mac metadata, the resource fork, named
//! streams. Also the code that keeps them with their file when it is moved, replaced or removed.
//! docs/on-disk-format.md has the layouts.
//!
//! The caller holds off concurrent changes to one file; nothing here locks. Bookkeeping is done as the server itself
//! ([`Caller::root`]), after the caller's right to the file has been checked.

mod books;
mod copied;
mod copies;
mod depot;
mod described;
mod elsewhere;
mod following;
mod foreign;
mod fork;
mod fork_part;
mod header;
mod listed;
mod metadata;
mod named;
pub(crate) mod pair;
mod places;
mod raw;
mod relayout;
mod room;
mod seen;
mod server_folders;
pub(crate) mod sidecar;
pub(crate) mod store;
pub(crate) mod stores;
mod style;
#[cfg(test)]
mod tests;
mod twins;
mod view;
pub(crate) mod xattrs;

use std::sync::Arc;

use lock::Mutex;

pub use self::copied::rekey_copy;
pub use self::copies::Besides;
use self::depot::Depots;
pub(crate) use self::described::{MetadataWithStreams, OfMac, is_of_mac};
pub use self::fork::Fork;
pub(crate) use self::fork_part::{ForkPart, PartWrite};
use self::header::ServerFiles;
pub(crate) use self::metadata::{
    has_fork_or_moves, has_own, load_alone, load_from, names, store_alone, store_first,
};
pub use self::named::StreamInfo;
pub(crate) use self::named::has_stream;
use self::pair::SidecarMoves;
pub use self::pair::SidecarPairs;
pub use self::raw::{MOST_SAVED, Raw, RawFile, RawPlace};
use self::relayout::Layouts;
use self::seen::SidecarViews;
pub use self::server_folders::ServerFolders;
use self::server_folders::{AnyFolders, LookedAt, OtherServers};
pub use self::store::StreamStore;
pub(crate) use self::store::find_or_make;
use self::stores::{OfOneVolume, Stores};
pub use self::style::Style;
use self::twins::Annotations;
pub use self::view::{SidecarFiles, SidecarOwner, SidecarView, SyntheticSidecar};
use super::{Access, Caller, Error, HostKey, Kind, Result};
use crate::backend::{Backend, Object};
use crate::mac::layout;
pub use crate::names::own::STORE;
use crate::ranks;

/// The [`HostKey`] of the file that a sidecar belongs to. On the sidecar.
pub(crate) const OWNER: &[u8] = b"user.fourfold.owner";
/// The fingerprint of the sidecar's head that the model knows already. On the sidecar.
const ABSORBED: &[u8] = b"user.fourfold.absorbed";
/// Where a file's sidecar is, or was before the file was last moved. On the file. If the file is not there any more, a
/// crash or a program on the host has separated them.
pub(crate) const MOVING: &[u8] = b"user.fourfold.moving";
/// Where Netatalk's files of a file are while it moves. On the file.
const MOVING_BOOKS: &[u8] = b"user.fourfold.books";
/// The [`HostKey`] of the sidecar that a client wrote as a file. On the file.
pub(crate) const SIDECAR: &[u8] = b"user.fourfold.sidecar";

/// A file by its place: the folder, its stored name there, and the file itself.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// The folder it is in.
    pub folder: &'a dyn Object,
    /// Its stored name.
    pub name: &'a [u8],
    /// The file or folder itself.
    pub object: &'a dyn Object,
}

impl File<'_> {
    fn sidecar_name(&self) -> Vec<u8> {
        layout::sidecar_name(self.name)
    }

    fn key(&self) -> HostKey {
        self.object.key()
    }

    /// Fails unless the caller may read or write the file's contents. An owner always may.
    fn require(&self, caller: &Caller, want: Access) -> Result<()> {
        if !matches!(self.object.kind(), Kind::File | Kind::Folder) {
            return Err(Error::NotSupported);
        }
        let attributes = self.object.attributes()?;
        let granted = self.object.access(caller, &attributes, want)?;
        if granted.contains(want) || attributes.uid == caller.uid { Ok(()) } else { Err(Error::AccessDenied) }
    }
}

/// The streams and metadata of one volume's files.
pub struct Streams {
    backend: Arc<dyn Backend>,
    /// The server's own store, for what it cannot keep beside a file.
    pub own_store: StreamStore,
    /// Sidecars that moved with their files lately, for clients that then want to move them too.
    moved: Mutex<SidecarMoves, ranks::MovedSidecars>,
    /// Where clients saw sidecars that are not on the disk.
    seen: Mutex<SidecarViews, ranks::SeenSidecars>,
    /// Folders in which those of other servers were looked for.
    looked_at: Mutex<LookedAt, ranks::SeenSidecars>,
    /// What other servers have in any folder.
    any: AnyFolders,
    /// Whether Netatalk has any at the root or in one of the first folders: new files get them, too, unless their folder tells
    /// another layout.
    apple_double: bool,
    /// The layout of what is new, where neither the file nor its folder tells it.
    style: Style,
    /// Whether that is the layout of all that is written.
    forced: bool,
}

impl Streams {
    /// The streams of the files on this backend, which shares nothing else with other volumes.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self::at(backend.clone(), Arc::new(OfOneVolume::new(backend)))
    }

    /// The streams of the files on this backend, with their stores there.
    pub(crate) fn at(backend: Arc<dyn Backend>, stores: Arc<dyn Stores>) -> Self {
        Self {
            own_store: StreamStore::new(backend.clone(), stores),
            backend,
            moved: Mutex::default(),
            seen: Mutex::default(),
            looked_at: Mutex::default(),
            any: AnyFolders::default(),
            apple_double: false,
            style: Style::default(),
            forced: false,
        }
    }

    /// Files and their sidecars, moved and removed as one.
    pub fn pairs(&self) -> SidecarPairs<'_> {
        SidecarPairs { streams: self }
    }

    /// Sidecars as files that clients see.
    pub fn sidecar_files(&self) -> SidecarFiles<'_> {
        SidecarFiles { streams: self }
    }

    /// The layouts that what a file has can be given.
    pub(crate) fn layouts(&self) -> Layouts<'_> {
        Layouts { streams: self }
    }

    /// The tags, labels and comments of files.
    pub(crate) fn annotations(&self) -> Annotations<'_> {
        Annotations { streams: self }
    }

    /// Samba's depots.
    fn depots(&self) -> Depots<'_> {
        Depots { backend: self.backend.as_ref(), others: self.others() }
    }

    /// The files that other servers keep beside files.
    fn server_files(&self) -> ServerFiles<'_> {
        ServerFiles { backend: self.backend.as_ref(), others: self.others() }
    }

    /// What other servers have in folders.
    pub(crate) fn others(&self) -> OtherServers<'_> {
        OtherServers { backend: self.backend.as_ref(), looked_at: &self.looked_at, any: &self.any }
    }
}

/// Turns "there is none" into `None`.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        // A name too long for the host cannot be there; where there are no attributes, none is there.
        Err(Error::NotFound | Error::NoSuchAttribute | Error::NotSupported | Error::NameTooLong) => Ok(None),
        Err(other) => Err(other),
    }
}
