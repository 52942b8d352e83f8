//! Requests of `fourfold lun`: they are executed in the running server, or without one in the
//! command itself.
//!
//! ```text
//! lun.rs (the command) ─► control socket ─► fronts/iscsi.rs ──────┐
//!          └─ no server runs ────────────────────────────────────┴─► Desk ─► luns.toml, the share's volume
//!                                                                      └───► Units: what is served now
//! ```

mod clone;
mod desk;
mod file;
mod kept;
mod list;
mod make;
mod relay;
mod roles;
mod units;

pub(crate) use desk::{Desk, Work};
pub(crate) use file::find as find_file;
pub(crate) use list::remembered;
pub(crate) use roles::Roles;
pub(crate) use units::Units;
