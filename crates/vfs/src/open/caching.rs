//! What a client may cache of an open file or folder, and the guard that keeps local processes from it meanwhile.

use std::sync::Arc;

use super::{Beside, Open};
use crate::backend::{Against, HearsLocal};
use crate::state::{Caching, Lease, LeaseRequest, Stream};
use crate::{Caller, Error, Kind, Result};

impl Open {
    /// Grants the party of the request what it may cache of this stream, see [`State::lease`](crate::state::State::lease).
    ///
    /// If the volume recalls caches for local processes, the host lets these wait before they open the file, as long as
    /// the lease is held. A file that a local process has open for writing is not cached, and one that it has open for
    /// reading is not written behind.
    pub fn lease(&self, request: &LeaseRequest) -> Result<Lease> {
        let stream = self.guard.stream();
        let mut lease = self.state().lease(self.guard.file(), &stream, request)?;
        if self.volume.options.local_recall && stream == Stream::Data {
            self.guard_against_local(&mut lease, request.style.goes_whole());
        }
        Ok(lease)
    }

    /// Whether the file still is at the place by which a client has found it; without a place, whether it has any name. What a
    /// client may cache it is told only if this is so after the lease was granted: a change of the name that has begun before
    /// that does not recall the lease.
    pub fn is_still_named(&self, by: Option<Beside<'_>>) -> bool {
        let Some(by) = by else { return self.attributes().is_ok_and(|now| now.links > 0) };
        by.folder.entry_attributes(&Caller::root(), by.name).is_ok_and(|there| there.id == self.node.id())
    }

    /// Until the lease is guarded the client has not heard of it, and nothing is in its cache. What a local process does
    /// before that, it sees.
    ///
    /// A lease that goes as a whole promises that names and attributes stay: their changes are heard `at_once`.
    fn guard_against_local(&self, lease: &mut Lease, at_once: bool) {
        let held = lease.caching();
        if held == Caching::NONE {
            return;
        }
        let Some(recalling) = self.volume.site.recalling() else { return };
        let hears: Arc<dyn HearsLocal> = recalling;
        if self.node.kind() == Kind::Folder {
            self.node.guard_entries(&hears).into_iter().for_each(|hold| lease.keep(hold));
            return;
        }
        let mut guarded = Err(Error::WouldBlock);
        if held.contains(Caching::WRITE) {
            guarded = self.node.guard(Against::Everyone, at_once, &hears);
            if matches!(guarded, Err(Error::WouldBlock)) {
                lease.limit(Caching::READ.union(Caching::HANDLE));
            }
        }
        if matches!(guarded, Err(Error::WouldBlock)) {
            guarded = self.node.guard(Against::Writers, at_once, &hears);
        }
        match guarded {
            Ok(hold) => lease.keep(hold),
            Err(Error::WouldBlock) => lease.limit(Caching::NONE),
            Err(_) => {} // the host cannot do it, as the log says
        }
    }
}
