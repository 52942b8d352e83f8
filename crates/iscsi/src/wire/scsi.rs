//! SCSI: command descriptor blocks, one file per command, and their answers. Numbers are
//! big-endian.

mod access;
mod cache;
mod compare_and_write;
mod diagnostic;
mod extended_copy;
mod format_unit;
mod get_lba_status;
mod inquiry;
mod log;
mod maintenance;
pub mod mode;
pub mod persistent_reserve_in;
pub mod persistent_reserve_out;
mod read;
mod read_capacity;
mod read_defect_data;
mod receive_copy_results;
mod report_luns;
mod request_sense;
mod reserve;
mod sense;
mod service_action;
mod start_stop;
mod status;
mod transport_id;
mod unmap;
mod verify;
pub mod vpd;
mod write;
mod write_same;

pub use access::Access;
pub use cache::CacheRange;
pub use compare_and_write::CompareAndWrite;
pub use diagnostic::SendDiagnostic;
pub use extended_copy::{
    CopyHeader, Extent, HEADER as COPY_HEADER, ListIdUsage, Segment, TARGET as COPY_TARGET,
    Target as CopyTarget, parameter_list_length as copy_list_length,
};
pub use format_unit::{FormatHeader, FormatUnit};
pub use get_lba_status::{GetLbaStatus, LBA_STATUS_DESCRIPTOR, LBA_STATUS_HEADER, LbaStatus, Provisioning};
pub use inquiry::{Inquiry, Peripheral, StandardData, padded};
pub use log::{LogPage, LogPageId, LogParameter, LogSense, Resource};
pub use maintenance::{
    IdentifyingInformation, MaintenanceIn, OneCommand, PortGroup, PortGroups, SupportedCommand,
    SupportedCommands, TaskFunctions, Timeouts,
};
pub use persistent_reserve_out::ReservationType;
pub use read::ReadCommand;
pub use read_capacity::{Capacity10, Capacity16, ReadCapacity10, ReadCapacity16};
pub use read_defect_data::ReadDefectData;
pub use receive_copy_results::{
    CopyLimits, CopyStatus, Progress, Request as ReceiveCopyResults, encode_failure,
};
pub use report_luns::{LunList, ReportLuns};
pub use request_sense::RequestSense;
pub use reserve::Request as Reserve;
pub use sense::{Asc, Key, Sense, WrongField};
pub use service_action::service_action;
pub use start_stop::StartStop;
pub use status::Status;
pub use transport_id::TransportId;
pub use unmap::{UNMAP_HEADER, Unmap, UnmapRange};
pub use verify::{ByteCheck, Verify};
pub use write::WriteCommand;
pub use write_same::WriteSame;
