//! What is written and read: every kind of metadata of Macs, DOS and Unix.

use client::metadata::{Aspect, MetadataValue, TAGS, acl};
use formats::mac::FinderInfo;
use formats::mac::plist;

/// What the aspect is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    File,
    Folder,
    /// Writing it makes the file.
    Itself,
}

/// A row of the grid.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) of: Of,
    pub(crate) aspect: Aspect<'static>,
    pub(crate) value: MetadataValue,
    /// The bytes of Finder info that count.
    part: Option<Part>,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    First(usize),
    Label,
}

/// A date with all digits: 2001-09-09 01:46:41.123456789 UTC.
const DATE: MetadataValue = MetadataValue::Time(1_000_000_001, 123_456_789);
/// A name of 100 characters that take three bytes each.
const WIDE: &str = "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字";
/// A name of 255 characters.
const LONG: &str = "a name as long as Windows and macOS allow, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

fn info(kind: [u8; 8], flags: u16, rest: &[u8]) -> MetadataValue {
    let mut bytes = [0; FinderInfo::LEN];
    bytes[..8].copy_from_slice(&kind);
    bytes[8..10].copy_from_slice(&flags.to_be_bytes());
    bytes[10..10 + rest.len()].copy_from_slice(rest);
    MetadataValue::Bytes(bytes.to_vec())
}

/// Bytes that differ from place to place, so that a part that is missing is noticed.
fn bytes(length: usize) -> MetadataValue {
    MetadataValue::Bytes((0..length).map(|at| (at ^ (at >> 8) ^ 0x5a) as u8).collect())
}

/// Names that some systems do not have, with their titles.
const NAMES: [(&str, &str); 6] = [
    ("name with accents, composed", "Caf\u{e9} M\u{fc}ller \u{e4}"),
    ("name with accents, decomposed", "Cafe\u{301} a\u{308}"),
    ("name of 255 characters", LONG),
    ("name of 100 characters, 300 bytes", WIDE),
    ("name that Windows forbids", "what? \"a\"*<b>|c"),
    ("name with a space at the end", "the end "),
];

/// All of them, in the order of the grid.
pub(crate) fn all() -> Vec<Fact> {
    use Aspect::*;
    use Of::*;
    let fact = |name, of, aspect, value| Fact { name, of, aspect, value, part: None };
    let tags = plist::write_texts(&["Red\n6".into(), "Wichtig".into()]);
    let mut facts = vec![
        Fact {
            part: Some(Part::First(16)),
            ..fact(
                "Finder info: type, creator, position",
                File,
                FinderInfo,
                info(*b"TEXTttxt", 0, &[0, 20, 0, 30]),
            )
        },
        Fact {
            part: Some(Part::First(16)),
            ..fact(
                "Finder info of a folder",
                Folder,
                FinderInfo,
                info([0, 40, 0, 80, 1, 0, 2, 0], 0x0100, &[0, 16, 0, 32]),
            )
        },
        Fact {
            part: Some(Part::Label),
            ..fact("label (red)", File, FinderInfo, info(*b"TEXTttxt", 6 << 1, &[]))
        },
        fact("tags", File, Attribute(TAGS), MetadataValue::Bytes(tags)),
        fact("comment", File, Comment, MetadataValue::Text("Für Grace: bitte prüfen".into())),
        fact("comment of a folder", Folder, Comment, MetadataValue::Text("Entwürfe".into())),
        fact("resource fork, 1 kB", File, Fork, bytes(1000)),
        fact("resource fork, 300 kB", File, Fork, bytes(300_000)),
        fact("stream or attribute, 100 bytes", File, Attribute("com.example.note"), bytes(100)),
        fact("stream or attribute, 3,000 bytes", File, Attribute("com.example.page"), bytes(3000)),
        fact("stream or attribute, 100 kB", File, Attribute("com.example.book"), bytes(100_000)),
        fact("attribute of a folder", Folder, Attribute("com.example.note"), bytes(100)),
        fact("EA of OS/2 and Windows", File, Ea("NOTE"), bytes(100)),
        fact("created", File, Created, DATE),
        fact("created, a folder", Folder, Created, DATE),
        fact("modified", File, Modified, DATE),
        fact("accessed", File, Accessed, DATE),
        fact("backed up", File, Backup, DATE),
        fact("hidden", File, Hidden, MetadataValue::Flag(true)),
        fact("system", File, System, MetadataValue::Flag(true)),
        fact("to be archived", File, Archive, MetadataValue::Flag(true)),
        fact("read-only, locked", File, ReadOnly, MetadataValue::Flag(true)),
        fact("locked against renaming", File, RenameLock, MetadataValue::Flag(true)),
        fact("locked against removing", File, DeleteLock, MetadataValue::Flag(true)),
        fact("mode 0640", File, Mode, MetadataValue::Number(0o640)),
        fact("owner 12345", File, Owner, MetadataValue::Number(acl::STRANGER.into())),
        fact("ACL: an entry that allows", File, Acl, MetadataValue::Acl(acl::allows())),
        fact("ACL: a right that no mode has", File, Acl, MetadataValue::Acl(acl::allows_appending())),
        fact("ACL: an entry that denies", File, Acl, MetadataValue::Acl(acl::denies())),
        fact("ACL of a folder: inheritance", Folder, Acl, MetadataValue::Acl(acl::passes_on())),
        fact("ACL: inherited by a new file", Folder, Inherited, MetadataValue::Acl(acl::inherited())),
        fact("symbolic link", Itself, Target, MetadataValue::Text("target-of-a-link".into())),
        fact("hard links", File, Links, MetadataValue::Number(2)),
        fact("sparse", Itself, Sparse, MetadataValue::Flag(true)),
    ];
    facts.extend(NAMES.map(|(title, name)| fact(title, Itself, Name, MetadataValue::Text(name.into()))));
    facts
}

impl Fact {
    /// The part of a value that counts.
    pub(crate) fn counts(&self, value: &MetadataValue) -> MetadataValue {
        match (self.part, value) {
            (Some(Part::First(length)), MetadataValue::Bytes(bytes)) => {
                MetadataValue::Bytes(bytes[..length.min(bytes.len())].to_vec())
            }
            (Some(Part::Label), MetadataValue::Bytes(bytes)) => {
                MetadataValue::Number(bytes.get(9).map_or(0, |flags| u64::from(flags >> 1 & 7)))
            }
            (None, MetadataValue::Acl(entries)) => MetadataValue::Acl(acl::of_stranger(entries)),
            _ => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_names_are_as_long_as_they_say() {
        assert_eq!((LONG.len(), WIDE.chars().count(), WIDE.len()), (255, 100, 300));
    }

    #[test]
    fn the_label_is_three_bits_of_the_flags() {
        let label = all().into_iter().find(|fact| fact.name.starts_with("label")).unwrap();
        assert_eq!(label.counts(&label.value), MetadataValue::Number(6));
    }
}
