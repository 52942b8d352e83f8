//! The entries of a segment that pass a plan, in their order, block by block.

use std::sync::Arc;

use memchr::memmem::Finder;
use query::{Attribute, Query, Test, WordTest};
use vfs::SearchPlace;
use vfs::names::text_view;

use super::plan::{NameTest, Plan, RowTest};
use crate::error::IndexFailure;
use crate::segment::{Number, REFS, ROW, Refs, Row, Segment, StoredRow};

/// Entries of a block.
const BLOCK: usize = 4096;
/// Words of the mask of a block.
const MASK: usize = BLOCK / 64;

/// Which entries of a block are meant.
type Mask = [u64; MASK];

const NONE: Mask = [0; MASK];
/// Up to so many entries of a block are looked at one by one, not by a search through all names of the block.
const FEW: u32 = 64;

fn is_empty(mask: &Mask) -> bool {
    mask.iter().all(|word| *word == 0)
}

fn count(mask: &Mask) -> u32 {
    mask.iter().map(|word| word.count_ones()).sum()
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
    /// What excluded most in the blocks before comes first.
    And(Vec<Conjunct<'p, 'q>>),
    Or(Vec<Self>),
    Not(Box<Self>),
    Name(&'p NameTest<'q>),
    Row(&'p RowTest<'q>),
    Entries(Vec<Number>),
}

/// One of several tests that must all be passed, and how many entries have passed it.
struct Conjunct<'p, 'q> {
    test: Prepared<'p, 'q>,
    tested: u32,
    passed: u32,
}

impl<'p, 'q> Conjunct<'p, 'q> {
    fn new(test: Prepared<'p, 'q>) -> Self {
        Self { test, tested: 0, passed: 0 }
    }

    fn mask(&mut self, block: &mut Block<'_>, among: &Mask) -> Result<Mask, IndexFailure> {
        let passed = self.test.mask(block, among)?;
        self.tested = self.tested.saturating_add(count(among));
        self.passed = self.passed.saturating_add(count(&passed));
        Ok(passed)
    }

    /// The part of the entries that pass.
    fn rate(&self) -> f64 {
        if self.tested == 0 { 1.0 } else { f64::from(self.passed) / f64::from(self.tested) }
    }
}

impl<'p, 'q> Prepared<'p, 'q> {
    fn of(plan: &'p Plan<'q>, segment: &Segment) -> Result<Self, IndexFailure> {
        let all = |parts: &'p [Plan<'q>]| {
            parts.iter().map(|part| Self::of(part, segment)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match plan {
            Plan::All => Self::All,
            Plan::Nothing => Self::Nothing,
            Plan::And(parts) => Self::And(all(parts)?.into_iter().map(Conjunct::new).collect()),
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
            Self::And(parts) => parts.iter().any(|part| part.test.is_nothing()),
            Self::Or(parts) => parts.iter().all(Self::is_nothing),
            _ => false,
        }
    }

    /// Which of the entries in `among` pass.
    fn mask(&mut self, block: &mut Block<'_>, among: &Mask) -> Result<Mask, IndexFailure> {
        match self {
            Self::All => Ok(*among),
            Self::Nothing => Ok(NONE),
            Self::And(parts) => {
                let mut left = *among;
                for part in parts.iter_mut() {
                    if is_empty(&left) {
                        break;
                    }
                    left = part.mask(block, &left)?;
                }
                parts.sort_by(|one, other| one.rate().total_cmp(&other.rate()));
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
                    if rows.get(at).is_some_and(|row| test.accepts(StoredRow(row))) {
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
    texts: Option<BlockTexts>,
}

impl<'s> Block<'s> {
    fn of(segment: &'s Segment, first: Number) -> Self {
        let count = ((segment.entries() - first) as usize).min(BLOCK);
        Self { segment, first, count, rows: None, texts: None }
    }

    fn rows(&mut self) -> Result<&[[u8; ROW]], IndexFailure> {
        if self.rows.is_none() {
            self.rows = Some(self.segment.rows(self.first, self.count)?);
        }
        Ok(self.rows.as_deref().unwrap_or_default().as_chunks().0)
    }

    fn named(&mut self, test: &NameTest<'_>, among: &Mask) -> Result<Mask, IndexFailure> {
        let texts = match self.texts.take() {
            Some(texts) => texts,
            None => BlockTexts::read(self.segment, self.first, self.count)?,
        };
        let accepts = |at: usize| {
            let name = || self.segment.name(&texts.refs(at)).map(|name| text_view(&name)).unwrap_or_default();
            test.accepts(texts.text(at), name)
        };
        let mut found = NONE;
        match &test.needle {
            Some(needle) if count(among) > FEW => texts.each_with(needle, |at| {
                if has(among, at) && accepts(at) {
                    set(&mut found, at);
                }
            }),
            needle => each(among, |at| {
                let has_needle = |needle: &Finder<'_>| needle.find(texts.text(at).as_bytes()).is_some();
                if needle.as_ref().is_none_or(has_needle) && accepts(at) {
                    set(&mut found, at);
                }
            }),
        }
        self.texts = Some(texts);
        Ok(found)
    }
}

/// The folded names of a block.
struct BlockTexts {
    /// How many entries.
    count: usize,
    /// The references of the entries, and of the one after them.
    refs: Vec<u8>,
    folded: Vec<u8>,
}

impl BlockTexts {
    fn read(segment: &Segment, first: Number, count: usize) -> Result<Self, IndexFailure> {
        let refs = segment.encoded_refs(first, count)?;
        if refs.len() != (count + 1) * REFS {
            return Err(segment.damaged("a reference is missing"));
        }
        let mut texts = Self { count, refs, folded: Vec::new() };
        texts.folded = segment.folded(texts.place(0), texts.place(count))?;
        Ok(texts)
    }

    /// Where the folded name of an entry begins in its section.
    fn place(&self, at: usize) -> u32 {
        let bytes = self.refs.get(at * REFS..at * REFS + 4);
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    /// Where it begins in the block.
    fn start(&self, at: usize) -> usize {
        self.place(at).wrapping_sub(self.place(0)) as usize
    }

    fn refs(&self, at: usize) -> [Refs; 2] {
        [at, at + 1].map(|at| self.refs.get(at * REFS..).and_then(Refs::decode).unwrap_or_default())
    }

    /// The folded name of an entry.
    fn text(&self, at: usize) -> &str {
        let (from, to) = (self.start(at), self.start(at + 1).saturating_sub(1));
        self.folded.get(from..to).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// Calls `visit` with each entry that has the needle.
    fn each_with(&self, needle: &Finder<'_>, mut visit: impl FnMut(usize)) {
        let (mut from, mut at) = (0, 0);
        while let Some(place) = self.folded.get(from..).and_then(|text| needle.find(text)) {
            at = self.entry_at(at, from + place);
            if at >= self.count {
                return;
            }
            visit(at);
            at += 1;
            from = self.start(at);
        }
    }

    /// The entry that has this place of the block, which is not before the entry `from`.
    fn entry_at(&self, from: usize, place: usize) -> usize {
        let (mut at, mut step) = (from, 1);
        while at + step < self.count && self.start(at + step) <= place {
            at += step;
            step *= 2;
        }
        while step > 0 {
            if at + step <= self.count && self.start(at + step) <= place {
                at += step;
            } else {
                step /= 2;
            }
        }
        at
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
