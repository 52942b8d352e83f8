//! Where a symbolic link leads inside the volume.

use crate::backend::Found;
use crate::faces::CachingTree;
use crate::names::Folding;
use crate::{Caller, Error, Kind, Result};

/// The most links that are followed for one name.
pub const MAX_LINKS: usize = 40;
/// The most names that are looked up for one link of a listing.
const MAX_STEPS: usize = 64;

impl CachingTree<'_> {
    /// The file or folder that a link in `folder` leads to. `None` if there is no such file, or if the link is absolute,
    /// leads out of the volume, or leads through too many links and names.
    pub fn follow_link(
        &self,
        caller: &Caller,
        folder: &Found,
        link: &Found,
        folding: Folding,
    ) -> Result<Option<Found>> {
        let root = self.volume.root()?.object.key();
        let (mut at, mut links) = (folder.clone(), 0);
        let mut ahead = Vec::new();
        if !push_target(&mut ahead, &link.object.read_link()?) {
            return Ok(None);
        }
        for _ in 0..MAX_STEPS {
            let Some(name) = ahead.pop() else { return Ok(Some(at)) };
            if name == b".." {
                if at.object.key() == root {
                    return Ok(None);
                }
                at = at.object.parent()?;
                continue;
            }
            let found = match self.volume.names().lookup_folded(caller, &at, &name, folding) {
                Ok((_, found)) => found,
                Err(Error::NotFound | Error::NameTooLong | Error::InvalidName | Error::AccessDenied) => {
                    return Ok(None);
                }
                Err(other) => return Err(other),
            };
            match found.attributes.kind {
                Kind::Folder => at = found,
                Kind::Link => {
                    links += 1;
                    if links >= MAX_LINKS || !push_target(&mut ahead, &found.object.read_link()?) {
                        return Ok(None);
                    }
                }
                _ => return Ok(Some(found).filter(|_| ahead.is_empty())),
            }
        }
        Ok(None)
    }
}

/// Puts the names of a link's target on top of the names that are still ahead. `false` if the target is absolute.
fn push_target(ahead: &mut Vec<Vec<u8>>, target: &[u8]) -> bool {
    let names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    ahead.extend(names.rev().map(<[u8]>::to_vec));
    !target.starts_with(b"/")
}
