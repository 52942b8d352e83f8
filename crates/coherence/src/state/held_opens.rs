//! The opens of one file, found by their numbers, and counts of their access and denials. An open
//! is added, removed and compared with the others in constant time, however many there are.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};

use super::opens::{Concern, Link, Modes, TableOpen};
use super::{OpenId, Party, Stream};
use formats::IdMap;

const MODES: [Modes; 4] = [Modes::READ, Modes::WRITE, Modes::DELETE, Modes::RENAME];

/// The opens of one file.
#[derive(Default)]
pub(super) struct Opens {
    by_id: BTreeMap<OpenId, TableOpen>,
    /// Of the file as a whole, whichever stream is open.
    all: Counts,
    /// The streams that are open.
    streams: HashMap<Stream, OfStream>,
    /// How many opens each name has.
    links: HashMap<Option<Link>, usize>,
    /// How many are reserved.
    reserved: usize,
}

/// How many opens do and deny each of [`MODES`].
#[derive(Default)]
struct Counts {
    access: [usize; MODES.len()],
    deny: [usize; MODES.len()],
}

/// The opens of one stream.
#[derive(Default)]
struct OfStream {
    opens: usize,
    counts: Counts,
    uses: Uses,
    by_party: IdMap<Party, Uses>,
}

/// How many opens there are that concern the caches of other clients.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct Uses {
    opens: usize,
    /// About more than attributes.
    concerned: usize,
    writing: usize,
}

/// The opens of a stream by all parties but one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Foreign {
    /// They have it open for more than its attributes.
    pub(super) open: bool,
    /// They may write it.
    pub(super) writing: bool,
}

impl Opens {
    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The open of this number.
    pub(super) fn get(&self, id: OpenId) -> Option<&TableOpen> {
        self.by_id.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TableOpen> {
        self.by_id.values()
    }

    /// Whether this stream is open.
    pub(super) fn has_stream(&self, stream: &Stream) -> bool {
        self.streams.contains_key(stream)
    }

    /// How many opens this stream has.
    pub(super) fn count_of(&self, stream: &Stream) -> usize {
        self.streams.get(stream).map_or(0, |of| of.opens)
    }

    /// Whether an open depends on this name of the file: it is open by this name, or by one that is not known.
    pub(super) fn has_link(&self, link: Option<Link>) -> bool {
        match link {
            Some(_) => self.links.contains_key(&link) || self.links.contains_key(&None),
            None => !self.is_empty(),
        }
    }

    pub(super) fn insert(&mut self, open: TableOpen) {
        *self.links.entry(open.link).or_default() += 1;
        self.reserved += usize::from(open.reserved);
        self.all.change(&open, |count| *count += 1);
        let of = self.streams.entry(open.stream.clone()).or_default();
        of.opens += 1;
        of.counts.change(&open, |count| *count += 1);
        of.uses.change(&open, |count| *count += 1);
        of.by_party.entry(open.party).or_default().change(&open, |count| *count += 1);
        self.by_id.insert(open.id, open);
    }

    pub(super) fn remove(&mut self, id: OpenId) -> Option<TableOpen> {
        let open = self.by_id.remove(&id)?;
        self.reserved -= usize::from(open.reserved);
        if let Slot::Occupied(mut opens) = self.links.entry(open.link) {
            *opens.get_mut() -= 1;
            if *opens.get() == 0 {
                opens.remove();
            }
        }
        self.all.change(&open, |count| *count -= 1);
        if let Slot::Occupied(mut of) = self.streams.entry(open.stream.clone()) {
            let stream = of.get_mut();
            stream.opens -= 1;
            stream.counts.change(&open, |count| *count -= 1);
            stream.uses.change(&open, |count| *count -= 1);
            if let Slot::Occupied(mut party) = stream.by_party.entry(open.party) {
                party.get_mut().change(&open, |count| *count -= 1);
                if party.get().opens == 0 {
                    party.remove();
                }
            }
            if stream.opens == 0 {
                of.remove();
            }
        }
        Some(open)
    }

    /// Changes an open, if it is there.
    pub(super) fn change(&mut self, id: OpenId, change: impl FnOnce(&mut TableOpen)) {
        if let Some(mut open) = self.remove(id) {
            change(&mut open);
            self.insert(open);
        }
    }

    /// Whether an open keeps the file for its client.
    pub(super) fn is_reserved(&self) -> bool {
        self.reserved > 0
    }

    /// An open keeps the file for its client, or does not any more.
    pub(super) fn reserve(&mut self, id: OpenId, reserved: bool) {
        self.change(id, |open| open.reserved = reserved);
    }

    /// Notes that the owner of ranges or waiting requests names this open.
    pub(super) fn note_ranges(&mut self, id: OpenId) {
        if let Some(open) = self.by_id.get_mut(&id) {
            open.has_ranges = true;
        }
    }

    /// Whether an open other than `except` denies this access to the stream. Deletion concerns the file, the rest the
    /// same stream.
    pub(super) fn denies(&self, stream: &Stream, access: Modes, except: Option<OpenId>) -> bool {
        self.meets(stream, access, except, |counts| &counts.deny, |open| open.deny)
    }

    /// Whether an open other than `except` has an access that `denied` denies.
    pub(super) fn does(&self, stream: &Stream, denied: Modes, except: Option<OpenId>) -> bool {
        self.meets(stream, denied, except, |counts| &counts.access, |open| open.access)
    }

    /// Whether an open of another party may remove the file.
    pub(super) fn lets_remove(&self, by_others_than: Party) -> bool {
        let may = |open: &TableOpen| open.party != by_others_than && open.access.intersects(Modes::DELETE);
        self.all.does(Modes::DELETE) && self.by_id.values().any(may)
    }

    fn meets(
        &self,
        stream: &Stream,
        modes: Modes,
        except: Option<OpenId>,
        count: impl Fn(&Counts) -> &[usize; MODES.len()],
        of: impl Fn(&TableOpen) -> Modes,
    ) -> bool {
        let except = except.and_then(|id| self.by_id.get(&id));
        let same = self.streams.get(stream).map(|same| &same.counts);
        MODES.iter().enumerate().filter(|(_, mode)| modes.intersects(**mode)).any(|(at, mode)| {
            let of_file = Modes::REMOVE.contains(*mode);
            let counts = if of_file { Some(&self.all) } else { same };
            let own = except.filter(|open| of(open).intersects(*mode) && (of_file || open.stream == *stream));
            counts.map_or(0, |counts| count(counts)[at]) > usize::from(own.is_some())
        })
    }

    /// What other parties have of the stream.
    pub(super) fn foreign(&self, stream: &Stream, party: Party) -> Foreign {
        let Some(of) = self.streams.get(stream) else { return Foreign { open: false, writing: false } };
        let own = of.by_party.get(&party).copied().unwrap_or_default();
        Foreign { open: of.uses.concerned > own.concerned, writing: of.uses.writing > own.writing }
    }
}

impl Counts {
    fn does(&self, mode: Modes) -> bool {
        MODES.iter().zip(&self.access).any(|(of, opens)| *of == mode && *opens > 0)
    }

    fn change(&mut self, open: &TableOpen, change: impl Fn(&mut usize)) {
        for (at, mode) in MODES.iter().enumerate() {
            if open.access.intersects(*mode) {
                change(&mut self.access[at]);
            }
            if open.deny.intersects(*mode) {
                change(&mut self.deny[at]);
            }
        }
    }
}

impl Uses {
    fn change(&mut self, open: &TableOpen, change: impl Fn(&mut usize)) {
        change(&mut self.opens);
        if open.concern != Concern::Attributes {
            change(&mut self.concerned);
        }
        if open.access.intersects(Modes::WRITE) {
            change(&mut self.writing);
        }
    }
}
