//! The integration tests of this crate: one program, so that it is linked once.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

mod adopt;
mod alerts;
mod api;
mod bench;
mod commands;
mod commands_page;
mod completing;
mod datasets;
mod disks;
mod doctor;
mod explain;
mod extracting;
mod fork;
mod help;
mod home;
mod inner_shares;
mod lun_snapshots;
mod luns;
mod manners;
mod names;
mod packaging;
#[path = "../../../xtask/src/ports.rs"]
mod ports;
mod privileges;
mod program;
mod quotas;
mod replication;
mod robustness;
mod running;
mod searching;
mod setup;
mod slow_clients;
mod snapshots;
mod state;
mod team;
mod waiting;
