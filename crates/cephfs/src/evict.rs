//! Ends the sessions of another process that must not change files any more.
//!
//! A process that holds capabilities of CephFS may have data of clients in memory, and may write it at any time. A metadata server
//! that evicts the session takes the capabilities away and puts the address of the process on the blocklist of the cluster: from the
//! map of the OSDs with that entry on, no OSD accepts a write of it. Other sessions get the capabilities with the number of that map, and
//! use no older one. So a write that comes late fails, and other clients do not wait for the process to give its capabilities back.

use std::collections::BTreeSet;

use lock::Mutex;
use rustix::io::Errno;

use crate::mount::Making;
use crate::ranks;
use crate::{CephRefusal, Source};

/// The file systems that this process has mounted, or has tried to.
static USED: Mutex<BTreeSet<Source>, ranks::CephMounts> = Mutex::new(BTreeSet::new());

/// This process uses a file system.
pub(crate) fn note(source: &Source) {
    USED.lock().insert(source.clone());
}

/// Whether this process uses a file system.
#[must_use]
pub fn is_used() -> bool {
    !USED.lock().is_empty()
}

/// Ends the sessions of the process with this identity ([`set_identity`](crate::set_identity)) at all file systems that this process
/// uses. It must have logged in as the same user of Ceph. Waits for the metadata servers, without a limit if none is active.
///
/// # Errors
/// A cluster refuses, or does not answer.
pub fn evict(identity: &str) -> Result<(), CephRefusal> {
    let used = USED.lock().clone();
    used.iter().try_for_each(|source| evict_from(source, identity))
}

fn evict_from(source: &Source, identity: &str) -> Result<(), CephRefusal> {
    let making = match Making::begin(source) {
        Err(CephRefusal::NoFileSystem { .. }) => return Ok(()),
        other => other?,
    };
    match making.reset(&source.session_of(identity)) {
        Ok(()) | Err(Errno::NOENT) => Ok(()), // ENOENT: it has no session, or none any more
        Err(why) => Err(CephRefusal::Mount { name: source.file_system.clone(), why }),
    }
}
