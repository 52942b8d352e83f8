//! SCSI: command descriptor blocks, one file per command, and what is sent back. Numbers are big-endian.

mod access;
mod cache;
mod inquiry;
mod log;
pub mod mode;
pub mod persistent_reserve_in;
pub mod persistent_reserve_out;
mod read;
mod read_capacity;
mod report_luns;
mod request_sense;
mod reserve;
mod sense;
mod start_stop;
mod status;
pub mod vpd;
mod write;

pub use access::Access;
pub use cache::Cache;
pub use inquiry::{Inquiry, Peripheral, StandardData, padded};
pub use log::{LogPage, LogPageId, LogParameter, LogSense, Resource};
pub use read::Read;
pub use read_capacity::{Capacity10, Capacity16, ReadCapacity10, ReadCapacity16};
pub use report_luns::{LunList, ReportLuns};
pub use request_sense::RequestSense;
mod transport_id;

pub use persistent_reserve_out::ReservationType;
pub use reserve::Request as Reserve;
pub use sense::{Asc, Field, Key, Sense};
pub use start_stop::StartStop;
pub use status::Status;
pub use transport_id::TransportId;
pub use write::Write;
