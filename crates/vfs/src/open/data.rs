//! What is read and written through an open. A read of the data fork that is in memory is one call to the host, a write
//! one.

use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::Open;
use crate::backend::Node;
use crate::backend::Stability;
use crate::changing::pipeline::opened::OpenChange;
use crate::noted::Act;
use crate::state::{Cause, Modes, Stream};
use crate::volume::{SENT_BLINDLY, reserved, within};
use crate::{Caller, EarlyWrite, Error, Payload, Result};

/// What [`Open::read_at`] gives.
#[derive(Debug)]
pub struct ReadBytes {
    /// The bytes; fewer than asked for only at the end of the stream.
    pub payload: Payload,
    /// Whether the end of the stream is known to have been reached.
    pub end: bool,
}

impl Open {
    /// The length of this stream.
    pub async fn size(&self) -> Result<u64> {
        if self.is_data { Ok(self.node.attributes()?.size) } else { self.stream_size().await }
    }

    /// Reads up to `length` bytes at `offset`. Bytes in memory are returned at once; the read of
    /// others waits on a thread of the pool.
    pub async fn read_at(&self, offset: u64, length: usize) -> Result<ReadBytes> {
        self.volume.notes().file(Act::Read, &self.node);
        self.require(Modes::READ)?;
        self.may_touch(&self.permitted(), offset, length as u64, false).await?;
        if !self.is_data {
            let bytes = self.stream_bytes(offset, length).await?;
            let end = bytes.len() < length;
            self.volume.site.traffic.read_stream(bytes.len());
            return Ok(ReadBytes { payload: Payload::Bytes(bytes), end });
        }
        // A short read is one call: only a longer one has to know where the file ends.
        let ((length, end), sent) = match length >= SENT_BLINDLY {
            true => (within(self.node.attributes()?.size, offset, length), true),
            false => ((length, false), false),
        };
        reserved::note_stream(&self.volume, &self.actor.caller, &self.node, (offset, length, end));
        let payload = self.volume.fetch(&self.node, offset, length, sent && length >= SENT_BLINDLY).await?;
        let end = end || payload.len() < length;
        self.volume.site.traffic.read(payload.len());
        Ok(ReadBytes { payload, end })
    }

    /// Whether a read would return a range of the file that is in memory: it then takes no memory
    /// of the server.
    pub fn is_resident(&self, offset: u64, length: usize) -> bool {
        let Ok(attributes) = self.node.attributes() else { return false };
        let (length, _) = within(attributes.size, offset, length);
        self.is_data && length >= SENT_BLINDLY && self.node.resident(offset, length as u64).is_some()
    }

    /// The bytes themselves. The caller has checked that they may be read.
    pub(super) async fn bytes_at(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        if !self.is_data {
            return self.stream_bytes(offset, length).await;
        }
        match self.volume.fetch(&self.node, offset, length, false).await? {
            Payload::Bytes(bytes) => Ok(bytes),
            Payload::File { .. } => Err(Error::Io), // nothing was to be sent
        }
    }

    /// Writes all of `data` at `offset`.
    pub fn write_at(
        &self,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> impl Future<Output = Result<()>> + Send {
        self.write_rest(offset, data, stability, None)
    }

    /// The same, without writing the beginning of `data` again that is written already. Also fails as that has failed.
    pub async fn write_rest(
        &self,
        offset: u64,
        data: Bytes,
        stability: Stability,
        early: Option<&EarlyWrite>,
    ) -> Result<()> {
        self.require(Modes::WRITE)?;
        let (permitted, length) = (OpenChange::to_write(self.permitted(), self), data.len());
        let early = early.filter(|early| early.is_of(self.node.id(), offset, length));
        early.map_or(Ok(()), EarlyWrite::result)?;
        let whole = (offset, length);
        let writing = permitted.quiet_range((offset, length as u64)).await?.pinned()?.announce()?;
        let (offset, data) = match early {
            Some(early) => early.rest(data),
            None => (offset, data),
        };
        let written = match (self.is_data, stability) {
            (false, _) => self.write_stream(offset, data, stability).await,
            (true, Stability::Unstable) if !self.node.is_remote() => {
                self.node.write_at(&self.actor.caller, offset, &data, stability)
            }
            (true, _) => {
                let (node, caller) = (self.node.clone(), self.actor.caller.clone());
                let write = move || node.write_at(&caller, offset, &data, stability);
                self.volume.site.pool.run(self.node.id(), write).await
            }
        };
        if written.is_ok() {
            self.volume.site.traffic.written(length);
            if self.is_data && stability == Stability::Unstable {
                reserved::note_written(&self.volume, &self.node, whole.0, whole.1);
            }
            early.into_iter().for_each(EarlyWrite::end);
        } else if let Err(Error::NoSpace | Error::QuotaExceeded) = written {
            self.volume.was_full.store(true, Ordering::Relaxed);
        }
        if self.is_data && written.is_ok() && stability == Stability::File {
            self.volume.pairs().absorb_written(&self.node).await;
        }
        writing.end(written)
    }

    /// Cuts the stream, or extends it with zeros.
    pub async fn truncate(&self, size: u64) -> Result<()> {
        self.require(Modes::WRITE)?;
        self.cut(size).await
    }

    /// The same, but the locks of other owners stop only cutting. If the stream grows, no byte
    /// changes that another owner can have locked and read.
    pub async fn resize(&self, size: u64) -> Result<()> {
        self.require(Modes::WRITE)?;
        if size < self.size().await? {
            return self.cut(size).await;
        }
        self.cut_now(size, Cause::Truncate, false).await
    }

    /// Cuts off everything, whatever access the stream was opened with and whatever parts are
    /// locked: for protocols that empty what they open. The deny modes of other opens were checked
    /// when it was opened.
    pub async fn empty(&self) -> Result<()> {
        if self.volume.is_read_only() {
            return Err(Error::ReadOnly);
        }
        self.cut_now(0, Cause::Overwrite, false).await
    }

    async fn cut(&self, size: u64) -> Result<()> {
        self.cut_now(size, Cause::Truncate, true).await
    }

    async fn cut_now(&self, size: u64, recalls: Cause, cuts: bool) -> Result<()> {
        let permitted = OpenChange::to_resize(self.permitted(), self);
        let cutting = permitted.quiet_size(size, recalls, cuts).await?.pinned()?.announce()?;
        let done = match self.is_data {
            true => self.node.truncate(&self.actor.caller, size),
            false => self.truncate_stream(size).await,
        };
        cutting.end(done)
    }

    /// Puts everything written to the stream on the disk.
    pub async fn sync(&self) -> Result<()> {
        if self.guard.stream() != Stream::Data {
            return self.sync_stream().await;
        }
        let node = self.node.clone();
        self.volume.site.pool.run(self.node.id(), move || node.sync(Stability::File)).await?;
        self.volume.pairs().absorb_written(&self.node).await;
        Ok(())
    }

    /// Puts everything written to the data fork on the disk, and what is needed to read it back. It
    /// is faster than `sync`, as times may be older after a crash.
    pub async fn sync_data(&self) -> Result<()> {
        self.on_data(|node, _| node.sync(Stability::Data)).await
    }

    /// Does something to the data fork, as its user, on a thread where waiting for the disk does
    /// not hold up other requests.
    pub(super) async fn on_data<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Node, &Caller) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (node, caller) = (self.node.clone(), self.actor.caller.clone());
        self.volume.site.pool.run(self.node.id(), move || act(&node, &caller)).await
    }
}
