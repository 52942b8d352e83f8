//! Codecs of messages. All numbers are big-endian.
//!
//! A family of commands has the same file name here and in `server`.

#![allow(missing_docs, reason = "fields are named as in the Apple Filing Protocol Reference")]

pub mod acl;
pub mod attribute;
pub mod bitmap;
pub mod command;
pub mod desktop;
pub mod directory;
pub mod dsi;
pub mod enumerate;
pub mod file;
pub mod fork;
pub mod id;
pub mod identity;
pub mod lock;
pub mod login;
pub mod path;
pub mod result_code;
pub mod search;
pub mod server_info;
pub mod session;
pub mod set_parameters;
pub mod spotlight;
pub mod strings;
pub mod uuid;
pub mod version;
pub mod volume;

pub use bitmap::{DirBitmap, FileBitmap, VolumeBitmap};
pub use path::Path;
pub use result_code::ResultCode;
pub use set_parameters::{SetParameters, UnixPrivileges};
pub use version::Version;
