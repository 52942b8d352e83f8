//! Which folders may be shared over the network: those below `share-roots` and below the shares that there are.
//!
//! System folders are refused there, too, also where a link, a bind mount or `..` leads to them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use formats::mountinfo::{self, MountInfo};

/// Folders that no change over the network shares, with all in them.
const SYSTEM: [&str; 13] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys",
    "/usr",
];
/// This one has data of people in it, too.
const VARIOUS: &str = "/var";
/// Folders in those above that have data of people.
const EXCEPT: [&str; 6] = ["/run/media", "/var/ftp", "/var/home", "/var/mnt", "/var/srv", "/var/www"];
/// File systems by which the kernel shows itself.
const OF_KERNEL: [&str; 9] =
    ["cgroup", "cgroup2", "configfs", "debugfs", "devtmpfs", "proc", "securityfs", "sysfs", "tracefs"];
/// The most mounts that are looked at.
const MOST_MOUNTS: usize = 100_000;

/// What may be shared.
pub(super) struct Roots<'a> {
    /// `share-roots`.
    pub(super) roots: &'a [PathBuf],
    /// The folders of shares that there are.
    pub(super) shares: &'a [PathBuf],
    /// The server's own state.
    pub(super) state: &'a Path,
}

impl Roots<'_> {
    /// Refuses a folder that may not be shared by a change over the network.
    pub(super) fn check(&self, folder: &Path) -> Result<(), String> {
        let shown = folder.display();
        let real = folder
            .canonicalize()
            .map_err(|error| format!("{shown}: {error}; make the folder on the server first"))?;
        let list = fs::read("/proc/self/mountinfo").map_err(|error| {
            format!(
                "{shown} cannot be shared over the network, as the mounts of this host are unknown: {error}"
            )
        })?;
        let mounts: Vec<_> = mountinfo::mounts(&list).take(MOST_MOUNTS).collect();
        let roots = self.roots.iter().chain(self.shares).filter_map(|root| root.canonicalize().ok());
        let root = roots.filter(|root| real.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        let on_host = "only a command on the server shares it (`fourfold create NAME --path DIR`)";
        let named = root.as_deref().map(|root| aliases(root, &mounts)).unwrap_or_default();
        if let Some(system) =
            self.system(&real, &named, &mounts).or_else(|| self.same_as_system(&real, &named))
        {
            return Err(format!(
                "{shown} is, or has in it, the system folder {}: {on_host}",
                system.display()
            ));
        }
        if root.is_some() {
            return Ok(());
        }
        let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        Err(format!("{shown} lies in none of `share-roots` ({}): {on_host}", roots.join(", ")))
    }

    /// The system folder that a folder is, lies in or contains, by one of the paths that lead to it. One that has the root
    /// itself in it, by one of the paths `named`, does not count: who wrote the root has meant that.
    fn system(&self, real: &Path, named: &[PathBuf], mounts: &[MountInfo]) -> Option<PathBuf> {
        let below = mounts.iter().filter(|mount| mount.point.starts_with(real) && mount.point != real);
        let kernel = below.clone().find(|mount| OF_KERNEL.contains(&mount.kind.as_str()));
        let state = resolved(self.state);
        let all = below.map(|mount| mount.point.as_path()).chain([real]);
        let mut paths = all.flat_map(|path| aliases(path, mounts));
        kernel
            .map(|mount| mount.point.clone())
            .or_else(|| paths.find_map(|path| system(&path, named, &state)))
    }

    /// The same by the identities of the folders above, which names in upper and lower case do not hide.
    fn same_as_system(&self, real: &Path, named: &[PathBuf]) -> Option<PathBuf> {
        let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
        let top = identity(Path::new("/"));
        if identity(real) == top {
            return Some("/".into());
        }
        let systems =
            SYSTEM.iter().map(Path::new).filter(|system| !is_meant(system, named)).chain([self.state]);
        let systems: Vec<_> = systems.filter_map(|system| Some((identity(system)?, system))).collect();
        for above in real.ancestors().take_while(|above| identity(above) != top) {
            if EXCEPT.iter().any(|except| above == Path::new(except)) {
                return None;
            }
            if let Some((_, system)) = systems.iter().find(|(one, _)| Some(*one) == identity(above)) {
                return Some((*system).to_owned());
            }
        }
        None
    }
}

/// Whether the root of a share lies in a system folder.
fn is_meant(system: &Path, named: &[PathBuf]) -> bool {
    named.iter().any(|root| root != system && root.starts_with(system))
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The system folder that a path is, lies in or contains.
fn system(path: &Path, named: &[PathBuf], state: &Path) -> Option<PathBuf> {
    if path == Path::new("/") {
        return Some(path.to_owned());
    }
    if path.starts_with(state) {
        return Some(state.to_owned());
    }
    if EXCEPT.iter().any(|except| path.starts_with(except)) {
        return None;
    }
    let mut all = SYSTEM.iter().chain([&VARIOUS]).map(Path::new).filter(|system| !is_meant(system, named));
    all.find(|system| path.starts_with(system)).map(Path::to_owned)
}

/// All paths that lead to what is at this path, by the mounts of its file system.
fn aliases(path: &Path, mounts: &[MountInfo]) -> Vec<PathBuf> {
    let holds = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // Of several mounts at one place the last one counts.
    let Some(mount) = holds.max_by_key(|mount| mount.point.as_os_str().len()) else {
        return vec![path.to_owned()];
    };
    let inner = path.strip_prefix(&mount.point).unwrap_or(Path::new(""));
    let inside = joined(&mount.root, inner);
    let others = mounts.iter().filter(|other| other.device == mount.device);
    let alias = |other: &MountInfo| Some(joined(&other.point, inside.strip_prefix(&other.root).ok()?));
    others.filter_map(alias).chain([path.to_owned()]).collect()
}

fn joined(path: &Path, inner: &Path) -> PathBuf {
    if inner.as_os_str().is_empty() { path.to_owned() } else { path.join(inner) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
30 22 8:2 / /srv rw,relatime shared:1 - xfs /dev/sdb1 rw\n\
31 30 8:1 /etc/ssl /srv/certificates rw - ext4 /dev/sda1 rw\n\
32 30 8:1 / /srv/all rw - ext4 /dev/sda1 rw\n\
33 30 8:2 /people /home rw - xfs /dev/sdb1 rw\n\
34 30 0:5 / /srv/chroot/dev rw - devtmpfs udev rw\n\
35 30 8:1 /var/lib/state /srv/two\\040words rw - ext4 /dev/sda1 rw\n";

    fn refused(path: &str) -> Option<String> {
        let roots = Roots { roots: &[], shares: &[], state: Path::new("/data/state") };
        roots
            .system(Path::new(path), &[], &mountinfo::mounts(MOUNTS.as_bytes()).collect::<Vec<_>>())
            .map(|system| system.display().to_string())
    }

    #[test]
    fn system_folders_are_found_behind_bind_mounts() {
        assert_eq!(refused("/srv/certificates"), Some("/etc".into()));
        assert_eq!(refused("/srv/certificates/private"), Some("/etc".into()));
        assert_eq!(refused("/srv/all"), Some("/".into()));
        assert_eq!(refused("/srv/all/root/x"), Some("/root".into()));
        assert_eq!(refused("/srv/all/home/ada"), None);
        assert_eq!(refused("/srv/two words"), Some("/var".into()));
        assert_eq!(refused("/srv/chroot"), Some("/srv/chroot/dev".into()));
        assert_eq!(refused("/srv/all/data/state/x"), Some("/data/state".into()));
        assert_eq!(refused("/srv").as_deref(), Some("/srv/chroot/dev"), "it has system folders in it");
        for free in [
            "/srv/films",
            "/home/ada",
            "/srv/people",
            "/data",
            "/var/www/site",
            "/run/media/ada/disk",
            "/opt",
        ] {
            assert_eq!(refused(free), None, "{free}");
        }
        for system in
            ["/", "/etc", "/proc/1", "/usr/share", "/var", "/var/lib", "/root", "/run", "/data/state"]
        {
            assert!(refused(system).is_some(), "{system}");
        }
    }

    #[test]
    fn a_folder_must_lie_in_a_root_or_in_a_share() {
        let folder = tempfile::tempdir_in("/tmp").unwrap(); // TMPDIR may be in a system folder
        let at = |name: &str| folder.path().join(name);
        for name in ["root/a", "share/b", "other", "state/c"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let (roots, shares) = ([at("root"), "/nonexistent".into()], [at("share")]);
        let state = at("root/../state");
        let check = |path: PathBuf| Roots { roots: &roots, shares: &shares, state: &state }.check(&path);
        for good in ["root", "root/a", "share", "share/b", "root/a/../../share/b"] {
            assert_eq!(check(at(good)), Ok(()), "{good}");
        }
        std::os::unix::fs::symlink(at("other"), at("root/link")).unwrap();
        std::os::unix::fs::symlink("/etc", at("root/etc")).unwrap();
        std::os::unix::fs::symlink(at("state/c"), at("root/state")).unwrap();
        for (bad, why) in [
            ("other", "share-roots"),
            ("root/../other", "share-roots"),
            ("root/link", "share-roots"),
            ("root/etc", "/etc"),
            ("root/missing", "make the folder"),
            ("root/state", "state"),
        ] {
            let told = check(at(bad)).unwrap_err();
            assert!(told.contains(why), "{bad}: {told}");
        }
        let everywhere = [PathBuf::from("/")];
        for system in
            ["/", "/etc", "/srv/../etc", "/usr/lib", "/proc/self/root/etc", "/proc/self/root", "/dev/shm"]
        {
            let roots = Roots { roots: &everywhere, shares: &[], state: &state };
            let told = roots.check(Path::new(system)).unwrap_err();
            assert!(told.contains("system folder"), "{system}: {told}");
        }
    }
}
