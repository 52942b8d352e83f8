//! Names for property tests.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::name::check;

/// Any legal bytes, up to the host's limit.
pub(super) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..=255).prop_filter("legal", |name| legal(name))
}

/// Any text.
pub(super) fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<char>(), 1..40)
        .prop_map(|c| c.into_iter().collect::<String>().into_bytes())
        .prop_filter("legal", |name| legal(name))
}

/// Short names made of what the views treat specially, so that the pieces meet each other often.
pub(super) fn special() -> impl Strategy<Value = Vec<u8>> {
    vec(select(PIECES), 1..6).prop_map(|pieces| pieces.concat()).prop_filter("legal", |name| legal(name))
}

/// All of them.
pub(super) fn any_name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![bytes(), text(), special(), special()]
}

fn legal(bytes: &[u8]) -> bool {
    check(bytes).is_ok()
}

const PIECES: &[&[u8]] = &[
    b"a",
    b"A",
    b"S",
    b"s",
    b" ",
    b".",
    b":",
    b"\"",
    b"*",
    b"<",
    b">",
    b"?",
    b"\\",
    b"|",
    b"#",
    b"~",
    b"\x01",
    b"\r",
    b"\x1f",
    b"\x7f",
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xa9",
    b"\xed",
    b"\xed\xa0\x80",
    b"\xed\xb0\x80",
    b"\xed\xaf\xbf",
    b"\xed\xbf\xbf",
    b"\xef",
    b"\xf0\x9f\x98",
    b"#00000A",
    b"#00000A.txt",
    b".txt",
    b"~0123456789abcdef",
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{c9}".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{323}".as_bytes(),
    "\u{345}".as_bytes(),
    "\u{3b1}".as_bytes(),
    "\u{399}".as_bytes(),
    "\u{1fb3}".as_bytes(),
    "\u{1fbc}".as_bytes(),
    "\u{130}".as_bytes(),
    "\u{131}".as_bytes(),
    "i\u{307}".as_bytes(),
    "\u{df}".as_bytes(),
    "\u{1e9e}".as_bytes(),
    "J\u{30c}".as_bytes(),
    "\u{1f0}".as_bytes(),
    "\u{3c2}".as_bytes(),
    "\u{212a}".as_bytes(),
    "\u{212b}".as_bytes(),
    "\u{1100}".as_bytes(),
    "\u{1161}".as_bytes(),
    "\u{ac00}".as_bytes(),
    "\u{11a8}".as_bytes(),
    "\u{ef7f}".as_bytes(),
    "\u{ef80}".as_bytes(),
    "\u{efff}".as_bytes(),
    "\u{f000}".as_bytes(),
    "\u{f001}".as_bytes(),
    "\u{f022}".as_bytes(),
    "\u{f028}".as_bytes(),
    "\u{f029}".as_bytes(),
    "\u{f02a}".as_bytes(),
    "\u{f03a}".as_bytes(),
    "\u{f8ff}".as_bytes(),
    "\u{20ac}".as_bytes(),
    "\u{a4}".as_bytes(),
    "\u{2f800}".as_bytes(),
    "\u{1f600}".as_bytes(),
    "\u{10ffff}".as_bytes(),
];
