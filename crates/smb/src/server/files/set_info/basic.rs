//! Times and attributes, MS-FSA 2.1.5.15.2.

use vfs::mac::DosAttributes;
use vfs::{Kind, SetAttributes, SetTime};

use crate::server::clients::open::{File, Open};
use crate::server::files::facts;
use crate::wire::Status;
use crate::wire::fscc::FileAttributes;
use crate::wire::fscc::file_info::Basic;
use crate::wire::security::AccessMask;
use crate::wire::time::NtTime;

/// Sets the given values. Times of 0 and attributes of 0 mean no change. The host keeps the time of
/// the last change of attributes, so that one cannot be set.
pub(super) async fn set(open: &Open, file: &File, basic: Basic) -> Result<(), Status> {
    open.require(AccessMask::WRITE_ATTRIBUTES)?;
    check(file.open.node().kind(), &basic)?;
    let is_link = file.open.node().kind() == Kind::Link;
    let dos = Some(basic.attributes).filter(|asked| *asked != FileAttributes::NONE);
    // No host keeps extended attributes of a symbolic link. Some clients set "normal" before they
    // remove a file. A link is "normal" anyway.
    let dos = dos.filter(|asked| !is_link || facts::is_more_than_normal(*asked));
    let created = basic.creation_time.time().filter(|_| !is_link);
    if dos.is_some() || created.is_some() {
        let change = |metadata: &mut vfs::mac::Metadata| {
            if let Some(asked) = dos {
                let before: DosAttributes = metadata.dos;
                metadata.set_dos(facts::to_keep(asked, before));
            }
            if created.is_some() {
                metadata.times.created = created;
            }
        };
        file.open.change_metadata(change).await?;
    }
    let changes = SetAttributes {
        accessed: given(basic.last_access_time),
        modified: given(basic.last_write_time),
        ..SetAttributes::default()
    };
    if !changes.is_empty() {
        file.open.set_attributes(&changes).await?;
    }
    show_changed(file, basic.change_time)?;
    match basic.last_write_time {
        NtTime::UNCHANGED => {}
        NtTime::THAWED => file.keep_modified(false),
        _ => file.keep_modified(true), // a time, or "freeze"
    }
    Ok(())
}

/// The host sets the time of the last change of attributes itself, so the server only shows another
/// time. A client that has set or frozen this time sees it unchanged, whatever it does to the file.
fn show_changed(file: &File, time: NtTime) -> Result<(), Status> {
    let now = || Ok::<_, Status>(file.changed_at(&file.open.attributes()?));
    match time {
        NtTime::UNCHANGED => match file.kept_changed() {
            Some(kept) => file.show_changed(kept, true),
            None => Ok(()),
        },
        NtTime::THAWED => file.show_changed(now()?, false),
        NtTime::FROZEN => file.show_changed(now()?, true),
        time => file.show_changed(time, true),
    }
}

fn check(kind: Kind, basic: &Basic) -> Result<(), Status> {
    let times = [basic.creation_time, basic.last_access_time, basic.last_write_time, basic.change_time];
    let misfits = match kind {
        Kind::Folder => basic.attributes.contains(FileAttributes::TEMPORARY),
        Kind::Link => false, // of one that leads to a folder the client was told that it is a folder
        _ => basic.attributes.contains(FileAttributes::DIRECTORY),
    };
    match misfits || !times.iter().all(|time| time.is_valid()) {
        true => Err(Status::INVALID_PARAMETER),
        false => Ok(()),
    }
}

fn given(time: NtTime) -> SetTime {
    time.time().map_or(SetTime::Keep, SetTime::To)
}
