//! Which segments make up an index: one small file, replaced as a whole.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{At, IndexFailure};
use crate::segment::codec;

const NAME: &str = "index.json";
/// The version of the format.
const FORMAT: u32 = 1;

/// The state of an index on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// The attributes that facts refer to by their places.
    attributes: Vec<String>,
    /// The root of the tree: another folder has another index.
    pub(crate) root: Vec<u8>,
    /// Contents are kept.
    pub(crate) contents: bool,
    /// The numbers of the segments, the newest first.
    pub(crate) segments: Vec<u64>,
    /// All of the tree was seen once.
    pub(crate) is_complete: bool,
    /// The server has ended as it should, and nothing was waiting.
    pub(crate) is_clean: bool,
}

impl Manifest {
    pub(crate) fn new(root: &[u8], contents: bool) -> Self {
        Self {
            format: FORMAT,
            attributes: codec::attributes(),
            root: root.to_vec(),
            contents,
            segments: Vec::new(),
            is_complete: false,
            is_clean: false,
        }
    }

    /// Whether an index can go on from it.
    pub(crate) fn is_for(&self, root: &[u8], contents: bool) -> bool {
        let new = Self::new(root, contents);
        (self.format, &self.attributes, &self.root, self.contents)
            == (FORMAT, &new.attributes, &new.root, contents)
    }

    /// `None`: there is no index yet.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, IndexFailure> {
        let path = folder.join(NAME);
        match fs::read(&path) {
            Ok(bytes) => match serde_json::from_slice::<Self>(&bytes) {
                Ok(manifest) => Ok(Some(manifest)),
                Err(_) if serde_json::from_slice::<serde_json::Value>(&bytes).is_ok() => {
                    Err(IndexFailure::OtherVersion { path })
                }
                Err(_) => Err(IndexFailure::damaged(&path, "it is no JSON")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at(&path),
        }
    }

    /// On the disk on return.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), IndexFailure> {
        let (path, new) = (folder.join(NAME), folder.join(format!("{NAME}.new")));
        let bytes = serde_json::to_vec_pretty(self).map_err(std::io::Error::other).at(&path)?;
        let mut file = File::create(&new).at(&new)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).at(&new)?;
        fs::rename(&new, &path).at(&path)?;
        File::open(folder).and_then(|folder| folder.sync_all()).at(folder)
    }
}
