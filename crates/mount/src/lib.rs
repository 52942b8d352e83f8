//! A tree of any server as a folder of this machine, by FUSE: for Linux machines that have no client for a protocol, or none that
//! keeps what Macs keep beside the data.
//!
//! ```text
//! kernel ── fuser ── filesystem ──► nodes      the numbers that the kernel has for paths
//!                        │
//!                        └────────► sessions   some sessions with the server, which are opened anew when they are lost
//!                                      └► client::Tree
//! ```
//!
//! Nothing is cached here. The kernel trusts names and attributes for [`TRUSTED`], and data for as long as a file is open.
//! Extended attributes of a file are its named streams, its Finder info, its resource fork and its comment (`parts.rs`). A fork that is
//! too long for that is read as a file (`forks.rs`).

mod answers;
mod files;
mod filesystem;
mod forks;
mod nodes;
mod parts;
mod ranks;
mod sessions;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use client::{Reach, Target};
use fuser::{Config, MountOption, Session, SessionACL, SessionUnmounter};

use crate::filesystem::Tree;
use crate::sessions::ServerSessions;

/// How long the kernel trusts names and attributes.
pub const TRUSTED: Duration = Duration::from_secs(1);
/// The most sessions of one mount.
pub const MAX_SESSIONS: usize = 16;

/// How a tree is mounted.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long one answer of the server may take.
    pub timeout: Duration,
    /// Sessions with the server, 1 to [`MAX_SESSIONS`]: so many operations run at the same time.
    pub sessions: usize,
    /// Nothing can be changed.
    pub read_only: bool,
    /// All users of this machine may enter, with the rights of the account that logs in.
    pub all_users: bool,
}

/// Why a tree cannot be mounted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server cannot be used.
    #[error(transparent)]
    Server(#[from] client::Error),
    /// The kernel or its helper does not mount.
    #[error(
        "{0} cannot be mounted on: {1}. The folder must exist; the kernel needs FUSE (`modprobe fuse`), and users other than root need \
         fusermount3 (package fuse3)"
    )]
    Kernel(PathBuf, io::Error),
    /// A local folder, or a disk.
    #[error("only smb, afp and nfs URLs can be mounted")]
    Protocol,
}

/// A mounted tree.
#[derive(Debug)]
pub struct MountedTree {
    session: Session<Tree>,
    sessions: Arc<ServerSessions>,
}

impl MountedTree {
    /// Connects to the server, and mounts the tree on a folder. Nothing is answered before [`Self::run`].
    ///
    /// # Errors
    /// Those of [`enum@Error`].
    pub fn new(target: Target, folder: &Path, options: &Options) -> Result<Self, Error> {
        if !target.protocol.is_of_files() {
            return Err(Error::Protocol);
        }
        let source = format!("{}:{}", target.host, target.share);
        let count = options.sessions.clamp(1, MAX_SESSIONS);
        let sessions = Arc::new(ServerSessions::connect(target, Reach::direct(options.timeout), count)?);
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(source),
            MountOption::Subtype("fourfold".into()),
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoAtime,
        ];
        if options.read_only {
            config.mount_options.push(MountOption::RO);
        }
        if options.all_users {
            config.acl = SessionACL::All;
        }
        config.n_threads = Some(count);
        let tree = Tree::new(sessions.clone());
        let session =
            Session::new(tree, folder, &config).map_err(|error| Error::Kernel(folder.to_owned(), error))?;
        Ok(Self { session, sessions })
    }

    /// What another thread ends the mount with.
    pub fn unmounter(&mut self) -> SessionUnmounter {
        self.session.unmount_callable()
    }

    /// Answers the kernel until the folder is unmounted.
    ///
    /// # Errors
    /// The kernel's device fails.
    pub fn run(self) -> io::Result<()> {
        let kept = sessions::keep(&self.sessions)?;
        let done = self.session.run();
        drop(kept);
        done
    }
}
