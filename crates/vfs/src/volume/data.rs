//! The bytes of files, for protocols whose clients need not open them.

use bytes::Bytes;

use super::{Actor, Change, ReadData};
use crate::acl::Rights;
use crate::backend::{Found, Stability, Wait};
use crate::state::Cause;
use crate::{Access, Error, Payload, Result, Volume};

/// Reads of at least this many bytes are sent from the page cache where they can be; shorter ones are cheaper copied.
const SEND_FROM_FILE: usize = 32 * 1024;

impl Volume {
    /// Reads up to `length` bytes at `offset`. What is in memory is answered at once; the rest waits elsewhere.
    pub async fn read(&self, actor: &Actor, of: &Found, offset: u64, length: usize) -> Result<ReadData> {
        let (node, attributes) = (&of.object, of.attributes);
        self.may_read(actor, node.id(), offset, length)?;
        let by = self.acting(&actor.caller, of, Rights::READ_DATA)?;
        node.prepare(by, &attributes, Access::READ, true)?;
        let left = attributes.size.saturating_sub(offset);
        let length = length.min(usize::try_from(left).unwrap_or(usize::MAX));
        let end = length as u64 == left;
        if length == 0 {
            return Ok(ReadData { payload: Payload::Bytes(Vec::new()), end, attributes });
        }
        if length >= SEND_FROM_FILE
            && let Some(fd) = node.resident(offset, length as u64)
        {
            return Ok(ReadData { payload: Payload::File { fd, offset, length }, end, attributes });
        }
        let mut bytes = Vec::new();
        match node.read_at(offset, length, &mut bytes, Wait::Never) {
            Ok(_) => {}
            Err(Error::WouldBlock) => {
                let node = node.clone();
                let read = move || {
                    let mut bytes = Vec::new();
                    node.read_at(offset, length, &mut bytes, Wait::Allowed)?;
                    Ok(bytes)
                };
                bytes = self.site.pool.run(of.object.id(), read).await?;
            }
            Err(error) => return Err(error),
        }
        let end = end || bytes.len() < length;
        Ok(ReadData { payload: Payload::Bytes(bytes), end, attributes })
    }

    /// Whether a read would be answered with a range of the file that is in memory: it then takes no memory of the server.
    pub fn is_resident(&self, of: &Found, offset: u64, length: usize) -> bool {
        let left = usize::try_from(of.attributes.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = length.min(left);
        length == 0 || length >= SEND_FROM_FILE && of.object.resident(offset, length as u64).is_some()
    }

    /// Writes `data` at `offset`. A write that must be on the disk waits for it elsewhere.
    pub async fn write(
        &self,
        actor: &Actor,
        to: &Found,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Change> {
        let (node, before, caller) = (&to.object, self.may_change(to)?, &actor.caller);
        self.may_alter(to)?;
        self.may_write(actor, node.id(), offset, data.len())?;
        let by = self.acting(caller, to, Rights::WRITE_DATA)?;
        node.prepare(by, &before, Access::WRITE, true)?;
        if stability == Stability::Unstable {
            node.write_at(caller, offset, &data, stability)?;
        } else {
            let (node, caller) = (node.clone(), caller.clone());
            let write = move || node.write_at(&caller, offset, &data, stability);
            self.site.pool.run(to.object.id(), write).await?;
        }
        if stability == Stability::File {
            self.absorb_written(node);
        }
        self.unheard(node);
        self.recall_late(actor, node.id(), Cause::Write);
        Ok(Change { before, after: node.attributes()? })
    }

    /// Puts everything written to a file on the disk.
    pub async fn sync(&self, of: &Found) -> Result<Change> {
        let (node, before) = (&of.object, of.attributes);
        let syncing = node.clone();
        self.site.pool.run(node.id(), move || syncing.sync(Stability::File)).await?;
        self.absorb_written(node);
        Ok(Change { before, after: node.attributes()? })
    }

    /// Puts everything written to any file of the volume on the disk.
    pub async fn sync_all(&self) -> Result<()> {
        let (root, backend) = (self.backend.root()?.object.id(), self.backend.clone());
        self.site.pool.run(root, move || backend.sync()).await
    }
}
