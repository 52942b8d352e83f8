//! Information about a named pipe, MS-FSCC 2.4.34 to 2.4.36 and 2.4.41.

use wire::Writer;

use super::Answer;
use crate::server::clients::open::Open;
use crate::server::context::Failure;
use crate::server::pipes::pipe_end::{PipeEnd, ROOM};
use crate::wire::Status;
use crate::wire::fscc::FileClass;
use crate::wire::fscc::file_info as info;
use crate::wire::fscc::file_name::Name;

/// FILE_PIPE_MESSAGE_MODE and FILE_PIPE_MESSAGE_TYPE.
const MESSAGES: u32 = 1;
/// FILE_PIPE_FULL_DUPLEX.
const BOTH_WAYS: u32 = 2;
/// FILE_PIPE_CONNECTED_STATE.
const CONNECTED: u32 = 3;

/// The answer of one class.
pub(super) fn answer(open: &Open, end: &PipeEnd, class: FileClass) -> Result<Answer, Failure> {
    let mut w = Writer::new();
    match class {
        FileClass::STANDARD => {
            let standard = info::Standard {
                allocation_size: ROOM,
                end_of_file: end.available().0 as u64,
                number_of_links: 1,
                delete_pending: true, // as Windows says of every pipe
                directory: false,
            };
            standard.encode(&mut w);
        }
        FileClass::PIPE => info::FilePipe { read_mode: MESSAGES, completion_mode: 0 }.encode(&mut w),
        FileClass::PIPE_LOCAL => local(end).encode(&mut w),
        FileClass::INTERNAL => info::Internal { index_number: open.key.volatile }.encode(&mut w),
        FileClass::EA => info::Ea { ea_size: 0 }.encode(&mut w),
        FileClass::ACCESS => info::FileAccess { access: open.granted }.encode(&mut w),
        FileClass::POSITION => info::FilePosition { current_byte_offset: 0 }.encode(&mut w),
        FileClass::MODE => info::Mode { mode: info::ModeFlags::NONE }.encode(&mut w),
        FileClass::ALIGNMENT => info::Alignment { requirement: 0 }.encode(&mut w),
        FileClass::NAME => {
            Name { name: format!("\\{}", end.name()).encode_utf16().collect() }.encode(&mut w);
            return Ok(Answer::open_ended(w.into_bytes(), 8));
        }
        _ => return Err(Status::INVALID_INFO_CLASS.into()),
    }
    Ok(Answer::whole(w.into_bytes()))
}

/// MS-FSCC 2.4.35, of the client's end.
fn local(end: &PipeEnd) -> info::PipeLocal {
    info::PipeLocal {
        pipe_type: MESSAGES,
        configuration: BOTH_WAYS,
        maximum_instances: u32::MAX,
        current_instances: 1,
        inbound_quota: ROOM as u32,
        read_data_available: end.available().0 as u32,
        outbound_quota: ROOM as u32,
        write_quota_available: ROOM as u32,
        state: CONNECTED,
        end: 0,
    }
}
