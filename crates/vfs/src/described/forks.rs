//! A file's streams as a whole: which there are, and removing one. Their bytes are read and written through opens.

use std::sync::Arc;

use super::metadata::file_at;
use crate::backend::Found;
use crate::changing::pipeline::describing::StreamRemoval;
use crate::open::forget_info;
use crate::state::{Pins, Stream};
use crate::streams::{File, StreamInfo, Streams};
use crate::{Actor, Beside, Caller, Error, Result, Volume};

impl Volume {
    /// Whether files have streams beside their data at all, and what Macs keep beside a file.
    pub fn keeps_streams(&self) -> bool {
        self.streams.is_some()
    }

    /// The named streams of a file, in no order. One or two calls to the host tell that there are
    /// none. Further calls wait on a thread where they do not hold up other requests.
    pub async fn streams(
        self: &Arc<Self>,
        actor: &Actor,
        of: &Found,
        place: Option<Beside<'_>>,
    ) -> Result<Vec<StreamInfo>> {
        let Some(streams) = &self.streams else { return Ok(Vec::new()) };
        if !streams.may_have_streams(&*of.object, place.map(|place| file_at(of, place)).as_ref())? {
            return Ok(Vec::new());
        }
        match place {
            None => streams.streams_alone(&*of.object),
            Some(place) => {
                // The names and lengths of streams are no more secret than the size of the file.
                self.at(&actor.caller, of, place, |streams, _, file| streams.streams(&Caller::root(), file))
                    .await
            }
        }
    }

    /// The length of a file's resource fork; 0 if it has none. At most two calls to the host tell
    /// that.
    pub fn fork_len(&self, of: &Found, place: Beside<'_>) -> Result<u64> {
        match &self.streams {
            Some(streams) => streams.fork_len(&file_at(of, place)),
            None => Ok(0),
        }
    }

    /// Whether a file has any named streams, as far as its own attributes and the store say: cheap.
    pub fn has_streams(&self, of: &Found) -> Result<bool> {
        match &self.streams {
            Some(streams) => streams.has_streams(&*of.object),
            None => Ok(false),
        }
    }

    /// Removes a named stream, the resource fork, or what describes the file to a Mac. `NoSuchAttribute` when there is none.
    pub async fn remove_stream(
        self: &Arc<Self>,
        actor: &Actor,
        of: &Found,
        place: Beside<'_>,
        stream: &Stream,
    ) -> Result<()> {
        let quiet = StreamRemoval::permitted(self, actor, (of, place), stream)?.quiet_once_recalled().await;
        let mut removal = quiet.pinned_once_here().await?.announce()?;
        let (pins, going) = (std::mem::take(&mut removal.steps_mut().pins), stream.clone());
        let by = removal.by().identity();
        self.at_pinned(by, of, (place, pins), move |streams, caller, file| match &going {
            Stream::Data => Err(Error::Invalid),
            Stream::Resource => streams.remove_fork(caller, file),
            Stream::Info => forget_info(streams, file),
            Stream::Named(name) => {
                streams.remove_stream(caller, file, name.as_bytes())?;
                streams.heed_stream(file, name.as_bytes())
            }
        })
        .await?;
        removal.commit(&());
        Ok(())
    }

    /// Does something with the streams of a file that is at this place, while no other request
    /// changes them, and on a thread where waiting does not hold up other requests.
    async fn at<T: Send + 'static>(
        self: &Arc<Self>,
        caller: &Caller,
        of: &Found,
        place: Beside<'_>,
        act: impl FnOnce(&Streams, &Caller, &File<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let pins = self.site.pin_streams(&of.object).await?;
        self.at_pinned(caller, of, (place, pins), act).await
    }

    /// The same with what keeps other servers from the streams.
    async fn at_pinned<T: Send + 'static>(
        self: &Arc<Self>,
        caller: &Caller,
        of: &Found,
        (place, pins): (Beside<'_>, Pins),
        act: impl FnOnce(&Streams, &Caller, &File<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (volume, caller, node) = (self.clone(), caller.clone(), of.object.clone());
        let (folder, name) = (place.folder.clone(), place.name.to_vec());
        let act = move || {
            let streams = volume.streams.as_ref().ok_or(Error::NotSupported)?;
            let _changing = volume.site.busy.change_pinned(&[(folder.id(), &name), (node.id(), b"")], pins);
            let there = folder.lookup(&Caller::root(), &name).map_err(|_| Error::Stale)?;
            if there.object.key() != node.key() {
                return Err(Error::Stale);
            }
            act(streams, &caller, &File { folder: &*folder, name: &name, object: &*node })
        };
        self.site.pool.run(of.object.id(), act).await
    }
}
