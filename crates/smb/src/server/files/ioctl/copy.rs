//! Copies that the server makes by itself, MS-SMB2 3.3.5.15.5 to 3.3.5.15.7 and MS-FSA 2.1.5.10.4.

use std::sync::Arc;

use wire::Reader;

use super::{IoctlCall, IoctlOutput};
use crate::server::clients::open::{File, Open};
use crate::server::context::Failure;
use crate::wire::Status;
use crate::wire::fsctl::Code;
use crate::wire::fsctl::copy::{
    Chunk, CopyChunk, CopyChunkResponse, DuplicateExtents, DuplicateExtentsEx, ResumeKey,
};
use crate::wire::security::AccessMask;
use crate::wire::values::FileKey;

/// The most chunks of one request, bytes of one chunk, and bytes in all: the limits of Windows.
const MAX_CHUNKS: usize = 256;
const MAX_CHUNK: u32 = 1 << 20;
const MAX_TOTAL: u64 = 16 << 20;
/// How long the response of a copy is.
const RESPONSE_LEN: usize = 12;

/// SRV_REQUEST_RESUME_KEY: a key by which the open can be the source of a copy.
pub(super) fn resume_key(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    open.file()?;
    if asked.room() < ResumeKey::RESPONSE_LEN {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let mut key = [0; 24];
    key[..8].copy_from_slice(&open.key.persistent.to_le_bytes());
    key[8..16].copy_from_slice(&open.key.volatile.to_le_bytes());
    key[16..].copy_from_slice(&asked.context.session().id.to_le_bytes());
    Ok(IoctlOutput::encoded(|w| ResumeKey(key).encode(w)))
}

/// The open of this session that a key names.
fn source(asked: &IoctlCall<'_>, key: &ResumeKey) -> Result<Arc<Open>, Status> {
    let mut r = Reader::new(&key.0);
    let session = asked.context.session();
    let file = FileKey::decode(&mut r)?;
    let open = session.opens.find(file).filter(|_| r.rest() == session.id.to_le_bytes());
    open.ok_or(Status::OBJECT_NAME_NOT_FOUND)
}

/// SRV_COPYCHUNK and SRV_COPYCHUNK_WRITE.
pub(super) async fn chunks(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let target = open.file()?;
    if asked.room() < RESPONSE_LEN {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let request = CopyChunk::decode(&mut asked.input())?;
    if !within_limits(&request.chunks) {
        let limits = CopyChunkResponse {
            chunks_written: MAX_CHUNKS as u32,
            chunk_bytes_written: MAX_CHUNK,
            total_bytes_written: MAX_TOTAL as u32,
        };
        return Ok(IoctlOutput {
            status: Status::INVALID_PARAMETER,
            ..IoctlOutput::encoded(|w| limits.encode(w))
        });
    }
    let source = source(asked, &request.source)?;
    may_copy(asked, &source, open)?;
    if request.chunks.is_empty() {
        return match asked.context.is_mac() {
            true => whole(source.file()?, target).await,
            false => Ok(written(Status::SUCCESS, 0, 0)),
        };
    }
    copy(source.file()?, target, &request.chunks).await
}

fn within_limits(chunks: &[Chunk]) -> bool {
    let total: u64 = chunks.iter().map(|chunk| u64::from(chunk.length)).sum();
    chunks.len() <= MAX_CHUNKS
        && total <= MAX_TOTAL
        && chunks.iter().all(|chunk| (1..=MAX_CHUNK).contains(&chunk.length))
}

/// The access that source and target need. SRV_COPYCHUNK_WRITE needs no right to read the target.
fn may_copy(asked: &IoctlCall<'_>, source: &Open, target: &Open) -> Result<(), Status> {
    source.require(AccessMask::READ_DATA | AccessMask::EXECUTE)?;
    target.require(AccessMask::WRITE_DATA | AccessMask::APPEND_DATA)?;
    match asked.request.control_code {
        Code::SRV_COPYCHUNK => target.require(AccessMask::READ_DATA),
        _ => Ok(()),
    }
}

async fn copy(source: &File, target: &File, chunks: &[Chunk]) -> Result<IoctlOutput, Failure> {
    let (mut done, mut total) = (0, 0);
    for chunk in chunks {
        match piece(source, target, chunk).await {
            Ok(()) => (done, total) = (done + 1, total + chunk.length),
            Err(status) => return Ok(written(status, done, total)),
        }
    }
    Ok(written(Status::SUCCESS, done, total))
}

async fn piece(source: &File, target: &File, chunk: &Chunk) -> Result<(), Status> {
    let length = u64::from(chunk.length);
    let end = chunk.source_offset.checked_add(length).ok_or(Status::INVALID_VIEW_SIZE)?;
    if end > source.open.size().await? {
        return Err(Status::INVALID_VIEW_SIZE);
    }
    let copied = target
        .changing(target.open.copy_from(&source.open, chunk.source_offset, chunk.target_offset, length))
        .await?;
    if copied == length { Ok(()) } else { Err(Status::INVALID_VIEW_SIZE) }
}

/// A Mac's request without chunks: copies the file with all its metadata.
async fn whole(source: &File, target: &File) -> Result<IoctlOutput, Failure> {
    let size = source.open.size().await?;
    target.open.truncate(0).await?;
    let copied = target.open.copy_from(&source.open, 0, 0, size).await?;
    target.open.copy_streams_from(&source.open).await?;
    Ok(written(Status::SUCCESS, 0, u32::try_from(copied).unwrap_or(u32::MAX)))
}

fn written(status: Status, chunks_written: u32, total_bytes_written: u32) -> IoctlOutput {
    let response = CopyChunkResponse { chunks_written, chunk_bytes_written: 0, total_bytes_written };
    IoctlOutput { status, ..IoctlOutput::encoded(|w| response.encode(w)) }
}

/// DUPLICATE_EXTENTS_TO_FILE: the files share blocks, if the host supports that.
pub(super) async fn duplicate(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let target = open.file()?;
    open.require(AccessMask::WRITE_DATA)?;
    let mut r = asked.input();
    let extents = match asked.request.control_code {
        Code::DUPLICATE_EXTENTS_TO_FILE => DuplicateExtents::decode(&mut r)?,
        _ => DuplicateExtentsEx::decode(&mut r)?.extents,
    };
    let key = FileKey::decode(&mut Reader::new(&extents.source))?;
    let source = asked.context.session().opens.find(key).ok_or(Status::INVALID_HANDLE)?;
    source.require(AccessMask::READ_DATA | AccessMask::EXECUTE)?;
    let (from, to, length) = (extents.source_offset, extents.target_offset, extents.byte_count);
    let input = source.file()?;
    let beyond = |size: u64, offset: u64| offset.checked_add(length).is_none_or(|end| end > size);
    if beyond(input.open.size().await?, from) || beyond(target.open.size().await?, to) {
        return Err(Status::NOT_SUPPORTED.into());
    }
    target.open.clone_from(&input.open, from, to, length).await?;
    Ok(IoctlOutput::none())
}
