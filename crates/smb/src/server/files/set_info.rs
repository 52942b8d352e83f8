//! SET_INFO, MS-SMB2 3.3.5.21.

mod basic;
mod moving;
mod removal;
mod security;
mod size;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use wire::{Malformed, Reader};

use super::extended_attributes;
use crate::server::clients::durable::inherited;
use crate::server::clients::open::{File, Open, OpenedObject};
use crate::server::context::{Context, Failure, Outcome, Reply};
use crate::wire::Status;
use crate::wire::fscc::file_info::{self as info, ModeFlags};
use crate::wire::fscc::file_name::{Target, TargetEx};
use crate::wire::fscc::{FileClass, FsClass, ea};
use crate::wire::security::AccessMask;
use crate::wire::set_info::{Request, Response};
use crate::wire::values::InfoType;

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let message = context.message.clone();
    let request = Request::decode(&message)?;
    context.may_transfer(request.data.len() as u32)?;
    let open = context.open(request.file).await?;
    let class = FileClass(request.information_class);
    match (request.info_type, &open.what) {
        (InfoType::FILE, OpenedObject::Pipe(_)) => set_pipe(class, request.data)?,
        (InfoType::FILE, OpenedObject::File(file)) => {
            set_file(context, &open, file, class, request.data).await?
        }
        (InfoType::FILE_SYSTEM, _) => return Err(file_system(FsClass(request.information_class)).into()),
        (InfoType::SECURITY, _) => security::set(context, &open, &request).await?,
        (InfoType::QUOTA, _) => return Err(Status::NOT_SUPPORTED.into()),
        _ => return Err(Status::INVALID_PARAMETER.into()),
    }
    Ok(Reply { file: Some(open.key), ..Reply::encoded(|w| Response.encode(w)) })
}

/// Sets one class of MS-FSA 2.1.5.15.
async fn set_file(
    context: &Context,
    open: &Open,
    file: &File,
    class: FileClass,
    data: &[u8],
) -> Result<(), Failure> {
    match class {
        FileClass::BASIC => basic::set(open, file, whole(data, info::Basic::decode)?).await?,
        FileClass::END_OF_FILE => {
            size::set_end(open, file, whole(data, info::EndOfFile::decode)?.end_of_file).await?;
            open.settle().await?;
        }
        FileClass::ALLOCATION => {
            size::set_allocation(open, file, whole(data, info::Allocation::decode)?.allocation_size).await?;
            open.settle().await?;
        }
        FileClass::DISPOSITION => {
            let removes = whole(data, info::Disposition::decode)?.delete_pending;
            removal::set(open, file, removes, false).await?;
            inherited::keep_now(context, open).await;
        }
        FileClass::DISPOSITION_EX => {
            removal::set_ex(open, file, whole(data, info::DispositionEx::decode)?.flags).await?;
            inherited::keep_now(context, open).await;
        }
        FileClass::RENAME => {
            let target = whole(data, Target::decode)?;
            moving::rename(context, open, file, moving::RenameTarget::from(target)).await?;
            inherited::keep_now(context, open).await;
        }
        FileClass::RENAME_EX => {
            let target = whole(data, TargetEx::decode)?;
            moving::rename(context, open, file, moving::RenameTarget::from(target)).await?;
            inherited::keep_now(context, open).await;
        }
        FileClass::LINK => {
            let target = whole(data, Target::decode)?;
            moving::link(context, open, file, moving::RenameTarget::from(target)).await?;
        }
        FileClass::POSITION => {
            let position = whole(data, info::FilePosition::decode)?.current_byte_offset;
            if i64::try_from(position).is_err() {
                return Err(Status::INVALID_PARAMETER.into());
            }
            file.position.store(position, Ordering::Relaxed);
        }
        FileClass::MODE => set_mode(file, whole(data, info::Mode::decode)?.mode)?,
        FileClass::FULL_EA => set_eas(open, file, data).await?,
        // Both need a system privilege that no user of a file server has.
        FileClass::VALID_DATA_LENGTH => return Err(Status::PRIVILEGE_NOT_HELD.into()),
        FileClass::SHORT_NAME => return Err(Status::NOT_SUPPORTED.into()),
        _ => return Err(Status::INVALID_INFO_CLASS.into()),
    }
    Ok(())
}

/// Decodes all of `data`. Data that is too short has its own status, MS-FSA 2.1.5.15.
fn whole<T>(data: &[u8], decode: fn(&mut Reader<'_>) -> Result<T, Malformed>) -> Result<T, Status> {
    decode(&mut Reader::new(data)).map_err(|malformed| {
        tracing::debug!(%malformed, "information that is too short");
        Status::INFO_LENGTH_MISMATCH
    })
}

/// FileModeInformation, MS-FSA 2.1.5.15.8. Whether the client's program waits for each request does
/// not concern the server.
fn set_mode(file: &File, mode: ModeFlags) -> Result<(), Status> {
    const SETTABLE: u32 = 0x3E;
    const BOTH: ModeFlags =
        ModeFlags(ModeFlags::SYNCHRONOUS_IO_ALERT.0 | ModeFlags::SYNCHRONOUS_IO_NONALERT.0);
    if mode.0 & !SETTABLE != 0 || mode.contains(BOTH) {
        return Err(Status::INVALID_PARAMETER);
    }
    file.set_mode(ModeFlags(mode.0 & !BOTH.0 | file.mode().0 & ModeFlags::DELETE_ON_CLOSE.0));
    Ok(())
}

/// FileFullEaInformation, MS-FSA 2.1.5.15.5.
async fn set_eas(open: &Open, file: &File, data: &[u8]) -> Result<(), Status> {
    open.require(AccessMask::WRITE_EA)?;
    let eas = ea::decode(&mut Reader::new(data)).map_err(|_| Status::EA_LIST_INCONSISTENT)?;
    extended_attributes::set(&file.open, &eas).await
}

/// FilePipeInformation. The server handles reading as messages and as bytes alike. Waiting is up to
/// the client.
fn set_pipe(class: FileClass, data: &[u8]) -> Result<(), Status> {
    match class {
        FileClass::PIPE => {
            let pipe = whole(data, info::FilePipe::decode)?;
            if pipe.read_mode > 1 || pipe.completion_mode > 1 {
                Err(Status::INVALID_PARAMETER)
            } else {
                Ok(())
            }
        }
        _ => Err(Status::NOT_SUPPORTED),
    }
}

/// No information of a file system can be set, MS-SMB2 3.3.5.21.2: that takes an administrator of
/// the server, and quotas.
fn file_system(class: FsClass) -> Status {
    match class {
        FsClass::LABEL | FsClass::OBJECT_ID => Status::ACCESS_DENIED,
        FsClass::CONTROL => Status::NOT_SUPPORTED,
        _ => Status::INVALID_INFO_CLASS,
    }
}
