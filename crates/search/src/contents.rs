//! What the contents of files say: who reads them for an index, and how a file of the tree is given to that.

use vfs::backend::{Found, Wait};
use vfs::{Access, Caller, Result, Volume};

use crate::entry::Contents;

/// Reads the contents of files for an index.
pub trait ContentReader: Send + Sync {
    /// Whether contents of a file of this name and length can say anything.
    fn is_of_interest(&self, name: &str, length: u64) -> bool;

    /// What the contents say; `read_at` reads up to so many bytes at a place. `None`: nothing.
    fn read(
        &self,
        name: &str,
        length: u64,
        read_at: &mut dyn FnMut(u64, usize) -> Result<Vec<u8>>,
    ) -> Option<Contents>;
}

/// Reads the contents of a file.
pub(crate) fn read_contents(
    volume: &Volume,
    reader: &dyn ContentReader,
    folder: &Found,
    name: &[u8],
) -> Option<Contents> {
    let caller = Caller::root();
    let file = volume.lookup(&caller, &folder.object, name).ok()?;
    file.object.prepare(&caller, &file.attributes, Access::READ, true).ok()?;
    reader.read(&vfs::names::text_view(name), file.attributes.size, &mut |offset, most| {
        let mut bytes = Vec::new();
        file.object.read_at(offset, most, &mut bytes, Wait::Allowed)?;
        Ok(bytes)
    })
}
