//! The resource fork and named streams of an open file. They are where `streams` keeps them, so
//! each access finds them anew, at the present place of the file. Permission was checked at open:
//! the server acts as itself.

use std::sync::Arc;

use bytes::Bytes;

use super::Open;
use crate::acl::Rights;
use crate::backend::Node;
use crate::backend::{Found, Stability, Wait};
use crate::mac::info_stream;
use crate::state::{Modes, Stream};
use crate::streams::{File, Fork, Streams};
use crate::{Caller, Error, Result};

/// How many places of a file are looked at that local processes move meanwhile.
const MOST_PLACES: usize = 3;

impl Open {
    pub(super) async fn stream_size(&self) -> Result<u64> {
        match self.guard.stream() {
            Stream::Named(name) => {
                self.with_streams(move |streams, caller, file| {
                    streams.stream_len(caller, file, name.as_bytes())
                })
                .await
            }
            Stream::Info => Ok(info_stream::LEN as u64),
            _ => {
                let known = self.fork.lock().clone();
                match known.filter(|fork| fork.is_unchanged()) {
                    Some(fork) => Ok(fork.len()),
                    None => self.with_streams(|streams, _, file| streams.fork_len(file)).await,
                }
            }
        }
    }

    pub(super) async fn stream_bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        if self.guard.stream() == Stream::Info {
            return self.info_bytes(offset, length);
        }
        match Which::of(self.guard.stream()) {
            Which::Resource => self.fork_bytes(offset, length).await,
            which => {
                let read = move |streams: &Streams, caller: &Caller, file: &File<'_>| {
                    which.read(streams, caller, file, offset, length)
                };
                self.with_streams(read).await
            }
        }
    }

    /// To find the fork takes some ten calls to the host, on a thread that may wait. The result is
    /// valid until the sidecar changes. As long as it is valid, a read is two calls, on this
    /// thread.
    async fn fork_bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let known = self.fork.lock().clone();
        if let Some(bytes) = known.and_then(|fork| as_found(&fork, offset, length)) {
            return Ok(bytes);
        }
        let read = move |streams: &Streams, caller: &Caller, file: &File<'_>| {
            let (fork, mut bytes) = (streams.fork(caller, file)?, Vec::new());
            if let Some(fork) = &fork {
                fork.read_at(offset, length, &mut bytes, Wait::Allowed)?;
            }
            Ok((fork, bytes))
        };
        let (fork, bytes) = self.with_streams(read).await?;
        *self.fork.lock() = fork.map(Arc::new);
        Ok(bytes)
    }

    pub(super) async fn write_stream(&self, offset: u64, data: Bytes, stability: Stability) -> Result<()> {
        if self.guard.stream() == Stream::Info {
            return self.write_info(offset, &data).await;
        }
        let which = Which::of(self.guard.stream());
        self.with_streams(move |streams, caller, file| {
            which.write(streams, caller, file, offset, &data, stability)
        })
        .await
    }

    pub(super) async fn truncate_stream(&self, size: u64) -> Result<()> {
        if self.guard.stream() == Stream::Info {
            // It always has its full size. It ends when it is removed, or when zeros are written.
            return if size <= info_stream::LEN as u64 { Ok(()) } else { Err(Error::FileTooLarge) };
        }
        let which = Which::of(self.guard.stream());
        self.with_streams(move |streams, caller, file| which.cut(streams, caller, file, size)).await
    }

    pub(super) async fn sync_stream(&self) -> Result<()> {
        let stream = self.guard.stream();
        if stream == Stream::Info {
            return self.sync_info().await;
        }
        self.with_streams(move |streams, caller, file| match stream {
            // Writing nothing, for good, puts the stream where it is on the disk.
            Stream::Named(name) => {
                streams.write_stream(caller, file, name.as_bytes(), 0, &[], Stability::File)
            }
            _ => streams.fork(caller, file)?.map_or(Ok(()), |fork| fork.sync(Stability::File)),
        })
        .await
    }

    /// A named stream must be there, or be made.
    pub(super) async fn find_stream(&self, name: Arc<str>, create: bool) -> Result<()> {
        let found = Found { attributes: self.node.attributes()?, object: self.node.clone() };
        let maker =
            self.volume.permissions().acting(&self.doer().caller, &found, Rights::WRITE_NAMED).cloned();
        self.with_streams(move |streams, caller, file| {
            match streams.stream_len(caller, file, name.as_bytes()) {
                Err(Error::NoSuchAttribute) if create => {
                    streams.truncate_stream(&maker?, file, name.as_bytes(), 0)
                }
                other => other.map(drop),
            }
        })
        .await
    }

    /// Gives the named stream that is open another name. With `replace` one of that name goes; else it is `Exists`.
    /// `ShareConflict` while others have either open. There is no other way to or from the data fork than copying.
    pub async fn rename_stream(&self, to: &str, replace: bool) -> Result<()> {
        self.require(Modes::DELETE)?;
        let Stream::Named(from) = self.guard.stream() else { return Err(Error::NotSupported) };
        if to.is_empty() {
            return Err(Error::NotSupported);
        }
        let to: Arc<str> = to.into();
        if from == to {
            return Ok(());
        }
        self.guard.move_stream(&Stream::Named(to.clone()))?;
        let old = from.clone();
        let moved = self
            .with_streams(move |streams, caller, file| {
                streams.rename_stream(caller, file, from.as_bytes(), to.as_bytes(), replace)?;
                streams.annotations().heed_stream(file, from.as_bytes())?;
                streams.annotations().heed_stream(file, to.as_bytes())
            })
            .await;
        if moved.is_err() {
            self.guard.move_stream(&Stream::Named(old))?;
        }
        moved
    }

    /// Does something with the file's streams while no other request changes them, on a thread
    /// where waiting does not hold up other requests.
    pub(super) async fn with_streams<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Streams, &Caller, &File<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.place.clone().ok_or(Error::Invalid)?;
        let (volume, node) = (self.volume.clone(), self.node.clone());
        let pins = self.volume.site.pin_streams(&self.node).await?;
        let act = move || {
            let _pins = pins;
            let streams = volume.streams.as_ref().ok_or(Error::NotSupported)?;
            let is_at = |folder: &Node, name: &[u8]| {
                let there = folder.lookup(&Caller::root(), name);
                there.is_ok_and(|there| there.object.key() == node.key())
            };
            for tried in 0..MOST_PLACES {
                let (changing, folder, name) = place.claim(&volume.site.busy);
                if is_at(&folder, &name) {
                    return act(
                        streams,
                        &Caller::root(),
                        &File { folder: &*folder, name: &name, object: &*node },
                    );
                }
                drop(changing);
                if tried + 1 < MOST_PLACES {
                    // A local process has moved it.
                    let file = Found { attributes: node.attributes()?, object: node.clone() };
                    let (folder, name) = volume.place_of(&file).map_err(|_| Error::Stale)?;
                    place.moved_to(folder.object, &name);
                    volume.site.subscriptions.delivered();
                }
            }
            Err(Error::Stale)
        };
        self.volume.site.pool.run(self.node.id(), act).await
    }
}

/// Bytes of a fork that has not changed since it was found, if they are in memory. The change is
/// checked last, so the bytes were right then.
fn as_found(fork: &Fork, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fork.read_at(offset, length, &mut bytes, Wait::Never).ok()?;
    fork.is_unchanged().then_some(bytes)
}

/// A stream that is not the data fork.
#[derive(Clone)]
pub(super) enum Which {
    Resource,
    Named(Arc<[u8]>),
}

impl Which {
    fn of(stream: Stream) -> Self {
        match stream {
            Stream::Named(name) => Self::Named(name.as_bytes().into()),
            _ => Self::Resource,
        }
    }

    pub(super) fn read(
        &self,
        streams: &Streams,
        caller: &Caller,
        file: &File<'_>,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Self::Named(name) = self {
            streams.read_stream(caller, file, name, (offset, length), &mut bytes)?;
        } else if let Some(fork) = streams.fork(caller, file)? {
            fork.read_at(offset, length, &mut bytes, Wait::Allowed)?;
        }
        Ok(bytes)
    }

    pub(super) fn write(
        &self,
        streams: &Streams,
        caller: &Caller,
        file: &File<'_>,
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<()> {
        match self {
            Self::Named(name) => {
                streams.write_stream(caller, file, name, offset, data, stability)?;
                streams.annotations().heed_stream(file, name)
            }
            Self::Resource => streams.write_fork(caller, file, offset, data, stability),
        }
    }

    pub(super) fn cut(&self, streams: &Streams, caller: &Caller, file: &File<'_>, size: u64) -> Result<()> {
        match self {
            Self::Named(name) => {
                streams.truncate_stream(caller, file, name, size)?;
                streams.annotations().heed_stream(file, name)
            }
            Self::Resource => cut_fork(streams, caller, file, size),
        }
    }
}

/// An empty fork needs no sidecar.
pub(super) fn cut_fork(streams: &Streams, caller: &Caller, file: &File<'_>, size: u64) -> Result<()> {
    if size == 0 && streams.fork_len(file)? == 0 {
        return Ok(());
    }
    streams.cut_fork(caller, file, size)?;
    if size == 0 { streams.settle(file) } else { Ok(()) }
}
