//! Names: their hash and how they are compared ("Directory Records", j_drec_hashed_key_t).

use unicode_normalization::UnicodeNormalization;

/// Which names are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// Bytes that differ are names that differ; keys have no hashes.
    Exact,
    /// Normal forms do not matter.
    Normalized,
    /// Neither normal forms nor case matter.
    Folded,
}

impl Comparison {
    /// Whether the keys of entries have hashes.
    pub(super) fn is_hashed(self) -> bool {
        self != Self::Exact
    }

    /// What is equal for names that are the same.
    pub(super) fn form(self, name: &str) -> String {
        match self {
            Self::Exact => name.to_owned(),
            Self::Normalized => name.nfd().collect(),
            Self::Folded => name.nfd().flat_map(folded).nfd().collect(),
        }
    }

    /// The hash of a name, in the upper 22 bits of 32: CRC-32C, without the final complement, of the form in UTF-32.
    pub(super) fn hash(self, name: &str) -> u32 {
        let units: Vec<u8> = self.form(name).chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        (!crc32c::crc32c(&units) & 0x003f_ffff) << 10
    }
}

/// The full case folding of Unicode (CaseFolding.txt, C and F). It is the lower case of the upper case but for a dotless i, a
/// capital sharp s and Cherokee.
fn folded(c: char) -> Vec<char> {
    match c {
        '\u{131}' | '\u{13a0}'..='\u{13f5}' => vec![c],
        '\u{1e9e}' => vec!['s', 's'],
        '\u{13f8}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => c.to_uppercase().collect(),
        _ => c.to_uppercase().flat_map(char::to_lowercase).collect(),
    }
}

/// Whether a name has characters that Unicode got or gave case after version 9, by whose tables APFS began: their hash depends
/// on the version of macOS that wrote it.
pub(super) fn is_recent(name: &str) -> bool {
    const RECENT: [std::ops::RangeInclusive<char>; 9] = [
        '\u{870}'..='\u{8ff}',
        '\u{1ab0}'..='\u{1aff}',
        '\u{1c80}'..='\u{1cbf}',
        '\u{1dc0}'..='\u{1dff}',
        '\u{2c2f}'..='\u{2c5f}',
        '\u{a7ae}'..='\u{a7ff}',
        '\u{10400}'..='\u{16fff}',
        '\u{1d000}'..='\u{1dfff}',
        '\u{1e000}'..='\u{1efff}',
    ];
    name.chars().any(|c| RECENT.iter().any(|range| range.contains(&c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CaseFolding.txt, of status C and F: a simple one, one with two characters, both sigmas, Cherokee, and those that have none.
    #[test]
    fn names_fold_as_unicode_says() {
        for (name, folded) in [
            ("Straße", "strasse"),
            ("ẞ", "ss"),
            ("ΣΑΣ ς", "σασ σ"),
            ("ı", "ı"),
            ("\u{ab70}\u{13a0}", "\u{13a0}\u{13a0}"),
            ("ﬁ", "fi"),
            ("É", "e\u{301}"),
        ] {
            assert_eq!(Comparison::Folded.form(name), folded);
        }
        assert_eq!(Comparison::Normalized.form("É"), "E\u{301}");
    }

    /// From the keys of entries in a volume that apfs_kext 2811 of macOS wrote.
    #[test]
    fn hashes_are_those_of_macos() {
        for (name, hash) in [("hello.txt", 0xe25b_9000), ("ünïcødé", 0x1e7a_d800), ("файл.txt", 0x320a_b400)]
        {
            assert_eq!(Comparison::Folded.hash(name), hash);
        }
    }

    #[test]
    fn characters_that_are_newer_than_apfs_are_known() {
        assert!(is_recent("\u{1e922}") && !is_recent("Straße 日本 😀"));
    }
}
