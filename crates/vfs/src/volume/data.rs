//! The bytes of files: reading them from memory or from the disk, and putting them on the disk.

use super::{Change, reserved};
use crate::backend::Node;
use crate::backend::{Found, NextRead, Stability, Wait};
use crate::{Error, Payload, Result, Volume};

/// Reads of at least this many bytes are sent from the page cache if all of them are there; shorter ones are cheaper copied.
pub(crate) const SENT: usize = 32 * 1024;
/// The same if the length of the file has to be asked for first, which is one more call.
pub(crate) const SENT_BLINDLY: usize = 64 * 1024 + 1;

impl Volume {
    /// The bytes of a data fork that its reader may read: a range of the file if it may be `sent` and is all in memory; a
    /// copy if it is short or partly in memory; else a thread of the pool reads it.
    pub(crate) async fn fetch(&self, node: &Node, offset: u64, length: usize, sent: bool) -> Result<Payload> {
        if length == 0 {
            return Ok(Payload::Bytes(Vec::new()));
        }
        if sent
            && let Some(fd) = node.resident(offset, length as u64)
            && !reserved::is_arriving(self, node, offset + length as u64)
        {
            return Ok(Payload::File { fd, offset, length });
        }
        let mut bytes = Vec::new();
        match node.read_at(offset, length, &mut bytes, Wait::Never) {
            Err(Error::WouldBlock) => {
                let (reading, passed) = (node.clone(), reserved::passed(self, node, offset, length));
                let read = move || {
                    let read = copy(&reading, offset, length);
                    passed
                        .into_iter()
                        .for_each(|(from, length)| reading.expect(from, length, NextRead::Never));
                    read
                };
                self.site.pool.run(node.id(), read).await
            }
            read => read.map(|_| Payload::Bytes(bytes)),
        }
    }

    /// Whether a read would return a range of the file that is in memory: it then takes no memory
    /// of the server.
    pub fn is_resident(&self, of: &Found, offset: u64, length: usize) -> bool {
        let (length, _) = within(of.attributes.size, offset, length);
        length == 0 || length >= SENT && of.object.resident(offset, length as u64).is_some()
    }

    /// Copies a band of a backup into its journal before it changes, on a thread of the pool. Other files need nothing.
    pub(crate) async fn journalled(&self, node: &Node) {
        let journals = self.site.journals.clone();
        if !journals.has(node.id()) {
            return;
        }
        let band = node.clone();
        let copy = move || {
            journals.before_change(&band);
            Ok(())
        };
        // A copy that fails does not stop the change: the journal says so itself.
        let _: Result<()> = self.site.pool.run(node.id(), copy).await;
    }

    /// Puts everything written to a file on the disk.
    pub async fn sync(&self, of: &Found) -> Result<Change> {
        let (node, before) = (&of.object, of.attributes);
        let syncing = node.clone();
        self.site.pool.run(node.id(), move || syncing.sync(Stability::File)).await?;
        self.pairs().absorb_written(node).await;
        Ok(Change { before, after: node.attributes()? })
    }

    /// Puts everything written to any file of the volume on the disk.
    pub async fn sync_all(&self) -> Result<()> {
        let (root, backend) = (self.backend.root()?.object.id(), self.backend.clone());
        self.site.pool.run(root, move || backend.sync()).await
    }
}

/// How much of a range is in a file of this size, and whether it reaches the end.
pub(crate) fn within(size: u64, offset: u64, length: usize) -> (usize, bool) {
    let left = size.saturating_sub(offset);
    let length = length.min(usize::try_from(left).unwrap_or(usize::MAX));
    (length, length as u64 == left)
}

fn copy(node: &Node, offset: u64, length: usize) -> Result<Payload> {
    let mut bytes = Vec::new();
    node.read_at(offset, length, &mut bytes, Wait::Allowed)?;
    Ok(Payload::Bytes(bytes))
}
