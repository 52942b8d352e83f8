//! The integration tests of this crate: one program, so that it is linked once.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

mod acl;
mod alone;
mod caches;
mod changed_at_two_servers;
mod denials;
mod described;
mod early;
mod exchange;
mod gates;
mod gateways;
mod given_up;
mod host;
mod images;
mod listings;
mod local;
mod local_forks;
mod local_recall;
mod locked;
mod long_names;
mod mounts;
mod names;
mod open;
mod open_forks;
mod open_moving;
mod open_removal;
mod open_rights;
mod open_space;
mod order;
mod paths;
mod private;
mod quota;
mod reserved;
mod safe_save;
mod scene;
mod streams_host;
mod team;
mod team_ids;
mod trees;
mod views;
mod waiting;
mod whereabouts;
