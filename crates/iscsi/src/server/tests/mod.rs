//! Sessions as initiators see them.

mod data;
mod order;
mod reservations;
mod sessions;
mod tasks;
