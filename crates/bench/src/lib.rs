//! Measures file servers over AFP, SMB, NFS and iSCSI, beside a local folder: which protocol is how
//! fast, and what limits it.
//!
//! ```text
//! Plan ─► run ─► Record… ─► report (text, HTML)      one JSON object per line
//!          │                compare (two files)
//!          ├─ client::Connector       a session for each client: file, afp, smb, nfs, iscsi
//!          └─ Workload ─► Worker      what a client does, and its Meter
//! ```

pub mod baseline;
pub mod bisect;
mod client;
mod clock;
pub mod compare;
mod console;
pub mod discover;
pub mod editing;
mod folder;
mod link;
mod machine;
pub mod metadata;
mod meter;
mod mount;
mod pattern;
mod plan;
mod probe;
pub mod raw;
pub mod record;
pub mod report;
mod run;
pub mod stats;
pub mod suite;
pub mod sweep;
pub mod verdict;
mod workload;

pub use ::client::{Error, FORMS, Protocol, Result, Target};
pub use console::Console;
pub use link::Rate;
pub use meter::histogram;
pub use plan::{Durability, Plan, Residency};
pub use run::{Watcher, run};
pub use suite::{SUITES, Suite};
pub use workload::{DEFAULT, Unit, WORKLOADS, Workload};
