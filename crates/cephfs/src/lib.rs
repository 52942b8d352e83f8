//! Files of CephFS, by `libcephfs.so.2` of the host, which is opened when the first share needs it. Building needs no Ceph.
//!
//! ```text
//! library.rs   the functions of the library, by their names; opening it
//! mount.rs     a file system of a cluster that is mounted in this process; its files by their numbers
//! source.rs    which file system: the text in the settings
//! evict.rs     ends the sessions of another process
//! inode.rs     a file, folder or link: names, attributes; xattr.rs: extended attributes
//! data.rs      an open file; a folder that is being read
//! refusal.rs   why a file system cannot be mounted
//! ```
//!
//! Every call may wait for the cluster, for as long as a metadata server or a disk of it does not answer. None needs the thread
//! that made another one. Errors are the numbers of Linux.

#![allow(unsafe_code, reason = "calls of a C library")]

mod data;
mod evict;
mod inode;
mod library;
mod mount;
mod ranks;
mod refusal;
mod source;
mod xattr;

pub use data::{DataFile, Folder, FolderEntry};
pub use evict::{evict, is_used};
pub use inode::{Changes, Inode, New, NewTime, Stat};
pub use library::version;
pub use mount::{CephCaller, LIVE, Mount, SNAPSHOTS, exit, unmount_all};
pub use refusal::CephRefusal;
pub use source::{Place, Source, identity, set_conf, set_identity};
