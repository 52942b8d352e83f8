//! Removing entries.

use super::{Actor, Change, Volume};
use crate::backend::Found;
use crate::caller::server;
use crate::changing::pipeline::entries::Removal;
use crate::noted::Act;
use crate::{Error, Kind, Result};

impl Volume {
    /// Removes an entry that is not a folder (`kind` File), or an empty folder (`kind` Folder).
    pub fn remove(&self, actor: &Actor, folder: &Found, name: &[u8], kind: Kind) -> Result<Change> {
        self.remove_known(actor, (folder, name), None, kind)
    }

    /// As [`Volume::remove`], of an entry that the same request has found there: the host is not asked again.
    pub fn remove_found(
        &self,
        actor: &Actor,
        at: (&Found, &[u8]),
        found: &Found,
        kind: Kind,
    ) -> Result<Change> {
        self.remove_known(actor, at, Some(found), kind)
    }

    fn remove_known(
        &self,
        actor: &Actor,
        (folder, name): (&Found, &[u8]),
        known: Option<&Found>,
        kind: Kind,
    ) -> Result<Change> {
        self.notes().entry(Act::Remove, &folder.object, name, None);
        let removal = Removal::permitted(self, actor, (folder, name), (kind, known))?;
        let removal = removal.quiet()?.pinned()?.announce()?;
        removal.apply(|removal, by| {
            let _changing = self.site.busy.change(&[(folder.object.id(), &*removal.name)]);
            let remove = |by| self.pairs().remove(by, &folder.object, &removal.name, (kind, removal.going()));
            // What the server may remove for a client is removed with the client's own ids, if the host lets these: the thread has
            // them for the client's next request, and the host's records name the client.
            match &actor.caller {
                own if std::ptr::eq(by, server()) && own.uid != 0 => match remove(own) {
                    Err(Error::AccessDenied | Error::NotPermitted) => remove(by),
                    other => other,
                },
                _ => remove(by),
            }
        })?;
        Ok(Change { before: folder.attributes, after: folder.object.attributes()? })
    }
}
