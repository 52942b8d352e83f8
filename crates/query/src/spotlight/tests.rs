//! What queries of Macs mean for files.

use jiff::tz::TimeZone;

use super::*;
use crate::{Facts, Value};

/// 2024-05-15 12:00 UTC, a Wednesday.
const NOW: i64 = 1_715_774_400;

fn read(text: &str) -> Result<Query, SpotlightError> {
    parse(text, &Clock { now: NOW, zone: TimeZone::UTC })
}

fn photo() -> Facts {
    let mut facts = Facts::of_name("Été à Nice.JPG", formats::Kind::File, [0; 4]);
    facts.add_text(Attribute::Tag, "Holiday");
    facts.add_text(Attribute::TypeCode, "JPEG");
    facts.add_text(Attribute::Text, "sunset at the beach");
    facts.add(Attribute::Size, Value::Number(1500.0));
    facts.add(Attribute::Modified, Value::Date(NOW - 3600));
    facts
}

/// Apple's "File Metadata Query Expression Syntax", and queries of Finder in captures.
#[test]
fn queries_of_macs_match_what_they_mean() {
    let (facts, yes, no) = (photo(), true, false);
    for (text, expected) in [
        ("kMDItemFSName == \"Été à Nice.JPG\"", yes),
        ("kMDItemFSName == \"été à nice.jpg\"", no),
        ("kMDItemFSName == \"été à nice.jpg\"c", yes),
        ("kMDItemFSName == \"Ete a Nice.JPG\"d", yes),
        ("kMDItemFSName == \"*nice*\"cd", yes),
        ("kMDItemFSName == \"nice\"cd", no),
        ("kMDItemFSName == \"nice*\"cdw", yes),
        ("kMDItemFSName == \"ice*\"cdw", no),
        ("kMDItemDisplayName = '*.jpg'c", yes),
        ("kMDItemFSName == \"E?t*\"cd", no),
        ("* == \"holi*\"cdw", yes),
        ("(* == \"beach\"cdw || kMDItemTextContent == \"beach\"cd)", yes),
        ("kMDItemTextContent == \"mountain\"cd", no),
        ("kMDItemContentTypeTree == \"public.image\"", yes),
        ("kMDItemContentType == \"public.jpeg\"", yes),
        ("kMDItemContentTypeTree != \"public.image\"", no),
        ("_kMDItemGroupId == 13", yes),
        ("_kMDItemGroupId == \"11\"", no),
        ("_kMDItemGroupId != 11", yes),
        ("kMDItemFSSize > 1499 && kMDItemFSSize <= \"1500\"", yes),
        ("kMDItemFSSize < 1500", no),
        ("InRange(kMDItemFSSize,1500,1501)", yes),
        ("InRange(kMDItemFSSize, 1, 1499)", no),
        ("kMDItemUserTags == \"*\"", yes),
        ("kMDItemFinderComment == \"*\"", no),
        ("kMDItemFSTypeCode == 1246774599", yes),
        ("!(kMDItemUserTags == \"Red\") && kMDItemUserTags == \"holiday\"c", yes),
        ("kMDItemSupportFileType != \"MDSystemFile\"", yes),
        ("kMDItemSupportFileType == \"MDSystemFile\" || kMDItemUnheardOf > 3", no),
        ("kMDItemFSName == \"a\" && kMDItemFSName == \"b\" || kMDItemFSSize == 1500", yes),
        ("kMDItemFSName == \"a\" && (kMDItemFSName == \"b\" || kMDItemFSSize == 1500)", no),
    ] {
        assert_eq!(read(text).map(|query| query.matches(&facts)), Ok(expected), "{text}");
    }
}

#[test]
fn dates_are_moments_days_and_numbers() {
    let facts = photo();
    for (text, expected) in [
        ("kMDItemFSContentChangeDate > $time.now(-7200)", true),
        ("kMDItemFSContentChangeDate > $time.now(-1800)", false),
        ("kMDItemFSContentChangeDate >= $time.today", true),
        ("kMDItemFSContentChangeDate >= $time.today()", true),
        ("kMDItemFSContentChangeDate >= $time.today(1)", false),
        ("kMDItemFSContentChangeDate < $time.yesterday", false),
        (
            "kMDItemFSContentChangeDate >= $time.this_week && kMDItemFSContentChangeDate < $time.this_week(1)",
            true,
        ),
        ("kMDItemFSContentChangeDate < $time.this_month(-1)", false),
        ("kMDItemFSContentChangeDate >= $time.this_year", true),
        ("kMDItemFSContentChangeDate == $time.iso(2024-05-15T11:00:00Z)", true),
        ("kMDItemFSContentChangeDate == $time.iso(2024-05-15T13:00:00+02:00)", true),
        (
            "InRange(kMDItemFSContentChangeDate,$time.iso(2024-05-15T00:00:00Z),$time.iso(2024-05-16T00:00:00Z))",
            true,
        ),
        ("kMDItemFSContentChangeDate == 737463600", true),
        ("kMDItemFSContentChangeDate == \"737463600\"", true),
        ("kMDItemFSCreationDate < $time.now", false),
    ] {
        assert_eq!(read(text).map(|query| query.matches(&facts)), Ok(expected), "{text}");
    }
}

#[test]
fn escaped_characters_stand_for_themselves() {
    let named = |name: &str| Facts::of_name(name, formats::Kind::File, [0; 4]);
    for (pattern, name) in
        [(r"x\*x", "x*x"), (r#"x\"x"#, "x\"x"), (r"x\\x", r"x\x"), ("x?x", "x?x"), ("x(x", "x(x")]
    {
        let query = read(&format!("kMDItemFSName==\"{pattern}\"")).unwrap();
        assert!(query.matches(&named(name)) && !query.matches(&named("xyx")), "{name}");
    }
}

#[test]
fn a_text_that_is_no_query_is_refused() {
    use SpotlightError::*;
    for (text, expected) in [
        ("", Incomplete),
        ("kMDItemFSName", Incomplete),
        ("kMDItemFSName ==", Incomplete),
        ("kMDItemFSName == \"a\" kMDItemFSName == \"b\"", Incomplete),
        ("(kMDItemFSName == \"a\"", Incomplete),
        ("InRange(kMDItemFSSize,1)", Incomplete),
        ("kMDItemFSName == \"a", OpenQuote),
        ("kMDItemFSName == \"a\\", OpenQuote),
        ("kMDItemFSSize > $time.someday", Date),
        ("kMDItemFSSize > $time.iso(tomorrow)", Date),
        ("false", Constant),
        ("True", Constant),
    ] {
        assert_eq!(read(text), Err(expected), "{text}");
    }
}

#[test]
fn queries_are_limited() {
    let nested = |depth| format!("{}kMDItemFSSize==1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(
        read(&nested(MAX_DEPTH - 1)).is_ok() && read(&nested(MAX_DEPTH + 1)) == Err(SpotlightError::TooMany)
    );
    assert_eq!(read(&"!".repeat(1000)), Err(SpotlightError::TooMany));
    let many = |count| vec!["kMDItemFSSize==1"; count].join("||");
    assert!(read(&many(MAX_COMPARISONS)).is_ok());
    assert_eq!(read(&many(MAX_COMPARISONS + 1)), Err(SpotlightError::TooMany));
    assert_eq!(read(&" ".repeat(MAX_LENGTH + 1)), Err(SpotlightError::TooLong));
}
