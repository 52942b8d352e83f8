//! Values of attributes in our own language.

use super::dates::{self, Clock};
use super::{Problem, Term};
use crate::kinds::FileKind;
use crate::pattern::{Pattern, TextTest};
use crate::query::{Comparison, Order, Query};
use crate::{Attribute, ValueKind};

/// The Finder's names of the colours 1 to 7.
const LABELS: [&str; 7] = ["gray", "green", "purple", "blue", "yellow", "red", "orange"];
/// Units of sizes, in bytes: a letter alone is the binary unit.
const SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kib", 1024.0),
    ("kb", 1e3),
    ("m", 1_048_576.0),
    ("mib", 1_048_576.0),
    ("mb", 1e6),
    ("g", 1_073_741_824.0),
    ("gib", 1_073_741_824.0),
    ("gb", 1e9),
    ("t", 1_099_511_627_776.0),
    ("tib", 1_099_511_627_776.0),
    ("tb", 1e12),
];
/// Units of durations, in seconds.
const DURATIONS: &[(&str, f64)] = &[("", 1.0), ("s", 1.0), ("min", 60.0), ("m", 60.0), ("h", 3600.0)];

/// The comparison of an attribute with what stands after its colon.
pub(super) fn comparison(attribute: Attribute, term: &Term, clock: &Clock) -> Result<Query, Problem> {
    match attribute.kind() {
        ValueKind::Text => text(attribute, term),
        ValueKind::Number => number(attribute, &term.text),
        ValueKind::Date => date(attribute, &term.text, clock),
    }
}

fn text(attribute: Attribute, term: &Term) -> Result<Query, Problem> {
    if term.text.starts_with(['<', '>']) && !term.is_quoted {
        return Err(Problem::Order(attribute.name()));
    }
    let (is_exact, text) = match term.text.strip_prefix('=') {
        Some(text) => (true, text),
        None => (false, term.text.as_str()),
    };
    let has_wildcards = !term.is_quoted && text.contains(['*', '?']);
    let pattern = || if has_wildcards { Pattern::with_wildcards(text) } else { Pattern::literal(text) };
    let test = match attribute {
        Attribute::Any if !is_exact => return Ok(super::anywhere(term)),
        Attribute::Kind => {
            let kind = FileKind::of_name(text).ok_or_else(|| unknown_kind(text))?;
            TextTest::whole(Pattern::literal(kind.name()))
        }
        Attribute::Extension => {
            let text = text.strip_prefix('.').unwrap_or(text);
            TextTest::whole(if has_wildcards {
                Pattern::with_wildcards(text)
            } else {
                Pattern::literal(text)
            })
        }
        Attribute::Text => TextTest::at_word(if has_wildcards || term.is_quoted {
            pattern()
        } else {
            Pattern::beginning(text)
        }),
        _ if is_exact || has_wildcards => TextTest::whole(pattern()),
        Attribute::Name | Attribute::Origin => TextTest::whole(Pattern::containing(text)),
        Attribute::Tag
        | Attribute::Owner
        | Attribute::TypeCode
        | Attribute::CreatorCode
        | Attribute::ContentType => TextTest::whole(pattern()),
        _ if term.is_quoted => TextTest::at_word(pattern()),
        _ => TextTest::at_word(Pattern::beginning(text)),
    };
    Ok(Comparison::text(attribute, test))
}

fn unknown_kind(name: &str) -> Problem {
    let known: Vec<&str> = FileKind::ALL.iter().map(|kind| kind.name()).collect();
    Problem::UnknownKind { name: name.into(), known: known.join(", ") }
}

fn number(attribute: Attribute, text: &str) -> Result<Query, Problem> {
    let value = |text: &str| match attribute {
        Attribute::Size => with_unit(text, SIZES).ok_or_else(|| Problem::Size(text.into())),
        Attribute::Duration => with_unit(text, DURATIONS).ok_or_else(|| Problem::Duration(text.into())),
        Attribute::Label => label(text).ok_or_else(|| Problem::Label(text.into())),
        _ => with_unit(text, &[("", 1.0)]).ok_or_else(|| Problem::Number(text.into())),
    };
    if let Some((from, to)) = text.split_once("..") {
        let mut parts = Vec::new();
        if !from.is_empty() {
            parts.push(Comparison::number(attribute, Order::AtLeast, value(from)?));
        }
        if !to.is_empty() {
            parts.push(Comparison::number(attribute, Order::AtMost, value(to)?));
        }
        return if parts.is_empty() { value("..").map(|_| Query::All) } else { Ok(Query::And(parts)) };
    }
    let (order, text) = order_of(text);
    Ok(Comparison::number(attribute, order.unwrap_or(Order::Equal), value(text)?))
}

fn date(attribute: Attribute, text: &str, clock: &Clock) -> Result<Query, Problem> {
    let span = |text: &str| dates::span(text, clock).ok_or_else(|| Problem::Date(text.into()));
    let at_least = |at| Comparison::date(attribute, Order::AtLeast, at);
    let before = |at| Comparison::date(attribute, Order::Less, at);
    if let Some((from, to)) = text.split_once("..") {
        let mut parts = Vec::new();
        if !from.is_empty() {
            parts.push(at_least(span(from)?.from));
        }
        if !to.is_empty() {
            parts.extend(span(to)?.to.map(before));
        }
        return if parts.is_empty() { Err(Problem::Date(text.into())) } else { Ok(Query::And(parts)) };
    }
    let (order, text) = order_of(text);
    let dates::Span { from, to } = span(text)?;
    let end = || to.ok_or_else(|| Problem::ComparedDuration(text.into()));
    Ok(match order {
        None | Some(Order::Equal) => {
            Query::And([Some(at_least(from)), to.map(before)].into_iter().flatten().collect())
        }
        Some(Order::Less) => end().map(|_| before(from))?,
        Some(Order::AtMost) => before(end()?),
        Some(Order::AtLeast) => end().map(|_| at_least(from))?,
        Some(Order::More) => at_least(end()?),
    })
}

fn order_of(text: &str) -> (Option<Order>, &str) {
    const ORDERS: [(&str, Order); 5] = [
        (">=", Order::AtLeast),
        ("<=", Order::AtMost),
        (">", Order::More),
        ("<", Order::Less),
        ("=", Order::Equal),
    ];
    let found = ORDERS.iter().find_map(|(sign, order)| Some((Some(*order), text.strip_prefix(sign)?)));
    found.unwrap_or((None, text))
}

/// A number of decimal digits, with a point if need be, and a unit.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = text[end..].to_ascii_lowercase();
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then_some(number * factor)
}

fn label(text: &str) -> Option<f64> {
    let by_name = LABELS.iter().position(|name| name.eq_ignore_ascii_case(text)).map(|at| at + 1);
    let number = by_name.or_else(|| text.parse().ok())?;
    (number <= LABELS.len()).then_some(number as f64)
}
