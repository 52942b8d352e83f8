//! The words of a segment, and the entries that have each.
//!
//! A block has up to 32 words in order. The first is whole; of the others, what they share with the word before is left out:
//! shared, length, bytes, length of its list of entries. The list is in the part `posts`: differences of ascending numbers.

use query::WordTest;

use super::codec::{put_number, take_number};
use super::sections::{Section, SectionWriter, Stream};
use super::{Number, Segment};
use crate::error::IndexFailure;

/// Words of a block.
const BLOCK: usize = 32;
/// Bytes of an entry of the table of blocks: where its words and its lists begin.
const BLOCK_RECORD: usize = 16;
/// Entries that one test is allowed to collect.
const MOST_FOUND: usize = 8_000_000;

/// Writes the words of a new segment: first the lists, then the words, then the table of blocks.
#[derive(Default)]
pub(super) struct VocabularyWriter {
    words: Vec<u8>,
    blocks: Vec<u8>,
    last: Vec<u8>,
    count: usize,
    posts: u64,
}

impl VocabularyWriter {
    /// Adds the next word and the entries that have it, in order; the part `posts` is being written.
    pub(super) fn put(
        &mut self,
        writer: &mut SectionWriter,
        word: &[u8],
        entries: &[Number],
    ) -> Result<(), IndexFailure> {
        let mut list = Vec::with_capacity(entries.len() + 4);
        let mut before = 0;
        for entry in entries {
            put_number(u64::from(entry - before), &mut list);
            before = *entry;
        }
        if self.count.is_multiple_of(BLOCK) {
            self.blocks.extend((self.words.len() as u64).to_le_bytes());
            self.blocks.extend(self.posts.to_le_bytes());
            self.last.clear();
        }
        self.count += 1;
        let shared = self.last.iter().zip(word).take_while(|(a, b)| a == b).count().min(255);
        self.words.push(shared as u8);
        put_number((word.len() - shared) as u64, &mut self.words);
        self.words.extend(&word[shared..]);
        put_number(list.len() as u64, &mut self.words);
        self.last = word.to_vec();
        self.posts += list.len() as u64;
        writer.put(&list)
    }

    /// Ends the part `posts`, and writes the other two.
    pub(super) fn finish(self, writer: &mut SectionWriter) -> Result<(), IndexFailure> {
        writer.next();
        writer.put(&self.words)?;
        writer.next();
        writer.put(&self.blocks)?;
        writer.next();
        Ok(())
    }
}

/// A word, and where its list is.
struct WordRecord {
    word: Vec<u8>,
    posts: u64,
    length: usize,
}

/// The words of a block.
struct Block<'a> {
    bytes: &'a [u8],
    last: Vec<u8>,
    posts: u64,
}

impl Block<'_> {
    fn next(&mut self) -> Option<WordRecord> {
        let (shared, rest) = self.bytes.split_first()?;
        let (length, rest) = take_number(rest)?;
        let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let (list, rest) = take_number(rest)?;
        let mut word = self.last.get(..usize::from(*shared))?.to_vec();
        word.extend(bytes);
        let record =
            WordRecord { word: word.clone(), posts: self.posts, length: usize::try_from(list).ok()? };
        self.posts = self.posts.checked_add(list)?;
        (self.last, self.bytes) = (word, rest);
        Some(record)
    }
}

impl Segment {
    fn blocks(&self) -> u64 {
        self.footer.length(Section::WordBlocks) / BLOCK_RECORD as u64
    }

    /// The bytes of a block, and where its lists begin.
    fn block(&self, number: u64) -> Result<(Vec<u8>, u64), IndexFailure> {
        let record = |number: u64| -> Result<(u64, u64), IndexFailure> {
            let bytes = self.read(Section::WordBlocks, number * BLOCK_RECORD as u64, BLOCK_RECORD)?;
            let (words, posts) = bytes.split_at(8);
            let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
            Ok((number(words), number(posts)))
        };
        let (from, posts) = record(number)?;
        let end = if number + 1 < self.blocks() {
            record(number + 1)?.0
        } else {
            self.footer.length(Section::Words)
        };
        let length = end.checked_sub(from).ok_or_else(|| self.damaged("words are out of order"))?;
        Ok((self.read(Section::Words, from, length as usize)?, posts))
    }

    fn first_word(&self, number: u64) -> Result<Vec<u8>, IndexFailure> {
        let (bytes, posts) = self.block(number)?;
        let first = Block { bytes: &bytes, last: Vec::new(), posts }.next();
        first.map(|record| record.word).ok_or_else(|| self.damaged("a word is cut off"))
    }

    /// The entries whose contents have a word that passes a test, in order, each once.
    pub(crate) fn entries_with(&self, test: &WordTest) -> Result<Vec<Number>, IndexFailure> {
        let wanted = test.word.as_bytes();
        let (mut low, mut high) = (0, self.blocks());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_word(middle)?[..] <= *wanted { low = middle + 1 } else { high = middle }
        }
        let (mut found, mut lists) = (Vec::new(), 0);
        for number in low.saturating_sub(1)..self.blocks() {
            let (bytes, posts) = self.block(number)?;
            let mut block = Block { bytes: &bytes, last: Vec::new(), posts };
            while let Some(record) = block.next() {
                let is_wanted =
                    if test.is_beginning { record.word.starts_with(wanted) } else { record.word == wanted };
                if is_wanted {
                    self.list(&record, &mut found)?;
                    lists += 1;
                }
                let is_after = record.word[..] > *wanted && !is_wanted;
                if is_after || found.len() > MOST_FOUND {
                    return Ok(in_order(found, lists));
                }
            }
        }
        Ok(in_order(found, lists))
    }

    fn list(&self, record: &WordRecord, into: &mut Vec<Number>) -> Result<(), IndexFailure> {
        let bytes = self.read(Section::Posts, record.posts, record.length)?;
        numbers(&bytes, |number| into.push(number))
            .ok_or_else(|| self.damaged("a list of entries is cut off"))
    }
}

fn in_order(mut found: Vec<Number>, lists: usize) -> Vec<Number> {
    if lists > 1 {
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// Calls `each` with the numbers of a list; `None` if it is cut off.
fn numbers(mut bytes: &[u8], mut each: impl FnMut(Number)) -> Option<()> {
    let mut last: u64 = 0;
    while !bytes.is_empty() {
        let (more, rest) = take_number(bytes)?;
        last = last.checked_add(more)?;
        each(Number::try_from(last).ok()?);
        bytes = rest;
    }
    Some(())
}

/// Reads all words of a segment in their order, with their lists.
pub(super) struct VocabularyStream<'a> {
    segment: &'a Segment,
    block: u64,
    bytes: Vec<u8>,
    at: usize,
    last: Vec<u8>,
    posts: Stream<'a>,
    /// The present word and its entries.
    pub(super) current: Option<(Vec<u8>, Vec<Number>)>,
}

impl<'a> VocabularyStream<'a> {
    pub(super) fn of(segment: &'a Segment) -> Result<Self, IndexFailure> {
        let posts = Stream::of(segment, Section::Posts);
        let mut stream =
            Self { segment, block: 0, bytes: Vec::new(), at: 0, last: Vec::new(), posts, current: None };
        stream.advance()?;
        Ok(stream)
    }

    pub(super) fn advance(&mut self) -> Result<(), IndexFailure> {
        self.current = None;
        if self.at >= self.bytes.len() {
            if self.block >= self.segment.blocks() {
                return Ok(());
            }
            self.bytes = self.segment.block(self.block)?.0;
            (self.at, self.last) = (0, Vec::new());
            self.block += 1;
        }
        let mut block =
            Block { bytes: &self.bytes[self.at..], last: std::mem::take(&mut self.last), posts: 0 };
        let cut = || self.segment.damaged("a word is cut off");
        let record = block.next().ok_or_else(cut)?;
        self.at = self.bytes.len() - block.bytes.len();
        self.last = block.last;
        let list = self.posts.take(record.length)?.ok_or_else(cut)?;
        let mut entries = Vec::new();
        numbers(&list, |number| entries.push(number)).ok_or_else(cut)?;
        self.current = Some((record.word, entries));
        Ok(())
    }
}
