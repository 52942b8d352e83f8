//! The integration tests of this crate: one program, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "tests")]

mod appletalk;
mod control;
mod diagnostics;
mod lun_diagnostics;
mod messages;
mod preset;
mod settings_page;
mod team;
