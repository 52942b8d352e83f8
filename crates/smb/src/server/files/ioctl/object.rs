//! Properties of files that other servers have: compression and object ids; MS-FSA 2.1.5.10.

use super::{IoctlCall, IoctlOutput};
use crate::server::clients::open::Open;
use crate::server::config::ShareKind;
use crate::server::context::Failure;
use crate::wire::Status;
use crate::wire::fsctl::object::{CompressionState, ObjectIdBuffer};
use crate::wire::security::AccessMask;

/// COMPRESSION_FORMAT_NONE.
const NONE: u16 = 0;
/// How long the buffers are.
const COMPRESSION_LEN: usize = 2;
const OBJECT_ID_LEN: usize = 64;

/// GET_COMPRESSION: to clients no file is compressed.
pub(super) fn compression(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    open.file()?;
    if asked.room() < COMPRESSION_LEN {
        return Err(Status::INVALID_PARAMETER.into());
    }
    Ok(IoctlOutput::encoded(|w| CompressionState { format: NONE }.encode(w)))
}

/// SET_COMPRESSION: accepts only the present state.
pub(super) fn set_compression(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    open.file()?;
    let wanted = CompressionState::decode(&mut asked.input())?;
    open.require(AccessMask::WRITE_DATA)?;
    if wanted.format == NONE { Ok(IoctlOutput::none()) } else { Err(Status::NOT_SUPPORTED.into()) }
}

/// CREATE_OR_GET_OBJECT_ID and GET_OBJECT_ID: the id of the file in this volume, and the id of the
/// volume.
pub(super) fn id(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    let ShareKind::Disk { serial, .. } = open.tree.share.kind else {
        return Err(Status::INVALID_DEVICE_REQUEST.into());
    };
    if asked.room() < OBJECT_ID_LEN {
        return Err(Status::BUFFER_TOO_SMALL.into());
    }
    let mut object_id = [0; 16];
    object_id[..8].copy_from_slice(&serial.to_le_bytes());
    object_id[8..].copy_from_slice(&file.open.volume().number(file.open.node().id()).to_le_bytes());
    let mut birth_volume_id = [0; 16];
    birth_volume_id[..8].copy_from_slice(&serial.to_le_bytes());
    let buffer =
        ObjectIdBuffer { object_id, birth_volume_id, birth_object_id: object_id, domain_id: [0; 16] };
    Ok(IoctlOutput::encoded(|w| buffer.encode(w)))
}
