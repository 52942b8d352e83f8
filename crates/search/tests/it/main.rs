//! Tests of indexes: they follow a tree in memory, and searches find what the asker may list.

#![allow(clippy::unwrap_used, reason = "tests")]

mod contents;
mod following;
mod languages;
mod model;
mod past;
mod restarts;
mod rights;
mod scene;
#[path = "../../../vfs/tests/it/waiting/blocking.rs"]
mod waiting;
