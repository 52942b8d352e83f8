use jiff::tz::{Offset, TimeZone};

use super::*;
use crate::{Facts, Value};

/// 2024-05-31 12:00 UTC, a Friday.
const NOON: i64 = 1_717_156_800;

fn clock() -> Clock {
    Clock { now: NOON, zone: TimeZone::UTC }
}

fn query(text: &str) -> Query {
    parse(text, &clock()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn problem(text: &str) -> (usize, String) {
    let error = parse(text, &clock()).expect_err(text);
    (error.at, error.to_string())
}

/// A file of 3 MiB from 2024-05-30 with some metadata.
fn invoice() -> Facts {
    let mut facts = Facts::of_name("Invoice Müller 2024.pdf", formats::Kind::File, *b"PDF ");
    facts.add_text(Attribute::TypeCode, "PDF ");
    facts.add_text(Attribute::Tag, "Red");
    facts.add_text(Attribute::Owner, "ada");
    facts.add_text(Attribute::Comment, "for the tax office");
    facts.add_text(Attribute::Text, "Total amount due: 300 Euro");
    facts.add(Attribute::Size, Value::Number(3.0 * 1_048_576.0));
    facts.add(Attribute::Modified, Value::Date(NOON - 86_400));
    facts
}

#[test]
fn queries_mean_what_the_page_says() {
    let facts = invoice();
    for text in [
        "",
        "invoice",
        "voice",
        "INVOICE muller",
        "\"Invoice Müller\"",
        "*.pdf",
        "inv*2024.*",
        "kind:pdf",
        "kind:document",
        "is:pdf",
        "kind:image,pdf",
        "ext:.PDF",
        "tag:red owner:ada",
        "type:\"PDF \"",
        "size:>2M size:<=3M",
        "size:1M..4M",
        "size:3MiB",
        "modified:yesterday",
        "modified:2024",
        "modified:2024-05",
        "modified:2024-05-30",
        "modified:7d",
        "modified:this-week",
        "modified:2024-05-01..",
        "modified:..2024-05-30",
        "modified:<2024-05-31",
        "-modified:today",
        "comment:tax",
        "office",
        "amount euro",
        "text:amou",
        "has:tag",
        "-has:label",
        "letter OR invoice",
        "(letter | invoice) -kind:folder",
        "NOT letter",
        "name:=\"Invoice Müller 2024.pdf\"",
    ] {
        assert!(query(text).matches(&facts), "{text}");
    }
    for text in [
        "letter",
        "*.txt",
        "*.pd",
        "kind:image",
        "-kind:pdf",
        "ext:pd",
        "tag:Re",
        "owner:bob",
        "size:<3M",
        "modified:today",
        "modified:>2024-05-30",
        "modified:last-week",
        "comment:ax",
        "mount",
        "text:due text:letter",
        "has:label",
        "invoice letter OR letter",
        "NOT (invoice OR letter)",
        "name:=Invoice",
    ] {
        assert!(!query(text).matches(&facts), "{text}");
    }
}

#[test]
fn a_day_begins_where_the_asker_is() {
    let zone = TimeZone::fixed(Offset::constant(2));
    let in_cairo = Clock { now: NOON, zone };
    let at = |text: &str, clock: &Clock| parse(text, clock).unwrap();
    let day = Comparison::date(Attribute::Modified, crate::Order::AtLeast, 1_717_106_400); // 2024-05-30T22:00Z
    let Query::And(parts) = at("modified:today", &in_cairo) else { panic!() };
    assert_eq!(parts[0], day);
    assert_ne!(at("modified:today", &in_cairo), at("modified:today", &clock()));
}

#[test]
fn an_error_says_what_is_wrong_and_where() {
    for (text, at, says) in [
        ("kind:pfd", 5, "there is no kind `pfd`"),
        ("a tga:Red", 2, "did you mean `tag`?"),
        ("12:30 http://x", 6, "there is no attribute `http`"),
        ("size:big", 5, "`big` is no size"),
        ("modified:soon", 9, "`soon` is no date"),
        ("modified:2024-13", 9, "is no date"),
        ("modified:>7d", 9, "lasts until now"),
        ("a \"b", 2, "no second one"),
        ("(a", 0, "is not closed"),
        ("a)", 1, "closes nothing"),
        ("a OR", 2, "a word is missing after `OR`"),
        ("tag:", 4, "a word is missing after `tag:`"),
        ("NOT", 0, "a word is missing after `NOT`"),
        ("name:>a", 5, "has no order"),
        ("label:pink", 6, "is no label"),
        ("has:nothing", 4, "there is no attribute `nothing`"),
    ] {
        let (place, message) = problem(text);
        assert_eq!(place, at, "{text}: {message}");
        assert!(message.contains(says), "{text}: {message}");
    }
}

#[test]
fn a_query_has_limits() {
    assert!(problem(&"a ".repeat(MAX_LENGTH)).1.contains("longer than"));
    assert!(problem(&"(".repeat(100)).1.contains("parentheses"));
    assert!(problem(&"-".repeat(100)).1.contains("parentheses") || parse(&"-".repeat(100), &clock()).is_ok());
    assert!(problem(&"a ".repeat(1000)).1.contains("conditions"));
    let deepest = format!("{}a{}", "(".repeat(14), ")".repeat(14));
    assert!(query(&deepest).is_within_limits());
}

#[test]
fn hyphens_inside_words_and_times_are_no_operators() {
    let file = Facts::of_name("2024-05 12:30 e-mail.txt", formats::Kind::File, [0; 4]);
    assert!(query("2024-05 e-mail 12:30").matches(&file));
    assert!(query("a - b").matches(&Facts::of_name("a - b", formats::Kind::File, [0; 4])));
}
