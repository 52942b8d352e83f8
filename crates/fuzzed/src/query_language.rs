//! Our own language of searches: any text is a query within the limits, or an error with a place.

use query::language::{self, Clock};
use query::{Attribute, Facts, Query, Value};

/// 2026-01-01 12:00 UTC.
const NOW: i64 = 1_767_268_800;

/// A text of a search box.
pub fn texts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let clock = Clock { now: NOW, zone: jiff::tz::TimeZone::UTC };
    match language::parse(&text, &clock) {
        Ok(query) => evaluate(&query, &text),
        Err(error) => {
            assert!(error.at <= text.len(), "the place of an error is in the text");
            assert!(!error.to_string().is_empty());
        }
    }
}

fn evaluate(query: &Query, text: &str) {
    assert!(query.is_within_limits(), "a query that was parsed is within the limits");
    let mut facts = Facts::of_name(text, formats::Kind::File, *b"TEXT");
    facts.add_text(Attribute::Text, text);
    facts.add(Attribute::Size, Value::Number(text.len() as f64));
    facts.add(Attribute::Modified, Value::Date(NOW));
    let is_so = query.matches(&facts);
    assert_ne!(is_so, Query::Not(Box::new(query.clone())).matches(&facts));
    assert!(!query.to_string().is_empty());
}
