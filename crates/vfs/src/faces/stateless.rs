//! A volume for clients that act on files by handles, without opens: each request stands for itself, and sidecars are files
//! that these clients see.

use std::sync::Arc;

use bytes::Bytes;

use crate::backend::{Found, Node, Stability};
use crate::changing::permitted::Plan;
use crate::changing::pipeline::PinnedChange;
use crate::changing::pipeline::attributes::AttributeChange;
use crate::changing::pipeline::data::DataWrite;
use crate::described::by_mode::WRITE_BITS;
use crate::described::metadata::file_at;
use crate::described::sidecars::LookupResult;
use crate::mac::FileBits;
use crate::mac::layout::is_sidecar_name;
use crate::noted::Act;
use crate::state::Stream;
use crate::streams::{ForkPart, PartWrite, SidecarView, StreamInfo};
use crate::volume::{SENT, reserved, within};
use crate::{
    Access, Actor, Attributes, Beside, Caller, Change, EarlyWrite, Error, FileId, Kind, Payload, Result,
    SetAttributes, Time, Volume,
};

/// A volume as clients without opens use it.
#[derive(Clone, Copy)]
pub struct Stateless<'a> {
    pub(crate) volume: &'a Volume,
}

impl Volume {
    /// Begins a write without an open, of data that are still arriving. `None`: it is to be made when all of them are there.
    pub fn begin_early(self: &Arc<Self>, actor: &Actor, to: &Found, range: (u64, u64)) -> Option<EarlyWrite> {
        if DataWrite::permitted(self, actor, to).is_err() {
            return None; // a refused client learns nothing of the quota
        }
        Some(EarlyWrite::begin(self, actor, &to.object, range)?.of_found(to))
    }

    /// This volume as clients without opens use it.
    pub fn stateless(&self) -> Stateless<'_> {
        Stateless { volume: self }
    }
}

/// What [`Stateless::read`] gives.
#[derive(Debug)]
pub struct ReadData {
    /// The bytes; fewer than asked for only at the end of the file.
    pub payload: Payload,
    /// Whether the end of the file was reached.
    pub end: bool,
    /// The file's attributes.
    pub attributes: Attributes,
}

impl Stateless<'_> {
    /// Reads up to `length` bytes at `offset`. Bytes in memory are returned at once; the read of
    /// others waits on a thread of the pool.
    pub async fn read(self, actor: &Actor, of: &Found, offset: u64, length: usize) -> Result<ReadData> {
        let (node, attributes) = (&of.object, of.attributes);
        self.volume.notes().file(Act::Read, node);
        let readable = self.volume.permit(actor, Plan::Read(of))?.readable(node, (offset, length)).await?;
        let (length, end) = within(attributes.size, offset, readable);
        reserved::note_stream(self.volume, &actor.caller, node, (offset, length, end));
        let payload = self.volume.fetch(node, offset, length, length >= SENT).await?;
        let end = end || payload.len() < length;
        self.volume.site.traffic.read(payload.len());
        Ok(ReadData { payload, end, attributes })
    }

    /// As [`Stateless::write_only`], with the attributes before and after.
    pub async fn write(
        self,
        actor: &Actor,
        to: &Found,
        offset: u64,
        data: Bytes,
        stability: Stability,
    ) -> Result<Change> {
        let before = self.write_only(actor, to, offset, data, stability, None).await?;
        Ok(Change { before, after: to.object.attributes()? })
    }

    /// Writes `data` at `offset`, except for what is written already. A write that must be on the disk waits for it on a
    /// thread of the pool. Gives the attributes before.
    pub async fn write_only(
        self,
        actor: &Actor,
        to: &Found,
        offset: u64,
        data: Bytes,
        stability: Stability,
        early: Option<&EarlyWrite>,
    ) -> Result<Attributes> {
        self.volume.notes().file(Act::Write, &to.object);
        let (node, caller, length) = (&to.object, &actor.caller, data.len());
        let early = early.filter(|early| early.is_of(node.id(), offset, length));
        early.map_or(Ok(()), EarlyWrite::result)?;
        let begins = offset;
        let written = PartWrite { offset, length: length as u64, data: Some(&data) };
        let quiet = DataWrite::permitted(self.volume, actor, to)?.quiet_part(written).await?;
        let operation = quiet.pinned()?.announce()?;
        let (offset, data) = match early {
            Some(early) => early.rest(data),
            None => (offset, data),
        };
        if stability == Stability::Unstable && !node.is_remote() {
            node.write_at(caller, offset, &data, stability)?;
            reserved::note_written(self.volume, node, begins, length);
        } else {
            let (node, caller) = (node.clone(), caller.clone());
            let write = move || node.write_at(&caller, offset, &data, stability);
            self.volume.site.pool.run(to.object.id(), write).await?;
        }
        if stability == Stability::File {
            self.volume.pairs().absorb_written(node).await;
        }
        operation.commit(&());
        self.volume.site.traffic.written(length);
        early.into_iter().for_each(EarlyWrite::end);
        Ok(early.and_then(EarlyWrite::before).unwrap_or(to.attributes))
    }

    /// Writes what has `arrived` of the data of a write that [`Volume::begin_early`] has begun. False: no more of it is to be
    /// written before all of it is there.
    pub fn write_early(self, actor: &Actor, to: &Found, early: &mut EarlyWrite, arrived: &[u8]) -> bool {
        let piece = early.piece(arrived);
        if piece.1.is_empty() {
            return true;
        }
        let permitted = DataWrite::permitted(self.volume, actor, to);
        let quiet = permitted.and_then(|permitted| permitted.quiet_now(early.range()));
        let Ok(quiet) = quiet else { return false };
        if !early.is_undisturbed() {
            return false;
        }
        let Ok(mut writing) = quiet.pinned().and_then(PinnedChange::announce) else { return false };
        early.write(piece, |written| {
            if written.is_ok() {
                writing.commit_part();
            }
            None
        })
    }

    /// As [`Volume::lookup`], with the sidecars that are not on the disk.
    pub fn look(&self, caller: &Caller, folder: &Found, name: &[u8]) -> Result<LookupResult> {
        if let Some(streams) = &self.volume.streams
            && is_sidecar_name(name)
        {
            let stored = self.volume.names().entry_name(caller, folder, name)?;
            let caller = self.volume.permissions().passing(caller, folder)?;
            match streams.sidecar_files().view(caller, folder.object.as_ref(), &stored)? {
                SidecarView::Plain => {}
                SidecarView::OnDisk(found) => return Ok(LookupResult::File(found)),
                SidecarView::Synthesized(sidecar) => return Ok(LookupResult::Sidecar(sidecar)),
                SidecarView::Absent => return Err(Error::NotFound),
            }
        }
        self.volume.lookup(caller, &folder.object, name).map(LookupResult::File)
    }

    /// The sidecar of a file that a client found earlier.
    pub fn sidecar_of(&self, owner: Found) -> Result<LookupResult> {
        match self.volume.streams.as_ref().ok_or(Error::Stale)?.sidecar_files().view_of(owner)? {
            SidecarView::OnDisk(found) => Ok(LookupResult::File(found)),
            SidecarView::Synthesized(sidecar) => Ok(LookupResult::Sidecar(sidecar)),
            SidecarView::Plain | SidecarView::Absent => Err(Error::Stale),
        }
    }

    /// Puts a sidecar on the disk that the server has composed until now, because it is about to
    /// change.
    pub fn materialize(&self, caller: &Caller, owner: &Node) -> Result<Found> {
        self.volume
            .streams
            .as_ref()
            .ok_or(Error::Stale)?
            .sidecar_files()
            .materialize_of(caller, owner.as_ref())
    }

    /// As [`Volume::streams`], for one whose requests may wait for the disk on their own thread.
    pub fn streams_now(&self, of: &Found, place: Beside<'_>) -> Result<Vec<StreamInfo>> {
        match &self.volume.streams {
            // The names and lengths of streams are no more secret than the size of the file.
            Some(streams) => streams.streams(&Caller::root(), &file_at(of, place)),
            None => Ok(Vec::new()),
        }
    }

    /// The length of the resource fork or of a named stream, and when the place on the disk that holds it has changed.
    /// `NoSuchAttribute` if there is no such stream.
    pub fn stream_state(&self, of: &Found, place: Beside<'_>, stream: &Stream) -> Result<(u64, Time)> {
        let streams = self.volume.streams.as_ref().ok_or(Error::NotSupported)?;
        match stream {
            Stream::Named(name) => streams.stream_state(&file_at(of, place), name.as_bytes()),
            Stream::Resource => streams.fork_state(&file_at(of, place)),
            Stream::Data | Stream::Info => Err(Error::Invalid),
        }
    }

    /// Whether a lease of this file is being recalled, or its state from another server.
    pub fn is_recalling(&self, file: FileId) -> bool {
        self.volume.site.recalls.has(file) || self.volume.site.state.is_coming(file)
    }

    /// Whether the data of this file may be in the cache of another client only. The size and times
    /// that the host has are too old then.
    pub fn is_written_behind(&self, actor: &Actor, file: FileId) -> bool {
        self.volume.site.state.is_written_behind(file, &Stream::Data, actor.party)
    }

    /// The mode that is shown to clients that know modes only: a locked file has no right to write. `now` are fresh attributes
    /// of the file.
    pub fn mode_with_locks(&self, of: &Node, now: &Attributes) -> u32 {
        let is_locked = of.kind() == Kind::File
            && self
                .volume
                .inhibitions()
                .bits_as_of(of, Some(now.changed))
                .is_ok_and(|bits| bits.contains(FileBits::WRITE_INHIBIT));
        // A file that cannot be read is no reason to show no attributes.
        if is_locked { now.mode & !WRITE_BITS } else { now.mode }
    }

    /// As [`Volume::set_attributes`], of an object that this actor has just made. If its state is not here yet, nothing
    /// of it needs to be recalled first; what other clients have got of it meanwhile is recalled afterwards.
    pub fn set_attributes_of_new(
        &self,
        actor: &Actor,
        of: &Found,
        changes: &SetAttributes,
    ) -> Result<Change> {
        if !self.volume.site.state.is_elsewhere(of.object.id()) {
            return self.volume.set_attributes(actor, of, changes);
        }
        let change = AttributeChange::permitted_of_new(self.volume, actor, of, changes)?;
        change
            .quiet()?
            .pinned()?
            .announce()?
            .apply(|_, _| self.volume.acl_storage().change_attributes(actor, of, changes))?;
        Ok(Change { before: of.attributes, after: of.object.attributes()? })
    }

    /// Reads a sidecar that is not on the disk. A caller that may read its file may read it. `of` is that file, with the
    /// attributes of the sidecar.
    pub fn read_sidecar(
        &self,
        actor: &Actor,
        (of, sidecar): (&Found, &[u8]),
        offset: u64,
        length: usize,
    ) -> Result<ReadData> {
        let granted = self.volume.access(&actor.caller, of, Access::READ)?;
        if !granted.contains(Access::READ) && actor.caller.uid != of.attributes.uid {
            return Err(Error::AccessDenied);
        }
        let length = match self.volume.site.state.has_forks() && !self.volume.site.state.quiet(of.object.id())
        {
            true => {
                let part = ForkPart::of_composed(of.object.clone(), &of.attributes, sidecar);
                let permitted = self.volume.permit(actor, Plan::Use(of, Access::READ))?;
                permitted.readable_part(&of.object, &part, (offset, length))?
            }
            false => length,
        };
        let left = usize::try_from(offset).ok().and_then(|at| sidecar.get(at..)).unwrap_or_default();
        let bytes = left[..length.min(left.len())].to_vec();
        let end = bytes.len() == left.len();
        Ok(ReadData { payload: Payload::Bytes(bytes), end, attributes: of.attributes })
    }

    /// Waits until no lease of this file is being recalled, its state is here, and no other server is removing it.
    pub async fn recalled(self, file: FileId) {
        self.volume.site.recalled(file).await;
    }

    /// Whether the actor is a client that reads programs to run them, and its user may run this one.
    pub fn may_run(&self, actor: &Actor, of: &Found) -> Result<bool> {
        self.volume.permissions().may_run(actor, of)
    }

    /// Whether shares inside this one have rules of their own. Then callers must have an origin.
    pub fn has_gates(&self) -> bool {
        self.volume.backend.has_gates()
    }
}
