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
