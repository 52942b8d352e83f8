//! What is wrong with a name, in words, and a name without these faults.

use std::collections::HashSet;

use vfs::names::cap::{self, Charset};
use vfs::names::long::Problem;
use vfs::names::report::Kind;
use vfs::names::{FoldedKey, Folding, Map, Trouble};

/// The longest name on the host, in bytes.
const LONGEST: usize = 255;
/// The longest name on Windows, in UTF-16 units.
const LONGEST_UNITS: usize = 255;
/// Numbers that are tried for a name that is taken.
const MOST_TRIES: usize = 10_000;

/// What is wrong.
pub(super) fn why(trouble: &Trouble, names: &[&[u8]]) -> String {
    let other =
        |at: usize| names.get(at).map_or_else(String::new, |name| String::from_utf8_lossy(name).into_owned());
    match trouble.kind {
        Kind::NotText => "it is not UTF-8".into(),
        Kind::ForbiddenOnWindows => "Windows forbids a character in it, and shows another one".into(),
        Kind::DeviceOnWindows => {
            "it is the name of a device of Windows, which programs there cannot open".into()
        }
        Kind::TrailingSpaceOrDot => "programs of Windows drop the space or dot at its end".into(),
        Kind::DiffersInCase(at) => format!("it differs from {:?} in case only", other(at)),
        Kind::DiffersInForm(at) => format!("it differs from {:?} in the form of its letters only", other(at)),
        Kind::TooLongForWindows => "it is too long for Windows".into(),
        Kind::NoShortName => "Macs before Mac OS X see a shortened name".into(),
        Kind::PrivateUse(Map::Sfm) => {
            "it has private characters of Samba or Services for Macintosh, which local programs and NFS clients see".into()
        }
        Kind::PrivateUse(Map::Sfu) => "it has private characters of Services for UNIX".into(),
        Kind::CapEncoded => {
            "Netatalk 2 has written a slash, a dot at the beginning or another character as a colon and two digits".into()
        }
        Kind::MixedMaps => "it has private characters whose meaning differs in this folder".into(),
        Kind::LooksShortened => {
            "it looks shortened, and the whole name is not there: it was lost, or there never was one".into()
        }
    }
}

/// What is wrong with the attribute that has the whole name of a file, if it has one.
pub(super) fn why_stale(problem: Problem) -> Option<&'static str> {
    match problem {
        Problem::Malformed => Some("the attribute for its whole name cannot be read, and has no effect"),
        Problem::Stale => Some("it has kept a former long name in an attribute, which has no effect"),
        Problem::NoWholeName | Problem::Others => None,
    }
}

/// By this names are one for a client that does not tell case and form.
pub(super) fn key(name: &[u8]) -> FoldedKey {
    FoldedKey::new(name, Folding::default())
}

/// The fixed name; `None` if nothing of it is fixed. It is different from all that are taken, and is
/// taken then.
pub(super) fn name(
    name: &[u8],
    troubles: &[&Trouble],
    windows: bool,
    taken: &mut HashSet<FoldedKey>,
) -> Option<Vec<u8>> {
    let mut text = String::from_utf8_lossy(name).replace('\u{fffd}', "_");
    let mut collides = false;
    for trouble in troubles {
        match trouble.kind {
            Kind::PrivateUse(map) => {
                text = String::from_utf8_lossy(&map.decode(text.as_bytes())).replace(['/', '\0'], "_");
            }
            Kind::CapEncoded => {
                let decoded = cap::decode(text.as_bytes(), Charset::Utf8);
                text = decoded.map_or(text, |name| String::from_utf8_lossy(&name).into_owned());
            }
            Kind::DiffersInCase(_) | Kind::DiffersInForm(_) => collides = true,
            _ => {}
        }
    }
    if windows {
        text = text.chars().map(|c| if is_forbidden(c) { '_' } else { c }).collect();
    }
    let has = |kind: Kind| troubles.iter().any(|trouble| trouble.kind == kind);
    if has(Kind::TrailingSpaceOrDot) {
        text = text.trim_end_matches([' ', '.']).to_owned();
    }
    if has(Kind::DeviceOnWindows) {
        let (stem, extension) = split(&text);
        text = format!("{}_{extension}", stem.trim_end());
    }
    if text.is_empty() || text == "." || text == ".." {
        text = "_".into();
    }
    if has(Kind::TooLongForWindows) {
        text = with_end(&text, "");
    }
    if text.as_bytes() == name && !collides {
        return None;
    }
    let own = key(name);
    let is_free = |text: &String, taken: &HashSet<FoldedKey>| {
        let key = key(text.as_bytes());
        !taken.contains(&key) || key == own && !collides
    };
    let numbered = (2..MOST_TRIES).map(|number| with_end(&text, &format!(" {number}")));
    let fixed = std::iter::once(text.clone()).chain(numbered).find(|text| is_free(text, taken))?;
    taken.insert(key(fixed.as_bytes()));
    Some(fixed.into_bytes())
}

fn is_forbidden(c: char) -> bool {
    matches!(c, '\u{1}'..='\u{1f}' | '"' | '*' | ':' | '<' | '>' | '?' | '\\' | '|')
}

/// The name and its ending, with the dot.
fn split(text: &str) -> (&str, &str) {
    match text.rfind('.') {
        Some(at) if at > 0 => text.split_at(at),
        _ => (text, ""),
    }
}

/// The name with this before its ending, cut so that it is not too long.
fn with_end(text: &str, end: &str) -> String {
    let (stem, extension) = split(text);
    let extension = if extension.len() > 16 { "" } else { extension };
    let mut stem = stem.to_owned();
    let fits = |stem: &str| {
        let bytes = stem.len() + end.len() + extension.len();
        let units =
            stem.encode_utf16().count() + end.encode_utf16().count() + extension.encode_utf16().count();
        bytes <= LONGEST && units <= LONGEST_UNITS
    };
    while !fits(&stem) && stem.pop().is_some() {}
    format!("{stem}{end}{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(names: &[&str], windows: bool) -> Vec<Option<String>> {
        let plain: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let troubles = vfs::names::report(&plain);
        let mut taken: HashSet<FoldedKey> = plain.iter().map(|name| key(name)).collect();
        let each = plain.iter().enumerate().map(|(at, one)| {
            let own: Vec<&Trouble> = troubles.iter().filter(|trouble| trouble.name == at).collect();
            let fixed = name(one, &own, windows, &mut taken)?;
            assert!(!why(own[0], &plain).is_empty());
            Some(String::from_utf8(fixed).unwrap())
        });
        each.collect()
    }

    #[test]
    fn names_lose_what_hurts_and_stay_different() {
        let names = ["a.", "a", "nul.txt", "Film.mov", "film.mov", "1\u{f022}2", "what?", "fine"];
        let expected =
            [Some("a 2"), None, Some("nul_.txt"), None, Some("film 2.mov"), Some("1:2"), None, None];
        assert_eq!(fixed(&names, false), expected.map(|name| name.map(str::to_owned)));
        let expected =
            [Some("a 2"), None, Some("nul_.txt"), None, Some("film 2.mov"), Some("1_2"), Some("what_"), None];
        assert_eq!(fixed(&names, true), expected.map(|name| name.map(str::to_owned)));
        let twins = ["a:b", "a\u{f022}b"];
        assert_eq!(fixed(&twins, false), [None, Some("a:b 2".to_owned())]);
        let netatalk = [".AppleDouble", ":2eprofile", "in:2fout", "caf:c3:a9", "12:30"];
        let expected = [None, Some(".profile"), Some("in:out"), Some("caf\u{e9}"), None];
        assert_eq!(fixed(&netatalk, false), expected.map(|name| name.map(str::to_owned)));
        assert_eq!(fixed(&netatalk[1..3], false), [None, None], "Netatalk 2 has not served this folder");
        assert_eq!(fixed(&[" .", "..."], false), [Some("_".to_owned()), Some("_ 2".to_owned())]);
    }
}
