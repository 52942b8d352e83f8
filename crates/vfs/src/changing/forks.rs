//! A resource fork as a part of `._name`. A client that reads, writes, cuts, removes or moves this file does it to the
//! fork of `name`. So what other clients hold of the fork (deny modes, byte-range locks, leases) binds it, as what they
//! hold of the data fork binds the data. The rest of the file is bound by what is held of the file itself.
//!
//! While no client has a resource fork open, all of this is one atomic load.

use std::sync::Arc;

use super::permitted::PermittedActor;
use crate::backend::Found;
use crate::backend::Node;
use crate::mac::layout::is_sidecar_name;
use crate::state::{Cause, IoClient, Range, Stream};
use crate::streams::{ForkPart, PartWrite, Streams};
use crate::volume::Actor;
use crate::{Error, Kind, Result, Volume};

/// A change of the fork of a file, through its sidecar. Leases on the fork that are granted meanwhile are recalled when
/// this is dropped.
pub(crate) struct ForkChange<'a> {
    volume: &'a Volume,
    actor: &'a Actor,
    owner: Node,
    cause: Cause,
}

/// A client is not bound by what it holds of the fork itself, whichever open it uses.
fn stateless(by: &PermittedActor<'_>) -> IoClient<'static> {
    IoClient::stateless(by.party.client)
}

impl Drop for ForkChange<'_> {
    fn drop(&mut self) {
        let file = self.owner.id();
        self.volume.unheard(&self.owner);
        let late = self.volume.site.state.break_for(file, &Stream::Resource, self.cause, self.actor.party);
        late.into_iter().for_each(|recall| self.volume.site.recalls.settle(file, recall));
    }
}

impl<'a> PermittedActor<'a> {
    /// How much of a read of a file may go on, as far as others are concerned: less than all of it if the file is a sidecar,
    /// and the rest of the read is of a fork that they deny or have locked. Fails if nothing may be read.
    pub(crate) async fn readable(&self, of: &Node, (offset, length): (u64, usize)) -> Result<usize> {
        self.quiet_data(of.id(), (offset, length), false)?;
        match self.part_in_use(of).await? {
            Some((owner, part)) => self.readable_part(&owner, &part, (offset, length)),
            None => Ok(length),
        }
    }

    /// Whether a file may be written. If it is a sidecar and its fork changes with it, others' holds of the fork are
    /// asked, and the change of the fork begins.
    pub(crate) async fn may_write_fork(
        &self,
        of: &Node,
        written: PartWrite<'_>,
    ) -> Result<Option<ForkChange<'a>>> {
        match self.part_in_use(of).await? {
            Some((owner, part)) => self.may_write_part(owner, &part, written),
            None => Ok(None),
        }
    }

    /// The same for a client that has the file open, and waits for leases. A write of the beginning of a sidecar, of
    /// which it is not known what it says, counts as one of the whole fork.
    pub(crate) async fn may_touch_fork(
        &self,
        of: &Node,
        (offset, length): (u64, u64),
        write: bool,
    ) -> Result<()> {
        let Some((owner, part)) = self.part_in_use(of).await? else { return Ok(()) };
        let may = || match write {
            true => {
                let written = PartWrite { offset, length, data: None };
                self.may_write_part(owner.clone(), &part, written).map(drop)
            }
            false => self.may_read_part(&owner, &part, (offset, length)).map(drop),
        };
        self.volume().settled(may).await
    }

    /// The same for a change of the file's size.
    pub(crate) fn may_cut_fork(&self, of: &Node, size: u64) -> Result<Option<ForkChange<'a>>> {
        let Some((streams, owner)) = self.fork_in_use(of)? else { return Ok(None) };
        let Some(kept) = streams.fork_part(of.clone())?.kept_by_cut(size) else { return Ok(None) };
        self.may_resize_fork(owner, kept).map(Some)
    }

    /// Whether an entry of a folder may be removed, moved or replaced as far as a fork goes with it: it fails if the entry
    /// is a sidecar, and others hold the fork of its file.
    pub(crate) fn may_lose_fork(&self, folder: &Found, name: &[u8]) -> Result<()> {
        let Some(streams) = self.volume().streams.as_ref().filter(|_| is_sidecar_name(name)) else {
            return Ok(());
        };
        if !self.volume().site.state.has_forks() {
            return Ok(());
        }
        let Some(owner) = streams.file_beside(folder.object.as_ref(), name)? else { return Ok(()) };
        match self.may_resize_fork(owner.object, 0) {
            // A range of it is locked: it cannot go, and the lock may stay for long.
            Err(Error::RangeLocked) => Err(Error::ShareConflict),
            other => other.map(drop),
        }
    }

    /// The same for a move and what it replaces. A sidecar that has moved with its file already stays where it is.
    pub(crate) fn may_move_fork(&self, from: (&Found, &[u8]), to: (&Found, &[u8])) -> Result<()> {
        let Some(streams) = &self.volume().streams else { return Ok(()) };
        let (is_from, is_to) = (is_sidecar_name(from.1), is_sidecar_name(to.1));
        if !(is_from || is_to) || !self.volume().site.state.has_forks() {
            return Ok(());
        }
        let places = ((from.0.object.as_ref(), from.1), (to.0.object.as_ref(), to.1));
        if is_from && is_to && streams.sidecar_files().has_followed(places.0, places.1)? {
            return Ok(());
        }
        self.may_lose_fork(from.0, from.1)?;
        self.may_lose_fork(to.0, to.1)
    }

    /// The file that `of` is the sidecar of, if a client may hold something of its fork.
    fn fork_in_use(&self, of: &Node) -> Result<Option<(Arc<Streams>, Node)>> {
        let Some(streams) = self.volume().streams.as_ref().filter(|_| of.kind() == Kind::File) else {
            return Ok(None);
        };
        if !self.volume().site.state.has_forks() {
            return Ok(None);
        }
        let owner = streams.file_of(&**of)?.map(|owner| owner.object);
        let owner = owner.filter(|owner| !self.volume().site.state.quiet(owner.id()));
        Ok(owner.map(|owner| (streams.clone(), owner)))
    }

    /// Whether `of` is the sidecar of a file whose fork a client may hold something of.
    pub(crate) fn has_fork_in_use(&self, of: &Node) -> Result<bool> {
        Ok(self.fork_in_use(of)?.is_some())
    }

    /// As `fork_in_use`, and where the fork is in the sidecar: a thread of the pool reads that.
    async fn part_in_use(&self, of: &Node) -> Result<Option<(Node, ForkPart)>> {
        let Some((streams, owner)) = self.fork_in_use(of)? else { return Ok(None) };
        let sidecar = of.clone();
        let part = self.volume().site.pool.run(of.id(), move || streams.fork_part(sidecar)).await?;
        Ok(Some((owner, part)))
    }

    fn may_read_part(&self, owner: &Node, part: &ForkPart, (offset, length): (u64, u64)) -> Result<()> {
        let (fork, end) = (part.range(), offset.saturating_add(length));
        let read = offset.max(fork.start)..end.min(fork.end);
        if read.is_empty() {
            return Ok(());
        }
        self.check_fork(owner, read.start - fork.start, read.end - read.start, false)?;
        self.recall_stream(owner.id(), &Stream::Resource, Cause::Read)
    }

    /// The same for a client that may get fewer bytes than it wants: those before the fork.
    pub(crate) fn readable_part(
        &self,
        owner: &Node,
        part: &ForkPart,
        (offset, length): (u64, usize),
    ) -> Result<usize> {
        let start = part.range().start;
        match self.may_read_part(owner, part, (offset, length as u64)) {
            Err(_) if offset < start => Ok((start - offset) as usize),
            other => other.map(|()| length),
        }
    }

    fn may_write_part(
        &self,
        owner: Node,
        part: &ForkPart,
        written: PartWrite<'_>,
    ) -> Result<Option<ForkChange<'a>>> {
        let (fork, end) = (part.range(), written.offset.saturating_add(written.length));
        let inside = written.offset.max(fork.start)..end.min(fork.end);
        if let Some(kept) = part.kept_by_write(written) {
            if !inside.is_empty() {
                self.check_fork(&owner, inside.start - fork.start, inside.end - inside.start, true)?;
            }
            return self.may_resize_fork(owner, kept).map(Some);
        }
        if inside.is_empty() {
            return Ok(None);
        }
        self.check_fork(&owner, inside.start - fork.start, inside.end - inside.start, true)?;
        self.begin_fork(owner, Cause::Write).map(Some)
    }

    fn check_fork(&self, owner: &Node, offset: u64, length: u64, write: bool) -> Result<()> {
        let Some(range) = Range::new(offset, length) else { return Ok(()) };
        self.volume().site.state.check_io(owner.id(), &Stream::Resource, stateless(self), range, write)
    }

    fn may_resize_fork(&self, owner: Node, kept: u64) -> Result<ForkChange<'a>> {
        self.volume().site.state.check_resize(owner.id(), &Stream::Resource, stateless(self), kept)?;
        self.begin_fork(owner, Cause::Truncate)
    }

    fn begin_fork(&self, owner: Node, cause: Cause) -> Result<ForkChange<'a>> {
        self.recall_stream(owner.id(), &Stream::Resource, cause)?;
        Ok(ForkChange { volume: self.volume(), actor: self.actor(), owner, cause })
    }
}
