//! The backups of Macs in a share: what the bundles say of themselves, how large the share is said to be, the check of a
//! bundle, and its replacement by an earlier one.

mod checking;
mod image;
mod journal;
mod limits;
mod problem;
mod replacing;
mod sums;

use super::{Access, Caller, Kind, Node, Result, Time, Volume};
use crate::backend::{Found, Wait};
use crate::mac::sparse_bundle::{BANDS, INFO, MAX_INFO, SUFFIX, band_size};
use crate::mac::time_machine::{MacCheck, completions, host_uuid, mac_check, mac_check_date, model};

pub use self::checking::{BandWork, BandsChecked, ImageObserver};
pub use self::image::BackupImage;
pub use self::journal::{BackupJournals, JournalPoint};
pub(crate) use self::journal::{BandJournals, PointBands};
pub use self::limits::BackupLimits;
pub use self::problem::ImageProblem;
pub use self::sums::{BandSum, BandSums};

/// What the name of a bundle ends with in which later Macs keep backups.
const BACKUP_SUFFIX: &[u8] = b".backupbundle";
/// The most bundles that are told.
const MOST_BUNDLES: usize = 1000;

/// A bundle into which a Mac backs up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacBackup {
    /// Its name.
    pub name: Vec<u8>,
    /// The user that it belongs to.
    pub owner: u32,
    /// The largest size of all its bands; `None`: it is not complete.
    pub size: Option<u64>,
    /// The length of a whole band; `None`: it is not complete.
    pub band_size: Option<u64>,
    /// When a band was last added or removed.
    pub changed: Time,
    /// When each backup was completed, the newest last, as the Mac has written it: `2026-11-22T20:11:05Z`. Of many, the last ones.
    pub completions: Vec<String>,
    /// What the Mac has found when it checked the bundle last,
    pub check: Option<MacCheck>,
    /// and when, as it has written it.
    pub check_date: Option<String>,
    /// The model of the Mac.
    pub model: Option<String>,
    /// The hardware UUID of the Mac.
    pub host: Option<String>,
    /// The image is encrypted; `None`: the bundle is not complete.
    pub is_encrypted: Option<bool>,
}

impl MacBackup {
    /// The Mac has checked it and found it damaged.
    pub fn is_damaged(&self) -> bool {
        self.check == Some(MacCheck::Damaged)
    }

    /// When its newest backup was completed.
    pub fn completed(&self) -> Option<&str> {
        self.completions.last().map(String::as_str)
    }
}

/// The name of a bundle without its ending; `None`: it is no bundle's.
pub fn backup_stem(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(SUFFIX).or_else(|| name.strip_suffix(BACKUP_SUFFIX)).filter(|stem| !stem.is_empty())
}

/// The bundles in a share's folder into which Macs back up.
#[derive(Clone, Copy)]
pub struct BackupBundles<'a> {
    volume: &'a Volume,
}

impl Volume {
    /// The bundles in this volume's root into which Macs back up.
    pub fn backup_bundles(&self) -> BackupBundles<'_> {
        BackupBundles { volume: self }
    }
}

impl BackupBundles<'_> {
    /// All of them, at most 1000, by name.
    pub fn all(self) -> Result<Vec<MacBackup>> {
        let root = self.volume.root()?;
        let names = bundle_names(self.volume, &root)?;
        Ok(names.into_iter().filter_map(|name| told(self.volume, &root.object, name)).collect())
    }
}

/// The names of the bundles in the share's folder, at most 1000.
fn bundle_names(volume: &Volume, root: &Found) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    each_name(volume, root, &mut |name| {
        if backup_stem(name).is_some() && names.len() < MOST_BUNDLES {
            names.push(name.to_vec());
        }
    })?;
    names.sort();
    Ok(names)
}

/// `None` for something else than a folder.
fn told(volume: &Volume, root: &Node, name: Vec<u8>) -> Option<MacBackup> {
    let bundle = BackupImage::open(volume, &name).ok()?;
    let machine = bundle.machine().unwrap_or_default();
    let attributes = bundle.folder.attributes;
    Some(MacBackup {
        owner: attributes.uid,
        size: used_by(volume, root, &name),
        band_size: bundle.info.map(|info| info.band_size),
        changed: bundle.bands.as_ref().map_or(attributes.modified, |bands| bands.attributes.modified),
        completions: bundle.history().as_deref().map(completions).unwrap_or_default(),
        check: mac_check(&machine),
        check_date: mac_check_date(&machine),
        model: model(&machine),
        host: host_uuid(&machine),
        is_encrypted: bundle.is_encrypted(),
        name,
    })
}

/// Bytes that a bundle takes: with the largest size of all its bands, so it is enough to count them. `None` for something else
/// than a complete bundle.
fn used_by(volume: &Volume, root: &Node, name: &[u8]) -> Option<u64> {
    let ourselves = Caller::root();
    let bundle = root.lookup(&ourselves, name).ok().filter(|found| found.attributes.kind == Kind::Folder)?;
    let list = bundle.object.lookup(&ourselves, INFO).ok()?;
    let size = band_size(&read_end(&list).ok()?)?;
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
fn read_end(list: &Found) -> Result<Vec<u8>> {
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
    use crate::mac::time_machine::HISTORY;
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
        let space = |limit| {
            let limits = BackupLimits { share: Some(limit), macs: Vec::new() };
            volume.backup_bundles().space(&actor.caller, &root.object, &limits).unwrap()
        };
        let history = make(&bundle, std::str::from_utf8(HISTORY).unwrap(), NewKind::File).object;
        let text = b"<key>com.apple.backupd.SnapshotCompletionDate</key><date>2026-11-22T20:11:05Z</date>";
        history.write_at(&actor.caller, MAX_INFO as u64, text, Stability::Unstable).unwrap();
        let bundles = volume.backup_bundles().all().unwrap();
        assert_eq!((bundles.len(), bundles[0].size, bundles[1].size), (2, Some(16_384), None));
        assert_eq!(bundles[0].completed(), Some("2026-11-22T20:11:05Z"), "at the end of a long list");
        assert!(bundles[1].completed().is_none() && !bundles[1].is_damaged());
        let (disk, limited) = (volume.space(&root.object).unwrap(), space(20_000));
        assert_eq!((limited.total, limited.available), (20_000, 20_000 - 16_384));
        assert_eq!(space(10_000).available, 0);
        assert_eq!(space(u64::MAX).total, disk.total);
    }
}
