//! The folders of the shares: what their file systems can do, and how full they are.

use std::path::Path;

use admin::{HostAudience, Settings, ShareSettings};
use rustix::fs::{CWD, Mode, OFlags, StatVfs, StatVfsMountFlags, XattrFlags};
use rustix::io::Errno;
use snapshots::{Dataset, Refusal};

use super::DoctorFinding;
use crate::host::here;

/// Less free space than one part in this many is little.
const LITTLE_SPACE: u64 = 20;
/// An attribute of this size holds the resource forks of most files.
const LARGE_ATTRIBUTE: usize = 60_000;
/// File systems of other servers, by `f_type` of statfs(2).
const REMOTE: [(u64, &str); 5] =
    [(0x6969, "NFS"), (0xFF53_4D42, "SMB"), (0xFE53_4D42, "SMB"), (0x0102_1997, "9P"), (0x6573_5546, "FUSE")];

/// Looks at each share and at the state folder.
pub(super) fn look(settings: &Settings) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = settings.shares.iter().flat_map(share).collect();
    findings.extend(settings.shares.iter().filter_map(|share| hosts(share, settings)));
    findings.extend(settings.absent.iter().map(|absent| {
        let why = absent.absence.as_ref().map_or("its folder cannot be used", |absence| &*absence.why);
        let mend = format!(
            "`sudo mkdir -p {0}`, or mount it; a running server serves it within 2 seconds",
            quoted(&absent.path)
        );
        DoctorFinding::problem(about(absent), format!("not served: {why}"), mend)
    }));
    let state = &settings.server.state;
    let place = state.ancestors().find(|folder| folder.exists());
    findings.extend(place.and_then(|place| space("state folder", place)));
    findings
}

fn about(share: &ShareSettings) -> String {
    format!("share {}", share.name)
}

fn share(share: &ShareSettings) -> Vec<DoctorFinding> {
    let (about, path) = (about(share), share.path.as_path());
    let mut findings = Vec::new();
    if let Some((_, name)) = REMOTE.iter().find(|(number, _)| Some(*number) == kind(path)) {
        let found = format!(
            "its folder is on {name}: the server sees changes by others late, and locks bind only here"
        );
        findings.push(DoctorFinding::warning(
            &*about,
            found,
            "share a folder of a local disk, or run Fourfold on the machine that has the disk",
        ));
    }
    findings.extend(space(&about, path));
    if !share.read_only {
        findings.push(attributes(&about, path));
    }
    findings.push(match Dataset::find(path) {
        Ok(_) => DoctorFinding::fine(&*about, "snapshots are possible"),
        Err(refusal) => no_snapshots(about, &refusal),
    });
    findings
}

/// The hosts that NFS gives a share to without a login.
fn hosts(share: &ShareSettings, settings: &Settings) -> Option<DoctorFinding> {
    const MEND: &str = "write `nfs-clients = [\"192.168.1.0/24\"]` in [server] with the hosts that you trust, or `nfs = false` for the share";
    let about = about(share);
    Some(match settings.audience(share)? {
        HostAudience::AllAsBefore => {
            let found =
                "NFS gives it to every host without a login, with any user number, as an earlier version did";
            DoctorFinding::warning(about, found, MEND)
        }
        HostAudience::Hosts(hosts) if hosts.is_empty() && settings.server.has_logins_of_hosts() => {
            DoctorFinding::fine(about, "NFS gives it to clients that log in only")
        }
        HostAudience::Hosts(hosts) if hosts.is_empty() => {
            DoctorFinding::warning(about, "NFS gives it to no host: no host is named", MEND)
        }
        HostAudience::Guests => {
            DoctorFinding::fine(about, "NFS gives it to every host, whose users are guests")
        }
        HostAudience::Rules | HostAudience::Hosts(_) => {
            DoctorFinding::fine(about, "NFS gives it to the hosts that are named")
        }
    })
}

fn no_snapshots(about: String, refusal: &Refusal) -> DoctorFinding {
    let Refusal::NoEngine { kind, .. } = refusal else {
        let mend = "`sudo fourfold doctor` sees more; `fourfold snapshot create` tries it";
        return DoctorFinding::warning(about, format!("no snapshots: {refusal}"), mend);
    };
    let mend = "`sudo fourfold pool create /srv/pool.img 100G /srv/pool`, and move the folder there; or use btrfs, XFS or ZFS";
    DoctorFinding::warning(about, format!("its file system ({kind}) cannot make snapshots"), mend)
}

/// A path as a word of the shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// `f_type` of the file system.
fn kind(path: &Path) -> Option<u64> {
    rustix::fs::statfs(path).ok().map(|found| found.f_type.cast_unsigned() & 0xFFFF_FFFF)
}

fn space(about: &str, path: &Path) -> Option<DoctorFinding> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(judged((about, path), &found))
}

fn judged((about, path): (&str, &Path), found: &StatVfs) -> DoctorFinding {
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let mend = format!(
            "look for errors of the disk in `sudo dmesg`, then {}; or write `read-only = true`",
            remount(path, "rw")
        );
        return DoctorFinding::problem(about, "its file system is mounted read-only", mend);
    }
    let (free, all) = (found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize);
    let text = format!("{} MiB of {} MiB are free", free >> 20, all >> 20);
    if free < all / LITTLE_SPACE {
        return DoctorFinding::warning(
            about,
            text,
            "remove files or old snapshots (`fourfold snapshot list`, `fourfold snapshot remove`), or add space",
        );
    }
    if found.f_files > 0 && found.f_favail < found.f_files / LITTLE_SPACE {
        let text = format!("{} of {} inodes are free", found.f_favail, found.f_files);
        return DoctorFinding::warning(
            about,
            text,
            "remove small files, or make a new file system with more inodes (`mkfs.ext4 -i 8192`)",
        );
    }
    DoctorFinding::fine(about, text)
}

/// The command that mounts the file system of a path anew with an option.
fn remount(path: &Path, option: &str) -> String {
    format!("`sudo mount -o remount,{option} \"$(findmnt -no TARGET -T {})\"`", quoted(path))
}

/// The attribute that is tried.
const ATTRIBUTE: &str = "user.fourfold.doctor";

/// Tries attributes on a file without a name, which is gone afterwards.
fn attributes(about: &str, path: &Path) -> DoctorFinding {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => file,
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => return attributes_of_folder(about, path),
        Err(error) => {
            let user = if here::privileged() {
                "root".to_owned()
            } else {
                rustix::process::geteuid().as_raw().to_string()
            };
            let mend =
                format!("`sudo chown {user} {}`, or write `read-only = true` for the share", quoted(path));
            return DoctorFinding::problem(
                about,
                format!("the server cannot make files in it: {error}"),
                mend,
            );
        }
    };
    let set = |size| rustix::fs::fsetxattr(&file, ATTRIBUTE, &vec![0; size], XattrFlags::empty());
    match (set(1), set(LARGE_ATTRIBUTE)) {
        (Err(error), _) => no_attributes(about, path, error),
        (Ok(()), Err(_)) => DoctorFinding::fine(
            about,
            "extended attributes, small ones only: larger forks and tags go to the server's own files",
        ),
        (Ok(()), Ok(())) => DoctorFinding::fine(about, "extended attributes, also large ones"),
    }
}

/// The same on a file system without files without names (vfat, NFS): asks for an attribute that the folder does not have.
fn attributes_of_folder(about: &str, path: &Path) -> DoctorFinding {
    match rustix::fs::getxattr(path, ATTRIBUTE, &mut [0; 1]) {
        Ok(_) | Err(Errno::NODATA) => DoctorFinding::fine(about, "extended attributes"),
        Err(error) => no_attributes(about, path, error),
    }
}

fn no_attributes(about: &str, path: &Path, error: Errno) -> DoctorFinding {
    let found = format!(
        "its file system has no extended attributes ({error}): Mac metadata and tags go to sidecar files"
    );
    let mend = format!(
        "{} on ext4; other file systems: move the folder to ext4, XFS or btrfs",
        remount(path, "user_xattr")
    );
    DoctorFinding::warning(about, found, mend)
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
        let level = |found: &StatVfs| judged(("share A", Path::new("/srv")), found).level;
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
        assert_ne!(found.level, Level::Problem, "{found:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let missing = attributes("share A", &folder.path().join("gone"));
        assert_eq!(missing.level, Level::Problem);
    }

    #[test]
    fn commands_can_be_pasted_into_a_shell() {
        assert_eq!(quoted(Path::new("/srv/films")), "/srv/films");
        assert_eq!(quoted(Path::new("/srv/Ada's films")), "'/srv/Ada'\\''s films'");
    }

    #[test]
    fn a_file_system_without_attributes_is_told_from_one_with_them() {
        assert_eq!(attributes_of_folder("share A", Path::new("/proc")).level, Level::Warning);
        let folder = tempfile::tempdir().unwrap();
        let direct = attributes("share A", folder.path()).level;
        assert_eq!(attributes_of_folder("share A", folder.path()).level, direct);
    }
}
