//! Whether deny modes and byte ranges of others let a client read, write, cut or remove.

use super::opens::{Modes, TableOpen};
use super::range::{Flavour, LockOwner, Range};
use super::table::Entry;
use super::{ClientId, OpenId, State, Stream};
use formats::{Error, FileId, Result};

/// The client that reads or writes.
#[derive(Debug, Clone, Copy)]
pub struct IoClient<'a> {
    /// The client.
    pub client: ClientId,
    /// The open that it uses, if its protocol has opens.
    pub open: Option<OpenId>,
    /// The lock owner of the request, if the client names one.
    pub owner: Option<&'a LockOwner>,
    /// The flavour that the client's own locks have.
    pub flavour: Flavour,
}

impl<'a> IoClient<'a> {
    /// A client without an open: nothing that the same client holds collides with it.
    pub fn stateless(client: ClientId) -> Self {
        Self { client, open: None, owner: None, flavour: Flavour::Advisory }
    }

    /// A client whose locks are mandatory, through one of its opens. Its other opens count as
    /// others.
    pub fn through(client: ClientId, open: OpenId) -> Self {
        Self { client, open: Some(open), owner: None, flavour: Flavour::Mandatory }
    }

    /// Whether a lock of this owner is its own.
    pub(super) fn owns(&self, owner: &LockOwner) -> bool {
        match (self.owner, owner.open) {
            (Some(own), _) if own == owner => true,
            (_, Some(open)) => {
                self.open == Some(open) || (self.open.is_none() && owner.client == self.client)
            }
            (_, None) => owner.client == self.client,
        }
    }

    fn is_other(&self, client: ClientId, open: OpenId) -> bool {
        match self.open {
            Some(own) => own != open,
            None => self.client != client,
        }
    }
}

impl State {
    /// Whether this read or write may go on, as far as the deny modes (`ShareConflict`) and byte
    /// ranges (`RangeLocked`) of others are concerned. A file with nothing held costs one atomic
    /// load.
    ///
    /// Leases are checked elsewhere: [`State::break_for`].
    #[inline]
    pub fn check_io(
        &self,
        file: FileId,
        stream: &Stream,
        who: IoClient<'_>,
        range: Range,
        write: bool,
    ) -> Result<()> {
        let table = &self.table;
        let binds = table.policy.advisory_binds_io;
        let check = |entry: &Entry| entry.check_io(stream, &who, range, write, binds);
        self.with_way(file, who.client, || table.look(file, check)?.unwrap_or(Ok(())))
    }

    /// Whether no open denies this access, be it of this client or of another one: for an operation without an open of a
    /// client that has opens.
    pub fn check_denied(&self, file: FileId, stream: &Stream, client: ClientId, access: Modes) -> Result<()> {
        let check = |entry: &Entry| entry.opens.denies(stream, access, None);
        let is_denied = |denied: Option<bool>| match denied {
            Some(true) => Err(Error::ShareConflict),
            _ => Ok(()),
        };
        self.with_way(file, client, || is_denied(self.table.look(file, check)?))
    }

    /// Whether the stream may be cut or grown to `length`: what lies beyond counts as written.
    pub fn check_resize(&self, file: FileId, stream: &Stream, who: IoClient<'_>, length: u64) -> Result<()> {
        self.check_io(file, stream, who, Range::to_end(length), true)
    }

    /// Whether the file may lose this name, by removal, renaming, or another file taking its place.
    pub fn check_remove(&self, file: FileId, who: IoClient<'_>) -> Result<()> {
        self.check_leave(file, who, Modes::REMOVE)
    }

    /// The same against opens that deny one of these modes.
    pub fn check_leave(&self, file: FileId, who: IoClient<'_>, modes: Modes) -> Result<()> {
        if !self.table.policy.deny_binds_remove {
            return Ok(());
        }
        let check = |entry: &Entry| entry.check_deny(&Stream::Data, &who, modes);
        self.with_way(file, who.client, || self.table.look(file, check)?.unwrap_or(Ok(())))
    }
}

impl Entry {
    fn check_io(
        &self,
        stream: &Stream,
        who: &IoClient<'_>,
        range: Range,
        write: bool,
        advisory: bool,
    ) -> Result<()> {
        self.check_deny(stream, who, if write { Modes::WRITE } else { Modes::READ })?;
        match self.ranges_of(stream).and_then(|ranges| ranges.io_blocker(who, range, write, advisory)) {
            Some(_) => Err(Error::RangeLocked),
            None => Ok(()),
        }
    }

    fn check_deny(&self, stream: &Stream, who: &IoClient<'_>, access: Modes) -> Result<()> {
        if !self.opens.denies(stream, access, who.open) {
            return Ok(());
        }
        // Another open denies it. Without an open of its own, a client is not bound by what it
        // denies itself.
        let binds =
            |open: &TableOpen| who.is_other(open.party.client, open.id) && open.denies(stream, access);
        if self.opens.iter().any(binds) { Err(Error::ShareConflict) } else { Ok(()) }
    }
}
