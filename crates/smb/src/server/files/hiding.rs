//! Names that the server marks as hidden.

use vfs::names::{Hiding, windows_view};

use crate::wire::fscc::EntryName;

/// Whether listings leave a name out.
pub(in crate::server) fn hides(hiding: &Hiding, name: EntryName<'_>) -> bool {
    match name {
        EntryName::Utf8(name) => hiding.hides(name.as_bytes()),
        EntryName::Units(units) => hiding.hides_units(units),
    }
}

/// Whether clients are told that a file with this stored name is hidden. It is, if the name begins
/// with a dot, or if listings leave it out and the client opened it by its name.
pub(in crate::server) fn marks(hiding: &Hiding, stored: &[u8]) -> bool {
    let marks = |name: EntryName<'_>| begins_with_dot(name) || hides(hiding, name);
    match std::str::from_utf8(stored) {
        Ok(name) if name.is_ascii() => marks(EntryName::Utf8(name)),
        _ => marks(EntryName::Units(&windows_view(stored))),
    }
}

/// Whether UNIX programs show the name only on request. Clients are told that it is hidden.
pub(in crate::server) fn begins_with_dot(name: EntryName<'_>) -> bool {
    match name {
        EntryName::Utf8(name) => name.starts_with('.') && !matches!(name, "." | ".."),
        EntryName::Units(units) => units.first() == Some(&u16::from(b'.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_left_out_of_listings_are_hidden_when_opened() {
        let hiding = Hiding::new(&["*.tmp".into()], &["keep.tmp".into()], false);
        assert!(marks(&hiding, b"a.tmp") && marks(&hiding, b".x") && !marks(&hiding, b"keep.tmp"));
        assert!(marks(&hiding, "é.tmp".as_bytes()) && !marks(&hiding, "é".as_bytes()));
    }

    #[test]
    fn names_that_begin_with_a_dot_are_hidden_but_not_the_folder_and_its_parent() {
        for (name, is) in [(".profile", true), ("..x", true), (".", false), ("..", false), ("a.b", false)] {
            assert_eq!(begins_with_dot(EntryName::Utf8(name)), is, "{name}");
        }
    }
}
