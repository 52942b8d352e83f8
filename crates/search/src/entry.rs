//! An entry of the tree as an index keeps it.

use std::sync::Arc;

use query::{Attribute, Facts, FileKind, Value, words};
use vfs::{LastingKey, Surveyed, Time};

/// The most different words of one file that are kept.
const MOST_WORDS: usize = 50_000;
/// The longest text of a fact that is kept, in bytes.
const MAX_FACT: usize = 1_024;
/// The most facts of a file that are kept beside those of each file.
const MOST_FACTS: usize = 128;

/// The key of a folder: [`LastingKey::to_bytes`].
pub(crate) type FolderKey = Arc<[u8]>;

pub(crate) fn folder_key(key: &LastingKey) -> FolderKey {
    key.to_bytes().into()
}

/// An entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) kind: FileKind,
    /// A file, which has a size.
    pub(crate) is_file: bool,
    pub(crate) uid: u32,
    pub(crate) size: u64,
    /// Seconds since 1970.
    pub(crate) modified: i64,
    pub(crate) created: i64,
    pub(crate) inode: u64,
    /// The change time, in nanoseconds since 1970.
    pub(crate) changed: i64,
    /// Facts that few files have.
    pub(crate) extra: Facts,
    /// The words of the contents, in order, each once. `None`: they were not read.
    pub(crate) words: Option<Box<[Box<str>]>>,
}

/// What was read from the contents of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// Facts, such as a title.
    pub facts: Facts,
    /// The text.
    pub text: String,
}

impl Entry {
    pub(crate) fn of(surveyed: &Surveyed, contents: Option<Contents>) -> Self {
        let attributes = &surveyed.attributes;
        let name = surveyed.facts.texts(Attribute::Name).next().unwrap_or_default();
        let code = |text: &str| <[u8; 4]>::try_from(text.as_bytes()).unwrap_or_default();
        let type_code = surveyed.facts.texts(Attribute::TypeCode).next().map(code).unwrap_or_default();
        let mut extra = Facts::default();
        let kept = surveyed.facts.all().iter().filter(|(attribute, _)| is_extra(*attribute));
        extra.extend(kept.take(MOST_FACTS).cloned());
        if let Some(contents) = &contents {
            let found = contents.facts.all().iter().filter(|(attribute, _)| attribute.is_of_contents());
            extra.extend(found.take(MOST_FACTS).map(|(attribute, value)| (*attribute, cut(value))));
        }
        Self {
            kind: query::kind_of(name, attributes.kind, type_code),
            is_file: attributes.kind == vfs::Kind::File,
            uid: attributes.uid,
            size: attributes.size,
            modified: attributes.modified.secs,
            created: surveyed.facts.date(Attribute::Created).unwrap_or(attributes.modified.secs),
            inode: attributes.id.inode,
            changed: nanoseconds(attributes.changed),
            extra,
            words: contents.map(|contents| words_of(&contents.text)),
        }
    }

    /// All facts, with a name.
    pub(crate) fn facts(&self, name: &str, owner: Option<String>) -> Facts {
        let entry = match (self.kind, self.is_file) {
            (_, true) => vfs::Kind::File,
            (FileKind::Link, _) => vfs::Kind::Link,
            (FileKind::Other, _) => vfs::Kind::Fifo,
            _ => vfs::Kind::Folder,
        };
        let code =
            self.extra.texts(Attribute::TypeCode).next().and_then(|text| text.as_bytes().try_into().ok());
        let mut facts = Facts::of_name(name, entry, code.unwrap_or_default());
        if self.is_file {
            facts.add(Attribute::Size, Value::Number(self.size as f64));
        }
        facts.add(Attribute::Modified, Value::Date(self.modified));
        facts.add(Attribute::Created, Value::Date(self.created));
        facts.extend(owner.map(|owner| (Attribute::Owner, Value::Text(owner))));
        facts.extend(self.extra.all().iter().cloned());
        facts
    }

    pub(crate) fn is_folder(&self) -> bool {
        !self.is_file && !matches!(self.kind, FileKind::Link | FileKind::Other)
    }

    /// Memory that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let text = |value: &Value| if let Value::Text(text) = value { text.len() } else { 0 };
        let extra: usize =
            self.extra.all().iter().map(|(_, value)| text(value) + size_of::<Value>() + 8).sum();
        let words = self.words.iter().flat_map(|words| words.iter());
        size_of::<Self>() + extra + words.map(|word| word.len() + 24).sum::<usize>()
    }
}

/// Facts that are not in each entry anyway.
fn is_extra(attribute: Attribute) -> bool {
    matches!(
        attribute,
        Attribute::TypeCode
            | Attribute::CreatorCode
            | Attribute::Tag
            | Attribute::Label
            | Attribute::Comment
            | Attribute::Origin
            | Attribute::Added
    )
}

fn cut(value: &Value) -> Value {
    match value {
        Value::Text(text) if text.len() > MAX_FACT => {
            let end = (0..=MAX_FACT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            Value::Text(text[..end].to_owned())
        }
        other => other.clone(),
    }
}

fn words_of(text: &str) -> Box<[Box<str>]> {
    let mut all = std::collections::BTreeSet::new();
    words(text, |word| {
        if all.len() < MOST_WORDS && !all.contains(word) {
            all.insert(Box::from(word));
        }
    });
    all.into_iter().collect()
}

/// A time in nanoseconds since 1970, as far as they go.
pub(crate) fn nanoseconds(time: Time) -> i64 {
    time.secs.saturating_mul(1_000_000_000).saturating_add(i64::from(time.nanos))
}

/// The reverse of [`nanoseconds`].
pub(crate) fn time_of(nanoseconds: i64) -> Time {
    let secs = nanoseconds.div_euclid(1_000_000_000);
    Time { secs, nanos: nanoseconds.rem_euclid(1_000_000_000) as u32 }
}
