//! Length and space, MS-FSA 2.1.5.15.1 and 2.1.5.15.4.

use vfs::mac::info_stream;
use vfs::{Error, Kind};

use crate::server::clients::open::{File, Open};
use crate::wire::Status;
use crate::wire::security::AccessMask;

/// Sets where the file or the stream ends.
pub(super) async fn set_end(open: &Open, file: &File, end: u64) -> Result<(), Status> {
    may_resize(open, file, end)?;
    if file.is_info() && end > info_stream::LEN as u64 {
        return Err(Status::ALLOTTED_SPACE_EXCEEDED); // as macOS's server does
    }
    file.changing(file.open.truncate(end)).await
}

/// Allocates space for `length` bytes. The file is cut off there if it is longer.
pub(super) async fn set_allocation(open: &Open, file: &File, length: u64) -> Result<(), Status> {
    may_resize(open, file, length)?;
    if length < file.open.size().await? {
        return file.changing(file.open.truncate(length)).await;
    }
    match file.open.allocate(length).await {
        // The file system cannot reserve space, and Windows does not need it.
        Err(Error::NotSupported) => Ok(()),
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
