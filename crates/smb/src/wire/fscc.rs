//! MS-FSCC: what QUERY_INFO, SET_INFO, QUERY_DIRECTORY, CHANGE_NOTIFY and IOCTL carry.
//!
//! The types cite structures by name, because the numbers of its sections move from version to version: file information is
//! section 2.4, file system information 2.5, reparse points 2.1, notifications 2.7.

pub mod attributes;
pub mod chain;
pub mod class;
pub mod directory;
pub mod ea;
pub mod file_info;
pub mod file_name;
pub mod fs_info;
pub mod notify;
pub mod pattern;
pub mod posix;
pub mod quota;
pub mod readdirattr;
pub mod reparse;
pub mod stream;

pub use attributes::FileAttributes;
pub use class::{FileClass, FsClass};
pub use directory::EntryName;
pub use pattern::NamePattern;

#[cfg(test)]
mod tests;
