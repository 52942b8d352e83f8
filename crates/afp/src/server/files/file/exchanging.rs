//! Safe saving, Apple Filing Protocol Reference, FPExchangeFiles: two files exchange their
//! contents. Their numbers, names, creation dates, Finder information and all other metadata stay;
//! open forks follow the contents.

use vfs::Error;
use vfs::mac::FileBits;

use super::{refuse_inhibited, to_change};
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::wire::ResultCode;
use crate::wire::file::ExchangeFiles;

/// FPExchangeFiles. On the host, the files exchange their names. So their numbers are exchanged,
/// too, and are on the disk before the answer.
pub(super) async fn exchange(request: &Request) -> Outcome {
    let ExchangeFiles { one, other_folder, other_path } = ExchangeFiles::decode(&mut request.reader())?;
    let (volume, target) = to_change(request, &one)?;
    let (first, at) = (target.file()?, target.place_below(&volume)?);
    let other = volume.resolve(request.caller(), other_folder, &other_path)?;
    let (second, other_at) = (other.file()?, other.place_below(&volume)?);
    let keys = (first.object.key(), second.object.key());
    if keys.0 == keys.1 {
        return Err(ResultCode::SAME_OBJECT);
    }
    for (found, at) in [(first, at), (second, other_at)] {
        refuse_inhibited(&volume, found, at, FileBits::WRITE_INHIBIT)?;
    }
    let places = ((&at.folder, &at.name[..]), (&other_at.folder, &other_at.name[..]));
    let exchanged = volume.tree().exchange(&request.actor(), places.0, places.1).await;
    exchanged.map_err(|error| match error {
        Error::ShareConflict => ResultCode::FILE_BUSY,
        Error::TooMany => ResultCode::MISC_ERROR,
        other => other.into(),
    })?;
    volume.exchange_ids(keys.0, keys.1).await?;
    if let Ok(folder) = at.folder.object.attributes() {
        volume.share.changed.note(folder.modified);
    }
    Ok(Reply::empty())
}
