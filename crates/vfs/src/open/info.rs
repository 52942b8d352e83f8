//! The metadata of an open file for a Mac, as the stream of 60 bytes by which some clients access
//! it (`Stream::Info`). The stream exists if the file has Finder info, and always has its full
//! size. Writing a Finder info of zeros removes it.

use super::{Beside, Open};
use crate::backend::Stability;
use crate::mac::info_stream::InfoStream;
use crate::mac::{FinderInfo, Metadata};
use crate::streams::{File, Streams};
use crate::{Caller, Error, Result};

impl Open {
    /// Fails when the file has no Finder info.
    pub(super) fn find_info(&self) -> Result<()> {
        if self.described()?.finder_info.is_none() { Err(Error::NoSuchAttribute) } else { Ok(()) }
    }

    pub(super) fn info_bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let bytes = self.described()?.to_info_stream();
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        Ok(rest[..rest.len().min(length)].to_vec())
    }

    /// Stores the Finder info and the backup time that the data contain. Waits for clients that have the file's
    /// attributes in their caches.
    pub(super) async fn write_info(&self, offset: u64, data: &[u8]) -> Result<()> {
        let written = InfoStream::written(offset, data).map_err(|_| Error::Invalid)?;
        let Some(finder_info) = written else { return Ok(()) };
        let backup = InfoStream::written_backup(data);
        self.change_metadata(|metadata| {
            metadata.set_finder_info(finder_info);
            metadata.times.backup = backup.or(metadata.times.backup);
        })
        .await
    }

    pub(super) async fn sync_info(&self) -> Result<()> {
        let node = self.node.clone();
        self.volume.site.pool.run(self.node.id(), move || node.sync(Stability::File)).await
    }

    fn described(&self) -> Result<Metadata> {
        let place = self.place();
        let place = place.as_ref().map(|(folder, name)| Beside { folder, name });
        self.volume.metadata(&self.found()?, place)
    }
}

/// From now on the file has no Finder info.
pub(crate) fn forget_info(streams: &Streams, file: &File<'_>) -> Result<()> {
    let (before, _) = streams.load(file)?;
    if before.finder_info.is_none() {
        return Ok(());
    }
    let mut after = before.clone();
    after.set_finder_info(FinderInfo::NONE);
    streams.store(&Caller::root(), file, &after)?;
    streams.annotations().heed_model(file, &before, &after)
}
