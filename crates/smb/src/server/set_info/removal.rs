//! Going when the last one closes it, MS-FSA 2.1.5.15.3.

use vfs::Kind;
use vfs::state::Stream;

use crate::server::facts::Facts;
use crate::server::open::{File, Open};
use crate::wire::Status;
use crate::wire::fscc::file_info::DispositionFlags as Flags;
use crate::wire::security::AccessMask;

/// FileDispositionInformationEx. A removal "as POSIX does it" waits for the others like any other: names that are gone
/// while the file is open are not for us to promise (the file system does not claim to support it).
pub(super) async fn set_ex(open: &Open, file: &File, flags: Flags) -> Result<(), Status> {
    set(open, file, flags.contains(Flags::DELETE), flags.contains(Flags::IGNORE_READONLY_ATTRIBUTE)).await
}

/// Whether the file, or the stream, is to go.
pub(super) async fn set(open: &Open, file: &File, goes: bool, even_read_only: bool) -> Result<(), Status> {
    open.require(AccessMask::DELETE)?;
    if !goes {
        return Ok(file.named().remove_on_close(false).await?);
    }
    if file.is_by_link() && file.open.is_data() {
        return Ok(file.named().remove_on_close(true).await?); // what describes the target does not protect the link
    }
    if file.open.place().is_none() {
        return Err(Status::CANNOT_DELETE); // the share's own folder
    }
    let facts = Facts::of(file).await?;
    let protected = facts.is_readonly();
    if protected && facts.attributes.kind != Kind::Folder && !even_read_only {
        return Err(Status::CANNOT_DELETE);
    }
    match file.open.guard().stream() {
        // Nobody opens it until all have closed it, but then it is still there, as on a Mac's own server.
        Stream::Resource => {
            file.open.guard().remove_when_unused(Box::new(|| Ok(())));
            Ok(())
        }
        _ => Ok(file.open.remove_on_close(true).await?),
    }
}
