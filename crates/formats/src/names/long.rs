//! Names longer than the host can hold.
//!
//! Macs and Windows count 255 UTF-16 units, which are up to 765 bytes of UTF-8; hosts count 255 bytes. The entry of a
//! longer name has a *shortened name* on the host, and the whole name is kept in an attribute of the file:
//!
//! ```text
//! Protokoll der …~1f0c3a5577aa9e02.docx        beginning, ~, 16 hexadecimal digits, extension
//! ```
//!
//! * The digits are SipHash-2-4, with a fixed key, of the whole name: the same name always has the same shortened name.
//!   If another file has it, the name is shortened with the next number, which is hashed with it.
//! * The extension (at most 16 bytes with its dot) stays, so that other programs still know the kind of file.
//! * A sidecar `._NAME` is shortened as its file is: to `._` and the shortened name of the file.
//! * A whole name counts only if its digits are those of the shortened name ([`is_of`]). So a file that a local program
//!   has renamed has the name that the program gave it, and no attribute that was copied says anything wrong.
//! * Case variants have different shortened names; folding looks at whole names.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use super::mangle::cut;
use super::name::{Name, NameError, check as check_name};
use crate::mac::layout::SIDECAR_PREFIX;

/// The attribute that has the whole names of a file: several only where it has several hard links, or while it is renamed.
pub const ATTRIBUTE: &[u8] = b"user.fourfold.name";
/// The longest name, in UTF-16 units. A byte that is not text counts as one.
pub const MAX_UNITS: usize = 255;
/// The longest name of a file in UTF-8.
pub const MAX_BYTES: usize = 3 * MAX_UNITS;
/// The most whole names of one file.
pub const MAX_NAMES: usize = 8;
/// How many shortened names a name may have.
pub const NUMBERS: u8 = 4;

const DIGITS: usize = 16;
const LONGEST_EXTENSION: usize = 16;
/// The longest shortened name: that of its sidecar is two bytes longer.
const SHORTENED: usize = Name::MAX - SIDECAR_PREFIX.len();

/// Whether a name is longer than the host's names.
#[must_use]
pub fn is_long(name: &[u8]) -> bool {
    name.len() > Name::MAX
}

/// Fails for a name that is too long even for the attribute, or that is none.
pub fn check_long(name: &[u8]) -> Result<(), NameError> {
    check_name(name)?;
    // That of a sidecar is two units longer than its file's.
    if units(own_part(name).1) > MAX_UNITS { Err(NameError::TooLong) } else { Ok(()) }
}

/// The name that the entry of a long name has on the host. Numbers from 1 are for names whose shortened name is taken.
#[must_use]
pub fn shortened(name: &[u8], number: u8) -> Vec<u8> {
    let (prefix, own) = own_part(name);
    let (stem, extension) = own.split_at(extension_at(own));
    let hash = format!("~{:0DIGITS$x}", hash(own, number));
    let room = SHORTENED - hash.len() - extension.len();
    [prefix, beginning(stem, room), hash.as_bytes(), extension].concat()
}

/// Whether a name on the host has the form of a shortened one. Any program can give such a name to a file: it stands for a
/// long name only if the file has the attribute.
#[must_use]
pub fn is_shortened(name: &[u8]) -> bool {
    let stem = &name[..extension_at(name)];
    let Some((_, [b'~', digits @ ..])) = stem.split_last_chunk::<{ DIGITS + 1 }>() else {
        return false;
    };
    digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether `host_name` is a shortened name of this long name.
#[must_use]
pub fn is_of(long: &[u8], host_name: &[u8]) -> bool {
    is_long(long) && (0..NUMBERS).any(|number| shortened(long, number) == host_name)
}

/// The value of the attribute: the names, with `/` between them.
#[must_use]
pub fn encode(names: &[&[u8]]) -> Vec<u8> {
    names.join(&b'/')
}

/// The names in the attribute. Fails if any of them cannot be the whole name of a file.
pub fn decode(value: &[u8]) -> Result<Vec<&[u8]>, NameError> {
    let names: Vec<&[u8]> = value.split(|byte| *byte == b'/').take(MAX_NAMES + 1).collect();
    if names.len() > MAX_NAMES {
        return Err(NameError::TooLong);
    }
    for name in &names {
        check_long(name)?;
        if !is_long(name) {
            return Err(NameError::Forbidden);
        }
    }
    Ok(names)
}

/// The whole name of the entry `host_name` of a file with this attribute.
#[must_use]
pub fn whole_name<'a>(host_name: &[u8], value: &'a [u8]) -> Option<&'a [u8]> {
    decode(value).ok()?.into_iter().find(|name| is_of(name, host_name))
}

/// What is wrong with the name of a file on the host and its attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Problem {
    /// The name looks shortened, and the file has no attribute: another program has made it so, or a copy has lost the
    /// attribute. The file has the name that it has on the host.
    NoWholeName,
    /// The attribute cannot be read. The file has the name that it has on the host.
    Malformed,
    /// None of the whole names belongs to the name on the host: a local program has renamed or copied the file, or the
    /// server stopped during a renaming. The attribute has no effect and can be removed, unless the file has other links.
    Stale,
    /// It has its whole name and others: those of its other links, or stale ones.
    Others,
}

/// What is wrong with an entry, by its name on the host and the attribute of its file. A file that has several links may
/// have the whole names of all of them.
#[must_use]
pub fn check(host_name: &[u8], value: Option<&[u8]>) -> Option<Problem> {
    let Some(value) = value else { return is_shortened(host_name).then_some(Problem::NoWholeName) };
    let Ok(names) = decode(value) else { return Some(Problem::Malformed) };
    match names.iter().any(|name| is_of(name, host_name)) {
        false => Some(Problem::Stale),
        true if names.len() > 1 => Some(Problem::Others),
        true => None,
    }
}

/// The prefix of sidecars, if the name has it, and the rest.
fn own_part(name: &[u8]) -> (&[u8], &[u8]) {
    match name.strip_prefix(SIDECAR_PREFIX) {
        Some(own) if !own.is_empty() => (SIDECAR_PREFIX, own),
        _ => (b"", name),
    }
}

/// The length of a name in UTF-16, as far as it is text.
fn units(name: &[u8]) -> usize {
    let chunks = name.utf8_chunks();
    chunks.map(|chunk| chunk.valid().encode_utf16().count() + chunk.invalid().len()).sum()
}

/// Where the extension begins: at the last dot, if it is short enough to keep.
fn extension_at(name: &[u8]) -> usize {
    match name.iter().rposition(|b| *b == b'.') {
        Some(at) if at > 0 && name.len() - at <= LONGEST_EXTENSION => at,
        _ => name.len(),
    }
}

fn beginning(stem: &[u8], room: usize) -> &[u8] {
    match std::str::from_utf8(stem) {
        Ok(text) => cut(text, room).as_bytes(),
        Err(_) => &stem[..room.min(stem.len())],
    }
}

fn hash(name: &[u8], number: u8) -> u64 {
    // On disks: never change the key.
    let mut hasher = SipHasher24::new_with_key(b"fourfold stubs 1");
    hasher.write(name);
    if number > 0 {
        hasher.write(&[0, number]); // no name has a zero byte
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::*;

    fn text(name: &[u8]) -> &str {
        std::str::from_utf8(name).unwrap()
    }

    #[test]
    fn it_is_cut_between_characters_and_keeps_the_extension() {
        let name = format!("{}.docx", "漢".repeat(250)); // 255 units, 755 bytes
        assert_eq!(check_long(name.as_bytes()), Ok(()));
        let short = shortened(name.as_bytes(), 0);
        let room = (253 - 17 - 5) / 3;
        assert!(text(&short).starts_with(&"漢".repeat(room)) && text(&short).ends_with(".docx"));
        assert_eq!(short.len(), room * 3 + 17 + 5);
        assert!(is_shortened(&short) && is_of(name.as_bytes(), &short));
    }

    #[test]
    fn a_mark_stays_with_its_letter() {
        let name = "e\u{301}".repeat(100); // 300 bytes, 200 units
        let short = shortened(name.as_bytes(), 0);
        assert!(text(&short).starts_with(&format!("{}~", "e\u{301}".repeat(78))));
    }

    #[test]
    fn shortened_names_on_disks_never_change() {
        // Computed apart, by an implementation of the SipHash paper that passes its test vector.
        assert!(shortened(&[b'x'; 300], 0).ends_with(b"x~df11829f72677dfb"));
    }

    #[test]
    fn a_sidecar_is_shortened_as_its_file() {
        let name = "字".repeat(100);
        let sidecar = [b"._", name.as_bytes()].concat();
        assert_eq!(shortened(&sidecar, 0), [b"._", &shortened(name.as_bytes(), 0)[..]].concat());
        assert_eq!(check_long(format!("._{}", "字".repeat(255)).as_bytes()), Ok(()));
        assert_eq!(check_long("字".repeat(256).as_bytes()), Err(NameError::TooLong));
        // The sidecar of a name that the host can hold may itself be too long for it.
        let of_short = [&b"._"[..], &[b'x'; 255]].concat();
        assert!(check_long(&of_short).is_ok() && is_of(&of_short, &shortened(&of_short, 0)));
    }

    #[test]
    fn units_are_counted_as_windows_does() {
        assert_eq!(check_long("\u{1f600}".repeat(127).as_bytes()), Ok(())); // two units each
        assert_eq!(check_long("\u{1f600}".repeat(128).as_bytes()), Err(NameError::TooLong));
        assert_eq!(check_long(&[b'x'; 256]), Err(NameError::TooLong));
        assert_eq!(check_long(b"a/b"), Err(NameError::Forbidden));
    }

    #[test]
    fn the_attribute_counts_for_its_own_names_only() {
        let (one, two) = ("一".repeat(100), "二".repeat(100));
        let value = encode(&[one.as_bytes(), two.as_bytes()]);
        assert_eq!(value, format!("{one}/{two}").as_bytes());
        let short = shortened(two.as_bytes(), 0);
        assert_eq!(whole_name(&short, &value), Some(two.as_bytes()));
        assert_eq!(whole_name(b"copy.txt", &value), None);
        assert_eq!(whole_name(&shortened("三".repeat(100).as_bytes(), 0), &value), None);
        assert_eq!(whole_name(&short, &value[..value.len() - 1]), None);
        assert_eq!(whole_name(&short, b"short"), None);
    }

    #[test]
    fn each_problem_has_its_name() {
        let long = "一".repeat(100);
        let (short, long) = (shortened(long.as_bytes(), 2), long.as_bytes());
        assert_eq!(check(b"notes.txt", None), None);
        assert_eq!(check(&short, None), Some(Problem::NoWholeName));
        assert_eq!(check(&short, Some(long)), None);
        assert_eq!(check(b"notes.txt", Some(long)), Some(Problem::Stale));
        assert_eq!(check(&short, Some(b"")), Some(Problem::Malformed));
        assert_eq!(check(&short, Some(&encode(&[long, "二".repeat(90).as_bytes()]))), Some(Problem::Others));
        assert_eq!(check(&short, Some(&encode(&[long; MAX_NAMES + 1]))), Some(Problem::Malformed));
        assert!(
            !is_shortened(b"a~0123456789ABCDEF")
                && !is_shortened(b"a~123")
                && is_shortened(b"a~0123456789abcdef.txt")
        );
    }

    proptest! {
        #[test]
        fn a_shortened_name_is_a_name_and_known_by_its_form(name in any_name(), times in 1..5_usize, number in 0..NUMBERS) {
            let name = name.repeat(Name::MAX / name.len() + times);
            let short = shortened(&name, number);
            prop_assert!(Name::new(short.clone()).is_ok() && is_shortened(&short) && is_of(&name, &short));
            prop_assert!(number == 0 || short != shortened(&name, 0));
            if check_long(&name).is_ok() {
                let value = encode(&[&name]);
                prop_assert_eq!(whole_name(&short, &value), Some(&name[..]));
            }
        }

        #[test]
        fn names_that_differ_are_shortened_differently(a in any_name(), b in any_name()) {
            let short = |end: &[u8]| shortened(&[&[b'x'; 260], end].concat(), 0);
            prop_assert_eq!(short(&a) == short(&b), a == b);
        }

        #[test]
        fn any_attribute_is_read_or_refused(value: Vec<u8>, host_name: Vec<u8>) {
            let _problem = check(&host_name, Some(&value));
            if let Ok(names) = decode(&value) {
                prop_assert_eq!(encode(&names), value);
            }
        }
    }
}
