//! A volume for clients that act on files by handles, without opens: each request stands for itself, and sidecars are files
//! that these clients see.

use crate::backend::{Found, Node};
use crate::described::metadata::file_at;
use crate::described::sidecars::LookupResult;
use crate::mac::layout::is_sidecar_name;
use crate::state::Stream;
use crate::streams::{StreamInfo, View};
use crate::{Beside, Caller, Error, Result, Time, Volume};

/// A volume as clients without opens use it.
#[derive(Clone, Copy)]
pub struct Stateless<'a> {
    pub(crate) volume: &'a Volume,
}

impl Volume {
    /// This volume as clients without opens use it.
    pub fn stateless(&self) -> Stateless<'_> {
        Stateless { volume: self }
    }
}

impl Stateless<'_> {
    /// As [`Volume::lookup`], with the sidecars that are not on the disk.
    pub fn look(&self, caller: &Caller, folder: &Found, name: &[u8]) -> Result<LookupResult> {
        if let Some(streams) = &self.volume.streams
            && is_sidecar_name(name)
        {
            let stored = self.volume.names().entry_name(caller, folder, name)?;
            let caller = self.volume.permissions().passing(caller, folder)?;
            match streams.view(caller, folder.object.as_ref(), &stored)? {
                View::Plain => {}
                View::OnDisk(found) => return Ok(LookupResult::File(found)),
                View::Synthesized(sidecar) => return Ok(LookupResult::Sidecar(sidecar)),
                View::Absent => return Err(Error::NotFound),
            }
        }
        self.volume.lookup(caller, &folder.object, name).map(LookupResult::File)
    }

    /// The sidecar of a file that a client found earlier.
    pub fn sidecar_of(&self, owner: Found) -> Result<LookupResult> {
        match self.volume.streams.as_ref().ok_or(Error::Stale)?.view_of(owner)? {
            View::OnDisk(found) => Ok(LookupResult::File(found)),
            View::Synthesized(sidecar) => Ok(LookupResult::Sidecar(sidecar)),
            View::Plain | View::Absent => Err(Error::Stale),
        }
    }

    /// Puts a sidecar on the disk that the server has composed until now, because it is about to
    /// change.
    pub fn materialize(&self, caller: &Caller, owner: &Node) -> Result<Found> {
        self.volume.streams.as_ref().ok_or(Error::Stale)?.materialize_of(caller, owner.as_ref())
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
}
