//! The entries of a segment that pass a plan, in their order, block by block.

use std::sync::Arc;

use query::{Attribute, Query, Test, WordTest};
use vfs::SearchPlace;
use vfs::names::text_view;

use super::plan::{NameTest, Plan, RowTest};
use crate::error::IndexFailure;
use crate::segment::{Number, ROW, Refs, Row, Segment};

/// Entries of a block.
const BLOCK: usize = 4096;
/// Words of the mask of a block.
const MASK: usize = BLOCK / 64;

/// Which entries of a block are meant.
type Mask = [u64; MASK];

const NONE: Mask = [0; MASK];

fn is_empty(mask: &Mask) -> bool {
    mask.iter().all(|word| *word == 0)
}

fn set(mask: &mut Mask, at: usize) {
    mask[at / 64] |= 1 << (at % 64);
}

fn has(mask: &Mask, at: usize) -> bool {
    mask[at / 64] >> (at % 64) & 1 != 0
}

fn each(mask: &Mask, mut visit: impl FnMut(usize)) {
    for (number, word) in mask.iter().enumerate() {
        let mut left = *word;
        while left != 0 {
            visit(number * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

/// A plan with what one segment says of it.
enum Prepared<'p, 'q> {
    All,
    Nothing,
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    Name(&'p NameTest<'q>),
    Row(&'p RowTest<'q>),
    Entries(Vec<Number>),
}

impl<'p, 'q> Prepared<'p, 'q> {
    fn of(plan: &'p Plan<'q>, segment: &Segment) -> Result<Self, IndexFailure> {
        let all = |parts: &'p [Plan<'q>]| {
            parts.iter().map(|part| Self::of(part, segment)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match plan {
            Plan::All => Self::All,
            Plan::Nothing => Self::Nothing,
            Plan::And(parts) => Self::And(all(parts)?),
            Plan::Or(parts) => Self::Or(all(parts)?),
            Plan::Not(part) => Self::Not(Box::new(Self::of(part, segment)?)),
            Plan::Name(test) => Self::Name(test),
            Plan::Row(test) => Self::Row(test),
            Plan::Words(words) => Self::Entries(entries_with_all(segment, words)?),
            Plan::Extra(comparison) => {
                let (mut entries, part) = (Vec::new(), Query::Is((*comparison).clone()));
                segment.each_facts(|entry, facts| {
                    if part.matches(&facts) {
                        entries.push(entry);
                    }
                })?;
                Self::Entries(entries)
            }
        })
    }

    /// Whether no entry can pass.
    fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Entries(entries) => entries.is_empty(),
            Self::And(parts) => parts.iter().any(Self::is_nothing),
            Self::Or(parts) => parts.iter().all(Self::is_nothing),
            _ => false,
        }
    }

    /// Which of the entries in `among` pass.
    fn mask(&self, block: &mut Block<'_>, among: &Mask) -> Result<Mask, IndexFailure> {
        match self {
            Self::All => Ok(*among),
            Self::Nothing => Ok(NONE),
            Self::And(parts) => {
                let mut left = *among;
                for part in parts {
                    if is_empty(&left) {
                        break;
                    }
                    left = part.mask(block, &left)?;
                }
                Ok(left)
            }
            Self::Or(parts) => {
                let (mut found, mut left) = (NONE, *among);
                for part in parts {
                    let more = part.mask(block, &left)?;
                    for at in 0..MASK {
                        found[at] |= more[at];
                        left[at] &= !more[at];
                    }
                }
                Ok(found)
            }
            Self::Not(part) => {
                let mut left = part.mask(block, among)?;
                left.iter_mut().zip(among).for_each(|(word, among)| *word = among & !*word);
                Ok(left)
            }
            Self::Entries(entries) => {
                let from = entries.partition_point(|entry| *entry < block.first);
                let here = entries[from..].iter().map(|entry| (*entry - block.first) as usize);
                let mut found = NONE;
                here.take_while(|at| *at < block.count)
                    .filter(|at| has(among, *at))
                    .for_each(|at| set(&mut found, at));
                Ok(found)
            }
            Self::Row(test) => {
                let (rows, mut found) = (block.rows()?, NONE);
                each(among, |at| {
                    if rows.get(at * ROW..).and_then(Row::decode).is_some_and(|row| test.accepts(&row)) {
                        set(&mut found, at);
                    }
                });
                Ok(found)
            }
            Self::Name(test) => block.named(test, among),
        }
    }
}

fn entries_with_all(segment: &Segment, words: &[WordTest]) -> Result<Vec<Number>, IndexFailure> {
    let mut all: Option<Vec<Number>> = None;
    for word in words {
        let with = segment.entries_with(word)?;
        all = Some(match all {
            None => with,
            Some(mut before) => {
                before.retain(|entry| with.binary_search(entry).is_ok());
                before
            }
        });
        if all.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
    }
    Ok(all.unwrap_or_default())
}

/// A block of entries, of which the parts are read that are asked for.
struct Block<'s> {
    segment: &'s Segment,
    first: Number,
    count: usize,
    rows: Option<Vec<u8>>,
    refs: Option<Vec<Refs>>,
    folded: Option<Vec<u8>>,
}

impl<'s> Block<'s> {
    fn of(segment: &'s Segment, first: Number) -> Self {
        let count = ((segment.entries() - first) as usize).min(BLOCK);
        Self { segment, first, count, rows: None, refs: None, folded: None }
    }

    fn rows(&mut self) -> Result<&[u8], IndexFailure> {
        if self.rows.is_none() {
            self.rows = Some(self.segment.rows(self.first, self.count)?);
        }
        Ok(self.rows.as_deref().unwrap_or_default())
    }

    /// The references, and the folded names.
    fn texts(&mut self) -> Result<(&[Refs], &[u8]), IndexFailure> {
        if self.folded.is_none() {
            let refs = self.segment.refs(self.first, self.count)?;
            let (Some(first), Some(last)) = (refs.first(), refs.last()) else {
                return Err(self.segment.damaged("a reference is missing"));
            };
            self.folded = Some(self.segment.folded(first.folded, last.folded)?);
            self.refs = Some(refs);
        }
        Ok((self.refs.as_deref().unwrap_or_default(), self.folded.as_deref().unwrap_or_default()))
    }

    fn named(&mut self, test: &NameTest<'_>, among: &Mask) -> Result<Mask, IndexFailure> {
        let segment = self.segment;
        let (refs, folded) = self.texts()?;
        let start = refs.first().map_or(0, |first| first.folded);
        let range = |at: usize| {
            let (from, to) = (refs[at].folded.wrapping_sub(start), refs[at + 1].folded.wrapping_sub(start));
            (from as usize, (to as usize).saturating_sub(1))
        };
        let mut found = NONE;
        let accepts = |at: usize| -> bool {
            let (from, to) = range(at);
            let text =
                folded.get(from..to).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
            let name =
                || segment.name(&[refs[at], refs[at + 1]]).map(|name| text_view(&name)).unwrap_or_default();
            test.accepts(text, name)
        };
        let Some(needle) = &test.needle else {
            each(among, |at| {
                if accepts(at) {
                    set(&mut found, at);
                }
            });
            return Ok(found);
        };
        let mut from = 0;
        while let Some(place) = folded.get(from..).and_then(|text| needle.find(text)) {
            let place = (from + place) as u32;
            let at = refs.partition_point(|refs| refs.folded.wrapping_sub(start) <= place) - 1;
            if at + 1 >= refs.len() {
                break;
            }
            if has(among, at) && accepts(at) {
                set(&mut found, at);
            }
            from = refs[at + 1].folded.wrapping_sub(start) as usize;
        }
        Ok(found)
    }
}

/// The entries of a segment that pass.
pub(super) struct Scan<'p, 'q> {
    pub(super) segment: Arc<Segment>,
    plan: Prepared<'p, 'q>,
    /// The block after the present one.
    next: Number,
    /// Entries before this one do not count.
    from: Number,
    block: Mask,
    block_first: Number,
    /// The folder of the last entry that was asked for: its place in the order, and where it ends.
    folder: Option<(crate::segment::FolderRecord, Number)>,
    /// The next entry that passes.
    pub(super) head: Option<Proposal>,
}

/// An entry that passes.
pub(super) struct Proposal {
    pub(super) place: SearchPlace,
    pub(super) entry: Number,
    pub(super) row: Row,
    /// Its references, and those of the entry after it.
    pub(super) refs: [Refs; 2],
}

impl<'p, 'q> Scan<'p, 'q> {
    pub(super) fn of(
        segment: Arc<Segment>,
        plan: &'p Plan<'q>,
        after: Option<&SearchPlace>,
    ) -> Result<Self, IndexFailure> {
        let prepared = Prepared::of(plan, &segment)?;
        let from = match after {
            _ if prepared.is_nothing() => segment.entries(),
            Some(after) => first_after(&segment, after)?,
            None => 0,
        };
        let next = from - from % BLOCK as Number;
        let mut scan = Self {
            segment,
            plan: prepared,
            next,
            from,
            block: NONE,
            block_first: 0,
            folder: None,
            head: None,
        };
        scan.advance()?;
        Ok(scan)
    }

    /// Looks for the next entry that passes.
    pub(super) fn advance(&mut self) -> Result<(), IndexFailure> {
        self.head = None;
        loop {
            while let Some(at) = self.take_bit() {
                let entry = self.block_first + at;
                let row = self.segment.row(entry)?;
                if entry >= self.from && !row.is_removed() {
                    let refs = self.segment.refs_of(entry)?;
                    let place = self.place(entry, &refs)?;
                    self.head = Some(Proposal { place, entry, row, refs });
                    return Ok(());
                }
            }
            if self.next >= self.segment.entries() {
                return Ok(());
            }
            let segment = self.segment.clone();
            let mut block = Block::of(&segment, self.next);
            let mut all = NONE;
            (0..block.count).for_each(|at| set(&mut all, at));
            (self.block, self.block_first) = (self.plan.mask(&mut block, &all)?, self.next);
            self.next += block.count as Number;
        }
    }

    fn take_bit(&mut self) -> Option<Number> {
        let number = self.block.iter().position(|word| *word != 0)?;
        let bit = self.block[number].trailing_zeros();
        self.block[number] &= self.block[number] - 1;
        Some(number as Number * 64 + bit)
    }

    fn place(&mut self, entry: Number, refs: &[Refs; 2]) -> Result<SearchPlace, IndexFailure> {
        let is_in =
            |(record, end): &&(crate::segment::FolderRecord, Number)| record.first <= entry && entry < *end;
        if self.folder.as_ref().filter(is_in).is_none() {
            let place = self.segment.folder_of(entry)?;
            self.folder = Some((self.segment.folder(place)?, self.segment.end_of_folder(place)?));
        }
        let folder = self.folder.as_ref().map(|(record, _)| record.key.to_vec()).unwrap_or_default();
        Ok(SearchPlace { folder, name: self.segment.name(refs)? })
    }
}

fn first_after(segment: &Segment, after: &SearchPlace) -> Result<Number, IndexFailure> {
    let place = segment.folder_from(&after.folder)?;
    if place == segment.folders() {
        return Ok(segment.entries());
    }
    let record = segment.folder(place)?;
    if record.key[..] != after.folder[..] {
        return Ok(record.first);
    }
    let end = segment.end_of_folder(place)?;
    let entry = segment.entry_from(record.first..end, &after.name)?;
    let is_same = entry < end && segment.name(&segment.refs_of(entry)?)? == after.name;
    Ok(entry + Number::from(is_same))
}

/// Which entries of a segment pass a test of the words of contents, for the tests of one query.
pub(super) struct TextAnswers {
    /// Each test, and the entries that pass; `None`: all whose contents were read.
    tests: Vec<(Test, Option<Vec<Number>>)>,
}

impl TextAnswers {
    pub(super) fn of(query: &Query, segment: &Segment) -> Result<Self, IndexFailure> {
        let mut wanted = Vec::new();
        query.each_comparison(&mut |comparison| {
            if matches!(comparison.attribute, Attribute::Any | Attribute::Text)
                && matches!(comparison.test, Test::Text(_))
            {
                wanted.push(comparison.test.clone());
            }
        });
        let mut tests = Vec::new();
        for test in wanted {
            let words = if let Test::Text(text) = &test { text.words() } else { Vec::new() };
            let entries = if words.is_empty() { None } else { Some(entries_with_all(segment, &words)?) };
            tests.push((test, entries));
        }
        Ok(Self { tests })
    }

    /// `entry` has contents that were read.
    pub(super) fn accepts(&self, test: &Test, entry: Number) -> bool {
        if *test == Test::Present {
            return true;
        }
        let has = |entries: &Option<Vec<Number>>| {
            entries.as_ref().is_none_or(|entries| entries.binary_search(&entry).is_ok())
        };
        self.tests.iter().any(|(known, entries)| known == test && has(entries))
    }
}
