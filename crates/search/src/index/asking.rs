//! Searches in an index: entries of the table and of all segments in one order, of each place the newest.

use std::sync::Arc;

use query::{Attribute, Facts, Query, Test};
use vfs::SearchPlace;
use vfs::names::text_view;

use super::plan::{Plan, has_phrases};
use super::scan::{Scan, TextAnswers};
use super::store::{Segments, Store};
use crate::entry::Entry;
use crate::error::IndexFailure;
use crate::segment::HAS_CONTENTS;

/// An entry that may match.
pub(super) struct Proposed<'a> {
    pub(super) place: &'a SearchPlace,
    pub(super) inode: u64,
    pub(super) changed: i64,
    /// What is known of the contents; `None`: they were not read.
    pub(super) contents: Option<&'a Facts>,
    /// Whether the words of the contents pass a test.
    pub(super) text: &'a dyn Fn(&Test) -> bool,
}

/// What a search calls for each entry that may match; it answers whether to go on.
pub(super) type Each<'a> = dyn FnMut(&Proposed<'_>) -> bool + 'a;

/// Looks for entries that may match.
pub(super) fn propose(
    store: &Store,
    query: &Query,
    after: Option<&SearchPlace>,
    name_of: &dyn Fn(u32) -> Option<String>,
    each: &mut Each<'_>,
) -> Result<(), IndexFailure> {
    let passes = |name: &[u8], entry: &Entry| {
        let owner = query.asks_for(|of| of == Attribute::Owner).then(|| name_of(entry.uid)).flatten();
        may_match(query, &entry.facts(&text_view(name), owner), entry)
    };
    let (recent, segments) = store.look(|table| {
        let found = table.after(after).filter_map(|(folder, name, entry)| {
            let entry = entry.as_ref().filter(|entry| passes(name, entry))?;
            Some((SearchPlace { folder: folder.to_vec(), name: name.clone() }, entry.clone()))
        });
        found.collect::<Vec<_>>()
    });
    let plan = Plan::of(query, name_of);
    let mut scans = Vec::with_capacity(segments.len());
    for segment in &segments {
        scans.push(Scan::of(segment.clone(), &plan, after)?);
    }
    let texts =
        segments.iter().map(|segment| TextAnswers::of(query, segment)).collect::<Result<Vec<_>, _>>()?;
    let mut recent = recent.into_iter().peekable();
    loop {
        let oldest_first =
            scans.iter().enumerate().filter_map(|(age, scan)| Some((&scan.head.as_ref()?.place, age)));
        let next = oldest_first.min();
        let is_recent = match (recent.peek(), next) {
            (None, None) => return Ok(()),
            (Some((place, _)), Some((other, _))) => place <= other,
            (Some(_), None) => true,
            (None, Some(_)) => false,
        };
        let goes_on = if is_recent {
            let Some((place, entry)) = recent.next() else { return Ok(()) };
            pass_by(&mut scans, &place)?;
            propose_recent(&place, &entry, each)
        } else {
            let Some((place, age)) = next.map(|(place, age)| (place.clone(), age)) else { return Ok(()) };
            let goes_on = match newest(store, &place) {
                Some(None) => true,
                Some(Some(entry)) => !passes(&place.name, &entry) || propose_recent(&place, &entry, each),
                None => propose_old(&segments, (&scans[age], &texts[age], age), &place, each)?,
            };
            pass_by(&mut scans, &place)?;
            goes_on
        };
        if !goes_on {
            return Ok(());
        }
    }
}

/// Older entries of a place do not count.
fn pass_by(scans: &mut [Scan<'_, '_>], place: &SearchPlace) -> Result<(), IndexFailure> {
    for scan in scans {
        if scan.head.as_ref().is_some_and(|head| head.place == *place) {
            scan.advance()?;
        }
    }
    Ok(())
}

/// Whether an entry of the table may match. What is not kept may be anything.
fn may_match(query: &Query, facts: &Facts, entry: &Entry) -> bool {
    let mut is_unknown = false;
    query.each_comparison(&mut |comparison| {
        let is_text = matches!(comparison.attribute, Attribute::Any | Attribute::Text);
        is_unknown |= comparison.attribute == Attribute::Used || is_text && has_phrases(&comparison.test);
    });
    is_unknown || query.matches_with(facts, &|test| has_words(entry, test))
}

fn has_words(entry: &Entry, test: &Test) -> bool {
    let Some(words) = &entry.words else { return false };
    let Test::Text(test) = test else { return *test == Test::Present };
    test.words().iter().all(|wanted| {
        let from = words.partition_point(|word| **word < *wanted.word);
        words.get(from).is_some_and(|word| wanted.accepts(word))
    })
}

fn contents_of(facts: &Facts) -> Facts {
    let mut contents = Facts::default();
    contents.extend(facts.all().iter().filter(|(attribute, _)| attribute.is_of_contents()).cloned());
    contents
}

fn propose_recent(place: &SearchPlace, entry: &Arc<Entry>, each: &mut Each<'_>) -> bool {
    let contents = entry.words.is_some().then(|| contents_of(&entry.extra));
    each(&Proposed {
        place,
        inode: entry.inode,
        changed: entry.changed,
        contents: contents.as_ref(),
        text: &|test| has_words(entry, test),
    })
}

/// What the table says of a place now; `Some(None)`: it was removed. The table may have got the entry since the search began, which
/// then goes by this newest state.
fn newest(store: &Store, place: &SearchPlace) -> Option<Option<Arc<Entry>>> {
    store.look(|table| table.entry(&place.folder, &place.name).cloned()).0
}

fn propose_old(
    segments: &Segments,
    (scan, texts, age): (&Scan<'_, '_>, &TextAnswers, usize),
    place: &SearchPlace,
    each: &mut Each<'_>,
) -> Result<bool, IndexFailure> {
    let Some(head) = &scan.head else { return Ok(true) };
    for newer in &segments[..age] {
        if newer.find(&place.folder, &place.name)?.is_some() {
            return Ok(true);
        }
    }
    let has_contents = head.row.flags & HAS_CONTENTS != 0;
    let contents = if has_contents { Some(contents_of(&scan.segment.facts(&head.refs)?)) } else { None };
    Ok(each(&Proposed {
        place,
        inode: head.refs[0].inode,
        changed: head.refs[0].changed,
        contents: contents.as_ref(),
        text: &|test| texts.accepts(test, head.entry),
    }))
}
