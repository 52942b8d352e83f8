//! Measures file servers over AFP, SMB, NFS and iSCSI, beside a local folder: which protocol is how
//! fast, and what limits it.
//!
//! ```text
//! Plan ─► run ─► Record… ─► report (text, HTML)      one JSON object per line
//!          │                compare (two files)
//!          ├─ Connector ─► Session    one per client: file, afp, smb, nfs, iscsi
//!          └─ Workload ─► Worker      what a client does, and its Meter
//! ```

pub mod baseline;
mod client;
mod clock;
pub mod compare;
mod console;
pub mod discover;
mod error;
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
mod session;
pub mod stats;
pub mod suite;
pub mod sweep;
mod target;
pub mod verdict;
mod workload;

pub use console::Console;
pub use error::{Error, Result};
pub use link::Rate;
pub use meter::histogram;
pub use plan::{Cache, Durability, Plan};
pub use run::{Watcher, run};
pub use session::decode_answers;
pub use suite::{SUITES, Suite};
pub use target::{FORMS, Protocol, Target};
pub use workload::{DEFAULT, Unit, WORKLOADS, Workload};
