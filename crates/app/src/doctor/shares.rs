//! The folders of the shares: what their file systems can do, and how full they are.

use std::path::Path;

use admin::{Settings, ShareSettings};
use rustix::fs::{CWD, Mode, OFlags, StatVfs, StatVfsMountFlags, XattrFlags};
use rustix::io::Errno;
use snapshots::Dataset;

use super::Finding;

/// Less free space than one part in this many is little.
const LITTLE_SPACE: u64 = 20;
/// An attribute of this size holds the resource forks of most files.
const LARGE_ATTRIBUTE: usize = 60_000;
/// File systems of other servers, by `f_type` of statfs(2).
const REMOTE: [(u64, &str); 5] =
    [(0x6969, "NFS"), (0xFF53_4D42, "SMB"), (0xFE53_4D42, "SMB"), (0x0102_1997, "9P"), (0x6573_5546, "FUSE")];

/// Looks at each share and at the state folder.
pub(super) fn look(settings: &Settings) -> Vec<Finding> {
    let mut findings: Vec<Finding> = settings.shares.iter().flat_map(share).collect();
    findings.extend(settings.absent.iter().map(|absent| {
        let why = absent.absence.as_ref().map_or("its folder cannot be used", |absence| &*absence.why);
        let mend = "make or mount the folder; a running server serves it within 2 seconds then";
        Finding::problem(about(absent), format!("not served: {why}"), mend)
    }));
    let state = &settings.server.state;
    let place = state.ancestors().find(|folder| folder.exists());
    findings.extend(place.and_then(|place| space("state folder", place)));
    findings
}

fn about(share: &ShareSettings) -> String {
    format!("share {}", share.name)
}

fn share(share: &ShareSettings) -> Vec<Finding> {
    let (about, path) = (about(share), share.path.as_path());
    let mut findings = Vec::new();
    if let Some((_, name)) = REMOTE.iter().find(|(number, _)| Some(*number) == kind(path)) {
        let found = format!(
            "its folder is of {name}: changes that others make there are seen late, and locks bind only here"
        );
        findings.push(Finding::warning(
            &*about,
            found,
            "share a folder of a local disk, or let the server there share it",
        ));
    }
    findings.extend(space(&about, path));
    if !share.read_only {
        findings.extend(attributes(&about, path));
    }
    findings.push(match Dataset::find(path) {
        Ok(_) => Finding::fine(&*about, "snapshots are possible"),
        Err(refusal) => Finding::warning(
            &*about,
            format!("no snapshots: {refusal}"),
            "`fourfold pool create` makes a file system with snapshots in a file",
        ),
    });
    findings
}

/// `f_type` of the file system.
fn kind(path: &Path) -> Option<u64> {
    rustix::fs::statfs(path).ok().map(|found| found.f_type.cast_unsigned() & 0xFFFF_FFFF)
}

fn space(about: &str, path: &Path) -> Option<Finding> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(judged(about, &found))
}

fn judged(about: &str, found: &StatVfs) -> Finding {
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let mend = "`mount -o remount,rw`, or write `read-only = true`; the kernel's log may say what is wrong with the disk";
        return Finding::problem(about, "its file system is mounted read-only", mend);
    }
    let (free, all) = (found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize);
    let text = format!("{} MiB of {} MiB are free", free >> 20, all >> 20);
    if free < all / LITTLE_SPACE {
        return Finding::warning(
            about,
            text,
            "remove files or old snapshots (`fourfold snapshot list`), or add space",
        );
    }
    if found.f_files > 0 && found.f_favail < found.f_files / LITTLE_SPACE {
        let text = format!("{} of {} inodes are free", found.f_favail, found.f_files);
        return Finding::warning(
            about,
            text,
            "remove small files, or make the file system anew with more inodes",
        );
    }
    Finding::fine(about, text)
}

/// Tries attributes on a file without a name, which is gone afterwards.
fn attributes(about: &str, path: &Path) -> Option<Finding> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => file,
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => return None, // it has no files without names
        Err(error) => {
            let mend = "give the user of the server the right to write there, or write `read-only = true`";
            return Some(Finding::problem(about, format!("files cannot be made: {error}"), mend));
        }
    };
    let set =
        |size| rustix::fs::fsetxattr(&file, "user.fourfold.doctor", &vec![0; size], XattrFlags::empty());
    Some(match (set(1), set(LARGE_ATTRIBUTE)) {
        (Err(error), _) => {
            let found = format!(
                "its file system has no extended attributes ({error}): Mac metadata and tags go to sidecars"
            );
            Finding::warning(about, found, "use ext4, XFS or btrfs, mounted with user_xattr")
        }
        (Ok(()), Err(_)) => Finding::fine(
            about,
            "extended attributes, small ones only: larger forks and tags go to the server's store",
        ),
        (Ok(()), Ok(())) => Finding::fine(about, "extended attributes, also large ones"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn disk(free: u64, inodes: u64) -> StatVfs {
        let mut found = rustix::fs::statvfs("/").unwrap();
        (found.f_frsize, found.f_blocks, found.f_bavail) = (4096, 1_000_000, free);
        (found.f_files, found.f_favail) = (1000, inodes);
        found.f_flag = StatVfsMountFlags::empty();
        found
    }

    #[test]
    fn full_disks_are_told_before_they_are_full() {
        let level = |found: &StatVfs| judged("share A", found).level;
        assert_eq!(level(&disk(500_000, 500)), Level::Fine);
        assert_eq!(level(&disk(49_000, 500)), Level::Warning);
        assert_eq!(level(&disk(500_000, 40)), Level::Warning);
        let mut mounted = disk(500_000, 500);
        mounted.f_flag = StatVfsMountFlags::RDONLY;
        assert_eq!(level(&mounted), Level::Problem);
    }

    #[test]
    fn trying_attributes_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let found = attributes("share A", folder.path());
        assert!(found.is_none_or(|found| found.level != Level::Problem));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let missing = attributes("share A", &folder.path().join("gone")).unwrap();
        assert_eq!(missing.level, Level::Problem);
    }
}
