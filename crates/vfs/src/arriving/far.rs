//! Marks of files whose path on the other server is too long for an extended attribute: ext4 has room for about 4 KB. The path is
//! then a file of the store, in the folder of the file that it belongs to, which goes when the file goes.

use super::ArrivalState;
use super::mark::{self, Mark};
use crate::backend::{NewKind, Object, RenameMode, Stability, Wait};
use crate::caller::server;
use crate::streams::store;
use crate::{Access, Error, Result};

/// The longest path that is read.
const LONGEST: usize = 1 << 20;

impl ArrivalState {
    /// The mark of a file or folder, with its path.
    pub(super) fn mark(&self, object: &dyn Object) -> Result<Option<Mark>> {
        match mark::read(object)? {
            Some(mark) if mark.is_far => Ok(Some(Mark { path: self.far_path(object)?, ..mark })),
            mark => Ok(mark),
        }
    }

    /// Writes a mark. If no attribute can hold the path, it goes to the store first.
    pub(super) fn write_mark(&self, object: &dyn Object, mark: &Mark) -> Result<()> {
        match mark::write(object, mark) {
            Err(Error::FileTooLarge | Error::NoRoomForAttribute) if !mark.is_far => {
                self.keep_path(object, &mark.path)?;
                mark::write(object, &Mark { is_far: true, ..mark.clone() })
            }
            other => other,
        }
    }

    /// Removes a mark.
    pub(super) fn remove_mark(&self, object: &dyn Object) -> Result<()> {
        let is_far = mark::read(object).is_ok_and(|mark| mark.is_some_and(|mark| mark.is_far));
        mark::remove(object)?;
        if is_far { self.forget_path(object) } else { Ok(()) }
    }

    fn far_path(&self, object: &dyn Object) -> Result<String> {
        let folder = self.streams.own_store.folder(&object.key())?.ok_or(Error::Io)?;
        let there = folder.lookup(server(), store::ARRIVING)?;
        let mut path = Vec::new();
        there.object.prepare(server(), &there.attributes, Access::READ, true)?;
        there.object.read_at(0, LONGEST, &mut path, Wait::Allowed)?;
        String::from_utf8(path).map_err(|_| Error::Io)
    }

    fn keep_path(&self, object: &dyn Object, path: &str) -> Result<()> {
        let folder = self.streams.own_store.make_folder(&object.key())?;
        match folder.remove(server(), store::UNFINISHED) {
            Ok(()) | Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
        let new = folder.create(server(), store::UNFINISHED, NewKind::File, 0o600)?;
        new.object.prepare(server(), &new.attributes, Access::WRITE, true)?;
        new.object.write_at(server(), 0, path.as_bytes(), Stability::File)?;
        folder.rename(server(), store::UNFINISHED, &*folder, store::ARRIVING, RenameMode::Replace)
    }

    /// Removes the path from the store, if it is there.
    pub(super) fn forget_path(&self, object: &dyn Object) -> Result<()> {
        let Some(folder) = self.streams.own_store.folder(&object.key())? else { return Ok(()) };
        match folder.remove(server(), store::ARRIVING) {
            Ok(()) | Err(Error::NotFound) => self.streams.own_store.drop_empty(&object.key()),
            Err(error) => Err(error),
        }
    }
}
