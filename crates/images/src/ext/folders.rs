//! Folders: entries one after the other, also where a tree of hashes leads to them.

use super::Volume;
use super::inode::Inode;
use crate::{Error, Result, decode};

/// The longest folder that is read, in bytes.
const MAX_FOLDER: u64 = 256 << 20;
/// An entry without its name.
const ENTRY: usize = 8;

impl Volume {
    /// Calls `found` with the name and the inode number of each entry, `.` and `..` included, until it returns `false`.
    pub(super) fn each_entry(
        &self,
        folder: &Inode,
        mut found: impl FnMut(&[u8], u32) -> Result<bool>,
    ) -> Result<()> {
        if folder.is_inline() {
            return Err(Error::NotSupported("a folder of ext4 that is in its inode".into()));
        }
        let block = self.superblock.block;
        let (mut number, end) = (0, folder.size.min(MAX_FOLDER).div_ceil(block));
        while number < end {
            let run = self.run(folder, number)?;
            let Some(start) = run.start else {
                number += run.count;
                continue;
            };
            number += 1;
            let place = start * block;
            let mut bytes = vec![0; block as usize];
            self.bytes.read_at(place, &mut bytes)?;
            let mut rest = bytes.as_slice();
            while rest.len() >= ENTRY {
                let at = place + (bytes.len() - rest.len()) as u64;
                let (inode, length, name) = decode("folder of ext4", at, rest, |r| {
                    let (inode, length, name) = (r.u32_le()?, r.u16_le()?, r.u8()?);
                    Ok((inode, usize::from(length), usize::from(name)))
                })?;
                // 65,536 does not fit into the field.
                let length = if length == 0 || length == 0xFFFF { bytes.len() } else { length };
                if length < ENTRY + name || length > rest.len() {
                    return Err(Error::damaged("folder of ext4", at, "an entry has an impossible length"));
                }
                if inode != 0 && !found(&rest[ENTRY..ENTRY + name], inode)? {
                    return Ok(());
                }
                rest = &rest[length..];
            }
        }
        Ok(())
    }
}
