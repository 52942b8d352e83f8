//! An entry of the tree as a message.

use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Stat, readlinkat};

use super::Tree;
use crate::failure::{Failure, Result};
use crate::host;
use crate::keys::{ACL_OF_XFS, MOVING, OWNER, SIDECAR};
use crate::receiver::PARTIAL;
use crate::wire::{Entry, Kind, Owner, Place};

/// Before the name of a file: its sidecar.
pub(crate) const SIDECAR_PREFIX: &[u8] = b"._";

impl Tree {
    /// An entry with its metadata. Its forks are left out.
    pub(super) fn described(&self, place: Place, path: &[u8], stat: &Stat) -> Result<Entry> {
        let (above, name) = host::split(path);
        let folder = self.folder(above)?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if self.is_boundary(stat) => Kind::Boundary,
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => {
                Kind::File { size: stat.st_size.cast_unsigned(), base: None, checksum: None }
            }
            FileType::Symlink => {
                let target = readlinkat(&folder, host::name(name), Vec::new());
                Kind::Link(target.map_err(Failure::io("read", path))?.into_bytes())
            }
            _ => Kind::Special { device: stat.st_rdev },
        };
        let mut xattrs = host::xattrs(&folder, name).map_err(Failure::io("read", path))?;
        let owner = xattrs.iter().find(|(key, _)| key == OWNER).map(|(_, key)| key.clone());
        xattrs.retain(|(key, _)| is_sent(key));
        let owner = match owner {
            None => Owner::Unset,
            Some(_) if matches!(place, Place::Fork(..)) => Owner::Sibling,
            Some(key) => self.owner(&folder, above, name, &key)?,
        };
        Ok(Entry {
            place,
            kind,
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
            is_linked: stat.st_nlink > 1 && !host::is_folder(stat),
            accessed: host::accessed(stat),
            modified: host::modified(stat),
            xattrs,
            owner,
            forks: None,
            source: None,
        })
    }

    /// Whether the file with this key is the one that the name of the sidecar says.
    fn owner(&self, folder: &OwnedFd, above: &[u8], name: &[u8], key: &[u8]) -> Result<Owner> {
        let Some(sibling) = name.strip_prefix(SIDECAR_PREFIX) else { return Ok(Owner::Other) };
        let path = host::join(above, sibling);
        let Some(beside) = host::stat(folder, sibling).map_err(Failure::io("read", &path))? else {
            return Ok(Owner::Other);
        };
        let is_sibling = match &self.live {
            None => self.keys.inode(key) == Some(beside.st_ino),
            // The keys are those of the live files, of which this one may have gone or moved.
            Some(live) => match live.inode(key) {
                None => true,
                Some(_) => live.key(&path).is_ok_and(|live| live == key),
            },
        };
        Ok(if is_sibling { Owner::Sibling } else { Owner::Other })
    }
}

/// Attributes that contain keys are made anew at the destination.
fn is_sent(key: &[u8]) -> bool {
    let is_ours = [OWNER, MOVING, SIDECAR, PARTIAL].contains(&key);
    let is_of_the_system = key.starts_with(b"system.") && !key.starts_with(b"system.posix_acl_");
    !is_ours && !is_of_the_system && !key.starts_with(ACL_OF_XFS)
}
