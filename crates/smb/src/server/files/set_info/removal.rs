//! Removal when the last open closes, MS-FSA 2.1.5.15.3.

use vfs::Kind;
use vfs::state::Stream;

use crate::server::clients::open::{File, Open};
use crate::server::files::facts::Facts;
use crate::wire::Status;
use crate::wire::fscc::file_info::DispositionFlags as Flags;
use crate::wire::security::AccessMask;

/// FileDispositionInformationEx. A removal with POSIX semantics also waits until the last open
/// closes. The server does not promise that a name is gone while the file is open (the file system
/// does not claim to support it).
pub(super) async fn set_ex(open: &Open, file: &File, flags: Flags) -> Result<(), Status> {
    set(open, file, flags.contains(Flags::DELETE), flags.contains(Flags::IGNORE_READONLY_ATTRIBUTE)).await
}

/// Marks the file or the stream for removal, or clears the mark.
pub(super) async fn set(open: &Open, file: &File, goes: bool, even_read_only: bool) -> Result<(), Status> {
    open.require(AccessMask::DELETE)?;
    if !goes {
        file.set_going(false);
        return Ok(file.named().remove_on_close(false).await?);
    }
    if file.is_by_link() && file.open.is_data() {
        // The target's attributes do not protect the link.
        return Ok(file.named().remove_on_close(true).await?);
    }
    if file.open.place().is_none() {
        return Err(Status::CANNOT_DELETE); // it is the share's own folder
    }
    let facts = Facts::of(file).await?;
    let protected = facts.is_readonly() && !file.is_posix;
    if protected && facts.attributes.kind != Kind::Folder && !even_read_only {
        return Err(Status::CANNOT_DELETE);
    }
    match file.open.guard().stream() {
        // No new open succeeds until all opens are closed. After that the fork still exists, as on
        // a Mac's own server.
        Stream::Resource => {
            file.open.guard().remove_when_unused(Box::new(|| Ok(())));
            Ok(())
        }
        _ => {
            file.open.remove_on_close(true).await?;
            file.set_going(true);
            Ok(())
        }
    }
}
