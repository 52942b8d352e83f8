//! A query as an index answers it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use memchr::memmem::Finder;
use query::{
    Attribute, Comparison, FileKind, Order, Query, Test, TextTest, WordTest, content_types, extension_of,
    extensions,
};

use crate::segment::{HAS_CONTENTS, IS_FILE, StoredRow};

/// What a query asks of the entries of a segment. Every entry that matches passes; of those that pass, some may not match.
pub(crate) enum Plan<'q> {
    All,
    Nothing,
    And(Vec<Self>),
    Or(Vec<Self>),
    /// Of a plan that is exact.
    Not(Box<Self>),
    Name(Box<NameTest<'q>>),
    Row(RowTest<'q>),
    /// A comparison of facts that few entries have.
    Extra(&'q Comparison),
    /// All of these words are in the contents.
    Words(Vec<WordTest>),
}

/// A test of the name.
pub(crate) struct NameTest<'q> {
    /// A text that the folded name has; `None`: none is known.
    pub(crate) needle: Option<Finder<'static>>,
    pub(crate) rest: NameRest<'q>,
}

/// What the name must be beside that it has the needle.
pub(crate) enum NameRest<'q> {
    Nothing,
    Like(query::TextMatcher<'q>),
    /// Its last part is like this.
    Extension(Box<dyn Fn(&str) -> bool + 'q>),
}

/// A test of a row.
pub(crate) enum RowTest<'q> {
    Kinds(Vec<bool>),
    Size(Order, f64),
    Modified(Order, i64),
    Created(Order, i64),
    Flag(u8),
    Owner(OwnerTest<'q>),
}

/// Which owners are meant: each is asked for once.
pub(crate) struct OwnerTest<'q> {
    test: &'q Test,
    name_of: &'q dyn Fn(u32) -> Option<String>,
    known: RefCell<HashMap<u32, bool>>,
    /// The answer for the entry before, which mostly has the same owner.
    last: Cell<Option<(u32, bool)>>,
}

impl<'q> OwnerTest<'q> {
    fn new(test: &'q Test, name_of: &'q dyn Fn(u32) -> Option<String>) -> Self {
        Self { test, name_of, known: RefCell::default(), last: Cell::default() }
    }

    fn accepts(&self, uid: u32) -> bool {
        if let Some((last, is_meant)) = self.last.get()
            && last == uid
        {
            return is_meant;
        }
        let ask = || {
            let name = (self.name_of)(uid).unwrap_or_else(|| uid.to_string());
            self.test.accepts(Attribute::Owner, &query::Value::Text(name))
        };
        let is_meant = *self.known.borrow_mut().entry(uid).or_insert_with(ask);
        self.last.set(Some((uid, is_meant)));
        is_meant
    }
}

impl RowTest<'_> {
    pub(crate) fn accepts(&self, row: StoredRow<'_>) -> bool {
        match self {
            Self::Kinds(kinds) => kinds[row.kind() as usize],
            Self::Size(order, with) => row.flags() & IS_FILE != 0 && order.holds(row.size() as f64, *with),
            Self::Modified(order, with) => order.holds(row.modified(), *with),
            Self::Created(order, with) => order.holds(row.created(), *with),
            Self::Flag(flag) => row.flags() & flag != 0,
            Self::Owner(test) => test.accepts(row.uid()),
        }
    }
}

impl<'q> Plan<'q> {
    pub(crate) fn of(query: &'q Query, name_of: &'q dyn Fn(u32) -> Option<String>) -> Self {
        match query {
            Query::All => Self::All,
            Query::And(parts) => Self::all_of(parts.iter().map(|part| Self::of(part, name_of)).collect()),
            Query::Or(parts) => Self::Or(parts.iter().map(|part| Self::of(part, name_of)).collect()),
            Query::Not(part) => match is_exact(part) {
                true => Self::Not(Box::new(Self::of(part, name_of))),
                false => Self::All,
            },
            Query::Is(comparison) => Self::comparison(comparison, name_of),
        }
    }

    /// What is quickly decided and excludes most comes first.
    fn all_of(mut parts: Vec<Self>) -> Self {
        parts.sort_by_key(Self::effort);
        Self::And(parts)
    }

    fn effort(&self) -> u8 {
        match self {
            Self::All | Self::Nothing => 0,
            Self::Words(_) | Self::Extra(_) => 1,
            Self::Name(test) if test.needle.is_some() => 2,
            Self::And(_) | Self::Or(_) => 3,
            Self::Row(_) => 4,
            Self::Not(_) => 5,
            Self::Name(_) => 6,
        }
    }

    fn comparison(comparison: &'q Comparison, name_of: &'q dyn Fn(u32) -> Option<String>) -> Self {
        let test = &comparison.test;
        match (comparison.attribute, test) {
            (Attribute::Used, _) => Self::All,
            (Attribute::Any, Test::Text(text)) => Self::anywhere(comparison, text),
            (Attribute::Any, Test::Present) => Self::All,
            (Attribute::Name, Test::Text(text)) => Self::name(text),
            (Attribute::Kind, Test::Text(_)) => Self::Row(RowTest::Kinds(kinds(|kind| {
                let mut names = FileKind::ALL.iter().filter(|of| kind.is_a(**of)).map(|of| of.name());
                names.any(|name| accepts(test, Attribute::Kind, name))
            }))),
            (Attribute::ContentType, Test::Text(_)) => Self::content_type(test),
            (Attribute::Extension, Test::Text(text)) => {
                let needle = format!(".{}", text.prepared().needle());
                let rest = NameRest::Extension(Box::new(|of| accepts(test, Attribute::Extension, of)));
                Self::Name(Box::new(NameTest { needle: Some(Finder::new(&needle).into_owned()), rest }))
            }
            (Attribute::Extension, Test::Present) => {
                let rest = NameRest::Extension(Box::new(|_| true));
                Self::Name(Box::new(NameTest { needle: Some(Finder::new(".").into_owned()), rest }))
            }
            (Attribute::Size, Test::Number(order, with)) => Self::Row(RowTest::Size(*order, *with)),
            (Attribute::Modified, Test::Date(order, with)) => Self::Row(RowTest::Modified(*order, *with)),
            (Attribute::Created, Test::Date(order, with)) => Self::Row(RowTest::Created(*order, *with)),
            (Attribute::Size, Test::Present) => Self::Row(RowTest::Flag(IS_FILE)),
            (Attribute::Text, Test::Present) => Self::Row(RowTest::Flag(HAS_CONTENTS)),
            (Attribute::Text, Test::Text(text)) => match text.words() {
                none if none.is_empty() => Self::Row(RowTest::Flag(HAS_CONTENTS)),
                words => Self::Words(words),
            },
            (Attribute::Owner, Test::Text(_)) => Self::Row(RowTest::Owner(OwnerTest::new(test, name_of))),
            (attribute, Test::Present) if !is_extra(attribute) => Self::All,
            (attribute, _) if is_extra(attribute) => Self::Extra(comparison),
            _ => Self::Nothing,
        }
    }

    fn anywhere(comparison: &'q Comparison, text: &'q TextTest) -> Self {
        let mut parts = vec![Self::name(text), Self::Extra(comparison)];
        let words = text.words();
        if !words.is_empty() {
            parts.push(Self::Words(words));
        }
        Self::Or(parts)
    }

    fn name(text: &'q TextTest) -> Self {
        let matcher = text.prepared();
        let needle = matcher.needle();
        let is_enough = matcher.is_needle_enough() && !needle.is_empty();
        let needle = (!needle.is_empty()).then(|| Finder::new(&needle).into_owned());
        let rest = if is_enough { NameRest::Nothing } else { NameRest::Like(matcher) };
        Self::Name(Box::new(NameTest { needle, rest }))
    }

    /// By kind, or by an extension that has an identifier of its own.
    fn content_type(test: &'q Test) -> Self {
        let any = |kind, extension| {
            content_types(kind, extension).into_iter().any(|of| accepts(test, Attribute::ContentType, of))
        };
        let by_kind = kinds(|kind| any(kind, None));
        let own: Vec<&str> = extensions()
            .filter(|(extension, kind)| !by_kind[*kind as usize] && any(*kind, Some(extension)))
            .map(|(extension, _)| extension)
            .collect();
        let mut parts = vec![Self::Row(RowTest::Kinds(by_kind))];
        if !own.is_empty() {
            let is_own = move |of: &str| own.iter().any(|own| own.eq_ignore_ascii_case(of));
            let rest = NameRest::Extension(Box::new(is_own));
            parts.push(Self::Name(Box::new(NameTest { needle: Some(Finder::new(".").into_owned()), rest })));
        }
        Self::Or(parts)
    }
}

impl NameTest<'_> {
    /// Whether a name matches that has the needle.
    pub(crate) fn accepts(&self, folded: &str, name: impl Fn() -> String) -> bool {
        match &self.rest {
            NameRest::Nothing => true,
            NameRest::Like(matcher) if matcher.takes_folded() => matcher.matches_folded(folded),
            NameRest::Like(matcher) => matcher.matches(&name()),
            NameRest::Extension(is_so) => extension_of(&name()).is_some_and(is_so),
        }
    }
}

fn accepts(test: &Test, attribute: Attribute, text: &str) -> bool {
    test.accepts(attribute, &query::Value::Text(text.to_owned()))
}

fn kinds(is_meant: impl Fn(FileKind) -> bool) -> Vec<bool> {
    FileKind::ALL.iter().map(|kind| is_meant(*kind)).collect()
}

/// Whether the plan of a query lets nothing pass that does not match, as far as the index knows.
fn is_exact(query: &Query) -> bool {
    let mut is_exact = true;
    query.each_comparison(&mut |comparison| {
        is_exact &= match comparison.attribute {
            Attribute::Used => false,
            // Files that have the words of a phrase may not have the phrase.
            Attribute::Any | Attribute::Text if has_phrases(&comparison.test) => false,
            // Folders and links with the name of a picture have their kind only.
            Attribute::ContentType | Attribute::Extension => false,
            attribute if is_extra(attribute) => true,
            _ => {
                comparison.test != Test::Present
                    || matches!(comparison.attribute, Attribute::Size | Attribute::Text)
            }
        };
    });
    is_exact
}

/// Whether a test asks for words in their order, which an index does not know.
pub(crate) fn has_phrases(test: &Test) -> bool {
    matches!(test, Test::Text(text) if !text.phrases().is_empty())
}

/// Whether the values are among the facts that few entries have.
fn is_extra(attribute: Attribute) -> bool {
    match attribute {
        Attribute::TypeCode
        | Attribute::CreatorCode
        | Attribute::Tag
        | Attribute::Label
        | Attribute::Comment
        | Attribute::Origin
        | Attribute::Added => true,
        Attribute::Text => false,
        other => other.is_of_contents(),
    }
}
