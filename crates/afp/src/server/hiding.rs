//! Names that listings and searches leave out.

use vfs::names::{Folding, folded_units};

use super::config::ShareOptions;

/// What Netatalk keeps in shared folders for itself.
const OTHERS_BOOKS: [&str; 3] = [".AppleDB", ".AppleDesktop", ".AppleDouble"];

/// What a share's settings say about names.
#[derive(Default)]
pub(super) struct Hiding {
    folding: Folding,
    hide: Vec<Pattern>,
    show: Vec<Pattern>,
}

impl Hiding {
    /// By these settings.
    pub(super) fn new(options: &ShareOptions) -> Self {
        let folding = Folding { case_sensitive: options.case_sensitive, ..Folding::default() };
        let pattern = |text: &str| Pattern::new(text, folding);
        let books = OTHERS_BOOKS.iter().copied();
        Self {
            folding,
            hide: books.chain(options.hide.iter().map(String::as_str)).map(pattern).collect(),
            show: options.show.iter().map(|text| pattern(text)).collect(),
        }
    }

    /// Whether listings leave this stored name out.
    pub(super) fn hides(&self, stored: &[u8]) -> bool {
        // Most shares hide only what begins with a dot.
        if self.hide.len() == OTHERS_BOOKS.len() && !stored.starts_with(b".") {
            return false;
        }
        let units: Vec<u16> = String::from_utf8_lossy(stored).encode_utf16().collect();
        let name = folded_units(&units, self.folding);
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(&name));
        any(&self.hide) && !any(&self.show)
    }
}

const ANY: u16 = b'*' as u16;
const ONE: u16 = b'?' as u16;

/// A name with `*` for anything and `?` for any one character.
struct Pattern(Vec<u16>);

impl Pattern {
    fn new(text: &str, folding: Folding) -> Self {
        Self(folded_units(&text.encode_utf16().collect::<Vec<_>>(), folding))
    }

    /// Goes back only to the last `*`, so that the work is bounded by the product of the two lengths.
    fn matches(&self, name: &[u16]) -> bool {
        let pattern = &self.0;
        let (mut at, mut in_name) = (0, 0);
        let mut last_any: Option<(usize, usize)> = None;
        while in_name < name.len() {
            match pattern.get(at) {
                Some(&ANY) => {
                    last_any = Some((at, in_name));
                    at += 1;
                }
                Some(unit) if *unit == ONE || *unit == name[in_name] => (at, in_name) = (at + 1, in_name + 1),
                _ => {
                    let Some((any, taken)) = last_any else { return false };
                    last_any = Some((any, taken + 1));
                    (at, in_name) = (any + 1, taken + 1);
                }
            }
        }
        pattern[at..].iter().all(|unit| *unit == ANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn show_counts_more_than_hide_and_than_the_servers_own_taste() {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        let hiding = |hide: &[&str], show: &[&str]| {
            Hiding::new(&ShareOptions { hide: texts(hide), show: texts(show), ..ShareOptions::default() })
        };
        let plain = hiding(&[], &[]);
        assert!(plain.hides(b".AppleDouble") && !plain.hides(b".profile") && !plain.hides(b"a.tmp"));
        let told = hiding(&["*.tmp", "lost+found"], &["keep.tmp", ".appledouble"]);
        assert!(told.hides(b"a.TMP") && told.hides(b"lost+found"));
        assert!(!told.hides(b"keep.tmp") && !told.hides(b".AppleDouble") && told.hides(b".AppleDB"));
    }

    #[test]
    fn a_star_is_anything_and_a_question_mark_one_character() {
        let matches = |pattern: &str, name: &str| {
            let units: Vec<u16> = name.encode_utf16().collect();
            Pattern::new(pattern, Folding::default()).matches(&folded_units(&units, Folding::default()))
        };
        for (pattern, name) in [("*", ""), ("*", "a"), ("a*b*c", "aXbXbc"), ("?", "é"), ("*.t?p", "x.y.TMP")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("?", ""), ("a*b", "ac"), ("?", "ab"), ("*a", "ab")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
