//! The list in the answers to READDIR and READDIRPLUS. It is written entry by entry, and ends
//! before it exceeds a limit.

use wire::{Malformed, Reader, Writer};

use super::types::{PostOpAttr, Status, Verifier};
use crate::wire::xdr::{Decode, Encode, list};

/// The end of the list: "no more entries follow" and `eof`.
const TAIL: usize = 8;

/// An entry with a known size.
pub trait Entry: Encode {
    /// How many bytes it takes.
    fn size(&self) -> usize;

    /// How many of them are directory information, which READDIRPLUS limits on its own (dircount): all but the
    /// attributes and the file handle.
    fn dir_size(&self) -> usize;
}

/// Writes the status, READDIR3resok or READDIRPLUS3resok.
#[derive(Debug)]
pub struct Entries<'w> {
    w: &'w mut Writer,
    start: usize,
    end: usize,
    dir_left: usize,
    empty: bool,
}

impl<'w> Entries<'w> {
    /// Begins the list. The results (from the attributes to `eof`; RFC 1813 3.3.16 and 3.3.17 leave the status out)
    /// take at most `max_count` bytes, and the directory information in them at most `dir_count`.
    pub(super) fn begin(
        w: &'w mut Writer,
        attributes: &PostOpAttr,
        verifier: &Verifier,
        dir_count: usize,
        max_count: usize,
    ) -> Self {
        let start = w.len();
        Status::OK.encode(w);
        let end = w.len().saturating_add(max_count).saturating_sub(TAIL);
        attributes.encode(w);
        verifier.encode(w);
        Self { w, start, end, dir_left: dir_count, empty: true }
    }

    /// Appends an entry if the limits allow it. The directory information of the first entry is not
    /// counted: a client that set `dircount` too low for a single name could otherwise never
    /// continue.
    pub fn push(&mut self, entry: &impl Entry) -> bool {
        let dir_left = self.dir_left.checked_sub(4 + entry.dir_size());
        let fits = self.w.len() + 4 + entry.size() <= self.end;
        if !fits || (dir_left.is_none() && !self.empty) {
            return false;
        }
        true.encode(self.w);
        entry.encode(self.w);
        self.dir_left = dir_left.unwrap_or(0);
        self.empty = false;
        true
    }

    /// Whether no entry has been appended. If there are entries but none fits, the answer is
    /// NFS3ERR_TOOSMALL: [`Entries::discard`].
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Ends the list. `eof` means that the directory has no more entries.
    pub fn finish(self, eof: bool) {
        false.encode(self.w);
        eof.encode(self.w);
    }

    /// Removes all that was written.
    pub fn discard(self) {
        self.w.truncate(self.start);
    }
}

/// READDIR3resok and READDIRPLUS3resok as a client gets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<E> {
    pub dir_attributes: PostOpAttr,
    pub verifier: Verifier,
    pub entries: Vec<E>,
    pub eof: bool,
}

impl<'a, E: Decode<'a>> Decode<'a> for Listing<E> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            dir_attributes: Decode::decode(r)?,
            verifier: Decode::decode(r)?,
            entries: list(r)?,
            eof: bool::decode(r)?,
        })
    }
}

impl<E: Encode> Encode for Listing<E> {
    fn encode(&self, w: &mut Writer) {
        self.dir_attributes.encode(w);
        self.verifier.encode(w);
        crate::wire::xdr::put_list(w, &self.entries);
        self.eof.encode(w);
    }
}
