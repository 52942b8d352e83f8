//! Control codes of named pipes, MS-FSCC 2.3.31 to 2.3.52.

use super::{IoctlCall, IoctlOutput};
use crate::server::clients::open::Open;
use crate::server::config::ShareKind;
use crate::server::context::Failure;
use crate::server::pipes::pipe::Pipe;
use crate::wire::Status;
use crate::wire::fsctl::pipe::{Peek, Wait};
use crate::wire::security::AccessMask;

/// FILE_PIPE_CONNECTED_STATE.
const CONNECTED: u32 = 3;
/// The length of the fields before the data of a peek.
const PEEK_LEN: usize = 16;

/// PIPE_TRANSCEIVE, MS-SMB2 3.3.5.15.10.
pub(super) fn transceive(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let pipe = open.pipe()?;
    open.require(AccessMask::READ_DATA)?;
    open.require(AccessMask::WRITE_DATA)?;
    let message = pipe.transceive(&asked.input, asked.room())?;
    Ok(IoctlOutput { status: message.status(), bytes: message.bytes })
}

/// PIPE_PEEK, MS-SMB2 3.3.5.15.3: how much there is to be read.
pub(super) fn peek(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let (all, first) = open.pipe()?.available();
    if asked.room() < PEEK_LEN {
        return Err(Status::BUFFER_TOO_SMALL.into());
    }
    let peek = Peek {
        state: CONNECTED,
        read_data_available: all as u32,
        number_of_messages: u32::from(all > 0),
        message_length: first as u32,
    };
    let status = if all > 0 { Status::BUFFER_OVERFLOW } else { Status::SUCCESS };
    Ok(IoctlOutput { status, ..IoctlOutput::encoded(|w| peek.encode(w)) })
}

/// PIPE_WAIT, MS-SMB2 3.3.5.15.4: our pipes are never busy.
pub(super) fn wait(asked: &IoctlCall<'_>) -> Result<IoctlOutput, Failure> {
    if !matches!(asked.context.tree().share.kind, ShareKind::Pipes) {
        return Err(Status::INVALID_DEVICE_REQUEST.into());
    }
    let wanted = Wait::decode(&mut asked.input())?;
    let name = String::from_utf16(&wanted.name).map_err(|_| Status::OBJECT_NAME_NOT_FOUND)?;
    match Pipe::exists(&name) {
        true => Ok(IoctlOutput::none()),
        false => Err(Status::OBJECT_NAME_NOT_FOUND.into()),
    }
}
