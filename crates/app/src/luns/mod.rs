//! LUNs at work: what `fourfold lun` asks for, done in the server where one runs, else in the command itself.
//!
//! ```text
//! ../lun.rs (the command) ─► control socket ─► ../iscsi_view.rs ─┐
//!          └─ no server runs ────────────────────────────────────┴─► Desk ─► luns.toml, the share's volume
//!                                                                      └───► Units: what is served now
//! ```

mod clone;
mod desk;
mod file;
mod kept;
mod list;
mod make;
mod units;

pub(crate) use desk::{Desk, Work};
pub(crate) use list::remembered;
pub(crate) use units::Units;
