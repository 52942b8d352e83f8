//! How the program holds up: hostile clients, stalled and full disks, kill -9, thousands of connections. Against the
//! real binary over TCP, with a client of a few lines. One test program, so that the parts share what they need.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod absent;
mod acting;
mod afp;
mod client;
mod connections;
mod datagrams;
mod disconnect;
mod disks;
mod home;
mod iscsi;
mod killed;
mod listed_and_written;
mod logins;
mod memory;
mod neighbour;
mod random;
mod records;
mod replaced;
mod server;
mod signals;
mod slow_reader;
mod smb;
mod stalled;
mod stress;
