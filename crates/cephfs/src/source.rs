//! Which file system: `cephfs:NAME`, or `cephfs:USER@NAME`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

/// The beginning of the text.
const SCHEME: &str = "cephfs:";
/// Ceph's own default.
const USER: &str = "admin";

static CONF: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file with the settings of Ceph, for this process. The first one stays: mounts that are there have read it.
pub fn set_conf(conf: &Path) {
    let _ = CONF.set(conf.into());
}

static IDENTITY: OnceLock<String> = OnceLock::new();

/// Sets who this process is to clusters: a text that no other process has. If it has it again after a restart, the mount of
/// the earlier process is ended at once. Otherwise what that one held blocks others for a minute, unless another process
/// ends it ([`evict`](crate::evict())).
pub fn set_identity(identity: &str) {
    let _ = IDENTITY.set(identity.into());
}

/// Who this process is to clusters.
#[must_use]
pub fn identity() -> Option<&'static str> {
    IDENTITY.get().map(String::as_str)
}

pub(crate) fn conf() -> Option<&'static Path> {
    CONF.get().map(PathBuf::as_path)
}

/// A file system of a cluster, and the Ceph user that the server logs in with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source {
    /// The name of the file system.
    pub file_system: String,
    /// The user of Ceph, without `client.`.
    pub user: String,
}

impl Source {
    /// The text by which the metadata servers of the file system know the session of a process (`uuid`).
    pub(crate) fn session_of(&self, identity: &str) -> String {
        format!("{identity}-{self}")
    }
}

impl FromStr for Source {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.strip_prefix(SCHEME).ok_or("it does not begin with `cephfs:`")?;
        let (user, name) = name.split_once('@').unwrap_or((USER, name));
        let is_plain = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        match is_plain(user) && is_plain(name) {
            true => Ok(Self { file_system: name.into(), user: user.into() }),
            false => Err("the names after `cephfs:` have letters, digits, and `-`, `_` and `.` only"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file_system, user } = self;
        if user == USER {
            write!(f, "{SCHEME}{file_system}")
        } else {
            write!(f, "{SCHEME}{user}@{file_system}")
        }
    }
}

/// A folder of a file system. As a path it is `cephfs:NAME/FOLDER`, which is no path of the host: it is relative, and nothing
/// looks for relative paths. So folders of two file systems are never taken for one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file system.
    pub source: Source,
    /// The folder in it, without a slash at the beginning; empty for its root.
    pub folder: PathBuf,
}

impl Place {
    /// The place of such a path. `None` for paths of the host.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let mut parts = path.components();
        let source = parts.next()?.as_os_str().to_str()?.parse().ok()?;
        Some(Self { source, folder: parts.as_path().into() })
    }

    /// As a path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new(&self.source.to_string()).join(&self.folder)
    }

    /// The names on the way to the folder. None of them leads up.
    ///
    /// # Errors
    /// The path has `.` or `..`.
    pub fn names(&self) -> Result<Vec<&[u8]>, rustix::io::Errno> {
        use std::os::unix::ffi::OsStrExt;
        use std::path::Component;
        self.folder
            .components()
            .map(|part| match part {
                Component::Normal(name) => Ok(name.as_bytes()),
                _ => Err(rustix::io::Errno::INVAL),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_the_file_system_and_may_name_the_user() {
        let source: Source = "cephfs:home".parse().unwrap();
        assert_eq!(
            (&*source.file_system, &*source.user, &*source.to_string()),
            ("home", "admin", "cephfs:home")
        );
        let other: Source = "cephfs:gate@home".parse().unwrap();
        assert_eq!((&*other.user, &*other.to_string()), ("gate", "cephfs:gate@home"));
        for wrong in ["home", "cephfs:", "cephfs:@home", "cephfs:a/b", "cephfs:a b", "ceph:home"] {
            assert!(wrong.parse::<Source>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_place_is_a_path_that_no_host_has() {
        let place = Place { source: "cephfs:home".parse().unwrap(), folder: "a/b".into() };
        assert_eq!(place.path(), Path::new("cephfs:home/a/b"));
        assert_eq!(Place::of(&place.path()), Some(place.clone()));
        assert_eq!(place.names().unwrap(), [b"a", b"b"]);
        assert_eq!(Place::of(Path::new("/cephfs:home/a")), None);
        assert_eq!(Place::of(Path::new("srv/a")), None);
        let root = Place::of(Path::new("cephfs:home")).unwrap();
        assert_eq!((root.folder.as_os_str().len(), root.path()), (0, "cephfs:home".into()));
        assert!(Place { folder: "a/../..".into(), ..root }.names().is_err());
    }
}
