//! Names of entities and zones: up to 32 bytes of MacRoman, compared without regard to case. "Inside AppleTalk" chapter 7
//! and appendix D.

use std::fmt;

use encoding_rs::MACINTOSH;

/// A part of a name, or a zone: 0 to 32 bytes of MacRoman, chapter 7, "Entity names". Two are equal if they are the same in
/// upper case: names are case-insensitive and case-preserving.
#[derive(Clone, Default)]
pub struct MacName(Vec<u8>);

impl MacName {
    /// The most bytes.
    pub const MAX_BYTES: usize = 32;

    /// From bytes of MacRoman. `None` if there are more than 32.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= Self::MAX_BYTES).then(|| Self(bytes.to_vec()))
    }

    /// From text. `None` if MacRoman lacks a character, or it has more than 32.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let (bytes, _, is_lossy) = MACINTOSH.encode(text);
        if is_lossy { None } else { Self::new(&bytes) }
    }

    /// As it is sent, without its length.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it has no byte. In a request, an empty zone means the sender's own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In upper case by the table of appendix D.
    #[must_use]
    pub fn folded(&self) -> Vec<u8> {
        self.0.iter().map(|&byte| upper_case(byte)).collect()
    }

    /// Whether it is `*` or empty: the zone of the asking node, chapter 7, "NBP tuple".
    #[must_use]
    pub fn is_own_zone(&self) -> bool {
        matches!(self.0[..], [] | [b'*'])
    }

    /// Whether it contains a wildcard of names: `=` alone, or `≈`.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.0 == [b'='] || self.0.contains(&APPROXIMATELY)
    }

    /// Whether the object or type `name` is one that this pattern asks for: `=` is any, one `≈` stands for any characters,
    /// chapter 7, "Entity names".
    #[must_use]
    pub fn matches(&self, name: &Self) -> bool {
        if self.0 == [b'='] {
            return true;
        }
        let (pattern, name) = (self.folded(), name.folded());
        match pattern.iter().position(|&byte| byte == APPROXIMATELY) {
            None => pattern == name,
            Some(at) => {
                let (before, after) = (&pattern[..at], &pattern[at + 1..]);
                let is_long_enough = name.len() >= before.len() + after.len();
                is_long_enough && name.starts_with(before) && name.ends_with(after)
            }
        }
    }
}

/// `≈` in MacRoman.
const APPROXIMATELY: u8 = 0xc5;

/// Appendix D, table D-2. A character without a row is equal to itself only.
fn upper_case(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => byte - 0x20,
        0x88 => 0xcb,
        0x8a => 0x80,
        0x8b => 0xcc,
        0x8c => 0x81,
        0x8d => 0x82,
        0x8e => 0x83,
        0x96 => 0x84,
        0x9a => 0x85,
        0x9b => 0xcd,
        0x9f => 0x86,
        0xbe => 0xae,
        0xbf => 0xaf,
        0xcf => 0xce,
        _ => byte,
    }
}

impl PartialEq for MacName {
    fn eq(&self, other: &Self) -> bool {
        let folded = |name: &Self| name.0.iter().map(|&byte| upper_case(byte)).collect::<Vec<_>>();
        self.0.len() == other.0.len() && folded(self) == folded(other)
    }
}

impl Eq for MacName {}

/// As text.
impl fmt::Display for MacName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&MACINTOSH.decode_without_bom_handling(&self.0).0)
    }
}

impl fmt::Debug for MacName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// The name of a service: `object:type@zone`, chapter 7, "Entity names".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityName {
    /// What it is called: `Museum`.
    pub object: MacName,
    /// What it is: `AFPServer`.
    pub kind: MacName,
    /// Where it is. `*` is the zone of the asking node.
    pub zone: MacName,
}

impl EntityName {
    /// From text. `None` if a part is no [`MacName`].
    #[must_use]
    pub fn from_text(object: &str, kind: &str, zone: &str) -> Option<Self> {
        let part = MacName::from_text;
        Some(Self { object: part(object)?, kind: part(kind)?, zone: part(zone)? })
    }

    /// Whether a service can be registered by it: object and type are neither empty nor wildcards, and do not begin with the
    /// reserved byte 0xff. Chapter 7, "Registering a name".
    #[must_use]
    pub fn is_registrable(&self) -> bool {
        let is_fit = |part: &MacName| {
            !part.is_empty() && !part.has_wildcard() && part.as_bytes().first() != Some(&0xff)
        };
        is_fit(&self.object) && is_fit(&self.kind)
    }
}

/// `Museum:AFPServer@Hall`.
impl fmt::Display for EntityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@{}", self.object, self.kind, self.zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> MacName {
        MacName::from_text(text).unwrap()
    }

    #[test]
    fn case_does_not_count_and_accents_do() {
        assert_eq!(name("MAGAÑA"), name("Magaña")); // chapter 7, "Entity names"
        assert_eq!(name("ãàäåçéñöõüæøœ"), name("ÃÀÄÅÇÉÑÖÕÜÆØŒ"));
        assert_ne!(name("e"), name("é"));
        // Appendix D has no row for these: they match themselves only.
        assert_ne!(name("ê"), name("Ê"));
        assert_ne!(name("ß"), name("SS"));
    }

    #[test]
    fn wildcards_stand_for_any_characters() {
        assert!(name("=").matches(&name("anything")));
        assert!(name("≈Mona").matches(&name("Molly mona"))); // chapter 7
        assert!(!name("≈Mona").matches(&name("Mona Lisa")));
        assert!(name("Mona≈").matches(&name("Mona")) && name("M≈a").matches(&name("MOLLA")));
        assert!(!name("ab≈ba").matches(&name("aba")), "the parts around ≈ do not overlap");
        assert!(!name("=x").matches(&name("yx")), "= is a wildcard only alone");
    }

    #[test]
    fn a_part_has_at_most_32_bytes_of_mac_roman() {
        assert!(MacName::from_text(&"é".repeat(32)).is_some());
        assert!(MacName::from_text(&"e".repeat(33)).is_none());
        assert!(MacName::from_text("日本").is_none());
        assert_eq!(name("≈").as_bytes(), [0xc5]);
        assert_eq!(MacName::new(&[0x8e, 0x41]).unwrap().to_string(), "éA");
    }

    #[test]
    fn only_whole_names_can_be_registered() {
        let entity = |object: &str| EntityName::from_text(object, "AFPServer", "*").unwrap();
        assert!(entity("Museum").is_registrable() && entity("a=b").is_registrable());
        for wrong in ["", "=", "Mus≈", "ˇx"] {
            assert!(!entity(wrong).is_registrable(), "{wrong}");
        }
        assert_eq!(entity("Museum").to_string(), "Museum:AFPServer@*");
    }
}
