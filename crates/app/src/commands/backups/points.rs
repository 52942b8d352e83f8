//! `fourfold backups points`: the times from which files can be got back.

use std::process::ExitCode;

use admin::{Settings, ShareSettings};
use images::tree::{Entry, FileSystem, NodeId};
use jiff::Timestamp;
use serde::Serialize;
use vfs::{Kind, Time};

use super::local::{LocalImage, caller, snapshots_of, volume};
use crate::cli::BackupPoints;
use crate::shares::browsing::{ImagePlace, shown_name};
use crate::terminal::out;

/// The folder in which Macs keep their backups on HFS+.
const HFS_BACKUPS: &str = "Backups.backupdb";
/// Entries that are read at once, and that are shown in all.
const PAGE: usize = 256;
const MOST_SHOWN: usize = 10_000;

/// A time from which files can be got back.
#[derive(Debug, Serialize)]
struct RestorePoint {
    /// What `fourfold backups browse` and `cp` take.
    image: String,
    /// The folder in the image, for a backup that the Mac has in it.
    folder: Option<String>,
    /// When it was made.
    taken: String,
    /// What the server's own verification has found, if there was one.
    verified: Option<String>,
}

/// Lists them.
pub(super) fn run(settings: &Settings, asked: &BackupPoints) -> anyhow::Result<ExitCode> {
    let mut points = Vec::new();
    match &asked.mac {
        None => {
            for share in settings.shares.iter().filter(|share| share.time_machine) {
                for bundle in bundles(share, settings)? {
                    let place =
                        ImagePlace { share: share.name.clone(), path: bundle, snapshot: None, is_lun: false };
                    points.extend(of_snapshots(&place, share));
                }
            }
        }
        Some(mac) => {
            let image = LocalImage::find(mac, settings)?;
            points.extend(of_snapshots(&image.place, image.place.settings(settings)?));
            if asked.inside {
                let opened = image.open(asked.passphrase_stdin)?;
                opened
                    .closed
                    .iter()
                    .for_each(|line| out::error_line(format_args!("fourfold: not shown: {line}")));
                let text = image.place.text();
                let inside = inside(opened.files())?.into_iter();
                points.extend(inside.map(|(folder, taken)| RestorePoint {
                    image: text.clone(),
                    folder: Some(folder),
                    taken: shown(taken),
                    verified: None,
                }));
            }
        }
    }
    note_verified(settings, &mut points);
    if asked.json {
        out::json(&points)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells = |point: &RestorePoint| {
        let folder = point.folder.as_ref().map(|folder| format!(":/{folder}")).unwrap_or_default();
        let verified = point.verified.clone().unwrap_or_else(|| "-".into());
        [format!("{}{folder}", point.image), point.taken.clone(), verified]
    };
    let rows =
        [["POINT", "TAKEN", "VERIFIED"].map(str::to_owned)].into_iter().chain(points.iter().map(cells));
    out::print(out::table(rows))?;
    Ok(ExitCode::SUCCESS)
}

/// Says of each point what a running server has found when it verified it. Without a server that is not known.
fn note_verified(settings: &Settings, points: &mut [RestorePoint]) {
    let known = super::all(&settings.server.state).unwrap_or_default();
    for point in points.iter_mut().filter(|point| point.folder.is_none()) {
        let found = known.iter().find_map(|mac| {
            let snapshot = point.image.strip_prefix(&format!("{}/{}@", mac.share, mac.bundle))?;
            mac.points.iter().find(|one| one.snapshot == snapshot)
        });
        point.verified = match found {
            Some(one) if one.damaged => Some("damaged".into()),
            Some(one) => one.verified.map(|secs| shown(Time { secs, nanos: 0 })),
            None => None,
        };
    }
}

/// The bundles at the top of a share.
fn bundles(share: &ShareSettings, settings: &Settings) -> anyhow::Result<Vec<String>> {
    let place = ImagePlace { share: share.name.clone(), path: String::new(), snapshot: None, is_lun: false };
    let (volume, caller) = (volume(&place, settings)?, caller());
    let (root, mut names, mut cookie) = (volume.root()?, Vec::new(), 0);
    loop {
        let page = volume.list(&caller, &root, cookie)?;
        let found = page.named().map(|entry| vfs::names::text_view(entry.name()));
        names.extend(found.filter(|name| shown_name(name.as_bytes()) != *name));
        match page.entries().last() {
            Some(last) if !page.complete => cookie = last.cookie,
            _ => break,
        }
    }
    names.sort();
    Ok(names)
}

/// The image as it is now, and in each snapshot that has it.
fn of_snapshots(place: &ImagePlace, share: &ShareSettings) -> Vec<RestorePoint> {
    let path = &place.path;
    let now = share.path.join(path).symlink_metadata().and_then(|found| found.modified());
    let now = now.ok().filter(|_| place.snapshot.is_none()).map(|changed| RestorePoint {
        image: place.text(),
        folder: None,
        taken: shown(changed.into()),
        verified: None,
    });
    let all = snapshots_of(share).into_iter().filter(|one| one.path.join(path).symlink_metadata().is_ok());
    let of_snapshot = all.map(|one| RestorePoint {
        image: ImagePlace { snapshot: Some(one.name), ..place.clone() }.text(),
        folder: None,
        taken: shown(one.created.into()),
        verified: None,
    });
    now.into_iter().chain(of_snapshot).collect()
}

/// The backups in an image, with their folders, the newest first; else what is at its top.
fn inside(files: &dyn FileSystem) -> images::Result<Vec<(String, Time)>> {
    let top = entries(files, files.root())?;
    let mut all = Vec::new();
    for backups in top.iter().filter(|entry| entry.name == HFS_BACKUPS) {
        for machine in entries(files, backups.node)?.iter().filter(|entry| entry.kind == Kind::Folder) {
            let made = entries(files, machine.node)?;
            for backup in made.into_iter().filter(|entry| entry.kind == Kind::Folder) {
                let folder = format!("{HFS_BACKUPS}/{}/{}", machine.name, backup.name);
                all.push((folder, files.node(backup.node)?.created));
            }
        }
    }
    if all.is_empty() {
        for entry in top {
            let taken = files.node(entry.node).map(|node| node.modified).unwrap_or_default();
            all.push((entry.name, taken));
        }
    }
    all.sort_by_key(|(_, taken)| std::cmp::Reverse(*taken));
    Ok(all)
}

fn entries(files: &dyn FileSystem, folder: NodeId) -> images::Result<Vec<Entry>> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = files.entries(folder, after.as_deref(), PAGE)?;
        all.extend(page.entries);
        match page.next {
            Some(next) if all.len() < MOST_SHOWN && after.as_ref() != Some(&next) => after = Some(next),
            _ => return Ok(all),
        }
    }
}

fn shown(time: Time) -> String {
    let time = Timestamp::from_second(time.secs).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use images::memory::MemoryFiles;

    use super::*;

    #[test]
    fn backups_on_hfs_are_found_and_the_link_to_the_latest_is_not_one() {
        let mut files = MemoryFiles::new("Time Machine Backups");
        let backups = files.folder(files.root(), HFS_BACKUPS);
        let mac = files.folder(backups, "Ada's Mac");
        for (name, made) in [("2026-11-20-101010", 10), ("2026-11-27-101010", 20)] {
            let folder = files.folder(mac, name);
            files.change(folder, |node| node.created = Time { secs: made, nanos: 0 });
        }
        files.symbolic_link(mac, "Latest", "2026-11-27-101010");
        let names: Vec<String> = inside(&files).unwrap().into_iter().map(|(name, _)| name).collect();
        let expected =
            ["2026-11-27-101010", "2026-11-20-101010"].map(|day| format!("{HFS_BACKUPS}/Ada's Mac/{day}"));
        assert_eq!(names, expected);
    }

    #[test]
    fn another_image_shows_what_is_at_its_top() {
        let mut files = MemoryFiles::new("Disk");
        files.folder(files.root(), "Letters");
        assert_eq!(inside(&files).unwrap()[0].0, "Letters");
    }
}
