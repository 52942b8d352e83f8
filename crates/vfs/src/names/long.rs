//! Names longer than the host can hold.
//!
//! Macs and Windows count 255 UTF-16 units, which are up to 765 bytes of UTF-8; hosts count 255 bytes. A longer name
//! is stored under a *stub*, and the whole name is kept by the caller beside it (in an extended attribute):
//!
//! ```text
//! Protokoll der …~1f0c3a5577aa9e02.docx        beginning, ~, 16 hexadecimal digits, extension
//! ```
//!
//! * The digits are SipHash-2-4, with a fixed key, of the whole name: the same name always has the same stub.
//! * The extension (at most 16 bytes with its dot) stays, so that other programs still know the kind of file.
//! * A name that fits, but [looks like](is_stub) a stub, gets a stub too. So every stub that
//!   Fourfold made has a whole name beside it. A stub without one was made by another program and
//!   is its own name.
//! * The hash is no proof: if a stub is taken, the caller compares the whole name, and answers that
//!   the name is taken if it differs.
//! * Case variants have different stubs; folding looks at whole names.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use super::mangle::cut;
use super::name::Name;

const DIGITS: usize = 16;
const LONGEST_EXTENSION: usize = 16;
/// The shortest limit a stub fits in, with some of its beginning.
const SHORTEST_LIMIT: usize = 64;

/// How a name is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// Under itself.
    AsIs,
    /// Under `stub`, with `full` kept beside it.
    Stub {
        /// The name on the host.
        stub: Name,
        /// The name that all clients see.
        full: Vec<u8>,
    },
}

/// How to store a legal name on a host that holds `max` bytes (at least 64; 253 where `._` must still fit before it).
pub fn fit_for_host(name: &[u8], max: usize) -> Fit {
    let max = max.clamp(SHORTEST_LIMIT, Name::MAX);
    if name.len() <= max && !is_stub(name) {
        return Fit::AsIs;
    }
    let (stem, extension) = name.split_at(extension_at(name));
    let hash = format!("~{:0DIGITS$x}", hash(name));
    let room = max - hash.len() - extension.len();
    let stub = [beginning(stem, room), hash.as_bytes(), extension].concat();
    let stub = Name::new(stub).expect("a legal name cut short and a hash within the limit are legal");
    Fit::Stub { stub, full: name.to_vec() }
}

/// Whether a stored name has the form of a stub.
pub fn is_stub(name: &[u8]) -> bool {
    let stem = &name[..extension_at(name)];
    let Some((_, [b'~', digits @ ..])) = stem.split_last_chunk::<{ DIGITS + 1 }>() else {
        return false;
    };
    digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
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

fn hash(name: &[u8]) -> u64 {
    // On disks: never change the key.
    let mut hasher = SipHasher24::new_with_key(b"fourfold stubs 1");
    hasher.write(name);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_names::any_name;
    use super::*;

    fn stub(name: &[u8], max: usize) -> Option<Vec<u8>> {
        match fit_for_host(name, max) {
            Fit::AsIs => None,
            Fit::Stub { stub, full } => (full == name).then(|| stub.to_vec()),
        }
    }

    #[test]
    fn a_name_that_fits_is_stored_as_it_is() {
        assert_eq!(fit_for_host(&[b'x'; 255], 255), Fit::AsIs);
        assert!(stub(&[b'x'; 254], 253).is_some_and(|stub| stub.len() == 253));
    }

    #[test]
    fn a_stub_is_cut_between_characters_and_keeps_the_extension() {
        let name = format!("{}.docx", "漢".repeat(250)); // 250 units and more, 755 bytes
        let stub = String::from_utf8(stub(name.as_bytes(), 255).unwrap()).unwrap();
        assert!(
            stub.starts_with(&"漢".repeat(77))
                && stub.ends_with(".docx")
                && stub.len() <= 255
                && stub.len() > 250
        );
    }

    #[test]
    fn stubs_on_disks_never_change() {
        let stub = stub(&[b'x'; 300], 64).unwrap();
        // Computed apart, by an implementation of the SipHash paper that passes its test vector.
        assert_eq!(stub, [&[b'x'; 47][..], b"~df11829f72677dfb"].concat());
    }

    #[test]
    fn a_name_that_looks_like_a_stub_gets_one() {
        let name = b"a~0123456789abcdef.txt";
        assert!(is_stub(name) && stub(name, 255).is_some_and(|stub| stub != name));
        assert!(!is_stub(b"a~0123456789ABCDEF") && !is_stub(b"a~123") && !is_stub(b"0123456789abcdef"));
    }

    proptest! {
        #[test]
        fn a_stub_is_known_by_its_form(name in any_name(), times in 1..6_usize, max in 64..=255_usize) {
            let name = name.repeat(times);
            match stub(&name, max) {
                None => prop_assert!(name.len() <= max && !is_stub(&name)),
                Some(stub) => prop_assert!(stub.len() <= max && is_stub(&stub) && stub != name),
            }
        }

        #[test]
        fn names_that_differ_have_stubs_that_differ(a in any_name(), b in any_name()) {
            let long = |end: &[u8]| stub(&[&[b'x'; 260], end].concat(), 255);
            prop_assert_eq!(long(&a) == long(&b), a == b);
        }
    }
}
