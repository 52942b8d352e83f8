//! The robustness of the program: hostile clients, stalled and full disks, kill -9, thousands of
//! connections. The tests use the real binary over TCP, with a small client. They are one test
//! program, so that they share their helpers.

mod absent;
mod acting;
mod afp;
mod arriving;
mod audited;
mod budget;
mod caches;
mod client;
mod connections;
mod datagrams;
mod disconnect;
mod disks;
mod gateways;
mod home;
mod hostile_sources;
mod iscsi;
mod killed;
mod listed_and_written;
mod logins;
mod many_accounts;
mod memory;
mod migrated;
mod migrated_rights;
mod mounted;
mod named_hosts;
mod neighbour;
mod old_clients;
mod overlapping;
mod passwords;
mod quota;
mod random;
mod records;
mod replaced;
mod rights_grid;
mod scrub;
mod server;
mod signals;
mod slow_reader;
mod smb;
mod smbd;
mod stalled;
mod stores;
mod stress;
mod verified;
