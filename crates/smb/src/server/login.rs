//! Logging in: the dialect, the user, the keys.

pub(super) mod admit;
pub(crate) mod crypto;
mod domain;
pub(super) mod exchange;
pub(super) mod in_progress;
pub(super) mod login_lines;
pub(super) mod logoff;
pub(super) mod negotiate;
pub(crate) mod ntlm;
pub(super) mod session_setup;
