//! Names that listings leave out, and names that they mark as hidden.

use vfs::names::{Folding, windows_view};

use super::config::ShareOptions;
use crate::wire::fscc::EntryName;
use crate::wire::fscc::pattern::Pattern;

/// What Netatalk keeps in shared folders for itself.
const OTHERS_BOOKS: [&str; 3] = [".AppleDB", ".AppleDesktop", ".AppleDouble"];

/// What a share's settings say about names.
#[derive(Default)]
pub(super) struct Hiding {
    hide: Vec<Pattern>,
    show: Vec<Pattern>,
}

impl Hiding {
    /// By these settings. A pattern that could match nothing says nothing.
    pub(super) fn new(options: &ShareOptions) -> Self {
        let folding = Folding { case_sensitive: options.case_sensitive, ..Folding::default() };
        let pattern = |text: &str| Pattern::new(&text.encode_utf16().collect::<Vec<_>>(), folding).ok();
        let books = OTHERS_BOOKS.iter().copied();
        Self {
            hide: books.chain(options.hide.iter().map(String::as_str)).filter_map(pattern).collect(),
            show: options.show.iter().filter_map(|text| pattern(text)).collect(),
        }
    }

    /// Whether listings leave this name out.
    pub(super) fn hides(&self, name: EntryName<'_>) -> bool {
        // Most shares hide only what begins with a dot.
        if self.hide.len() == OTHERS_BOOKS.len() && !begins_with_dot(name) {
            return false;
        }
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        any(&self.hide) && !any(&self.show)
    }
}

impl Hiding {
    /// Whether clients are told that a file of this stored name is hidden: it begins with a dot, or listings leave it out
    /// and it was opened by its name.
    pub(super) fn marks(&self, stored: &[u8]) -> bool {
        match std::str::from_utf8(stored) {
            Ok(name) if name.is_ascii() => {
                begins_with_dot(EntryName::Utf8(name)) || self.hides(EntryName::Utf8(name))
            }
            _ => {
                let units = windows_view(stored);
                begins_with_dot(EntryName::Units(&units)) || self.hides(EntryName::Units(&units))
            }
        }
    }
}

/// Whether UNIX programs do not show it unless asked to. Clients are told that it is hidden.
pub(super) fn begins_with_dot(name: EntryName<'_>) -> bool {
    match name {
        EntryName::Utf8(name) => name.starts_with('.') && !matches!(name, "." | ".."),
        EntryName::Units(units) => units.first() == Some(&u16::from(b'.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hiding(hide: &[&str], show: &[&str]) -> Hiding {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        Hiding::new(&ShareOptions { hide: texts(hide), show: texts(show), ..ShareOptions::default() })
    }

    #[test]
    fn show_counts_more_than_hide_and_than_the_servers_own_taste() {
        let hides = |hiding: &Hiding, name| hiding.hides(EntryName::Utf8(name));
        let plain = hiding(&[], &[]);
        assert!(hides(&plain, ".AppleDouble") && !hides(&plain, ".profile") && !hides(&plain, "a.tmp"));
        let told = hiding(&["*.tmp", "lost+found"], &["keep.tmp", ".appledouble"]);
        assert!(hides(&told, "a.TMP") && hides(&told, "lost+found"));
        assert!(told.marks(b"a.tmp") && told.marks(b".x") && !told.marks(b"keep.tmp"));
        assert!(!hides(&told, "keep.tmp") && !hides(&told, ".AppleDouble") && hides(&told, ".AppleDB"));
    }

    #[test]
    fn names_that_begin_with_a_dot_are_hidden_but_not_the_folder_and_its_parent() {
        for (name, is) in [(".profile", true), ("..x", true), (".", false), ("..", false), ("a.b", false)] {
            assert_eq!(begins_with_dot(EntryName::Utf8(name)), is, "{name}");
        }
    }
}
