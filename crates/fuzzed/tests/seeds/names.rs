//! Names that the views treat specially. The selectors are those of `src/names.rs`.

use formats::names::long::{encode, shortened};
use formats::names::{mac_view, windows_view};

use super::Seed;

const NAMES: [(&str, &[u8]); 10] = [
    ("plain", b"notes.txt"),
    ("forbidden", b"a:b\\c*d?e\"f<g>h|i"),
    ("end", b"dot. "),
    ("composed", "caf\u{e9} \u{1e69}".as_bytes()),
    ("decomposed", "cafe\u{301} s\u{323}\u{307}".as_bytes()),
    ("not-utf8", b"\xff\xfe\xed\xa0\x80\xc3"),
    ("private-use", "\u{f022}\u{f028}\u{ef80}".as_bytes()),
    ("mangled-by-chance", b"a#00001234.txt"),
    ("long", &[b'x'; 255]),
    ("emoji", "\u{1f642}\u{200d}\u{1f525}".as_bytes()),
];

pub fn seeds() -> Vec<Seed> {
    let stored = NAMES.map(|(name, bytes)| Seed { target: "names_stored", name, bytes: bytes.to_vec() });
    let sent = |name, view: u8, bytes: &[u8]| {
        let bytes = [&[view][..], bytes].concat();
        Seed { target: "names_sent", name, bytes }
    };
    let units: Vec<u8> = windows_view(NAMES[1].1).iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let others = [
        sent("windows", 0, &units),
        sent("windows-lone-surrogate", 0, &[0x3d, 0xd8, 0x61, 0]),
        sent("mac", 1, mac_view(NAMES[1].1).as_bytes()),
        sent("short", 2, b"caf\x8e#00001234.txt"),
        sent("cap", 3, b"a:2fb:3a:c3:a9"),
        sent("cap-mac-roman", 4, b"caf:8e"),
        sent("posix", 5, NAMES[4].1),
    ];
    let (one, two) = ("\u{6f22}".repeat(100) + ".txt", "\u{5b57}".repeat(255));
    let names = [one.as_bytes(), two.as_bytes()];
    let whole = |name, host: &[u8], value: &[u8]| {
        let bytes = [host, b"\0", value].concat();
        Seed { target: "names_whole", name, bytes }
    };
    let whole = [
        whole("one", &shortened(names[0], 0), names[0]),
        whole("two", &shortened(names[1], 1), &encode(&names)),
        whole("stale", b"copy.txt", names[0]),
        whole("malformed", &shortened(names[0], 0), b"short"),
    ];
    stored.into_iter().chain(others).chain(whole).collect()
}
