//! Mac metadata of files that other clients save.
//!
//! Many programs save a file by writing a new one, to which they then give the old one's name. A Mac brings the Finder info,
//! tags, comment and resource fork along; a client that knows nothing of them loses them. So the file that such a client puts
//! in place of another one gets those of the old file, in three cases:
//!
//! | what the client does | the old file |
//! |---|---|
//! | moves the new file over the old one | is replaced |
//! | moves the old file away, and the new one to its name | has another name, since a short time |
//! | moves the old file away, and makes the new one | the same |
//!
//! A client may also overwrite the old file in place, which removes its streams (MS-FSA 2.1.5.1.2.2): from such a client the same
//! things stay ([`CachingTree::keeps_overwritten`](crate::CachingTree::keeps_overwritten)), and the named streams that others than Macs know of go.
//!
//! The new file must be a young one of the same folder, and have no Mac metadata of its own. Windows does the same with named
//! streams (`ReplaceFile`), and with creation times of names that are used again (file tunneling).

use std::time::{Instant, SystemTime};

use super::notices::Notices;
use super::pipeline::describing::DescriptionChange;
use super::vacated::VacatedName;
use crate::backend::Node;
use crate::backend::{Found, RenameMode};
use crate::described::metadata::file_at;
use crate::events::{Aspects, ChangeKind};
use crate::names::one_form;
use crate::streams::OfMac;
use crate::{Access, Actor, Beside, Caller, DescriptionParts, Error, Kind, Result, Time, Volume};

/// How often the states of the two files are waited for.
const MOST_STATES: usize = 8;
/// A file that is older is not one that a program has written to put it in place of another one.
/// In seconds.
const YOUNG: i64 = 3600;

/// A file at its place.
type At<'a> = (&'a Found, Beside<'a>);

/// What a client saves, which may keep the Mac metadata of another file.
pub(crate) struct SafeSave<'a> {
    volume: &'a Volume,
    actor: &'a Actor,
}

impl<'a> SafeSave<'a> {
    pub(crate) fn by(volume: &'a Volume, actor: &'a Actor) -> Self {
        Self { volume, actor }
    }

    /// Before a client moves the entry `from` to `to`: gives the file what it is to keep of the file that has or had the new
    /// name. Whether there was anything.
    pub(crate) fn keep_mac_metadata(
        &self,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
    ) -> Result<bool> {
        let folder = &from.0.object;
        let is_save = mode != RenameMode::Exchange && folder.id() == to.0.object.id() && from.1 != to.1;
        if !self.keeps() || !is_save || self.volume.names().is_sidecar(from.1) {
            return Ok(false);
        }
        let ourselves = Caller::root();
        let old = match folder.lookup(&ourselves, to.1) {
            Ok(old) => Some(old),
            Err(Error::NotFound) if self.volume.site.vacated.is_empty() => {
                return Ok(false);
            }
            Err(_) => None,
        };
        let Ok(new) = folder.lookup(&ourselves, from.1) else { return Ok(false) };
        let new_at = Beside { folder, name: from.1 };
        match &old {
            Some(old) => self.keep_of((&new, new_at), (old, Beside { folder, name: to.1 })),
            None => self.keep_of_vacated((&new, new_at), to.1),
        }
    }

    /// A client has made a file: gives it what it is to keep of the file that had the name a short time ago. What cannot be
    /// kept is logged.
    pub(crate) fn keep_for_new(&self, new: &Found, place: Beside<'_>) {
        if !self.keeps() {
            return;
        }
        let Some(left) = self.volume.site.vacated.take(place.folder.id(), place.name) else { return };
        for _ in 0..MOST_STATES {
            match self.keep_of_left((new, place), &left) {
                // The state of one of the two files was at another server. It may have come since, and then this does not wait.
                // Nor does it for a lease that another client has on the new file already.
                Err(Error::LeaseRecall(file)) if self.volume.site.state.is_joined() => {
                    if self.volume.site.pin_and_wait(&[file]).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    /// A client has moved a file: if it has Mac metadata, its old name is remembered.
    pub(crate) fn vacated(&self, from: (&Found, &[u8]), to: (&Found, &[u8])) {
        if !self.keeps() || self.volume.names().is_sidecar(from.1) {
            return;
        }
        let Ok(found) = to.0.object.lookup(&Caller::root(), to.1) else { return };
        let place = Beside { folder: &to.0.object, name: to.1 };
        if self.of_mac((&found, place)).is_ok_and(|of_mac| of_mac.is_some()) {
            self.volume.site.vacated.remember(VacatedName {
                folder: from.0.object.id(),
                name: one_form(from.1).as_ref().into(),
                file: found.object.key(),
                now: (to.0.object.clone(), to.1.into()),
                when: Instant::now(),
            });
        }
    }

    /// A file was moved that keeps metadata of another one: tells the subscribers that watch the folder.
    pub(crate) fn tell_kept(&self, folder: &Node, name: &[u8]) {
        if let Ok(found) = folder.lookup(&Caller::root(), name) {
            let aspects = Aspects::ATTRIBUTES | Aspects::STREAM | Aspects::CREATED;
            Notices::of(self.volume, self.actor).entry(folder, name, &found, ChangeKind::Modified(aspects));
        }
    }

    pub(crate) fn keeps(&self) -> bool {
        self.actor.profile.is_blind_to_forks && self.volume.options.safe_save
    }

    fn keep_of_vacated(&self, new: At<'_>, name: &[u8]) -> Result<bool> {
        match self.volume.site.vacated.take(new.1.folder.id(), name) {
            Some(left) => self.keep_of_left(new, &left),
            None => Ok(false),
        }
    }

    fn keep_of_left(&self, new: At<'_>, left: &VacatedName) -> Result<bool> {
        let (folder, name) = &left.now;
        match folder.lookup(&Caller::root(), name) {
            Ok(old) if old.object.key() == left.file => self.keep_of(new, (&old, Beside { folder, name })),
            _ => Ok(false), // moved on, or removed
        }
    }

    /// `LeaseRecall` if another client must give up what it has cached of the new file; other errors are logged.
    fn keep_of(&self, new: At<'_>, old: At<'_>) -> Result<bool> {
        match self.try_to_keep(new, old) {
            Err(error) if !matches!(error, Error::LeaseRecall(_)) => {
                let name = old.1.name.escape_ascii();
                tracing::warn!(target: "metadata", %error, %name, "a client has saved a file, and its Mac metadata are lost");
                Ok(false)
            }
            other => other,
        }
    }

    fn try_to_keep(&self, new: At<'_>, old: At<'_>) -> Result<bool> {
        if !is_successor(new.0, old.0) || !self.may_take(new.0, old.0)? {
            return Ok(false);
        }
        let Some(kept) = self.of_mac(old)? else { return Ok(false) };
        if self.of_mac(new)?.is_some() {
            return Ok(false);
        }
        let Some(streams) = &self.volume.streams else { return Ok(false) };
        let aspects = Aspects::ATTRIBUTES | Aspects::STREAM | Aspects::CREATED;
        let change = DescriptionChange::permitted_like(self.volume, self.actor, new, old)?;
        change
            .quiet()?
            .pinned()?
            .of(aspects, Vec::new())
            .announce()?
            .apply(|_, _| streams.give_of_mac(&file_at(new.0, new.1), &kept, &file_at(old.0, old.1)))?;
        let name = old.1.name.escape_ascii();
        tracing::info!(target: "metadata", %name, "a client has saved a file, which keeps its Mac metadata");
        Ok(true)
    }

    fn of_mac(&self, (found, place): At<'_>) -> Result<Option<OfMac>> {
        let Some(streams) = self.volume.streams.as_ref().filter(|_| found.attributes.kind == Kind::File)
        else {
            return Ok(None);
        };
        if self.volume.description(found, Some(place), DescriptionParts::ALL)?.plain {
            return Ok(None); // as most files
        }
        let metadata = self.volume.metadata_reader().stored(found, Some(place))?.unwrap_or_default();
        let created = metadata.created(&found.attributes);
        streams.of_mac(&file_at(found, place), metadata, created)
    }

    /// Whether the client may read what the old file has, and change the new one.
    fn may_take(&self, new: &Found, old: &Found) -> Result<bool> {
        let may =
            |found, want| Ok::<_, Error>(self.volume.access(&self.actor.caller, found, want)?.contains(want));
        Ok(may(old, Access::READ)? && may(new, Access::WRITE)?)
    }
}

/// Whether a file may be the new version of another one: it was made after it, a short time ago.
fn is_successor(new: &Found, old: &Found) -> bool {
    let (new, old) = (&new.attributes, &old.attributes);
    let are_files = new.kind == Kind::File && old.kind == Kind::File;
    let Some(made) = new.created else { return are_files };
    let age = Time::from(SystemTime::now()).secs.saturating_sub(made.secs);
    are_files && age < YOUNG && old.created.is_none_or(|old| old <= made)
}
