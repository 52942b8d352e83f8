//! The server that the files of a share arrive from while clients use them.

use std::time::{Duration, Instant};

use client::security::{FileSecurity, PosixAcls, umask, within};
use client::tree::{Kind, Tree, TreeEntry, below};
use client::{Connector, Error as ClientError, OpenFileId, OpenIntent, Reach, Target, keep};
use lock::Mutex;
use vfs::acl::{Entries, Who};
use vfs::arriving::{ArrivedMetadata, ArrivingRights, Coming, Listing, Source};
use vfs::backend::host::as_ourselves;
use vfs::streams::{File, Streams};
use vfs::{Error, Result, Time};

use crate::ranks;
use crate::rights::TranslatedRights;

/// Sessions that are kept open while no request needs them.
const MOST_IDLE: usize = 8;
/// How long requests fail at once after the server could not be reached.
const PAUSE: Duration = Duration::from_secs(2);

/// The server that files come from, with the sessions that are open. A local folder is one, too.
pub struct OldServer {
    connector: Connector,
    state: Mutex<ArrivalProgress, ranks::Migration>,
}

#[derive(Default)]
struct ArrivalProgress {
    idle: Vec<SourceSession>,
    /// Until then requests fail at once.
    away_until: Option<Instant>,
}

/// A session, with the file that it has read last.
struct SourceSession {
    tree: Box<dyn Tree>,
    file: Option<(String, OpenFileId)>,
}

impl OldServer {
    /// Makes no connection yet. Each answer may take so long.
    #[must_use]
    pub fn new(target: Target, timeout: Duration) -> Self {
        let connector = Connector::new(target, Reach::direct(timeout), 1, 0);
        Self { connector, state: Mutex::default() }
    }

    /// A session; if possible one that has this file open.
    fn session(&self, path: &str) -> std::result::Result<(SourceSession, bool), ClientError> {
        let mut state = self.state.lock();
        let has_file = |one: &SourceSession| one.file.as_ref().is_some_and(|(name, _)| name == path);
        let at = state.idle.iter().position(has_file).or_else(|| state.idle.len().checked_sub(1));
        if let Some(at) = at {
            return Ok((state.idle.remove(at), true));
        }
        if state.away_until.is_some_and(|until| Instant::now() < until) {
            return Err(ClientError::Lost("it did not answer a moment ago".into()));
        }
        drop(state);
        Ok((SourceSession { tree: self.connector.tree()?, file: None }, false))
    }

    /// Does something with a session. One that was idle may have been closed by the server: then a new one is tried.
    fn with<T>(
        &self,
        path: &str,
        mut act: impl FnMut(&mut SourceSession) -> std::result::Result<T, ClientError>,
    ) -> Result<T> {
        loop {
            // The thread may still act for a client, and the client may not be allowed to read the source.
            let done = as_ourselves(|| {
                self.session(path).and_then(|(mut opened, was_idle)| match act(&mut opened) {
                    Err(error) if error.ends_session() => was_idle.then_some(None).ok_or(error),
                    done => {
                        self.give_back(opened);
                        done.map(Some)
                    }
                })
            })?;
            match done {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => {}
                Err(error) => return Err(self.said(&error, path)),
            }
        }
    }

    fn give_back(&self, opened: SourceSession) {
        let mut state = self.state.lock();
        state.away_until = None;
        if state.idle.len() < MOST_IDLE {
            state.idle.push(opened);
        }
    }

    /// The error as a fact of the tree. The first failed connection is reported.
    fn said(&self, error: &ClientError, path: &str) -> Error {
        match error {
            ClientError::Missing(_) => Error::NotFound,
            ClientError::Exists(_) => Error::Exists,
            ClientError::Refused(_) => Error::AccessDenied,
            ClientError::Unsupported(_) => Error::NotSupported,
            error if error.ends_session() || matches!(error, ClientError::Address(_)) => {
                let mut state = self.state.lock();
                let now = Instant::now();
                let is_new = state.away_until.is_none();
                if state.away_until.is_none_or(|until| until <= now) {
                    state.away_until = Some(now + PAUSE);
                }
                drop(state);
                if is_new {
                    let from = self.connector.target().to_string();
                    tracing::warn!(from, %error, "the old server does not answer: files that are not here fail");
                }
                Error::Away
            }
            error => {
                let from = self.connector.target().to_string();
                tracing::warn!(from, path, %error, "a request to the old server failed");
                Error::Io
            }
        }
    }
}

impl SourceSession {
    /// Reads from a file, which stays open for the next request.
    fn read(&mut self, path: &str, offset: u64, length: usize) -> std::result::Result<Vec<u8>, ClientError> {
        let file = match &self.file {
            Some((name, file)) if name == path => *file,
            _ => {
                if let Some((_, file)) = self.file.take() {
                    self.tree.close(file)?;
                }
                let file = self.tree.open(&self.tree.native(path), OpenIntent::Read)?;
                self.file = Some((path.to_owned(), file));
                file
            }
        };
        let mut all = Vec::with_capacity(length);
        while all.len() < length {
            let data = self.tree.read(file, offset + all.len() as u64, length - all.len());
            match data.inspect_err(|_| self.file = None)? {
                data if data.is_empty() => break,
                data if data.len() > length - all.len() => {
                    self.file = None;
                    return Err(ClientError::Other("the source sent more than it was asked for".into()));
                }
                data => all.extend(data),
            }
        }
        Ok(all)
    }

    fn coming(&mut self, folder: &str, entry: TreeEntry) -> std::result::Result<Coming, ClientError> {
        let mut target = Vec::new();
        let kind = match entry.kind {
            Kind::File => vfs::Kind::File,
            Kind::Folder => vfs::Kind::Folder,
            Kind::Link => vfs::Kind::Link,
            Kind::Other => vfs::Kind::Fifo, // which does not arrive
        };
        if entry.kind == Kind::Link {
            let path = self.tree.native(&below(folder, &entry.name));
            target = self.tree.extra(&path, Kind::Link)?.target.unwrap_or_default().into_bytes();
        }
        Ok(Coming {
            name: entry.name.into_bytes(),
            kind,
            length: entry.length,
            modified: entry.modified.map(|(secs, nanos)| Time { secs, nanos }),
            owner: entry.owner,
            target,
        })
    }
}

impl Source for OldServer {
    fn entries(&self, folder: &str) -> Result<Listing> {
        self.with(folder, |opened| {
            let listing = opened.tree.entries(&opened.tree.native(folder))?;
            for name in &listing.unreadable {
                tracing::warn!(folder, name, "a name of the old server is not UTF-8, or none that a file can have, or there twice: it does not arrive");
            }
            let entries = listing.entries.into_iter().map(|entry| opened.coming(folder, entry));
            Ok(Listing { entries: entries.collect::<std::result::Result<_, _>>()?, unreadable: listing.unreadable })
        })
    }

    fn describe(
        &self,
        path: &str,
        kind: vfs::Kind,
        file: &File<'_>,
        streams: &Streams,
    ) -> Result<ArrivedMetadata> {
        let kind = if kind == vfs::Kind::Folder { Kind::Folder } else { Kind::File };
        let told = self.with(path, |opened| {
            let path = opened.tree.native(path);
            let extra = opened.tree.extra(&path, kind)?;
            let security = opened.tree.security(&path, kind, &extra)?;
            Ok((extra, rights(&mut *opened.tree, security, kind)?))
        });
        let (extra, (rights, is_listed)) = match told {
            Err(Error::Away) => return Err(Error::Away),
            // The data can be had all the same.
            Err(error) => {
                return Ok(ArrivedMetadata {
                    rights: ArrivingRights { umask: umask(), ..ArrivingRights::default() },
                    lost: Some(format!("what it has besides its data cannot be read: {error}")),
                });
            }
            Ok(told) => told,
        };
        let mut lost = Vec::new();
        if let Err(error) = keep(streams, file, &extra) {
            tracing::warn!(path, %error, "details of a file of the old server cannot be kept");
            lost.push(format!("some of what it has besides its data cannot be kept: {error}"));
        }
        if !is_listed {
            lost.push(
                "its access control list is about an owner or a group that is none here: the mode gives nobody more"
                    .to_owned(),
            );
        }
        Ok(ArrivedMetadata { rights, lost: (!lost.is_empty()).then(|| lost.join("; ")) })
    }

    fn read(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.with(path, |opened| opened.read(path, offset, length))
    }
}

/// The number of an owner or a group on this machine.
fn named_here(tree: &mut dyn Tree, who: Option<Who>) -> std::result::Result<Option<u32>, ClientError> {
    let who = match who {
        Some(who @ Who::Foreign(_)) => tree.account(&who)?,
        who => who,
    };
    Ok(match who {
        Some(Who::User(number) | Who::Group(number)) => Some(number),
        _ => None,
    })
}

/// The rights of an arrived file, and whether its list is kept. No user gets more rights than on the old server, and no program
/// of another machine acts as its owner.
fn rights(
    tree: &mut dyn Tree,
    mut security: FileSecurity,
    kind: Kind,
) -> std::result::Result<(ArrivingRights, bool), ClientError> {
    const PROGRAM: u32 = 0o6000;
    let (user, group) =
        (named_here(tree, security.owner.clone())?, named_here(tree, security.group.clone())?);
    let keeps = (user.is_some(), group.is_some());
    if let Some(entries) = &mut security.list {
        name_here(tree, entries)?;
    }
    let mode = security.mode.map(|mode| within(mode, keeps.0, keeps.1));
    let mode = mode.map(|mode| if kind == Kind::File { mode & !PROGRAM } else { mode });
    let PosixAcls { access, default } =
        if keeps == (true, true) { security.posix.clone() } else { PosixAcls::default() };
    let list = TranslatedRights::arriving(security, (user, group)).list_of_copy(keeps);
    let is_listed = list != Some(None);
    let list = list.flatten();
    Ok((ArrivingRights { mode, user, group, list, posix: [access, default], umask: umask() }, is_listed))
}

/// Gives entries the accounts of this machine, where there are any. The others stay as they are, and give nobody here a right.
fn name_here(tree: &mut dyn Tree, entries: &mut Entries) -> std::result::Result<(), ClientError> {
    for entry in entries.list.iter_mut().filter(|entry| matches!(entry.who, Who::Foreign(_))) {
        if let Some(who) = tree.account(&entry.who)? {
            entry.who = who;
        }
    }
    Ok(())
}
