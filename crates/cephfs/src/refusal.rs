//! Why a file system of CephFS cannot be used, in sentences for the operator.

use rustix::io::Errno;

/// Why a file system of a cluster cannot be used. Each sentence says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CephRefusal {
    /// The library is not there.
    #[error(
        "Ceph's client library cannot be opened ({why}); install it (Debian and Ubuntu: the package libcephfs2, Fedora and \
         RHEL: libcephfs2)"
    )]
    NoLibrary {
        /// What the loader says.
        why: String,
    },
    /// It is too old.
    #[error("Ceph's client library has no function {name}; install libcephfs2 of Ceph 16 or newer")]
    NoFunction {
        /// The function.
        name: &'static str,
    },
    /// The settings of Ceph cannot be read.
    #[error("the settings of Ceph cannot be read from {from}: {why}; set `ceph-conf` in `[server]`")]
    Conf {
        /// The file.
        from: String,
        /// The error.
        why: Errno,
    },
    /// The cluster has no such file system.
    #[error("the cluster has no file system {name:?}; `ceph fs ls` lists those that it has")]
    NoFileSystem {
        /// The name in the settings.
        name: String,
    },
    /// It does not let the user in.
    #[error(
        "the cluster refuses the user client.{user}: {why}; look at `ceph auth get client.{user}`, and at the keyring that the \
         settings of Ceph name"
    )]
    NotAllowed {
        /// The user.
        user: String,
        /// The error.
        why: Errno,
    },
    /// It does not answer.
    #[error("the file system {name:?} of the cluster cannot be mounted: {why}; look at `ceph status`")]
    Mount {
        /// The name in the settings.
        name: String,
        /// The error.
        why: Errno,
    },
    /// A call on the mounted file system failed.
    #[error("{path} in the file system {name:?} cannot be opened: {why}")]
    Folder {
        /// The file system.
        name: String,
        /// The folder.
        path: String,
        /// The error.
        why: Errno,
    },
}
