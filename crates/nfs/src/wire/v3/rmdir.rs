//! RMDIR, RFC 1813 3.3.13.

/// RMDIR has REMOVE's layouts.
pub use super::remove::{Request, Res, ResFail, ResOk};
