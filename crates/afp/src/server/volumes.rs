//! Volumes as a session has them open: names, ids, the way to a file, the desktop database.

pub(super) mod desktop;
pub(super) mod icon;
pub(super) mod id;
pub(super) mod ids;
pub(super) mod names;
pub(super) mod open_volume;
pub(super) mod reach;
pub(super) mod search;
pub(super) mod spotlight;
pub(super) mod target;
pub(super) mod volume;
