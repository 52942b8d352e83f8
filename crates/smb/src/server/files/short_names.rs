//! Names of the form 8.3, for programs that know no others. A file has one only for clients that ask for it
//! (FileAlternateNameInformation, or a listing of this one name); it is made of the long name, and remembered with it, so that the client can use it.
//!
//! ```text
//! a longer name.text  ─►  A1B2C3~D.TEX      the first letter, six digits of a hash in base 36, the beginning of the extension
//! ```

use std::collections::HashMap;

use lock::Mutex;
use vfs::names::{FoldedKey, Folding};

use crate::ranks;

/// The most names that are remembered. At the limit all are forgotten, and made again when clients
/// ask for them.
const MOST: usize = 16_384;
const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The short names given to clients lately, with the long names.
#[derive(Default)]
pub(in crate::server) struct ShortNames(Mutex<HashMap<Name, Name>, ranks::SmbShortNames>);

type Name = Box<[u8]>;

impl ShortNames {
    /// The short name of a file with this stored name. A name that already has the form 8.3 is only
    /// converted to capitals.
    pub(in crate::server) fn of(&self, name: &[u8]) -> Vec<u8> {
        if is_short(name) {
            return name.to_ascii_uppercase();
        }
        let short = shortened(name);
        let mut told = self.0.lock();
        if told.len() >= MOST {
            told.clear();
        }
        told.insert(short.clone().into(), name.into());
        short
    }

    /// The short name that a listing shows beside this one: none if this one has the form already.
    pub(in crate::server) fn beside(&self, name: &[u8]) -> Option<Vec<u8>> {
        (!is_short(name)).then(|| self.of(name))
    }

    /// The long name of a short name that a client was told.
    pub(in crate::server) fn long(&self, short: &[u8]) -> Option<Name> {
        if !short.contains(&b'~') || !is_short(short) {
            return None;
        }
        self.0.lock().get(&*short.to_ascii_uppercase()).cloned()
    }
}

/// Whether a name has the form 8.3, MS-FSCC 2.1.5.2.1.
fn is_short(name: &[u8]) -> bool {
    let mut parts = name.split(|byte| *byte == b'.');
    let (base, extension) = (parts.next().unwrap_or_default(), parts.next());
    let fits = |part: &[u8], most| (1..=most).contains(&part.len()) && part.iter().all(is_allowed);
    parts.next().is_none() && fits(base, 8) && extension.is_none_or(|extension| fits(extension, 3))
}

fn is_allowed(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'()-@^_`{}~".contains(byte)
}

fn shortened(name: &[u8]) -> Vec<u8> {
    let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let first = name.iter().find(plain).unwrap_or(&b'_').to_ascii_uppercase();
    let mut hash = hash(FoldedKey::new(name, Folding::default()).as_bytes());
    let mut short = vec![first];
    for at in 0..6 {
        if at == 5 {
            short.push(b'~');
        }
        short.push(DIGITS[(hash % 36) as usize]);
        hash /= 36;
    }
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0);
    let extension = dot.map_or(&[][..], |at| &name[at + 1..]).iter().filter(plain).take(3);
    let mut extension = extension.map(u8::to_ascii_uppercase).peekable();
    if extension.peek().is_some() {
        short.push(b'.');
        short.extend(extension);
    }
    short
}

/// FNV-1a in 64 bits: the same in every process. It need not be hard to guess.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_form_are_their_own_short_names() {
        let names = ShortNames::default();
        for (name, is) in [
            (&b"readme.txt"[..], true),
            (b"A", true),
            (b"12345678.123", true),
            (b"123456789", false),
            (b"a.text", false),
            (b"a.b.c", false),
            (b".profile", false),
            (b"a b", false),
            ("ä".as_bytes(), false),
        ] {
            assert_eq!(is_short(name), is, "{}", name.escape_ascii());
            assert_eq!(names.of(name) == name.to_ascii_uppercase(), is);
        }
    }

    #[test]
    fn a_short_name_has_the_form_and_leads_back() {
        let names = ShortNames::default();
        for name in ["a longer name.text", ".profile", "ä ö ü", "...", "x.y.z", "ABCDEFGHIJ.TXT"] {
            let short = names.of(name.as_bytes());
            assert!(is_short(&short), "{name}: {}", short.escape_ascii());
            assert_eq!(names.long(&short).as_deref(), Some(name.as_bytes()));
            assert_eq!(names.long(&short.to_ascii_lowercase()).as_deref(), Some(name.as_bytes()));
        }
        assert_eq!(names.long(b"A00000~0.TXT"), None);
    }
}
