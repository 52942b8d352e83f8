//! The bytes of files, for protocols whose clients need not open them.

use bytes::Bytes;

use super::{Actor, Change};
use crate::backend::Node;
use crate::backend::{Found, Stability, Wait};
use crate::changing::permitted::Plan;
use crate::changing::pipeline::data::DataWrite;
use crate::noted::Act;
use crate::streams::PartWrite;
use crate::{Attributes, Error, Payload, Result, Volume};

/// Reads of at least this many bytes are sent from the page cache if all of them are there; shorter ones are cheaper copied.
const SENT: usize = 32 * 1024;
/// The same if the length of the file has to be asked for first, which is one more call.
pub(crate) const SENT_BLINDLY: usize = 64 * 1024 + 1;

/// What [`Volume::read`] gives.
#[derive(Debug)]
pub struct ReadData {
    /// The bytes; fewer than asked for only at the end of the file.
    pub payload: Payload,
    /// Whether the end of the file was reached.
    pub end: bool,
    /// The file's attributes.
    pub attributes: Attributes,
}

impl Volume {
    /// Reads up to `length` bytes at `offset`. Bytes in memory are returned at once; the read of
    /// others waits on a thread of the pool.
    pub async fn read(&self, actor: &Actor, of: &Found, offset: u64, length: usize) -> Result<ReadData> {
        let (node, attributes) = (&of.object, of.attributes);
        self.notes().file(Act::Read, node);
        let readable = self.permit(actor, Plan::Read(of))?.readable(node, (offset, length)).await?;
        let (length, end) = within(attributes.size, offset, readable);
        let payload = self.fetch(node, offset, length, length >= SENT).await?;
        let end = end || payload.len() < length;
        self.site.traffic.read(payload.len());
        Ok(ReadData { payload, end, attributes })
    }

    /// The bytes of a data fork that its reader may read: a range of the file if it may be `sent` and is all in memory; a
    /// copy if it is short or partly in memory; else a thread of the pool reads it.
    pub(crate) async fn fetch(&self, node: &Node, offset: u64, length: usize, sent: bool) -> Result<Payload> {
        if length == 0 {
            return Ok(Payload::Bytes(Vec::new()));
        }
        if sent && let Some(fd) = node.resident(offset, length as u64) {
            return Ok(Payload::File { fd, offset, length });
        }
        let mut bytes = Vec::new();
        match node.read_at(offset, length, &mut bytes, Wait::Never) {
            Err(Error::WouldBlock) => {
                let reading = node.clone();
                let read = move || copy(&reading, offset, length);
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

    /// As [`Volume::write_only`], with the attributes before and after.
    pub async fn write(
        &self,
        actor: &Actor,
        to: &Found,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Change> {
        let before = self.write_only(actor, to, offset, data, stability).await?;
        Ok(Change { before, after: to.object.attributes()? })
    }

    /// Writes `data` at `offset`. A write that must be on the disk waits for it on a thread of the
    /// pool. Gives the attributes before.
    pub async fn write_only(
        &self,
        actor: &Actor,
        to: &Found,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Attributes> {
        self.notes().file(Act::Write, &to.object);
        let (node, caller, length) = (&to.object, &actor.caller, data.len());
        let written = PartWrite { offset, length: length as u64, data: Some(&data) };
        let quiet = DataWrite::permitted(self, actor, to)?.quiet_part(written).await?;
        let operation = quiet.pinned()?.announce()?;
        if stability == Stability::Unstable && !node.is_remote() {
            node.write_at(caller, offset, &data, stability)?;
        } else {
            let (node, caller) = (node.clone(), caller.clone());
            let write = move || node.write_at(&caller, offset, &data, stability);
            self.site.pool.run(to.object.id(), write).await?;
        }
        if stability == Stability::File {
            self.pairs().absorb_written(node).await;
        }
        operation.commit(&());
        self.site.traffic.written(length);
        Ok(to.attributes)
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
