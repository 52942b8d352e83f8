//! From the name that a client gives to the name of an entry.
//!
//! Every change to the entries of a folder takes an [`EntryName`], and only this file makes them. So two
//! rules hold for every protocol:
//!
//! * The server's own names are refused.
//! * Two forms of a name mean one entry: composed and decomposed, with the characters that Windows forbids and with the private
//!   code points that other servers store for them. An entry keeps the form in which it was made, and is found
//!   by any form. Where a folder has two entries whose names differ in form only, which a local program can
//!   make, each is found by its exact name.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use crate::access::Permissions;
use crate::backend::{Found, RenameMode};
use crate::listing::CurrentListings;
use crate::mac::layout::{is_sidecar_name, sidecar_name, sidecar_owner};
use crate::names::own::refuse_own;
use crate::names::{self, Folding, KeptCharacters};
use crate::streams::Streams;
use crate::{Caller, Error, Result, Volume};

/// Names that differ in their form only.
const ANY_FORM: Folding = Folding { case_sensitive: true, normalisation_sensitive: false };

/// The stored name of an entry that a client may make, move or remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryName<'a>(Cow<'a, [u8]>);

impl<'a> EntryName<'a> {
    /// A name in exactly the form in which it is given.
    pub(crate) fn exact(name: &'a [u8]) -> Result<Self> {
        refuse_own(name)?;
        Ok(Self(Cow::Borrowed(name)))
    }
}

impl Deref for EntryName<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Where a move leads.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// The name of the entry that is replaced, or of the new one.
    pub(crate) there: EntryName<'a>,
    /// The name that the moved entry has in the end: in the form that the client gave.
    pub(crate) ends_as: EntryName<'a>,
}

/// The names of entries in the folders of a volume, each found by any of its forms.
#[derive(Clone, Copy)]
pub(crate) struct EntryNames<'a> {
    pub(super) permissions: Permissions<'a>,
    pub(super) streams: Option<&'a Arc<Streams>>,
    kept: &'a KeptCharacters,
    pub(super) listings: CurrentListings<'a>,
}

impl Volume {
    /// The names of entries.
    pub(crate) fn names(&self) -> EntryNames<'_> {
        EntryNames {
            permissions: self.permissions(),
            streams: self.streams.as_ref(),
            kept: &self.options.kept,
            listings: self.current_listings(),
        }
    }
}

impl EntryNames<'_> {
    /// The stored name of the entry that a client means; the name as given, if there is no such entry. A name
    /// that has one form costs no call to the host.
    pub(crate) fn entry_name<'a>(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &'a [u8],
    ) -> Result<EntryName<'a>> {
        let given = EntryName::exact(name)?;
        if !names::has_other_forms(name) {
            return Ok(given);
        }
        let caller = self.permissions.passing(caller, folder)?;
        if there(caller, folder, name)?.is_some() {
            return Ok(given);
        }
        if let Some(stored) = self.sidecar_form(caller, folder, name)? {
            return Ok(EntryName(Cow::Owned(stored)));
        }
        let other = self.other_form(caller, folder, name)?;
        Ok(other.map_or(given, |(stored, _)| EntryName(Cow::Owned(stored))))
    }

    /// The name of an entry that a client wants to make. The sidecar of a file has the form of the file's name.
    pub(crate) fn new_entry_name<'a>(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &'a [u8],
    ) -> Result<EntryName<'a>> {
        let given = EntryName::exact(name)?;
        if !names::has_other_forms(name) || !self.is_sidecar(name) {
            return Ok(given);
        }
        let form = self.sidecar_form(self.permissions.passing(caller, folder)?, folder, name)?;
        Ok(form.map_or(given, |stored| EntryName(Cow::Owned(stored))))
    }

    /// Where a client moves the entry `name`, which it called `from`, when it moves it to `to`.
    pub(crate) fn target<'a>(
        &self,
        caller: &Caller,
        (from, name): ((&Found, &[u8]), &EntryName<'_>),
        to: (&Found, &'a [u8]),
        mode: RenameMode,
    ) -> Result<Target<'a>> {
        let given = EntryName::exact(to.1)?;
        let there = self.entry_name(caller, to.0, to.1)?;
        let is_itself = from.0.object.id() == to.0.object.id() && *there == **name;
        Ok(match is_itself {
            true if from.1 != to.1 => Target { there: given.clone(), ends_as: given },
            false if mode == RenameMode::Replace && !self.is_sidecar(to.1) => {
                Target { there, ends_as: given }
            }
            _ => Target { ends_as: there.clone(), there },
        })
    }

    pub(crate) fn is_sidecar(&self, name: &[u8]) -> bool {
        self.streams.is_some() && is_sidecar_name(name)
    }

    /// The entry whose name is another form of this one, and its stored name. The caller may pass
    /// through the folder.
    pub(crate) fn other_form(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &[u8],
    ) -> Result<Option<(Vec<u8>, Found)>> {
        if let Some(found) = self.in_usual_form(caller, folder, name)? {
            return Ok(Some(found));
        }
        if !names::has_mixed_forms(name) {
            return Ok(None);
        }
        let Some(stored) = self.folds_to(folder, name, ANY_FORM)?.filter(|stored| stored != name) else {
            return Ok(None);
        };
        Ok(there(caller, folder, &stored)?.map(|found| (stored, found)))
    }

    /// The same without names that are composed in parts: one call to the host for each of the other forms.
    pub(super) fn in_usual_form(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &[u8],
    ) -> Result<Option<(Vec<u8>, Found)>> {
        for form in self.kept.other_forms(name) {
            if let Some(found) = there(caller, folder, &form)? {
                return Ok(Some((form, found)));
            }
        }
        Ok(None)
    }

    /// The name of the sidecar of the file that a client means, if the file's stored name is in another form.
    fn sidecar_form(&self, caller: &Caller, folder: &Found, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(owner) = sidecar_owner(name).filter(|_| self.is_sidecar(name)) else { return Ok(None) };
        if there(caller, folder, owner)?.is_some() {
            return Ok(None);
        }
        Ok(self.other_form(caller, folder, owner)?.map(|(stored, _)| sidecar_name(&stored)))
    }

    /// Fails with `Exists` where a folder has an entry whose name is another form of this one. The
    /// caller has claimed the place.
    pub(crate) fn refuse_other_form(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &EntryName<'_>,
    ) -> Result<()> {
        match self.other_form(caller, folder, name)? {
            Some(_) => Err(Error::Exists),
            None => Ok(()),
        }
    }

    /// Fails with `LeaseRecall` if another thread has made an entry whose name is another
    /// form of a move's target, unless it is the moved entry itself. The operation is then tried
    /// again. The caller has claimed both places.
    pub(crate) fn refuse_new_form(
        &self,
        caller: &Caller,
        from: (&Found, &EntryName<'_>),
        to: (&Found, &EntryName<'_>),
    ) -> Result<()> {
        if !names::has_other_forms(to.1) || there(caller, to.0, to.1)?.is_some() {
            return Ok(());
        }
        let is_itself = |name: &[u8]| from.0.object.id() == to.0.object.id() && *name == **from.1;
        match self.other_form(caller, to.0, to.1)? {
            Some((name, found)) if !is_itself(&name) => Err(Error::LeaseRecall(found.object.id())),
            _ => Ok(()),
        }
    }
}

/// The entry of exactly this name, if there is one.
fn there(caller: &Caller, folder: &Found, name: &[u8]) -> Result<Option<Found>> {
    match folder.object.lookup(caller, name) {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound | Error::NameTooLong) => Ok(None),
        Err(other) => Err(other),
    }
}
