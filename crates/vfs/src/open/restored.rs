//! Opens of a server that is lost, as this one takes them over ([`Successor`](crate::state::Successor)).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lock::Mutex;

use super::{Beside, Open, may_remove};
use crate::backend::Found;
use crate::events::PublishedMark;
use crate::state::{OpenGuard, Stream};
use crate::{Actor, Caller, Error, Result, Volume};

/// What the lost server has noted of an open.
#[derive(Debug)]
pub struct TakenOver<'a> {
    /// Where the file is.
    pub place: Beside<'a>,
    /// The file is removed once this open and all others of it are closed.
    pub remove_on_close: bool,
    /// The same, and the file cannot be opened until then.
    pub is_going: bool,
}

impl Open {
    /// An open of the data of a file that this server has inherited. Its rights were decided by the lost server.
    ///
    /// # Errors
    /// The file is not the one of the guard, or cannot be used; the guard is given back.
    pub fn restore(
        volume: &Arc<Volume>,
        actor: &Actor,
        file: &Found,
        guard: OpenGuard,
        restored: &TakenOver<'_>,
    ) -> Result<Self> {
        let (access, _) = guard.modes();
        if file.object.id() != guard.file() || guard.stream() != Stream::Data {
            return Err(Error::Stale);
        }
        volume.may_open(&actor.caller, file, access, true)?;
        if restored.remove_on_close {
            may_remove(volume.is_read_only(), true, access)?;
        }
        let permit = volume.site.opens.take(None)?; // it was granted by the lost server
        let open = Self {
            volume: volume.clone(),
            node: file.object.clone(),
            actor: Actor { open: Some(guard.id()), ..actor.clone() },
            guard,
            is_data: true,
            granted: true,
            remove_on_close: restored.remove_on_close,
            changed: AtomicBool::new(false),
            published: PublishedMark::default(),
            place: Some(volume.site.places.add(file.object.id(), restored.place, &volume.backend)),
            fork: Mutex::default(),
            permit,
        };
        if restored.is_going {
            open.mark_going();
        }
        Ok(open)
    }

    /// The client has come back to an inherited open: from now on it acts as this caller.
    pub fn act_as(&mut self, caller: Caller) {
        self.actor.caller = caller;
    }
}
