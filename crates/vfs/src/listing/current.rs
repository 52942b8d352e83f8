//! The kept listings as of now: what the host has heard of changes is taken in before they are used.

use std::sync::Arc;

use super::{Listings, Name, Page};
use crate::backend::{Backend, Found};
use crate::local::Locals;
use crate::names::Folding;
use crate::streams::Streams;
use crate::{Result, Volume};

/// The kept listings of a volume, as of now.
#[derive(Clone, Copy)]
pub(crate) struct CurrentListings<'a> {
    backend: &'a dyn Backend,
    locals: &'a Locals,
    pub(super) listings: &'a Listings,
}

impl Volume {
    /// The kept listings, as of now.
    pub(crate) fn current_listings(&self) -> CurrentListings<'_> {
        CurrentListings { backend: self.backend.as_ref(), locals: &self.locals, listings: &self.listings }
    }
}

impl CurrentListings<'_> {
    /// Takes in what the host has heard.
    pub(crate) fn hear(&self) {
        self.locals.hear(self.backend, self.listings);
    }

    /// A page of a folder's entries, from after `cookie`.
    pub(crate) fn page(&self, streams: Option<&Arc<Streams>>, folder: &Found, cookie: u64) -> Result<Page> {
        self.hear();
        self.listings.page(self.backend, streams, &folder.object, &folder.attributes, cookie)
    }

    /// The stored names of a folder that are the same for this folding, in the order of bytes.
    pub(crate) fn names_like(&self, folder: &Found, name: &[u8], folding: Folding) -> Result<Vec<Name>> {
        self.hear();
        self.listings.names_like(self.backend, folder, name, folding)
    }
}
