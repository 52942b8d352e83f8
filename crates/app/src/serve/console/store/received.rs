//! A file that a person sends to the console. If it is not whole, nothing of it stays.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Bytes, Error, Found, Kind, NewKind, PersonalShare, ReceivedFile, RenameMode, Stability};

/// The name of a file that is to replace another one, until it is whole. Clients that hide names with a point do not show it.
const UNFINISHED: &str = ".fourfold-upload-";

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A file that is being received.
pub(super) struct Upload {
    place: PersonalShare,
    folder: Found,
    found: Found,
    /// Its name until it is whole,
    name: Vec<u8>,
    /// and then, if that is another one.
    wanted: Option<Vec<u8>>,
    path: Vec<u8>,
    length: u64,
    is_whole: bool,
}

impl Upload {
    /// Makes the file, with the name that it is to have, or beside the one that it replaces.
    pub(super) fn begin(place: PersonalShare, path: &[u8], replaces: bool) -> Result<Self, Error> {
        let (folder, last) = place.folder_of(path)?;
        let mode = place.volume.unsaid_mode(false);
        let make = |place: &PersonalShare, name: &[u8]| {
            place.work("CREATE", async |place| {
                place.volume.create(&place.actor, &folder, name, NewKind::File, mode)
            })
        };
        let (name, wanted, made) = match make(&place, last) {
            Err(Error::Exists) if replaces => {
                let there = place.volume.lookup(&place.actor.caller, &folder.object, last)?;
                if there.attributes.kind != Kind::File {
                    return Err(Error::Exists);
                }
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                let name = format!("{UNFINISHED}{}-{number}", std::process::id()).into_bytes();
                let made = make(&place, &name)?;
                (name, Some(last.to_vec()), made)
            }
            made => (last.to_vec(), None, made?),
        };
        let found = made.found;
        Ok(Self { place, folder, found, name, wanted, path: path.to_vec(), length: 0, is_whole: false })
    }
}

impl ReceivedFile for Upload {
    fn append(&mut self, data: Bytes) -> Result<(), Vec<String>> {
        let (length, found) = (data.len() as u64, &self.found);
        let written = self.place.work("WRITE", async |place| {
            let (volume, at) = (place.volume.stateless(), self.length);
            volume.write_only(&place.actor, found, at, data.clone(), Stability::Unstable, None).await
        });
        written.map_err(|error| self.place.explained(error, &self.path))?;
        self.length += length;
        Ok(())
    }

    fn end(mut self: Box<Self>) -> Result<Vec<String>, Vec<String>> {
        if let Some(wanted) = &self.wanted {
            let moved = self.place.work("RENAME", async |place| {
                let (folder, mode) = (&self.folder, RenameMode::Replace);
                place.volume.rename(&place.actor, (folder, &self.name), (folder, wanted), mode)
            });
            moved.map_err(|error| self.place.explained(error, &self.path))?;
        }
        self.is_whole = true;
        self.place.log("file uploaded", &self.path);
        Ok(Vec::new())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.is_whole {
            return;
        }
        let removed = self.place.work("REMOVE", async |place| {
            place.volume.remove(&place.actor, &self.folder, &self.name, Kind::File)
        });
        if let Err(error) = removed {
            tracing::warn!(%error, share = self.place.share.name, "a part of an uploaded file stays");
        }
    }
}
