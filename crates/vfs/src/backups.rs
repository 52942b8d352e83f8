//! The space of a share for backups of Macs that has a limit. All protocols that tell clients the
//! space use this.

use super::{Access, Caller, Kind, Node, Result, Volume};
use crate::backend::{Found, Space, Wait};
use crate::mac::sparse_bundle::{BANDS, INFO, MAX_INFO, SUFFIX, band_size};

impl Volume {
    /// The space for backups: the limit or the space of the file system of this file, whichever is less.
    pub fn backup_space(&self, at: &Node, limit: u64) -> Result<Space> {
        let space = self.space(at)?;
        let left = limit.saturating_sub(self.used_by_bundles()?);
        Ok(Space { total: space.total.min(limit), available: space.available.min(left), ..space })
    }

    /// Bytes that all bundles in the share's folder take. A bundle counts with the largest size of all its bands, so it is
    /// enough to count them.
    fn used_by_bundles(&self) -> Result<u64> {
        let root = self.root()?;
        let mut bundles = Vec::new();
        each_name(self, &root, &mut |name| {
            if name.ends_with(SUFFIX) {
                bundles.push(name.to_vec());
            }
        })?;
        Ok(bundles.iter().filter_map(|name| used_by(self, &root.object, name)).sum())
    }
}

/// `None` for something else than a complete bundle.
fn used_by(volume: &Volume, root: &Node, name: &[u8]) -> Option<u64> {
    let ourselves = Caller::root();
    let bundle = root.lookup(&ourselves, name).ok().filter(|found| found.attributes.kind == Kind::Folder)?;
    let list = bundle.object.lookup(&ourselves, INFO).ok()?;
    let size = band_size(&read(&list).ok()?)?;
    let bands = bundle.object.lookup(&ourselves, BANDS).ok()?;
    let mut count = 0_u64;
    each_name(volume, &bands, &mut |_| count += 1).ok()?;
    count.checked_mul(size)
}

fn each_name(volume: &Volume, folder: &Found, see: &mut impl FnMut(&[u8])) -> Result<()> {
    let mut cookie = 0;
    loop {
        let page = volume.list(&Caller::root(), folder, cookie)?;
        page.named().for_each(|entry| see(entry.name()));
        match page.entries().last() {
            Some(last) if !page.complete => cookie = last.cookie,
            _ => return Ok(()),
        }
    }
}

fn read(list: &Found) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    list.object.prepare(&Caller::root(), &list.attributes, Access::READ, true)?;
    list.object.read_at(0, MAX_INFO, &mut bytes, Wait::Allowed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::memory::Memory;
    use crate::backend::{NewKind, Stability};
    use crate::state::{ClientId, Party};
    use crate::{Actor, VolumeOptions};

    #[test]
    fn a_bundle_takes_its_bands_whether_they_are_full_or_not() {
        let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
        let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
        let make = |folder: &Found, name: &str, kind| {
            volume.create(&actor, folder, name.as_bytes(), kind, 0o755).unwrap().found
        };
        let root = volume.root().unwrap();
        let bundle = make(&root, "b.sparsebundle", NewKind::Folder);
        make(&root, "empty.sparsebundle", NewKind::Folder);
        let list = make(&bundle, "Info.plist", NewKind::File).object;
        let text = b"<key>band-size</key><integer>8192</integer>";
        list.write_at(&actor.caller, 0, text, Stability::Unstable).unwrap();
        let bands = make(&bundle, "bands", NewKind::Folder);
        for band in ["0", "a1"] {
            make(&bands, band, NewKind::File);
        }
        let space = |limit| volume.backup_space(&root.object, limit).unwrap();
        let (disk, limited) = (volume.space(&root.object).unwrap(), space(20_000));
        assert_eq!((limited.total, limited.available), (20_000, 20_000 - 16_384));
        assert_eq!(space(10_000).available, 0);
        assert_eq!(space(u64::MAX).total, disk.total);
    }
}
