//! The space of a share for backups of Macs that has a limit. All protocols that tell clients the
//! space use this.

use super::{Access, Caller, Kind, Node, Result, Time, Volume};
use crate::backend::{Found, Space, Wait};
use crate::mac::sparse_bundle::{BANDS, INFO, MAX_INFO, SUFFIX, band_size};
use crate::mac::time_machine::{HISTORY, MACHINE, completed, is_damaged, model};

/// What the name of a bundle ends with in which later Macs keep backups.
const BACKUP_SUFFIX: &[u8] = b".backupbundle";
/// The most bundles that are told.
const MOST_BUNDLES: usize = 1000;

/// A bundle into which a Mac backs up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacBackup {
    /// Its name.
    pub name: Vec<u8>,
    /// The largest size of all its bands; `None`: it is not complete.
    pub size: Option<u64>,
    /// When a band was last added or removed.
    pub changed: Time,
    /// When its newest backup was completed, as the Mac has written it: `2026-11-22T20:11:05Z`.
    pub completed: Option<String>,
    /// The Mac has checked it and found it damaged.
    pub is_damaged: bool,
    /// The model of the Mac.
    pub model: Option<String>,
}

impl Volume {
    /// The space for backups: the limit or the space of the file system of this file, whichever is less.
    pub fn backup_space(&self, at: &Node, limit: u64) -> Result<Space> {
        let space = self.space(at)?;
        let left = limit.saturating_sub(used_by_bundles(self)?);
        Ok(Space { total: space.total.min(limit), available: space.available.min(left), ..space })
    }

    /// The bundles in the share's folder, at most 1000, by name.
    pub fn mac_backups(&self) -> Result<Vec<MacBackup>> {
        let root = self.root()?;
        let mut names = Vec::new();
        each_name(self, &root, &mut |name| {
            if (name.ends_with(SUFFIX) || name.ends_with(BACKUP_SUFFIX)) && names.len() < MOST_BUNDLES {
                names.push(name.to_vec());
            }
        })?;
        names.sort();
        Ok(names.into_iter().filter_map(|name| bundle(self, &root.object, name)).collect())
    }
}

/// Bytes that all bundles in the share's folder take. A bundle counts with the largest size of all its bands, so it is
/// enough to count them.
fn used_by_bundles(volume: &Volume) -> Result<u64> {
    let root = volume.root()?;
    let mut bundles = Vec::new();
    each_name(volume, &root, &mut |name| {
        if name.ends_with(SUFFIX) {
            bundles.push(name.to_vec());
        }
    })?;
    Ok(bundles.iter().filter_map(|name| used_by(volume, &root.object, name)).sum())
}

/// `None` for something else than a folder.
fn bundle(volume: &Volume, root: &Node, name: Vec<u8>) -> Option<MacBackup> {
    let ourselves = Caller::root();
    let folder = root.lookup(&ourselves, &name).ok().filter(|found| found.attributes.kind == Kind::Folder)?;
    let list = |name: &[u8]| read(&folder.object.lookup(&ourselves, name).ok()?).ok();
    let bands = folder.object.lookup(&ourselves, BANDS).ok();
    let machine = list(MACHINE).unwrap_or_default();
    Some(MacBackup {
        size: used_by(volume, root, &name),
        changed: bands.map_or(folder.attributes.modified, |bands| bands.attributes.modified),
        completed: list(HISTORY).as_deref().and_then(completed),
        is_damaged: is_damaged(&machine),
        model: model(&machine),
        name,
    })
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

/// The end of a list.
fn read(list: &Found) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    list.object.prepare(&Caller::root(), &list.attributes, Access::READ, true)?;
    let from = list.attributes.size.saturating_sub(MAX_INFO as u64);
    list.object.read_at(from, MAX_INFO, &mut bytes, Wait::Allowed)?;
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
        let history = make(&bundle, std::str::from_utf8(HISTORY).unwrap(), NewKind::File).object;
        let text = b"<key>com.apple.backupd.SnapshotCompletionDate</key><date>2026-11-22T20:11:05Z</date>";
        history.write_at(&actor.caller, MAX_INFO as u64, text, Stability::Unstable).unwrap();
        let bundles = volume.mac_backups().unwrap();
        assert_eq!((bundles.len(), bundles[0].size, bundles[1].size), (2, Some(16_384), None));
        assert_eq!(
            bundles[0].completed.as_deref(),
            Some("2026-11-22T20:11:05Z"),
            "at the end of a long list"
        );
        assert!(bundles[1].completed.is_none() && !bundles[1].is_damaged);
        let (disk, limited) = (volume.space(&root.object).unwrap(), space(20_000));
        assert_eq!((limited.total, limited.available), (20_000, 20_000 - 16_384));
        assert_eq!(space(10_000).available, 0);
        assert_eq!(space(u64::MAX).total, disk.total);
    }
}
