//! Which bytes of a file take space, MS-FSA 2.1.5.10.22, 2.1.5.10.35 and 2.1.5.10.36.

use vfs::Kind;
use vfs::mac::DosAttributes;

use super::{IoctlCall, IoctlOutput};
use crate::server::clients::open::{File, Open};
use crate::server::context::Failure;
use crate::server::files::facts::Facts;
use crate::wire::Status;
use crate::wire::fscc::FileAttributes;
use crate::wire::fsctl::ranges::{AllocatedRange, SetSparse, Trim, TrimResponse, ZeroData};
use crate::wire::security::AccessMask;

/// The most ranges of one answer, whatever room the client has.
const MAX_RANGES: usize = 65_536;
/// The most ranges of one FILE_LEVEL_TRIM.
const MAX_TRIMS: usize = 4096;

/// SET_SPARSE: whether the client allows zeros to take no space. It does not change the file's
/// data.
pub(super) fn set_sparse(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    let sparse = SetSparse::decode(&mut asked.input())?.0;
    is_file(file)?;
    open.require(AccessMask::WRITE_DATA | AccessMask::APPEND_DATA | AccessMask::WRITE_ATTRIBUTES)?;
    file.change_metadata(|metadata| metadata.dos = with_sparse(metadata.dos, sparse))?;
    Ok(IoctlOutput::none())
}

/// A file that never had attributes is new to programs that make backups. It stays so.
fn with_sparse(before: DosAttributes, sparse: bool) -> DosAttributes {
    let others = match before.0 {
        0 => FileAttributes::ARCHIVE.0,
        other => other & !FileAttributes::SPARSE_FILE.0,
    };
    match (sparse, others) {
        (true, others) => DosAttributes(others | FileAttributes::SPARSE_FILE.0),
        (false, 0) => DosAttributes(FileAttributes::NORMAL.0),
        (false, others) => DosAttributes(others),
    }
}

/// SET_ZERO_DATA.
pub(super) async fn zero(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    let range = ZeroData::decode(&mut asked.input())?;
    if range.file_offset < 0 || range.beyond_final_zero < range.file_offset {
        return Err(Status::INVALID_PARAMETER.into());
    }
    is_file(file)?;
    open.require(AccessMask::WRITE_DATA)?;
    let (offset, end) = (range.file_offset as u64, range.beyond_final_zero as u64);
    file.changing(file.open.punch(offset, end - offset)).await?;
    Ok(IoctlOutput::none())
}

/// QUERY_ALLOCATED_RANGES. In a file that is not sparse every byte is allocated.
pub(super) async fn allocated(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    let wanted = AllocatedRange::decode(&mut asked.input())?;
    if wanted.file_offset < 0 || wanted.length < 0 || wanted.file_offset.checked_add(wanted.length).is_none()
    {
        return Err(Status::INVALID_PARAMETER.into());
    }
    is_file(file)?;
    open.require(AccessMask::READ_DATA)?;
    let (offset, length) = (wanted.file_offset as u64, wanted.length as u64);
    let facts = Facts::of(file).await?;
    let left = facts.size.saturating_sub(offset).min(length);
    let room = asked.room() / AllocatedRange::LEN;
    let (ranges, more) = if left == 0 {
        (Vec::new(), false)
    } else if !facts.file_attributes().contains(FileAttributes::SPARSE_FILE) {
        (vec![(offset, left)], false)
    } else {
        let found = file.open.allocated(offset, left, room.clamp(1, MAX_RANGES)).await?;
        (found.ranges, found.more)
    };
    if room == 0 && !ranges.is_empty() {
        return Err(Status::BUFFER_TOO_SMALL.into());
    }
    let status = if more { Status::BUFFER_OVERFLOW } else { Status::SUCCESS };
    let output = IoctlOutput::encoded(|w| {
        for (offset, length) in ranges {
            AllocatedRange { file_offset: offset as i64, length: length as i64 }.encode(w);
        }
    });
    Ok(IoctlOutput { status, ..output })
}

/// FILE_LEVEL_TRIM: the client no longer needs these bytes; they read as zeros from now on.
pub(super) async fn trim(asked: &IoctlCall<'_>, open: &Open) -> Result<IoctlOutput, Failure> {
    let file = open.file()?;
    let trim = Trim::decode(&mut asked.input())?;
    if trim.key != 0 || trim.ranges.is_empty() || trim.ranges.len() > MAX_TRIMS {
        return Err(Status::INVALID_PARAMETER.into());
    }
    is_file(file)?;
    open.require(AccessMask::WRITE_DATA)?;
    for range in &trim.ranges {
        let end = range.offset.checked_add(range.length).ok_or(Status::INVALID_PARAMETER)?;
        let end = end.min(file.open.size().await?);
        file.changing(file.open.punch(range.offset, end.saturating_sub(range.offset))).await?;
    }
    let response = TrimResponse { ranges_processed: trim.ranges.len() as u32 };
    match asked.room() {
        0..4 => Ok(IoctlOutput::none()),
        _ => Ok(IoctlOutput::encoded(|w| response.encode(w))),
    }
}

fn is_file(file: &File) -> Result<(), Status> {
    match file.open.node().kind() == Kind::Folder && file.open.is_data() {
        true => Err(Status::INVALID_PARAMETER),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_attributes_stay_when_a_file_becomes_sparse_and_back() {
        let hidden = DosAttributes(0x02);
        assert_eq!(with_sparse(hidden, true), DosAttributes(0x202));
        assert_eq!(with_sparse(DosAttributes(0x202), false), hidden);
        assert_eq!(with_sparse(DosAttributes(0x200), false), DosAttributes(0x80));
        assert_eq!(with_sparse(DosAttributes(0), true), DosAttributes(0x220));
    }
}
