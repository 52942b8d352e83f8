//! Sessions as initiators see them.

mod data;
mod order;
mod sessions;
mod tasks;
