//! Sessions as initiators see them.

mod data;
mod observed;
mod order;
mod reservations;
mod sessions;
mod several;
mod tasks;
