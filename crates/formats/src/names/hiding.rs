//! Names that listings leave out: patterns with `*` for anything and `?` for one character.

use super::{Folding, folded_units};

/// Folders in which Netatalk, Samba (`streams_depot`) and DSM of Synology keep their own data.
const OTHERS_BOOKS: [&str; 5] = [".AppleDB", ".AppleDesktop", ".AppleDouble", ".streams", "@eaDir"];

/// The names that a share's listings leave out.
#[derive(Debug, Default)]
pub struct Hiding {
    folding: Folding,
    hide: Vec<HiddenPattern>,
    show: Vec<HiddenPattern>,
    /// The characters with which names begin that patterns of `hide` match; `None`: any.
    first: Option<Vec<u8>>,
}

impl Hiding {
    /// Leaves out what `hide` matches, and other servers' own folders, but not what `show` matches.
    pub fn new(hide: &[String], show: &[String], case_sensitive: bool) -> Self {
        let books = OTHERS_BOOKS.iter().copied();
        Self::of(books.chain(hide.iter().map(String::as_str)), show, case_sensitive)
    }

    fn of<'a>(hide: impl Iterator<Item = &'a str>, show: &[String], case_sensitive: bool) -> Self {
        let folding = Folding { case_sensitive, ..Folding::default() };
        let hide: Vec<HiddenPattern> = hide.map(|text| HiddenPattern::new(text, folding)).collect();
        let first = hide.iter().map(HiddenPattern::first).collect();
        let show = show.iter().map(|text| HiddenPattern::new(text, folding)).collect();
        Self { folding, hide, show, first }
    }

    /// Whether listings leave a stored name out.
    pub fn hides(&self, name: &[u8]) -> bool {
        if self.shows_at_once(name.first().copied().map(u16::from)) {
            return false;
        }
        let units: Vec<u16> = String::from_utf8_lossy(name).encode_utf16().collect();
        self.hides_units(&units)
    }

    /// The same of a name in UTF-16.
    pub fn hides_units(&self, name: &[u16]) -> bool {
        if self.shows_at_once(name.first().copied()) {
            return false;
        }
        let name = folded_units(name, self.folding);
        let any = |patterns: &[HiddenPattern]| patterns.iter().any(|pattern| pattern.matches(&name));
        any(&self.hide) && !any(&self.show)
    }

    /// Most shares hide only names that begin with a dot or `@`.
    fn shows_at_once(&self, first: Option<u16>) -> bool {
        let first = first.and_then(|unit| u8::try_from(unit).ok());
        self.hide.is_empty()
            || self.first.as_ref().is_some_and(|all| first.is_none_or(|first| !all.contains(&first)))
    }
}

/// Whether a name matches a pattern in which `*` stands for any characters and `?` for one. Case does not matter.
pub fn is_like(name: &str, pattern: &str) -> bool {
    let folding = Folding::default();
    HiddenPattern::new(pattern, folding).matches(&HiddenPattern::new(name, folding).0)
}

const ANY: u16 = b'*' as u16;
const ONE: u16 = b'?' as u16;

#[derive(Debug)]
struct HiddenPattern(Vec<u16>);

impl HiddenPattern {
    fn new(text: &str, folding: Folding) -> Self {
        Self(folded_units(&text.encode_utf16().collect::<Vec<_>>(), folding))
    }

    /// The sign with which all names that it matches begin. `None` if there is no such sign: letters
    /// have several forms.
    fn first(&self) -> Option<u8> {
        let first = u8::try_from(*self.0.first()?).ok()?;
        (first.is_ascii_punctuation() && !matches!(u16::from(first), ANY | ONE)).then_some(first)
    }

    /// Goes back only to the last `*`, so that the work is at most the product of the two lengths.
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
    fn show_wins_over_hide_and_over_the_folders_of_other_servers() {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let plain = Hiding::new(&[], &[], false);
        assert!(plain.hides(b".AppleDouble") && !plain.hides(b".profile") && !plain.hides(b"a.tmp"));
        assert!(plain.hides(b"@eaDir") && plain.hides(b".streams") && !plain.hides(b"@home"));
        let hide = texts(&["*.tmp", "lost+found"]);
        let told = Hiding::new(&hide, &texts(&["keep.tmp", ".appledouble"]), false);
        assert!(told.hides(b"a.TMP") && told.hides(b"lost+found"));
        assert!(!told.hides(b"keep.tmp") && !told.hides(b".AppleDouble") && told.hides(b".AppleDB"));
        assert!(!Hiding::new(&hide, &[], true).hides(b"a.TMP"));
        assert!(!Hiding::default().hides(b".AppleDouble"));
        let dotted = Hiding::new(&texts(&[".*"]), &[], false);
        assert!(dotted.hides(b".profile") && !dotted.hides(b"a"));
    }

    #[test]
    fn a_star_is_anything_and_a_question_mark_one_character() {
        let matches = |pattern: &str, name: &str| {
            let units: Vec<u16> = name.encode_utf16().collect();
            HiddenPattern::new(pattern, Folding::default()).matches(&folded_units(&units, Folding::default()))
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
