//! The files of the shares for a person at the console, who may with them what the account may over SMB or AFP.

pub(super) mod bin;
mod received;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use admin::ShareSettings;
use admin::control::{FindAnswer, FindRequest};
use auth::Accounts;
use conn::observe;
use tokio::runtime::Handle;
use vfs::backend::host::as_ourselves;
use vfs::backend::{Found, NewKind, RenameMode, Stability};
use vfs::names::text_view;
use vfs::state::{ClientId, Party};
use vfs::{Actor, ClientProfile, Error, Kind, Volume};
use web::store::{Bytes, FilePerson, FileStore, ReceivedFile, Removal, StoreRefusal, StoredFile};

use self::received::Upload;
use super::Console;
use super::snapshots::share;
use crate::people::rights;
use crate::shares::searching::Asker;

/// How often an operation is tried that met the lease of another client,
const MOST_TRIES: u32 = 8;
/// and how long it waits for one.
const RECALL: Duration = Duration::from_secs(35);
/// The most files and folders that one request removes.
const MOST_REMOVED: usize = 100_000;
/// The deepest folders that are removed.
const DEEPEST: usize = 200;

/// A share, as one person at the console sees it.
#[derive(Clone)]
pub(super) struct PersonalShare {
    pub(super) volume: Arc<Volume>,
    pub(super) actor: Actor,
    share: ShareSettings,
    account: String,
    peer: SocketAddr,
}

/// The share for a person, if the account enters it over a protocol with logins.
pub(super) fn enter(console: &Console, by: &FilePerson, of: &str) -> Result<PersonalShare, Vec<String>> {
    let current = console.running.current();
    let opened = console.running.volumes().browsed().of_account(of, &by.account);
    let share = match &opened {
        Some(opened) => opened.share.clone(),
        None => share(&current, of)?.clone(),
    };
    let gone = || vec![format!("the account {} is gone, or may not log in", by.account)];
    let account = current.accounts.find(&by.account).filter(|account| !account.disabled).ok_or_else(gone)?;
    let protocol = rights::entry_protocol(&current, &account, &share).map_err(|why| vec![why])?;
    let volume = match opened {
        Some(opened) => opened.volume.clone(),
        None => console.running.volume(&share).map_err(|error| vec![format!("{error:#}")])?,
    };
    let caller = account.identity.clone().of(protocol, Some(&account.name), by.peer.ip());
    let profile = ClientProfile { is_blind_to_forks: true, ..ClientProfile::default() };
    let actor = Actor::new(volume.acting(caller), Party::client(ClientId::unused())).with_profile(profile);
    Ok(PersonalShare { volume, actor, share, account: by.account.clone(), peer: by.peer })
}

impl PersonalShare {
    /// The settings of the share.
    pub(super) fn share(&self) -> &ShareSettings {
        &self.share
    }

    /// The folder that something is in, and its name there. Links are not followed.
    fn folder_of<'a>(&self, path: &'a [u8]) -> Result<(Found, &'a [u8]), Error> {
        let (folders, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&[][..], path),
        };
        Ok((self.find(folders)?, name))
    }

    fn find(&self, path: &[u8]) -> Result<Found, Error> {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let found = names.into_iter().try_fold(self.volume.root()?, |found, name| {
            self.volume.lookup(&self.actor.caller, &found.object, name)
        });
        as_ourselves_again();
        found
    }

    /// Does something as the person, again after other clients have given leases back. Observers of operations hear of it.
    fn work<T>(
        &self,
        command: &'static str,
        mut attempt: impl AsyncFnMut(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let begun = observe::begin("console", self.peer, || command.into());
        let result = Handle::current().block_on(observe::within(begun.as_ref(), async {
            for _ in 0..MOST_TRIES {
                match attempt(self).await {
                    Err(Error::LeaseRecall(file)) => {
                        let recalled = self.volume.stateless().recalled(file);
                        if tokio::time::timeout(RECALL, recalled).await.is_err() {
                            return Err(Error::LeaseRecall(file));
                        }
                    }
                    other => return other,
                }
            }
            Err(Error::Busy)
        }));
        as_ourselves_again();
        if let Some(begun) = begun {
            let text = result.as_ref().err().map(ToString::to_string);
            begun.end(&observe::Outcome {
                user: &self.account,
                share: &self.share.name,
                result: text.as_deref().unwrap_or("ok"),
                failed: text.is_some(),
                bytes_in: 0,
                bytes_out: 0,
            });
        }
        result
    }

    fn log(&self, what: &str, path: &[u8]) {
        tracing::info!(by = self.account, share = self.share.name, path = &*text_view(path), "{what}");
    }

    fn explained(&self, error: Error, path: &[u8]) -> Vec<String> {
        let place = text_view(path);
        let why = match error {
            Error::NotFound => "there is nothing of that name".to_owned(),
            Error::AccessDenied | Error::NotPermitted => "your account may not do that here".to_owned(),
            Error::ReadOnly => "nothing can be changed here".to_owned(),
            Error::NotEmpty => "the folder is not empty".to_owned(),
            Error::LeaseRecall(_) | Error::ShareConflict | Error::Busy => "another client uses it".to_owned(),
            other => other.to_string(),
        };
        vec![format!("{}/{place}: {why}", self.share.name)]
    }

    fn refusal(&self, error: Error, path: &[u8]) -> StoreRefusal {
        match error {
            Error::Exists => StoreRefusal::Exists,
            other => StoreRefusal::Refused(self.explained(other, path)),
        }
    }
}

/// The thread acts as the server again: it goes on with the work of others, who read the state folder.
fn as_ourselves_again() {
    let _ = as_ourselves(|| ()); // it is logged by what needs it
}

/// A file that is sent.
struct FileSource {
    place: PersonalShare,
    found: Found,
    path: Vec<u8>,
}

impl StoredFile for FileSource {
    fn size(&self) -> u64 {
        self.found.attributes.size
    }

    fn changed_ns(&self) -> i128 {
        let time = self.found.attributes.modified;
        i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos)
    }

    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Vec<String>> {
        let read = self.place.work("READ", async |place| {
            place.volume.stateless().read(&place.actor, &self.found, offset, length).await
        });
        let mut bytes = Vec::new();
        let copied = read.and_then(|data| data.payload.append_to(&mut bytes));
        copied.map_err(|error| self.place.explained(error, &self.path))?;
        Ok(bytes)
    }
}

impl FileStore for Console {
    fn stored(&self, by: &FilePerson, share: &str, path: &[u8]) -> Result<Arc<dyn StoredFile>, Vec<String>> {
        let place = self.as_server(|| enter(self, by, share))?;
        let found = place.find(path).map_err(|error| place.explained(error, path))?;
        if found.attributes.kind != Kind::File {
            return Err(vec![format!("{}/{}: it is no file", place.share.name, text_view(path))]);
        }
        let sent = FileSource { place, found, path: path.to_vec() };
        sent.read(0, 1)?; // a person who may not read it learns that before the first byte
        sent.place.log("file downloaded", path);
        Ok(Arc::new(sent))
    }

    fn received(
        &self,
        by: &FilePerson,
        share: &str,
        path: &[u8],
        replaces: bool,
    ) -> Result<Box<dyn ReceivedFile>, StoreRefusal> {
        let place = self.as_server(|| enter(self, by, share)).map_err(StoreRefusal::Refused)?;
        let upload = Upload::begin(place.clone(), path, replaces);
        Ok(Box::new(upload.map_err(|error| place.refusal(error, path))?))
    }

    fn make_folder(&self, by: &FilePerson, share: &str, path: &[u8]) -> Result<Vec<String>, StoreRefusal> {
        let place = self.as_server(|| enter(self, by, share)).map_err(StoreRefusal::Refused)?;
        let made = place.work("MKDIR", async |place| {
            let (folder, name) = place.folder_of(path)?;
            let mode = place.volume.unsaid_mode(true);
            place.volume.create(&place.actor, &folder, name, NewKind::Folder, mode)
        });
        made.map_err(|error| place.refusal(error, path))?;
        place.log("folder made", path);
        Ok(Vec::new())
    }

    fn find(&self, by: &FilePerson, request: &FindRequest) -> Result<FindAnswer, Vec<String>> {
        let asker = Asker::Account(&by.account);
        self.as_server(|| self.running.search(request, &asker))
    }

    fn move_entry(
        &self,
        by: &FilePerson,
        share: &str,
        path: &[u8],
        to: &[u8],
    ) -> Result<Vec<String>, StoreRefusal> {
        let place = self.as_server(|| enter(self, by, share)).map_err(StoreRefusal::Refused)?;
        let moved = place.work("RENAME", async |place| {
            let ((from, name), (target, new)) = (place.folder_of(path)?, place.folder_of(to)?);
            place.volume.rename(&place.actor, (&from, name), (&target, new), RenameMode::Keep)
        });
        moved.map_err(|error| place.refusal(error, path))?;
        place.log("moved", path);
        Ok(vec![format!("{} is now {}", text_view(path), text_view(to))])
    }

    fn remove_entry(
        &self,
        by: &FilePerson,
        share: &str,
        path: &[u8],
        how: Removal,
    ) -> Result<Vec<String>, Vec<String>> {
        let place = self.as_server(|| enter(self, by, share))?;
        if !how.for_good && place.share.bin.is_some() && !bin::is_in_bin(path) {
            return into_bin(&place, path);
        }
        let mut removed = 0;
        let result = place.folder_of(path).and_then(|(folder, name)| {
            remove(&place, (&folder, name), how.recursive.then_some(DEEPEST), &mut removed)
        });
        as_ourselves_again();
        place.log("removed", path);
        match result {
            Ok(()) => Ok(vec![format!("{} is removed", text_view(path))]),
            Err(error) => {
                let mut lines = place.explained(error, path);
                lines.extend((removed > 0).then(|| format!("{removed} files and folders in it are removed")));
                Err(lines)
            }
        }
    }
}

/// Moves an entry into the bin of the share.
fn into_bin(place: &PersonalShare, path: &[u8]) -> Result<Vec<String>, Vec<String>> {
    let moved = bin::put(place, path);
    as_ourselves_again();
    match moved {
        Ok(()) => {
            place.log("moved into the bin", path);
            Ok(vec![format!("{} is in the bin", text_view(path))])
        }
        Err(error) => {
            let mut lines = place.explained(error, path);
            lines.push(
                "It could not be moved into the bin (`.bin` of the share); remove it for good instead."
                    .into(),
            );
            Err(lines)
        }
    }
}

/// Removes an entry. `deep`: also what is in a folder, so many folders deep.
fn remove(
    place: &PersonalShare,
    (folder, name): (&Found, &[u8]),
    deep: Option<usize>,
    removed: &mut usize,
) -> Result<(), Error> {
    if *removed >= MOST_REMOVED {
        return Err(Error::TooMany);
    }
    let found = place.volume.lookup(&place.actor.caller, &folder.object, name)?;
    let is_folder = found.attributes.kind == Kind::Folder;
    if is_folder && let Some(deep) = deep {
        let deep = deep.checked_sub(1).ok_or(Error::TooMany)?;
        loop {
            let page = place.volume.list(&place.actor.caller, &found, 0)?;
            let names: Vec<Vec<u8>> = page.named().map(|entry| entry.name().to_vec()).collect();
            for name in &names {
                remove(place, (&found, name), Some(deep), removed)?;
            }
            if page.complete || names.is_empty() {
                break;
            }
        }
    }
    let kind = if is_folder { Kind::Folder } else { Kind::File };
    place.work(if is_folder { "RMDIR" } else { "REMOVE" }, async |place| {
        place.volume.remove(&place.actor, folder, name, kind)
    })?;
    *removed += 1;
    Ok(())
}
