//! The file system in a disk image, read-only: what `images` reads, as a tree.
//!
//! ```text
//! Volume ── names of the tree ──► Image ── names, ids, forks of the image ──► images::tree::FileSystem
//! ```
//!
//! * **Identity.** A file has the number that it has in the image. A folder with hard links (the backups of Time Machine on
//!   HFS+) is another folder at each of its places, and so is all below it, so that each folder has one folder above it
//!   (`places`). Keys have the identity of the image, so they last as long as that is served again with the same one.
//! * **Names** are composed. A name that is longer than those of hosts is shortened, as on a host.
//! * **Mac metadata** are in the layout of Netatalk: Finder information in an attribute, the resource fork in a sidecar that
//!   is composed when it is read, extended attributes as they are.
//! * **Rights.** One user sees all, with the right to read. Nobody else sees anything. Every change is refused.

mod describing;
mod listing;
mod names;
mod object;
mod places;

use std::sync::Arc;

use images::tree::{FileSystem, NodeId};
use lock::Mutex;

use self::object::ImageObject;
use self::places::{Place, Places, Watches};
use super::forest::free_device;
use super::{Backend, DataNotice, Found, Limits, Object, Space, WatchId};
use crate::{Error, FileId, HostKey, Kind, LastingKey, Result, ranks};

/// The longest attribute that is told, in bytes.
const LONGEST_XATTR: u32 = 16 << 20;

/// Whose files they are, and how they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageOptions {
    /// The identity of the file system in the keys of files: the same one if the same file system is opened again.
    pub identity: u64,
    /// The user and the group that all files belong to. The user may read all of them.
    pub owner: (u32, u32),
    /// Which permission bits files have.
    pub modes: ShownModes,
}

/// Which permission bits files have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownModes {
    /// Those that say what is possible: the owner reads.
    Private,
    /// Those in the image, for a copy that shall have them. No program runs as another user by them.
    Stored,
}

/// A file system in an image, as a backend.
#[derive(Clone)]
pub struct Image {
    state: Arc<ImageState>,
}

impl Image {
    /// The files of a file system.
    #[must_use]
    pub fn new(files: Arc<dyn FileSystem>, options: ImageOptions) -> Self {
        let device = free_device();
        let (places, watches) = (Mutex::default(), Mutex::default());
        let root = files.root();
        Self { state: Arc::new(ImageState { files, root, device, options, places, watches }) }
    }
}

/// What all objects of an image have in common.
struct ImageState {
    files: Arc<dyn FileSystem>,
    root: NodeId,
    device: u32,
    options: ImageOptions,
    places: Mutex<Places, ranks::ImagePlaces>,
    watches: Mutex<Watches, ranks::ImageWatches>,
}

impl ImageState {
    /// The top folder.
    fn root(&self) -> Place {
        Place::plain(self.root)
    }

    /// Something that may not exist.
    fn found(self: &Arc<Self>, place: Place, long_name: Option<Vec<u8>>) -> Result<Found> {
        let node = self.files.node(place.node).map_err(|error| fact(&error))?;
        let object = ImageObject::of_node(self.clone(), place, node.kind, long_name);
        Ok(Found { attributes: object.attributes_of(&node), object: Arc::new(object) })
    }

    /// The folder that a folder is in.
    fn above(&self, folder: Place) -> Result<Place> {
        if folder == self.root() {
            return Ok(folder);
        }
        if let Some(above) = self.places.lock().above(folder) {
            return Ok(above);
        }
        if !folder.is_plain() {
            return Err(Error::Stale); // it was seen too long ago
        }
        match self.files.parent(folder.node) {
            Ok(above) => Ok(Place::plain(above)),
            Err(images::Error::NotSupported(_) | images::Error::NotFound) => Err(Error::Stale),
            Err(error) => Err(fact(&error)),
        }
    }

    fn id(&self, number: u64) -> FileId {
        FileId::new(self.device, number)
    }
}

impl Backend for Image {
    fn root(&self) -> Result<Found> {
        self.state.found(self.state.root(), None)
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        let (place, is_sidecar) = places::of_key(key, self.state.options.identity).ok_or(Error::Stale)?;
        if !place.is_plain() && !self.state.places.lock().knows(place.appearance) {
            return Err(Error::Stale); // it was seen too long ago
        }
        let found = match self.state.found(place, None) {
            Err(Error::NotFound) => return Err(Error::Stale),
            found => found?,
        };
        if !is_sidecar {
            return Ok(found);
        }
        let object = ImageObject::sidecar(self.state.clone(), place);
        Ok(Found { attributes: object.attributes()?, object: Arc::new(object) })
    }

    /// Each image has a device number of its own.
    fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        Ok(LastingKey { file_system: self.state.options.identity, key: *key })
    }

    fn keys_of(&self, file: &LastingKey, _with_all_mounts: bool) -> Vec<HostKey> {
        let is_here = file.file_system == self.state.options.identity;
        is_here.then_some(file.key).into_iter().collect()
    }

    fn space(&self, _at: &dyn Object) -> Result<Space> {
        let (total, free) = self.state.files.space();
        let files = 1 << 32;
        Ok(Space { total, free, available: 0, files, files_free: 0, block_size: 4096, quota: None })
    }

    fn limits(&self) -> Limits {
        Limits {
            name: 255,
            file_size: i64::MAX as u64,
            links: u32::MAX,
            xattr: LONGEST_XATTR,
            time_step_ns: 1,
        }
    }

    /// Nothing changes, so nothing is ever heard. A watch tells the listings that they stay right.
    fn watch(&self, folder: &dyn Object, _data: DataNotice) -> Option<WatchId> {
        let folder: &ImageObject = folder.as_any().downcast_ref()?;
        (folder.kind() == Kind::Folder).then(|| self.state.watches.lock().add(folder.place()))?
    }

    fn unwatch(&self, watch: WatchId, _data: DataNotice) {
        self.state.watches.lock().remove(watch);
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// What a failure of the image is for clients. Damage is logged here, as its place is known nowhere else.
fn fact(error: &images::Error) -> Error {
    match error {
        images::Error::Damaged { .. } => {
            tracing::warn!(target: "metadata", %error, "a disk image cannot be read");
            Error::Io
        }
        images::Error::NotSupported(what) => {
            tracing::debug!(what, "a disk image has something that is not read");
            Error::NotSupported
        }
        images::Error::Passphrase => Error::AccessDenied,
        images::Error::NotFound => Error::NotFound,
        images::Error::Source(error) => *error,
    }
}
