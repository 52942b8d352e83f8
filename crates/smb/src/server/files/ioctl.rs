//! IOCTL, MS-SMB2 3.3.5.15.

mod connection;
mod copy;
mod dfs;
mod interfaces;
mod object;
mod pipe;
mod ranges;
mod reparse;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use wire::{Reader, Writer};

use crate::server::clients::open::Open;
use crate::server::context::{Context, Failure, Outcome, Reply};
use crate::server::files::previous_versions;
use crate::wire::Status;
use crate::wire::fsctl::Code;
use crate::wire::fsctl::snapshots::Snapshots;
use crate::wire::ioctl::{Request, Response};
use crate::wire::values::FileKey;

/// A control code with its arguments.
struct IoctlCall<'a> {
    context: &'a Context,
    request: Request,
    input: Bytes,
}

/// The output, with success or a warning.
struct IoctlOutput {
    status: Status,
    bytes: Vec<u8>,
}

impl IoctlOutput {
    /// Success without output.
    fn none() -> Self {
        Self { status: Status::SUCCESS, bytes: Vec::new() }
    }

    fn encoded(encode: impl FnOnce(&mut Writer)) -> Self {
        let mut w = Writer::new();
        encode(&mut w);
        Self { status: Status::SUCCESS, bytes: w.into_bytes() }
    }
}

impl IoctlCall<'_> {
    /// The open that it is about.
    async fn open(&self) -> Result<std::sync::Arc<Open>, Status> {
        self.context.open(self.request.file).await
    }

    fn input(&self) -> Reader<'_> {
        Reader::new(&self.input)
    }

    /// The most bytes of output that the client takes.
    fn room(&self) -> usize {
        self.request.max_output_response as usize
    }

    /// Refuses a file: codes about the server are sent without one.
    fn without_file(&self) -> Result<(), Status> {
        if self.request.file == FileKey::ALL_ONES { Ok(()) } else { Err(Status::INVALID_PARAMETER) }
    }
}

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let request = Request::decode(&context.message)?;
    let input = context.message.slice(request.input.clone());
    let most_output = request.max_input_response.saturating_add(request.max_output_response);
    context.may_transfer(most_output.max(input.len() as u32))?;
    if request.flags != Request::IS_FSCTL {
        return Err(Status::NOT_SUPPORTED.into());
    }
    let asked = IoctlCall { context, request, input };
    let output = answer(&asked).await?;
    let IoctlCall { request, .. } = asked;
    let is_of_file = request.file != FileKey::ALL_ONES || context.related_file.is_some();
    let file = if request.file == FileKey::ALL_ONES { context.related_file } else { Some(request.file) };
    let response = Response {
        control_code: request.control_code,
        file: file.filter(|_| is_of_file).unwrap_or(FileKey::ALL_ONES),
        output: output.bytes,
    };
    Ok(Reply { status: output.status, file, ..Reply::encoded(|w| response.encode(w)) })
}

async fn answer(asked: &IoctlCall<'_>) -> Result<IoctlOutput, Failure> {
    match asked.request.control_code {
        Code::DFS_GET_REFERRALS | Code::DFS_GET_REFERRALS_EX => dfs::referrals(asked),
        Code::VALIDATE_NEGOTIATE_INFO => connection::validate(asked),
        Code::QUERY_NETWORK_INTERFACE_INFO => interfaces::query(asked),
        Code::PIPE_WAIT => pipe::wait(asked),
        _ => about_open(asked).await,
    }
}

/// Codes about an open.
async fn about_open(asked: &IoctlCall<'_>) -> Result<IoctlOutput, Failure> {
    let open = asked.open().await?;
    match asked.request.control_code {
        Code::PIPE_TRANSCEIVE => pipe::transceive(asked, &open),
        Code::PIPE_PEEK => pipe::peek(asked, &open),
        Code::SRV_REQUEST_RESUME_KEY => copy::resume_key(asked, &open),
        Code::SRV_COPYCHUNK | Code::SRV_COPYCHUNK_WRITE => settled(&open, copy::chunks(asked, &open)).await,
        Code::DUPLICATE_EXTENTS_TO_FILE | Code::DUPLICATE_EXTENTS_TO_FILE_EX => {
            settled(&open, copy::duplicate(asked, &open)).await
        }
        Code::LMR_REQUEST_RESILIENCY => connection::resiliency(asked, &open),
        Code::SRV_ENUMERATE_SNAPSHOTS => snapshots(asked, &open),
        Code::SET_SPARSE => ranges::set_sparse(asked, &open),
        Code::SET_ZERO_DATA => settled(&open, ranges::zero(asked, &open)).await,
        Code::QUERY_ALLOCATED_RANGES => ranges::allocated(asked, &open).await,
        Code::FILE_LEVEL_TRIM => settled(&open, ranges::trim(asked, &open)).await,
        Code::GET_COMPRESSION => object::compression(asked, &open),
        Code::SET_COMPRESSION => object::set_compression(asked, &open),
        Code::CREATE_OR_GET_OBJECT_ID | Code::GET_OBJECT_ID => object::id(asked, &open),
        Code::GET_REPARSE_POINT => reparse::read(asked, &open),
        Code::SET_REPARSE_POINT => reparse::set(asked, &open).await,
        Code::DELETE_REPARSE_POINT => reparse::delete(asked, &open).await,
        Code::IS_PATHNAME_VALID | Code::IS_VOLUME_MOUNTED => {
            open.file()?;
            Ok(IoctlOutput::none())
        }
        Code::SRV_READ_HASH | Code::LOCK_VOLUME | Code::UNLOCK_VOLUME | Code::DISMOUNT_VOLUME => {
            Err(Status::NOT_SUPPORTED.into())
        }
        _ => Err(Status::INVALID_DEVICE_REQUEST.into()),
    }
}

/// Changes the data of an open. The change is on the disk if the open writes through.
async fn settled(
    open: &Open,
    change: impl Future<Output = Result<IoctlOutput, Failure>>,
) -> Result<IoctlOutput, Failure> {
    let output = change.await?;
    open.settle().await?;
    Ok(output)
}

/// SRV_ENUMERATE_SNAPSHOTS, MS-SMB2 3.3.5.15.1.
fn snapshots(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    /// SRV_SNAPSHOT_ARRAY. Its last four bytes are room for a first label.
    const LEAST: usize = 16;
    open.file()?;
    if asked.room() < LEAST {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let labels = previous_versions::labels(asked.context.tree().volume()?);
    Ok(IoctlOutput::encoded(|w| {
        Snapshots::fitting(labels, asked.room()).encode(w);
        w.zeros(LEAST.saturating_sub(w.len()));
    }))
}
