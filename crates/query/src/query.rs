//! A query, and which files it is about.

use crate::Attribute;
use crate::facts::{Facts, Value};
use crate::pattern::TextTest;

/// The most comparisons in one query.
pub const MAX_COMPARISONS: usize = 512;
/// The deepest nesting of a query.
pub const MAX_DEPTH: usize = 32;

/// What is asked of files.
#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    /// Nothing: each file matches.
    All,
    /// All of them match. Without parts, each file matches.
    And(Vec<Self>),
    /// Any of them matches. Without parts, no file matches.
    Or(Vec<Self>),
    /// It does not match.
    Not(Box<Self>),
    /// A value compares so.
    Is(Comparison),
}

/// A comparison of the values of an attribute. It holds if it holds for any value.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The attribute.
    pub attribute: Attribute,
    /// What its values must be.
    pub test: Test,
}

/// What a value must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// There is a value.
    Present,
    /// A text like this.
    Text(TextTest),
    /// A number that compares so with this one.
    Number(Order, f64),
    /// A date that compares so with this moment, in seconds since 1970-01-01 00:00 UTC.
    Date(Order, i64),
}

/// How a value compares with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "obvious")]
pub enum Order {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

impl Order {
    /// Whether two values compare so.
    pub fn holds<T: PartialOrd>(self, value: T, with: T) -> bool {
        match self {
            Self::Less => value < with,
            Self::AtMost => value <= with,
            Self::Equal => value == with,
            Self::AtLeast => value >= with,
            Self::More => value > with,
        }
    }
}

impl Comparison {
    /// A text comparison.
    #[must_use]
    pub fn text(attribute: Attribute, test: TextTest) -> Query {
        Query::Is(Self { attribute, test: Test::Text(test) })
    }

    /// A comparison of numbers.
    #[must_use]
    pub fn number(attribute: Attribute, order: Order, with: f64) -> Query {
        Query::Is(Self { attribute, test: Test::Number(order, with) })
    }

    /// A comparison of dates.
    #[must_use]
    pub fn date(attribute: Attribute, order: Order, with: i64) -> Query {
        Query::Is(Self { attribute, test: Test::Date(order, with) })
    }

    /// Whether any value compares so. `text` answers for the words of the contents, if the facts do not have them.
    fn matches(&self, facts: &Facts, text: &dyn Fn(&Test) -> bool) -> bool {
        let among = |attribute| facts.of(attribute).any(|value| self.test.accepts(attribute, value));
        match self.attribute {
            Attribute::Any => {
                let mut texts = Attribute::ALL.iter().copied().filter(|of| of.is_in_any());
                texts.any(among) || text(&self.test)
            }
            Attribute::Text => among(Attribute::Text) || text(&self.test),
            other => among(other),
        }
    }
}

impl Test {
    /// Whether a value of an attribute is so.
    #[must_use]
    pub fn accepts(&self, attribute: Attribute, value: &Value) -> bool {
        match (self, value) {
            (Self::Present, Value::Text(text)) => !text.is_empty(),
            (Self::Present, _) => true,
            (Self::Text(test), Value::Text(text)) if attribute == Attribute::Text => {
                test.matches_words_of(text)
            }
            (Self::Text(test), Value::Text(text)) => test.matches(text),
            (Self::Number(order, with), Value::Number(number)) => order.holds(*number, *with),
            (Self::Date(order, with), Value::Date(at)) => order.holds(*at, *with),
            _ => false,
        }
    }
}

impl Query {
    /// Whether a file matches: the meaning of the query.
    #[must_use]
    pub fn matches(&self, facts: &Facts) -> bool {
        self.matches_with(facts, &|_| false)
    }

    /// The same, where `text` says whether the words of the contents pass a test. Facts of an index do not have the words.
    #[must_use]
    pub fn matches_with(&self, facts: &Facts, text: &dyn Fn(&Test) -> bool) -> bool {
        match self {
            Self::All => true,
            Self::And(parts) => parts.iter().all(|part| part.matches_with(facts, text)),
            Self::Or(parts) => parts.iter().any(|part| part.matches_with(facts, text)),
            Self::Not(part) => !part.matches_with(facts, text),
            Self::Is(comparison) => comparison.matches(facts, text),
        }
    }

    /// Calls `each` with all comparisons.
    pub fn each_comparison(&self, each: &mut dyn FnMut(&Comparison)) {
        match self {
            Self::All => {}
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.each_comparison(each)),
            Self::Not(part) => part.each_comparison(each),
            Self::Is(comparison) => each(comparison),
        }
    }

    /// Whether any comparison is about an attribute for which `of` holds.
    #[must_use]
    pub fn asks_for(&self, of: impl Fn(Attribute) -> bool) -> bool {
        let mut asks = false;
        self.each_comparison(&mut |comparison| asks |= of(comparison.attribute));
        asks
    }

    /// Whether the query is within [`MAX_COMPARISONS`] and [`MAX_DEPTH`]. Parsers check it; evaluations rely on it.
    #[must_use]
    pub fn is_within_limits(&self) -> bool {
        let mut count = 0;
        self.each_comparison(&mut |_| count += 1);
        count <= MAX_COMPARISONS && self.is_within_depth(MAX_DEPTH)
    }

    fn is_within_depth(&self, left: usize) -> bool {
        match self {
            Self::All | Self::Is(_) => true,
            _ if left == 0 => false,
            Self::And(parts) | Self::Or(parts) => parts.iter().all(|part| part.is_within_depth(left - 1)),
            Self::Not(part) => part.is_within_depth(left - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;

    fn report() -> Facts {
        let mut facts = Facts::of_name("Annual Report.pdf", formats::Kind::File, [0; 4]);
        facts.add_text(Attribute::Tag, "Red");
        facts.add(Attribute::Size, Value::Number(2048.0));
        facts.add(Attribute::Modified, Value::Date(1_700_000_000));
        facts
    }

    fn name_has(text: &str) -> Query {
        Comparison::text(Attribute::Name, TextTest::whole(Pattern::containing(text)))
    }

    #[test]
    fn parts_are_joined_as_their_words_say() {
        let facts = report();
        let (yes, no) = (name_has("REPORT"), name_has("invoice"));
        assert!(Query::All.matches(&facts) && Query::And(vec![]).matches(&facts));
        assert!(!Query::Or(vec![]).matches(&facts));
        assert!(Query::Or(vec![no.clone(), yes.clone()]).matches(&facts));
        assert!(!Query::And(vec![yes.clone(), no.clone()]).matches(&facts));
        assert!(Query::Not(Box::new(no)).matches(&facts) && yes.matches(&facts));
    }

    #[test]
    fn values_compare_with_values_of_their_type_only() {
        let facts = report();
        assert!(Comparison::number(Attribute::Size, Order::AtLeast, 2048.0).matches(&facts));
        assert!(!Comparison::number(Attribute::Size, Order::More, 2048.0).matches(&facts));
        assert!(Comparison::date(Attribute::Modified, Order::Less, 1_700_000_001).matches(&facts));
        assert!(!Comparison::date(Attribute::Size, Order::More, 0).matches(&facts));
        let present = |attribute| Query::Is(Comparison { attribute, test: Test::Present });
        assert!(present(Attribute::Tag).matches(&facts) && !present(Attribute::Comment).matches(&facts));
    }

    #[test]
    fn any_attribute_means_the_contents_too() {
        let facts = report();
        let any = Comparison::text(Attribute::Any, TextTest::whole(Pattern::literal("red")));
        assert!(any.matches(&facts));
        let word = Comparison::text(Attribute::Any, TextTest::at_word(Pattern::literal("turnover")));
        assert!(!word.matches(&facts) && word.matches_with(&facts, &|_| true));
    }

    #[test]
    fn a_query_beyond_the_limits_is_recognized() {
        let mut deep = Query::All;
        for _ in 0..=MAX_DEPTH {
            deep = Query::Not(Box::new(deep));
        }
        assert!(!deep.is_within_limits());
        assert!(!Query::Or(vec![name_has("x"); MAX_COMPARISONS + 1]).is_within_limits());
    }
}
