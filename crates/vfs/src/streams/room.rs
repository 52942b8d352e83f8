//! Room for extended attributes. ext4 gives those of one file about 4 KiB together. What describes a file must be there, so named
//! streams make room for it: the longest moves to the store, as one does that is too long for an attribute.

use super::named::write_prepared;
use super::places::Home;
use super::{File, Streams, found, store};
use crate::backend::{NewKind, Object, RenameMode, Stability};
use crate::{Caller, Error, Result};

/// A stream that is not longer gains nothing: it stays.
const SHORT: usize = 64;

impl Streams {
    /// Does something that sets attributes of a file, which can be repeated. As long as the file has no room for them, the longest of
    /// its named streams moves to the store first.
    pub(crate) fn with_room<T>(&self, file: &File<'_>, mut act: impl FnMut() -> Result<T>) -> Result<T> {
        loop {
            match act() {
                Err(Error::NoRoomForAttribute) if self.move_longest(file)? => {}
                other => return other,
            }
        }
    }

    /// `false` if no stream can make room.
    fn move_longest(&self, file: &File<'_>) -> Result<bool> {
        let longest = self.attributes(file.object)?.into_iter().max_by_key(|(_, value)| value.len());
        let Some((name, value)) = longest.filter(|(_, value)| value.len() > SHORT) else { return Ok(false) };
        self.spill(file, &name, &value, |_| Ok(()))?;
        while let Some(home @ (Home::Xattr(..) | Home::Samba(..))) = self.home(file, &name)? {
            self.clear_home(file, &home)?;
        }
        Ok(true)
    }

    /// Makes a file of the store with this value, changed by `change`, appear whole.
    pub(super) fn spill(
        &self,
        file: &File<'_>,
        name: &[u8],
        value: &[u8],
        change: impl FnOnce(&dyn Object) -> Result<()>,
    ) -> Result<()> {
        let root = Caller::root();
        let folder = self.own_store.make_folder(&file.key())?;
        found(folder.remove(&root, store::UNFINISHED))?;
        let new = folder.create(&root, store::UNFINISHED, NewKind::File, 0o600)?.object;
        store::note_name(&*new, name)?;
        write_prepared(&*new, 0, value)?;
        change(&*new)?;
        new.sync(Stability::File)?; // the attribute goes next, and must not be all there was
        let stream = store::stream_file(name);
        folder.rename(&root, store::UNFINISHED, &*folder, &stream, RenameMode::Replace)?;
        self.own_store.note_change();
        Ok(())
    }
}
