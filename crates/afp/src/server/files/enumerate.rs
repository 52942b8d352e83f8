//! Listings, Apple Filing Protocol Reference, FPEnumerate, FPEnumerateExt, FPEnumerateExt2.
//!
//! Clients request entries by their index in the listing, which changes while entries come and go.
//! So a session remembers which entry the next index stands for: a client that continues where the
//! last reply ended misses no entry and sees none twice.

use std::collections::VecDeque;

use lock::Mutex;
use vfs::{Caller, FileId, Page};
use wire::Writer;

use super::entries::{EnumeratedFolder, Needs};
use super::params::{ParameterFacts, RequestedParameters};
use crate::ranks;
use crate::server::limits::MAX_LISTINGS;
use crate::server::reply::{Outcome, Reply};
use crate::server::request::Request;
use crate::server::volumes::target::Target;
use crate::wire::enumerate::{self, Enumerate, EnumerateForm};
use crate::wire::{ResultCode, command};

#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;

/// The initial capacity of a reply.
const LIKELY_REPLY: usize = 64 * 1024;

/// The positions at which a session's listings continue.
#[derive(Default)]
pub(in crate::server) struct Listings {
    places: Mutex<VecDeque<Bookmark>, ranks::AfpBookmarks>,
}

/// The entry that an index of a listing stands for.
#[derive(Debug, Clone, Copy)]
struct Bookmark {
    of: ListingKey,
    /// The index, counted from 1.
    index: u32,
    /// The entry is the one after this cookie.
    cookie: u64,
}

/// A listing of files or folders or both, of a folder of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListingKey {
    volume: u16,
    folder: FileId,
    files: bool,
    folders: bool,
}

impl Listings {
    /// The nearest known position at or before this index. A client that begins again gets the
    /// current state.
    fn nearest(&self, of: ListingKey, index: u32) -> (u32, u64) {
        let mut places = self.places.lock();
        if index == 1 {
            places.retain(|place| place.of != of);
        }
        let known = places.iter().filter(|place| place.of == of && place.index <= index);
        known.max_by_key(|place| place.index).map_or((1, 0), |place| (place.index, place.cookie))
    }

    fn note(&self, place: Bookmark) {
        let mut places = self.places.lock();
        places.retain(|known| (known.of, known.index) != (place.of, place.index));
        if places.len() >= MAX_LISTINGS {
            places.pop_front();
        }
        places.push_back(place);
    }

    /// Forgets all positions.
    pub(in crate::server) fn end(&self) {
        self.places.lock().clear();
    }
}

/// Runs a command of this family.
pub(in crate::server) async fn run(request: &Request) -> Outcome {
    match request.command {
        command::ENUMERATE => enumerate(request, EnumerateForm::Plain),
        command::ENUMERATE_EXT => enumerate(request, EnumerateForm::Ext),
        command::ENUMERATE_EXT2 => enumerate(request, EnumerateForm::Ext2),
        _ => Err(ResultCode::CALL_NOT_SUPPORTED),
    }
}

fn enumerate(request: &Request, form: EnumerateForm) -> Outcome {
    let asked = Enumerate::decode(&mut request.reader(), form)?;
    let volume = request.volume(asked.place.volume)?;
    let Enumerate { files, folders, .. } = asked;
    if files.is_empty() && folders.is_empty() {
        return Err(ResultCode::BITMAP_ERROR);
    }
    let wanted = RequestedParameters { file: files, dir: folders }.check(request.version())?;
    if asked.start == 0 {
        return Err(ResultCode::PARAM_ERROR);
    }
    let target = folder_at(request, &volume, &asked)?;
    let found = target.folder()?;
    let folder = EnumeratedFolder {
        volume: &volume,
        caller: request.caller(),
        version: request.version(),
        wanted,
        found,
        id: target.id(&volume)?,
    };
    let of = ListingKey {
        volume: volume.id,
        folder: found.object.id(),
        files: !files.is_empty(),
        folders: !folders.is_empty(),
    };
    let listings = &request.session.listings;
    let (index, cookie) = listings.nearest(of, asked.start);
    let (reserved, room) =
        request.memory.reserve_up_to(asked.max_reply.min(request.transport.quantum()) as usize);
    let mut listing = EnumerateReply::new(&folder, form, &asked, (of, room));
    listing.skip = asked.start - index;
    let mut cookie = listing.take(request.caller(), cookie)?;
    if listing.skip > 0 && of.files != of.folders {
        // An invalid index among files (or folders) alone: old clients mean the index among all
        // entries.
        (listing.skip, listing.skips_all) = (asked.start - 1, true);
        cookie = listing.take(request.caller(), 0)?;
    }
    if listing.count == 0 {
        return Err(ResultCode::OBJECT_NOT_FOUND);
    }
    listings.note(Bookmark { of, index: asked.start.saturating_add(listing.count.into()), cookie });
    Ok(Reply { reserved, ..listing.into_reply() })
}

/// The folder to list. A missing one has a separate result.
fn folder_at(
    request: &Request,
    volume: &crate::server::volumes::open_volume::OpenVolume,
    asked: &Enumerate<'_>,
) -> Result<Target, ResultCode> {
    const PARENT_OF_ROOT: u32 = 1;
    let target = volume.resolve(request.caller(), asked.place.folder, &asked.place.path);
    let target = target.and_then(|target| target.found().map(drop).and(Ok(target)));
    target.map_err(|error| match error {
        ResultCode::OBJECT_NOT_FOUND if asked.place.folder != PARENT_OF_ROOT => ResultCode::DIR_NOT_FOUND,
        other => other,
    })
}

/// A reply in progress.
struct EnumerateReply<'a> {
    folder: &'a EnumeratedFolder<'a>,
    form: EnumerateForm,
    of: ListingKey,
    most: u16,
    /// The most bytes of the reply.
    max: usize,
    /// The number of entries still to skip.
    skip: u32,
    /// Entries that are not wanted count as skipped, too.
    skips_all: bool,
    count: u16,
    w: Writer,
}

/// The result for an entry.
enum AddOutcome {
    /// It was added to the reply.
    Yes,
    /// The reply has no room for it.
    Full,
}

impl<'a> EnumerateReply<'a> {
    fn new(
        folder: &'a EnumeratedFolder<'a>,
        form: EnumerateForm,
        asked: &Enumerate<'_>,
        (of, max): (ListingKey, usize),
    ) -> Self {
        let mut w = Writer::onto(Vec::with_capacity(max.min(LIKELY_REPLY)));
        let head = enumerate::Reply { files: asked.files, folders: asked.folders, count: 0, entries: b"" };
        head.encode(&mut w);
        Self { folder, form, of, most: asked.count, max, skip: 0, skips_all: false, count: 0, w }
    }

    /// Adds entries after a cookie, as many as fit. Returns the cookie at which to continue.
    fn take(&mut self, caller: &Caller, mut cookie: u64) -> Result<u64, ResultCode> {
        let at_a_time = self.folder.volume.share.catalogue.at_a_time();
        loop {
            let page = self.folder.volume.tree().list(caller, self.folder.found, cookie)?;
            let mut named = page.named().peekable();
            let mut some: Vec<(u64, ParameterFacts<'_>)> = Vec::new();
            while named.peek().is_some() {
                let most = at_a_time.min(usize::from(self.most - self.count));
                if most == 0 {
                    return Ok(cookie);
                }
                while some.len() < most
                    && let Some(entry) = named.next()
                {
                    match self.facts(&page, entry)? {
                        Some(facts) => some.push((entry.cookie, facts)),
                        // Entries that are skipped behind a wanted one are skipped again if that has no room.
                        None if some.is_empty() => cookie = entry.cookie,
                        None => {}
                    }
                }
                self.folder.number(&some)?;
                for (at, facts) in &mut some {
                    match self.add(facts)? {
                        AddOutcome::Yes => cookie = *at,
                        AddOutcome::Full => return Ok(cookie),
                    }
                }
                some.clear();
            }
            match page.entries().last() {
                // The last entry may have been `..`, which is skipped.
                Some(last) if !page.complete => cookie = last.cookie,
                _ => return Ok(cookie),
            }
        }
    }

    /// What is told of an entry, but its number. `None`: it is skipped.
    fn facts<'e>(
        &mut self,
        page: &Page,
        entry: &'e vfs::Entry,
    ) -> Result<Option<ParameterFacts<'e>>, ResultCode> {
        if !self.folder.shows(entry) {
            return Ok(None);
        }
        let Some(is_folder) = self.folder.is_folder(page, entry) else { return Ok(None) };
        let is_wanted = if is_folder { self.of.folders } else { self.of.files };
        if self.skip > 0 && (is_wanted || self.skips_all) {
            self.skip -= 1;
            return Ok(None);
        }
        if is_wanted { self.folder.facts(page, entry, Needs::default()) } else { Ok(None) }
    }

    fn add(&mut self, facts: &mut ParameterFacts<'_>) -> Result<AddOutcome, ResultCode> {
        self.folder.add_number(facts)?;
        let before = self.w.len();
        let fits = self.folder.put(self.form.framing(), facts, &mut self.w) && self.w.len() <= self.max;
        if fits {
            self.count += 1;
            return Ok(AddOutcome::Yes);
        }
        self.w.truncate(before);
        // The client's limit on the reply is too small for one entry.
        if self.count == 0 { Err(ResultCode::PARAM_ERROR) } else { Ok(AddOutcome::Full) }
    }

    fn into_reply(mut self) -> Reply {
        self.w.patch_u16_be(enumerate::Reply::COUNT_AT, self.count);
        Reply { head: self.w.into_bytes(), ..Reply::default() }
    }
}
