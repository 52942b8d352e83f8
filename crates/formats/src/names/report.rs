//! Names in one folder that can cause problems for clients.

use std::collections::HashMap;

use super::long::is_shortened;
use super::mac_roman::{FILE_LIMIT, short_view};
use super::mangle::parse_mangled;
use super::{FoldedKey, Folding, Map, cap, detect_map, windows_view};
use crate::mac::layout::NETATALK2_FOLDER;

/// A name, by its place in the list that was given, and what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trouble {
    /// Which name.
    pub name: usize,
    /// What is wrong.
    pub kind: Kind,
}

/// The problem of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Not UTF-8: shown with private-use code points.
    NotText,
    /// Has a control character or one of `"*:<>?\|`: shown with private-use code points on Windows.
    ForbiddenOnWindows,
    /// A device name of Windows (`CON`, `nul.txt`), which many Windows programs cannot open.
    DeviceOnWindows,
    /// Ends in a space or a dot, which Windows programs drop.
    TrailingSpaceOrDot,
    /// Differs from an earlier name in case only.
    DiffersInCase(usize),
    /// Differs from an earlier name in composition only, or in composition and case.
    DiffersInForm(usize),
    /// More than 255 UTF-16 units in the private-use view.
    TooLongForWindows,
    /// Shown mangled to old Macs.
    NoShortName,
    /// Has private-use code points that another server stored for forbidden characters.
    PrivateUse(Map),
    /// Has private-use code points that read differently in the two maps, in a folder where both were used.
    MixedMaps,
    /// Has escapes of Netatalk 2, in a folder that it has served.
    CapEncoded,
    /// Has the form of a shortened name. Where the file has the whole one, nothing is wrong.
    LooksShortened,
}

const WINDOWS_UNITS: usize = 255;

/// Everything that is wrong with the names of one folder, in their order.
pub fn report(names: &[&[u8]]) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let mut seen: HashMap<FoldedKey, usize> = HashMap::new();
    let (mixed, by_netatalk2) = (is_mixed(names), names.contains(&NETATALK2_FOLDER));
    for (at, name) in names.iter().enumerate() {
        let collision = seen
            .get(&FoldedKey::new(name, Folding::default()))
            .map(|first| collision(names[*first], name, *first));
        seen.entry(FoldedKey::new(name, Folding::default())).or_insert(at);
        let escaped = (by_netatalk2 && cap::is_netatalks(name)).then_some(Kind::CapEncoded);
        let kinds =
            own_troubles(name).into_iter().chain(collision).chain(private_use(name, mixed)).chain(escaped);
        troubles.extend(kinds.map(|kind| Trouble { name: at, kind }));
    }
    troubles
}

fn own_troubles(name: &[u8]) -> Vec<Kind> {
    let forbidden = |b: &u8| matches!(b, 1..=0x1F | b'"' | b'*' | b':' | b'<' | b'>' | b'?' | b'\\' | b'|');
    let short = short_view(name, 0, FILE_LIMIT);
    [
        (std::str::from_utf8(name).is_err(), Kind::NotText),
        (name.iter().any(forbidden), Kind::ForbiddenOnWindows),
        (is_device(name), Kind::DeviceOnWindows),
        (matches!(name.last(), Some(b' ' | b'.')), Kind::TrailingSpaceOrDot),
        (windows_view(name).len() > WINDOWS_UNITS, Kind::TooLongForWindows),
        (parse_mangled(&short).is_some(), Kind::NoShortName),
        (is_shortened(name), Kind::LooksShortened),
    ]
    .into_iter()
    .filter_map(|(found, kind)| found.then_some(kind))
    .collect()
}

fn collision(first: &[u8], name: &[u8], at: usize) -> Kind {
    let form = Folding { normalisation_sensitive: true, ..Folding::default() };
    match FoldedKey::new(first, form) == FoldedKey::new(name, form) {
        true => Kind::DiffersInCase(at),
        false => Kind::DiffersInForm(at),
    }
}

fn private_use(name: &[u8], mixed: bool) -> Option<Kind> {
    let map = detect_map([name])?;
    Some(if mixed { Kind::MixedMaps } else { Kind::PrivateUse(map) })
}

/// Both maps were used: some names have code points that only one makes, and some that only the other makes.
/// U+F022 is in both, and control characters are the same.
fn is_mixed(names: &[&[u8]]) -> bool {
    let has = |wanted: fn(char) -> bool| {
        names.iter().flat_map(|name| name.utf8_chunks()).any(|chunk| chunk.valid().contains(wanted))
    };
    has(|c| Map::Sfu.made(c) && !Map::Sfm.made(c)) && has(|c| Map::Sfm.made(c) && !Map::Sfu.made(c))
}

fn is_device(name: &[u8]) -> bool {
    let stem = name.split(|b| *b == b'.').next().unwrap_or_default().trim_ascii_end().to_ascii_uppercase();
    let numbered =
        matches!(stem.as_slice(), [b'C', b'O', b'M', b'1'..=b'9'] | [b'L', b'P', b'T', b'1'..=b'9']);
    numbered || matches!(stem.as_slice(), b"CON" | b"PRN" | b"AUX" | b"NUL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(names: &[&str]) -> Vec<(usize, Kind)> {
        let names: Vec<_> = names.iter().map(|name| name.as_bytes()).collect();
        report(&names).into_iter().map(|trouble| (trouble.name, trouble.kind)).collect()
    }

    #[test]
    fn good_names_are_not_reported() {
        assert_eq!(kinds(&["Read me.txt", ".profile", "Übung 1", "console", "COM10"]), []);
    }

    #[test]
    fn what_windows_forbids_is_reported() {
        assert_eq!(kinds(&["Icon\r", "a:b"]), [(0, Kind::ForbiddenOnWindows), (1, Kind::ForbiddenOnWindows)]);
        assert_eq!(
            kinds(&["space_chef ", "etc."]),
            [(0, Kind::TrailingSpaceOrDot), (1, Kind::TrailingSpaceOrDot)]
        );
        assert_eq!(kinds(&["nul.txt", "Com1"]), [(0, Kind::DeviceOnWindows), (1, Kind::DeviceOnWindows)]);
    }

    #[test]
    fn names_that_fold_alike_are_reported_with_the_first() {
        assert_eq!(kinds(&["a", "b", "A"]), [(2, Kind::DiffersInCase(0))]);
        let twins = kinds(&["se\u{f1}or-bufo.png", "sen\u{303}or-bufo.png"]);
        assert_eq!(twins, [(1, Kind::NoShortName), (1, Kind::DiffersInForm(0))]);
    }

    #[test]
    fn lengths_are_reported_in_each_views_units() {
        assert_eq!(kinds(&[&"x".repeat(32)]), [(0, Kind::NoShortName)]);
        assert_eq!(kinds(&[&"x".repeat(256)]), [(0, Kind::TooLongForWindows), (0, Kind::NoShortName)]);
    }

    #[test]
    fn private_code_points_are_reported_with_their_map() {
        let only = |names: &[&str]| -> Vec<_> {
            kinds(names).into_iter().filter(|(_, k)| *k != Kind::NoShortName).collect()
        };
        assert_eq!(only(&["a\u{f022}"]), [(0, Kind::PrivateUse(Map::Sfm))]);
        assert_eq!(only(&["a\u{f03a}"]), [(0, Kind::PrivateUse(Map::Sfu))]);
        assert_eq!(only(&["a\u{f03a}", "b\u{f028}"]), [(0, Kind::MixedMaps), (1, Kind::MixedMaps)]);
    }
}
