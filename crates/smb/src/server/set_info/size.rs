//! Length and space, MS-FSA 2.1.5.15.1 and 2.1.5.15.4.

use vfs::mac::info_stream;
use vfs::{Error, Kind};

use crate::server::open::{File, Open};
use crate::wire::Status;
use crate::wire::security::AccessMask;

/// Where the file, or the stream, ends.
pub(super) async fn set_end(open: &Open, file: &File, end: u64) -> Result<(), Status> {
    may_resize(open, file, end)?;
    if file.is_info() && end > info_stream::LEN as u64 {
        return Err(Status::ALLOTTED_SPACE_EXCEEDED); // macOS's server says so
    }
    file.changing(file.open.truncate(end)).await
}

/// Space for so many bytes. What a file has beyond that is cut off.
pub(super) async fn set_allocation(open: &Open, file: &File, length: u64) -> Result<(), Status> {
    may_resize(open, file, length)?;
    if length < file.open.size().await? {
        return file.changing(file.open.truncate(length)).await;
    }
    match file.open.allocate(length).await {
        Err(Error::NotSupported) => Ok(()), // a promise that this file system cannot keep, and Windows does not need
        other => Ok(other?),
    }
}

fn may_resize(open: &Open, file: &File, length: u64) -> Result<(), Status> {
    if file.open.node().kind() == Kind::Folder && file.open.is_data() {
        return Err(Status::INVALID_PARAMETER);
    }
    open.require(AccessMask::WRITE_DATA)?;
    if i64::try_from(length).is_err() { Err(Status::INVALID_PARAMETER) } else { Ok(()) }
}
