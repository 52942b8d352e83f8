//! Phrases in contents: an index has the words of a file without their order, so a file that has all words of a phrase is read again.

use std::cell::{Cell, RefCell};
use std::sync::Weak;
use std::time::{Duration, Instant};

use query::{Test, WordTest, words};
use vfs::{LastingKey, SearchPlace, Volume};

use crate::contents::{ContentReader, read_contents};

/// How long one search reads files. The next page goes on.
const LONGEST: Duration = Duration::from_secs(1);

/// The files that one search reads again.
pub(super) struct Phrases<'a> {
    volume: &'a Weak<Volume>,
    reader: Option<&'a dyn ContentReader>,
    taken: Cell<Duration>,
    /// The words of the last file.
    last: RefCell<Option<(SearchPlace, Vec<Box<str>>)>>,
}

impl<'a> Phrases<'a> {
    pub(super) fn new(volume: &'a Weak<Volume>, reader: Option<&'a dyn ContentReader>) -> Self {
        Self { volume, reader, taken: Cell::default(), last: RefCell::default() }
    }

    /// Whether a search is to go on with its next page.
    pub(super) fn have_taken_long(&self) -> bool {
        self.taken.get() >= LONGEST
    }

    /// Whether the contents of a file, which have the words of a test, have its phrases.
    pub(super) fn accept(&self, test: &Test, (folder, place): (&LastingKey, &SearchPlace)) -> bool {
        let Test::Text(test) = test else { return true };
        let phrases = test.phrases();
        if phrases.is_empty() {
            return true;
        }
        let begun = Instant::now();
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(known, _)| known != place) {
            let read = self.words_of(folder, &place.name).unwrap_or_default();
            *last = Some((place.clone(), read));
        }
        let has = |phrase: &Vec<WordTest>| last.as_ref().is_some_and(|(_, words)| has_phrase(words, phrase));
        let accepts = phrases.iter().all(has);
        self.taken.set(self.taken.get() + begun.elapsed());
        accepts
    }

    fn words_of(&self, folder: &LastingKey, name: &[u8]) -> Option<Vec<Box<str>>> {
        let (volume, reader) = (self.volume.upgrade()?, self.reader?);
        let folder = volume.searches().by_lasting_key(folder).ok()?;
        let contents = read_contents(&volume, reader, &folder, name)?;
        let mut all = Vec::new();
        words(&contents.text, |word| all.push(word.into()));
        Some(all)
    }
}

fn has_phrase(words: &[Box<str>], phrase: &[WordTest]) -> bool {
    words.windows(phrase.len()).any(|here| phrase.iter().zip(here).all(|(test, word)| test.accepts(word)))
}
