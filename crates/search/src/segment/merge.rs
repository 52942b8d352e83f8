//! One segment of several: the newest entry of each place, in order. It reads each of them from end to end, part by part.

use std::path::Path;
use std::sync::Arc;

use super::sections::{Section, SectionWriter, Stream};
use super::vocabulary::{VocabularyStream, VocabularyWriter};
use super::{FolderRecord, GONE, Number, REFS, ROW, Refs, Segment, UNCHANGED};
use crate::error::IndexFailure;

/// The number of an entry that is not in the merged segment.
const DROPPED: Number = Number::MAX;

/// Where an entry of the merged segment comes from.
#[derive(Clone, Copy)]
struct Origin {
    source: u32,
    entry: Number,
}

/// The order of the merged segment.
struct Plan {
    origins: Vec<Origin>,
    /// The new numbers of the entries of each segment.
    renumbered: Vec<Vec<Number>>,
    folders: u32,
}

/// What of its old segments a merged one is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MergeOptions {
    /// The oldest segment is among them: removed entries need not be remembered.
    pub(crate) with_oldest: bool,
}

impl Segment {
    /// Writes one segment in place of several, the newest first. `None` if it was told to stop.
    pub(crate) fn merge(
        folder: &Path,
        number: u64,
        old: &[Arc<Self>],
        options: MergeOptions,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, IndexFailure> {
        let path = Self::path_of(folder, number);
        let mut writer = SectionWriter::create(&path)?;
        let Some(plan) = plan(&mut writer, old, options, goes_on)? else {
            drop(writer);
            let _ = std::fs::remove_file(&path); // a next start removes it, too
            return Ok(None);
        };
        copy_rows(&mut writer, old, &plan)?;
        copy_refs(&mut writer, old, &plan)?;
        copy_texts(&mut writer, old, &plan, Section::Folded)?;
        copy_texts(&mut writer, old, &plan, Section::Names)?;
        copy_facts(&mut writer, old, &plan)?;
        merge_words(&mut writer, old, &plan)?;
        writer.finish(plan.origins.len() as Number, plan.folders)?;
        Self::open(folder, number).map(Some)
    }
}

/// The folder of a segment that comes next.
struct FolderCursor<'a> {
    segment: &'a Segment,
    stream: Stream<'a>,
    current: Option<FolderRecord>,
    next: Option<FolderRecord>,
}

impl<'a> FolderCursor<'a> {
    fn of(segment: &'a Segment) -> Result<Self, IndexFailure> {
        let stream = Stream::of(segment, Section::Folders);
        let mut cursor = Self { segment, stream, current: None, next: None };
        cursor.advance()?;
        cursor.advance()?;
        Ok(cursor)
    }

    fn advance(&mut self) -> Result<(), IndexFailure> {
        let bytes = self.stream.take(super::FOLDER)?;
        let read = bytes.map(|bytes| {
            FolderRecord::decode(&bytes).ok_or(self.segment.damaged("a folder's record is cut off"))
        });
        self.current = std::mem::replace(&mut self.next, read.transpose()?);
        Ok(())
    }

    /// The entries of the present folder.
    fn range(&self) -> std::ops::Range<Number> {
        let end = self.next.as_ref().map_or(self.segment.entries(), |next| next.first);
        self.current.as_ref().map_or(0, |current| current.first)..end
    }
}

/// Decides the order, and writes the part of the folders.
fn plan(
    writer: &mut SectionWriter,
    old: &[Arc<Segment>],
    options: MergeOptions,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Plan>, IndexFailure> {
    let renumbered = old.iter().map(|segment| vec![DROPPED; segment.entries() as usize]).collect();
    let mut plan = Plan { origins: Vec::new(), renumbered, folders: 0 };
    let mut cursors = old.iter().map(|segment| FolderCursor::of(segment)).collect::<Result<Vec<_>, _>>()?;
    while let Some(key) = cursors.iter().filter_map(|cursor| Some(cursor.current.as_ref()?.key.clone())).min()
    {
        if !goes_on() {
            return Ok(None);
        }
        let is_here =
            |cursor: &FolderCursor<'_>| cursor.current.as_ref().is_some_and(|record| record.key == key);
        let first = plan.origins.len() as Number;
        let ranges: Vec<_> =
            cursors.iter().map(|cursor| if is_here(cursor) { cursor.range() } else { 0..0 }).collect();
        let listed = cursors.iter().filter(|cursor| is_here(cursor)).filter_map(|cursor| {
            cursor.current.as_ref().map(|record| record.listed).filter(|listed| *listed != UNCHANGED)
        });
        let listed = listed.into_iter().next().unwrap_or(UNCHANGED);
        merge_folder(&mut plan, old, ranges, options)?;
        let is_empty = plan.origins.len() as Number == first;
        if !(options.with_oldest && is_empty && listed == GONE) {
            let mut bytes = Vec::new();
            FolderRecord { key: key.clone(), first, listed }.encode(&mut bytes);
            writer.put(&bytes)?;
            plan.folders += 1;
        }
        for cursor in &mut cursors {
            if is_here(cursor) {
                cursor.advance()?;
            }
        }
    }
    writer.next();
    Ok(Some(plan))
}

/// The entries of one folder, of all segments. A removed entry that need not be remembered goes.
fn merge_folder(
    plan: &mut Plan,
    old: &[Arc<Segment>],
    mut ranges: Vec<std::ops::Range<Number>>,
    options: MergeOptions,
) -> Result<(), IndexFailure> {
    let mut names = Vec::new();
    for (segment, range) in old.iter().zip(&mut ranges) {
        names.push(NameCursor::of(segment, range.clone())?);
    }
    loop {
        let least = names.iter().filter_map(|cursor| cursor.name.clone()).min();
        let Some(name) = least else { return Ok(()) };
        let mut is_taken = false;
        for (source, cursor) in names.iter_mut().enumerate() {
            if cursor.name.as_ref() != Some(&name) {
                continue;
            }
            let entry = cursor.at;
            let is_older = std::mem::replace(&mut is_taken, true);
            if !(is_older || options.with_oldest && old[source].row(entry)?.is_removed()) {
                plan.renumbered[source][entry as usize] = plan.origins.len() as Number;
                plan.origins.push(Origin { source: source as u32, entry });
            }
            cursor.advance()?;
        }
    }
}

/// The names of a folder's entries in their order.
struct NameCursor<'a> {
    segment: &'a Segment,
    at: Number,
    end: Number,
    refs: Vec<Refs>,
    folded: Vec<u8>,
    names: Vec<u8>,
    first: Number,
    name: Option<Vec<u8>>,
}

impl<'a> NameCursor<'a> {
    /// Names that are read at once.
    const PIECE: Number = 1_024;

    fn of(segment: &'a Segment, range: std::ops::Range<Number>) -> Result<Self, IndexFailure> {
        let (refs, folded, names) = (Vec::new(), Vec::new(), Vec::new());
        let mut cursor = Self {
            segment,
            at: range.start,
            end: range.end,
            refs,
            folded,
            names,
            first: range.start,
            name: None,
        };
        cursor.read()?;
        Ok(cursor)
    }

    fn advance(&mut self) -> Result<(), IndexFailure> {
        self.at += 1;
        self.read()
    }

    fn read(&mut self) -> Result<(), IndexFailure> {
        self.name = None;
        if self.at >= self.end {
            return Ok(());
        }
        if (self.at - self.first) as usize + 1 >= self.refs.len() {
            let count = (self.end - self.at).min(Self::PIECE) as usize;
            (self.first, self.refs) = (self.at, self.segment.refs(self.at, count)?);
            if let (Some(first), Some(last)) = (self.refs.first(), self.refs.last()) {
                self.folded = self.segment.folded(first.folded, last.folded)?;
                self.names = self.segment.names(first.name, last.name)?;
            }
        }
        let at = (self.at - self.first) as usize;
        let (here, next, start) = (self.refs[at], self.refs[at + 1], self.refs[0]);
        let (text, from, to) = match here.name == next.name {
            true => (&self.folded, here.folded - start.folded, next.folded.wrapping_sub(start.folded)),
            false => (&self.names, here.name - start.name, next.name.wrapping_sub(start.name)),
        };
        let name = text.get(from as usize..(to as usize).saturating_sub(1));
        self.name = Some(name.ok_or_else(|| self.segment.damaged("texts are out of order"))?.to_vec());
        Ok(())
    }
}

/// Reads records of one size that are asked for in ascending order.
struct Ascending<'a> {
    segment: &'a Segment,
    stream: Stream<'a>,
    size: usize,
    at: Number,
}

impl<'a> Ascending<'a> {
    fn of(segment: &'a Segment, section: Section, size: usize) -> Self {
        Self { segment, stream: Stream::of(segment, section), size, at: 0 }
    }

    fn get(&mut self, entry: Number) -> Result<Vec<u8>, IndexFailure> {
        self.stream.skip(u64::from(entry - self.at) * self.size as u64);
        self.at = entry + 1;
        self.stream.take(self.size)?.ok_or_else(|| self.segment.damaged("a record is missing"))
    }
}

fn copy_rows(writer: &mut SectionWriter, old: &[Arc<Segment>], plan: &Plan) -> Result<(), IndexFailure> {
    let mut rows: Vec<_> = old.iter().map(|segment| Ascending::of(segment, Section::Rows, ROW)).collect();
    for origin in &plan.origins {
        writer.put(&rows[origin.source as usize].get(origin.entry)?)?;
    }
    writer.next();
    Ok(())
}

/// The references of entries that are asked for in ascending order, each with the next one.
struct RefPairs<'a> {
    refs: Ascending<'a>,
    last: Option<(Number, Refs)>,
}

impl<'a> RefPairs<'a> {
    fn of(segment: &'a Segment) -> Self {
        Self { refs: Ascending::of(segment, Section::Refs, REFS), last: None }
    }

    fn get(&mut self, entry: Number) -> Result<[Refs; 2], IndexFailure> {
        let here = match self.last {
            Some((at, refs)) if at == entry => refs,
            _ => self.read(entry)?,
        };
        let next = self.read(entry + 1)?;
        self.last = Some((entry + 1, next));
        Ok([here, next])
    }

    fn read(&mut self, entry: Number) -> Result<Refs, IndexFailure> {
        let bytes = self.refs.get(entry)?;
        Refs::decode(&bytes).ok_or_else(|| self.refs.segment.damaged("a reference is cut off"))
    }
}

fn copy_refs(writer: &mut SectionWriter, old: &[Arc<Segment>], plan: &Plan) -> Result<(), IndexFailure> {
    let mut refs: Vec<_> = old.iter().map(|segment| RefPairs::of(segment)).collect();
    let mut at = Refs::default();
    let mut bytes = Vec::new();
    for origin in &plan.origins {
        let segment = &old[origin.source as usize];
        let [here, next] = refs[origin.source as usize].get(origin.entry)?;
        at = Refs { inode: here.inode, changed: here.changed, ..at };
        bytes.clear();
        at.encode(&mut bytes);
        writer.put(&bytes)?;
        let more = |at: u32, from: u32, to: u32| {
            to.checked_sub(from)
                .and_then(|length| at.checked_add(length))
                .ok_or_else(|| segment.damaged("texts are out of order"))
        };
        at.folded = more(at.folded, here.folded, next.folded)?;
        at.name = more(at.name, here.name, next.name)?;
        at.facts = more(at.facts, here.facts, next.facts)?;
    }
    bytes.clear();
    Refs { inode: 0, changed: 0, ..at }.encode(&mut bytes);
    writer.put(&bytes)?;
    writer.next();
    Ok(())
}

fn copy_texts(
    writer: &mut SectionWriter,
    old: &[Arc<Segment>],
    plan: &Plan,
    section: Section,
) -> Result<(), IndexFailure> {
    copy_spans(writer, old, plan, section, |_, _| {})
}

/// Facts begin with the number of their entry.
fn copy_facts(writer: &mut SectionWriter, old: &[Arc<Segment>], plan: &Plan) -> Result<(), IndexFailure> {
    copy_spans(writer, old, plan, Section::Facts, |number, bytes| {
        if let Some(head) = bytes.first_chunk_mut::<4>() {
            *head = number.to_le_bytes();
        }
    })
}

fn copy_spans(
    writer: &mut SectionWriter,
    old: &[Arc<Segment>],
    plan: &Plan,
    section: Section,
    change: impl Fn(Number, &mut [u8]),
) -> Result<(), IndexFailure> {
    let of = |refs: &Refs| match section {
        Section::Folded => refs.folded,
        Section::Names => refs.name,
        _ => refs.facts,
    };
    let mut refs: Vec<_> = old.iter().map(|segment| RefPairs::of(segment)).collect();
    let mut texts: Vec<_> = old.iter().map(|segment| (Stream::of(segment, section), 0_u32)).collect();
    for (number, origin) in plan.origins.iter().enumerate() {
        let [here, next] = refs[origin.source as usize].get(origin.entry)?.map(|refs| of(&refs));
        let (stream, at) = &mut texts[origin.source as usize];
        let is_ordered = here >= *at && next >= here;
        let cut = || old[origin.source as usize].damaged("texts are out of order");
        if !is_ordered {
            return Err(cut());
        }
        stream.skip(u64::from(here - *at));
        let mut bytes = stream.take((next - here) as usize)?.ok_or_else(cut)?;
        *at = next;
        change(number as Number, &mut bytes);
        writer.put(&bytes)?;
    }
    writer.next();
    Ok(())
}

fn merge_words(writer: &mut SectionWriter, old: &[Arc<Segment>], plan: &Plan) -> Result<(), IndexFailure> {
    let mut streams =
        old.iter().map(|segment| VocabularyStream::of(segment)).collect::<Result<Vec<_>, _>>()?;
    let mut vocabulary = VocabularyWriter::default();
    loop {
        let least =
            streams.iter().filter_map(|stream| stream.current.as_ref().map(|(word, _)| word.clone())).min();
        let Some(word) = least else { break };
        let mut entries = Vec::new();
        for (stream, renumbered) in streams.iter_mut().zip(&plan.renumbered) {
            let Some((_, of)) = stream.current.as_ref().filter(|(current, _)| *current == word) else {
                continue;
            };
            let new = of.iter().filter_map(|entry| renumbered.get(*entry as usize));
            entries.extend(new.filter(|number| **number != DROPPED));
            stream.advance()?;
        }
        entries.sort_unstable();
        if !entries.is_empty() {
            vocabulary.put(writer, &word, &entries)?;
        }
    }
    vocabulary.finish(writer)
}
