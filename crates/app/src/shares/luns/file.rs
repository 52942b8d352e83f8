//! The file of a LUN.

use std::path::Path;
use std::sync::Arc;

use admin::luns::{LunRecord, own_file, own_file_name};
use anyhow::{Context, bail};
use iscsi::disks;
use vfs::backend::Found;
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Caller, Error, Kind, Open, OpenOptions, Volume};

/// The access of a disk's open.
pub(super) const READ_WRITE: Modes = Modes(Modes::READ.0 | Modes::WRITE.0);
/// The access that it denies to others.
pub(super) const DENY: Modes = Modes(Modes::WRITE.0 | Modes::DELETE.0);

/// The file of a LUN. A missing file is `NotFound`.
pub(crate) fn find(volume: &Volume, lun: &LunRecord) -> vfs::Result<Found> {
    match &lun.file {
        None => disks::find(volume, own_file_name(&lun.name).as_bytes()),
        Some(path) => at(volume, path),
    }
}

/// The file at a path relative to the share's folder.
pub(super) fn at(volume: &Volume, path: &Path) -> vfs::Result<Found> {
    let names: Vec<&[u8]> = path.components().map(|part| part.as_os_str().as_encoded_bytes()).collect();
    let found = volume.file_at(&names)?;
    match found.attributes.kind {
        Kind::File => Ok(found),
        Kind::Folder => Err(Error::IsFolder),
        _ => Err(Error::NotSupported),
    }
}

/// Opens it as the server itself.
pub(super) async fn open(
    volume: &Arc<Volume>,
    found: &Found,
    access: Modes,
    deny: Modes,
) -> anyhow::Result<Open> {
    let actor = Actor::new(Caller::root(), Party::client(ClientId::unused()));
    let options = OpenOptions { deny, granted: true, ..OpenOptions::data(access) };
    let opened = volume.open(&actor, found, options).await;
    opened.map_err(|error| match error {
        Error::ShareConflict => {
            anyhow::anyhow!("a client has its file open for writing; close it there first")
        }
        other => other.into(),
    })
}

/// Makes the file of a LUN with this size, without data.
pub(super) async fn make(volume: &Arc<Volume>, name: &str, size: u64) -> anyhow::Result<()> {
    let largest = volume.limits().file_size;
    if size > largest {
        bail!(
            "a file of the share's file system has at most {}; choose a smaller size",
            admin::settings::units::format_size(largest)
        );
    }
    let stored = own_file_name(name);
    let made = disks::make(volume, stored.as_bytes()).with_context(|| cannot_be("made", name))?;
    let sized = async {
        let open = open(volume, &made, READ_WRITE, Modes::ALL).await?;
        open.resize(size).await?;
        Ok::<(), anyhow::Error>(open.sync().await?)
    };
    let sized = sized.await;
    if sized.is_err() {
        let _ = disks::remove(volume, stored.as_bytes()); // an empty file in the server's own folder
    }
    sized.with_context(|| cannot_be("made as large as that", name))
}

/// "the file … cannot be made".
pub(super) fn cannot_be(what: &str, name: &str) -> String {
    format!("the file {} cannot be {what}", own_file(name).display())
}
