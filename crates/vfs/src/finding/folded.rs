//! Look-up by a name that need not be exact.

use std::sync::Arc;

use super::entry_name::EntryNames;
use crate::backend::Found;
use crate::mac::layout::is_sidecar_name;
use crate::names::own::is_own_name;
use crate::names::own::refuse_own;
use crate::names::{Folding, has_mixed_forms};
use crate::streams::Streams;
use crate::{Caller, Error, Result};

impl EntryNames<'_> {
    /// The entry that a client means by this name, and its stored name: the one of exactly this name, else of
    /// another form of it, else the one that folds alike. So two names that fold alike are both found
    /// by their exact form; by any other form the first of them in the order of bytes is.
    ///
    /// A name that is not there costs a walk through the folder the first time. After that the names of all but small
    /// folders are kept, and kept up with changes.
    pub(crate) fn lookup_folded(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &[u8],
        folding: Folding,
    ) -> Result<(Vec<u8>, Found)> {
        refuse_own(name)?;
        match folder.object.lookup(self.permissions.passing(caller, folder)?, name) {
            Ok(found) => Ok((name.to_vec(), found)),
            Err(Error::NotFound) => self.lookup_other_form(caller, folder, name, folding),
            Err(error) => Err(error),
        }
    }

    /// The same for a name that is not there exactly.
    pub(super) fn lookup_other_form(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &[u8],
        folding: Folding,
    ) -> Result<(Vec<u8>, Found)> {
        refuse_own(name)?;
        let caller = self.permissions.passing(caller, folder)?;
        if let Some(found) = self.in_usual_form(caller, folder, name)? {
            return Ok(found);
        }
        if folding.case_sensitive && !has_mixed_forms(name) {
            return Err(Error::NotFound);
        }
        // A caller that gets "not found" may pass through the folder. For a look-up of other forms
        // it needs no right to list the folder.
        let stored = self.folds_to(folder, name, folding)?.ok_or(Error::NotFound)?;
        let found = folder.object.lookup(caller, &stored)?;
        Ok((stored, found))
    }

    /// The first name of a folder that is the same for this folding.
    pub(super) fn folds_to(&self, folder: &Found, name: &[u8], folding: Folding) -> Result<Option<Vec<u8>>> {
        let names = self.listings.names_like(folder, name, folding)?;
        Ok(names.iter().find(|name| self.is_shown(folder, name)).map(|name| name.to_vec()))
    }

    /// Names of sidecars are kept with the others, because the files that they belong to come and
    /// go.
    fn is_shown(&self, folder: &Found, name: &[u8]) -> bool {
        let hides = |streams: &Arc<Streams>| streams.hidden(folder.object.as_ref(), name).unwrap_or(false);
        !(is_own_name(name) || is_sidecar_name(name) && self.streams.is_some_and(hides))
    }
}
