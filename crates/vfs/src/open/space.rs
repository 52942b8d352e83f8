//! The space of an open file, and copies from one open file to another without the client in between.

use std::sync::Arc;

use bytes::Bytes;

use super::Open;
use super::streams::Which;
use crate::backend::Stability;
use crate::changing::pipeline::QuietChange;
use crate::changing::pipeline::opened::OpenChange;
use crate::state::{Cause, Modes};
use crate::{Error, Result};

/// Bytes copied at a time where the host does not copy by itself.
const PIECE: u64 = 1 << 20;
/// Bytes that the host copies at a time. The host does not notice when the client goes away.
const HOST_PIECE: u64 = 64 << 20;

/// What [`Open::allocated`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllocatedRanges {
    /// Where there are data: offset and length, ascending.
    pub ranges: Vec<(u64, u64)>,
    /// There may be more behind these.
    pub more: bool,
}

impl Open {
    /// Makes a range read as zeros and frees its space if the host can. The size of the file stays.
    pub async fn punch(&self, offset: u64, length: u64) -> Result<()> {
        let quiet = self.quiet_write(offset, length).await?;
        if length == 0 {
            return Ok(());
        }
        let punching = quiet.pinned()?.announce()?;
        let done = match self.is_data {
            true => self.on_data(move |node, caller| node.punch(caller, offset, length)).await,
            false => Err(Error::NotSupported),
        };
        let done = match done {
            Err(Error::NotSupported) => self.write_zeros(offset, length).await,
            other => other,
        };
        punching.end(done)
    }

    async fn write_zeros(&self, offset: u64, length: u64) -> Result<()> {
        let end = offset.saturating_add(length).min(self.size().await?);
        let zeros = Bytes::from(vec![0; PIECE.min(length) as usize]);
        let mut at = offset;
        while at < end {
            let now = (end - at).min(PIECE);
            self.write_at(at, zeros.slice(..now as usize), Stability::Unstable).await?;
            at += now;
        }
        Ok(())
    }

    /// Where in a range there are data, as at most `most` ranges. What the host cannot tell counts as data.
    pub async fn allocated(&self, offset: u64, length: u64, most: usize) -> Result<AllocatedRanges> {
        self.require(Modes::READ)?;
        let end = offset.saturating_add(length).min(self.size().await?);
        if offset >= end {
            return Ok(AllocatedRanges::default());
        }
        if !self.is_data {
            return Ok(AllocatedRanges { ranges: vec![(offset, end - offset)], more: false });
        }
        self.on_data(move |node, _| {
            let mut found = AllocatedRanges::default();
            let mut at = offset;
            while at < end {
                let Some(data) = node.seek(at, true)?.filter(|data| *data < end) else { break };
                if found.ranges.len() == most {
                    found.more = true;
                    break;
                }
                at = node.seek(data, false)?.unwrap_or(end).min(end);
                found.ranges.push((data, at - data));
            }
            Ok(found)
        })
        .await
    }

    /// Reserves space for the first `length` bytes. The file does not get longer.
    pub async fn allocate(&self, length: u64) -> Result<()> {
        self.require(Modes::WRITE)?;
        if !self.is_data {
            return Ok(()); // they have no space of their own
        }
        self.recall(Cause::Truncate).await;
        self.on_data(move |node, caller| node.allocate(caller, length)).await
    }

    /// Reserves space for a range. The file gets longer if the range ends behind it.
    pub async fn reserve(&self, offset: u64, length: u64) -> Result<()> {
        let quiet = self.quiet_write(offset, length).await?;
        if length == 0 {
            return Ok(());
        }
        if !self.is_data {
            return Err(Error::NotSupported);
        }
        let reserving = quiet.pinned()?.announce()?;
        let done = self.on_data(move |node, caller| node.reserve(caller, offset, length)).await;
        reserving.end(done)
    }

    /// Copies up to `length` bytes at `from` in another open file to `to` in this one. The two may
    /// be the same file, and the ranges may overlap. Returns the number of bytes copied, fewer than
    /// asked for only at the end of the source.
    pub async fn copy_from(&self, source: &Open, from: u64, to: u64, length: u64) -> Result<u64> {
        source.require(Modes::READ)?;
        source.may_touch(&source.permitted(), from, length, false).await?;
        let quiet = self.quiet_write(to, length).await?;
        from.checked_add(length).and(to.checked_add(length)).ok_or(Error::FileTooLarge)?;
        let copying = quiet.pinned()?.announce()?;
        let copied = match self.copy_in_host(source, from, to, length).await {
            Err(Error::NotSupported | Error::CrossVolume | Error::Invalid) => {
                self.copy_by_pieces(source, from, to, length).await
            }
            other => other,
        };
        copying.end(copied)
    }

    async fn copy_in_host(&self, source: &Open, from: u64, to: u64, length: u64) -> Result<u64> {
        if !self.is_data || !source.is_data {
            return Err(Error::NotSupported);
        }
        let mut done = 0;
        while done < length {
            let (input, now) = (source.node.clone(), (length - done).min(HOST_PIECE));
            let copy = move |node: &crate::Node, caller: &crate::Caller| {
                node.copy_range(caller, &*input, from + done, to + done, now)
            };
            match self.on_data(copy).await? {
                0 => break,
                copied => done += copied,
            }
        }
        Ok(done)
    }

    /// Copies backwards if the ranges overlap so that bytes would be written before they are read.
    async fn copy_by_pieces(&self, source: &Open, from: u64, to: u64, length: u64) -> Result<u64> {
        let left = source.size().await?.saturating_sub(from).min(length);
        let same = self.node.key() == source.node.key() && self.guard.stream() == source.guard.stream();
        let backwards = same && from < to && to - from < left;
        let mut done = 0;
        while done < left {
            let now = (left - done).min(PIECE);
            let at = if backwards { left - done - now } else { done };
            let bytes = source.bytes_at(from + at, now as usize).await?;
            let short = (bytes.len() as u64) < now;
            done += bytes.len() as u64;
            self.write_at(to + at, bytes.into(), Stability::Unstable).await?;
            if short {
                break; // cut meanwhile
            }
        }
        Ok(done)
    }

    /// Makes a range share another file's blocks, which takes no time and no space. `NotSupported` where the host
    /// cannot; `Invalid` when the range does not begin and end with blocks.
    pub async fn clone_from(&self, source: &Open, from: u64, to: u64, length: u64) -> Result<()> {
        source.require(Modes::READ)?;
        source.may_touch(&source.permitted(), from, length, false).await?;
        let quiet = self.quiet_write(to, length).await?;
        if !self.is_data || !source.is_data {
            return Err(Error::NotSupported);
        }
        if length == 0 {
            return Ok(());
        }
        let input = source.node.clone();
        let cloning = quiet.pinned()?.announce()?;
        let cloned =
            self.on_data(move |node, caller| node.clone_range(caller, &*input, from, to, length)).await;
        cloning.end(cloned)
    }

    /// Makes everything that the file is besides its data a copy of another one's: its fork and named streams, Mac
    /// metadata, flags and extended attributes. Streams that only this file has stay. Both opens must have been told where
    /// their files are.
    pub async fn copy_streams_from(&self, source: &Open) -> Result<()> {
        source.require(Modes::READ)?;
        self.require(Modes::WRITE)?;
        let besides = source.with_streams(|streams, caller, file| streams.besides(caller, file)).await?;
        let besides = Arc::new(besides);
        let fork = (besides.fork_len > 0).then_some(Which::Resource);
        let named = besides.streams.iter().map(|stream| Which::Named((&*stream.name).into()));
        for which in named.chain(fork) {
            match self.copy_stream(source, which).await {
                Err(Error::InvalidName) => {} // set by another program: no client may use it
                other => other?,
            }
        }
        // Last, as it has the times.
        let describing = OpenChange::to_describe(self.permitted(), self);
        let copying = describing.quiet_afterwards().pinned()?.announce()?;
        let taken = self
            .with_streams(move |streams, caller, file| streams.take_besides(caller, file, &besides))
            .await;
        copying.end(taken)
    }

    async fn copy_stream(&self, source: &Open, which: Which) -> Result<()> {
        let cut = which.clone();
        self.with_streams(move |streams, caller, file| cut.cut(streams, caller, file, 0)).await?;
        let mut at = 0;
        loop {
            let (read, write) = (which.clone(), which.clone());
            let piece = source
                .with_streams(move |streams, caller, file| {
                    read.read(streams, caller, file, at, PIECE as usize)
                })
                .await?;
            if piece.is_empty() {
                return Ok(());
            }
            let (now, unstable) = (piece.len() as u64, Stability::Unstable);
            self.with_streams(move |streams, caller, file| {
                write.write(streams, caller, file, at, &piece, unstable)
            })
            .await?;
            at += now;
        }
    }

    async fn quiet_write(&self, offset: u64, length: u64) -> Result<QuietChange<'_, OpenChange<'_>>> {
        self.require(Modes::WRITE)?;
        OpenChange::to_write(self.permitted(), self).quiet_range((offset, length)).await
    }
}
