//! The commands on files and folders, and a file as SMB shows it.

pub(super) mod change_notify;
pub(super) mod close;
pub(super) mod create;
pub(super) mod extended_attributes;
pub(super) mod facts;
pub(super) mod flush;
pub(super) mod hiding;
pub(super) mod ioctl;
pub(super) mod lock;
pub(super) mod mac;
pub(super) mod posix;
pub(super) mod posix_names;
pub(super) mod previous_versions;
pub(super) mod query_directory;
pub(super) mod query_info;
pub(super) mod read;
pub(super) mod security;
pub(super) mod set_info;
pub(super) mod short_names;
pub(super) mod sids;
pub(super) mod write;
