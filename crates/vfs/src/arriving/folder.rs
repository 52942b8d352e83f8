//! The arrival of a folder's entries.

use std::sync::Arc;

use super::mark::{self, ArrivalStage, Mark};
use super::{ArrivalState, ArrivingRights, Coming, TURNS, keep_date, rights};
use crate::backend::{NewKind, Object, RenameMode};
use crate::caller::server;
use crate::names::own::{UNFINISHED, is_own_name};
use crate::ranks;
use crate::streams::File;
use crate::{Error, Kind, Result, SetAttributes};
use lock::Mutex;

impl ArrivalState {
    /// Makes sure that all entries of a folder are here.
    pub(super) fn list(&self, folder: &Arc<dyn Object>) -> Result<()> {
        if self.is_done() || folder.kind() != Kind::Folder || !is_unlisted(&**folder)? {
            return Ok(());
        }
        let _turn = self.turn(&**folder).lock();
        self.list_now(folder)
    }

    /// What is held while the entries of a folder are made.
    pub(super) fn turn(&self, folder: &dyn Object) -> &Mutex<(), ranks::Arriving> {
        &self.turns[(folder.id().inode % TURNS as u64) as usize]
    }

    fn list_now(&self, folder: &Arc<dyn Object>) -> Result<()> {
        let Some(mark) = self.mark(&**folder)?.filter(|mark| mark.stage == ArrivalStage::Folder) else {
            return Ok(()); // another request was faster
        };
        let listing = self.heard(self.source.entries(&mark.path))?;
        let before = folder.attributes()?;
        let is_partly = self.arrive_all(folder, &mark.path, &listing)?;
        if folder.key() == self.root {
            return mark::write(&**folder, &Mark::new(ArrivalStage::Listed, ""));
        }
        keep_date(&**folder, before.modified)?;
        match is_partly {
            true => self.write_mark(&**folder, &Mark::new(ArrivalStage::Partly, &mark.path)),
            false => self.remove_mark(&**folder),
        }
    }

    /// One entry. What has its name already stays. Returns why something that it has besides its data is not here.
    pub(super) fn arrive(
        &self,
        folder: &Arc<dyn Object>,
        above: &str,
        coming: &Coming,
    ) -> Result<Option<String>> {
        if is_own_name(&coming.name) {
            return Ok(None);
        }
        let name = String::from_utf8_lossy(&coming.name);
        let path = if above.is_empty() { name.into_owned() } else { format!("{above}/{name}") };
        let stage = match coming.kind {
            Kind::File => ArrivalStage::Bare,
            Kind::Folder => ArrivalStage::Folder,
            Kind::Link => return self.make_link(&**folder, coming).map(|()| None),
            _ => return Err(Error::NotSupported),
        };
        let object = match folder.lookup(server(), &coming.name) {
            Ok(there) => there.object,
            Err(Error::NotFound) => self.make(&**folder, coming, &Mark::new(stage, &path))?,
            Err(error) => return Err(error),
        };
        // A folder that is not described yet has no entries: listing it again is harmless.
        let is_new = self.mark(&*object)?.is_some_and(|mark| mark.stage == stage && mark.path == path);
        if !is_new {
            return Ok(None);
        }
        let file = File { folder: &**folder, name: &coming.name, object: &*object };
        let described = self.heard(self.source.describe(&path, coming.kind, &file, &self.streams))?;
        let list_lost = self.finish(&**folder, &object, coming, &described.rights)?;
        match coming.kind {
            Kind::File if coming.length > 0 => {
                self.write_mark(&*object, &Mark::new(ArrivalStage::Data, &path))?
            }
            Kind::File => self.remove_mark(&*object)?,
            _ => {}
        }
        Ok(all_lost(described.lost, list_lost))
    }

    /// Makes an entry that has its mark before it has its name.
    fn make(&self, folder: &dyn Object, coming: &Coming, mark: &Mark) -> Result<Arc<dyn Object>> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(|_| Error::Io)?;
        let unfinished = [UNFINISHED, format!("{:016x}", u64::from_le_bytes(number)).as_bytes()].concat();
        let new = if coming.kind == Kind::Folder { NewKind::Folder } else { NewKind::File };
        let made = folder.create(server(), &unfinished, new, 0o700)?.object;
        let named = self
            .write_mark(&*made, mark)
            .and_then(|()| match coming.length {
                0 => Ok(()),
                _ if coming.kind == Kind::Folder => Ok(()),
                size => {
                    let changes = SetAttributes { size: Some(size), ..SetAttributes::default() };
                    made.set_attributes(server(), &changes)
                }
            })
            .and_then(|()| folder.rename(server(), &unfinished, folder, &coming.name, RenameMode::Keep));
        if let Err(error) = named {
            let _ = self.forget_path(&*made);
            let _ = match coming.kind {
                Kind::Folder => folder.remove_folder(server(), &unfinished),
                _ => folder.remove(server(), &unfinished),
            };
            return Err(error);
        }
        Ok(made)
    }

    fn make_link(&self, folder: &dyn Object, coming: &Coming) -> Result<()> {
        match folder.create(server(), &coming.name, NewKind::Link(&coming.target), 0o777) {
            Ok(made) => {
                let (user, group) = coming.owner.unzip();
                let rights = ArrivingRights { user, group, ..ArrivingRights::default() };
                self.finish(folder, &made.object, coming, &rights).map(drop)
            }
            Err(Error::Exists) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Rights and date. Returns why the access control list is not here, if it is not.
    fn finish(
        &self,
        folder: &dyn Object,
        object: &Arc<dyn Object>,
        coming: &Coming,
        rights: &ArrivingRights,
    ) -> Result<Option<String>> {
        let lost = rights::give(&self.lists, &folder.attributes()?, object, coming.kind, rights)?;
        if let Some(modified) = coming.modified {
            keep_date(&**object, modified)?;
        }
        Ok(lost)
    }
}

/// Both reasons, where there are two.
fn all_lost(details: Option<String>, list: Option<String>) -> Option<String> {
    match (details, list) {
        (Some(details), Some(list)) => Some(format!("{details}; {list}")),
        (details, list) => details.or(list),
    }
}

/// Whether some entries of a folder are not here.
fn is_unlisted(folder: &dyn Object) -> Result<bool> {
    Ok(mark::read(folder)?.is_some_and(|mark| mark.stage == ArrivalStage::Folder))
}
