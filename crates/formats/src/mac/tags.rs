//! What Macs say about a file in two places: tags and the label's colour, the Finder's comment in
//! an attribute and in the desktop database. Later systems know the first of each, earlier the
//! second.

use super::plist;
use crate::names::{decode_mac_roman, encode_mac_roman};

/// The attribute with the tags: an array of strings `name` or `name`, line feed, colour.
pub const TAGS: &str = "com.apple.metadata:_kMDItemUserTags";
/// The attribute with the Finder's comment: a string.
pub const COMMENT: &str = "com.apple.metadata:kMDItemFinderComment";
/// The attribute with the URLs that a file was fetched from: an array of strings.
pub const ORIGINS: &str = "com.apple.metadata:kMDItemWhereFroms";

/// The Finder's names of the colours 1 to 7.
const NAMES: [&str; 7] = ["Gray", "Green", "Purple", "Blue", "Yellow", "Red", "Orange"];

/// The colour of the label of a file with these tags, as the Finder sets it: that of the last tag
/// that has one, else 0.
pub fn label(tags: &[String]) -> u8 {
    tags.iter().rev().map(|tag| colour(tag)).find(|colour| *colour > 0).unwrap_or(0)
}

/// The tags of a file whose label becomes this colour. A tag of that colour becomes the last one.
/// Else the last tag with a colour, which is all that the label showed, gives way to the Finder's
/// own tag of the colour. Without a label, no tag has a colour: those that have are gone.
pub fn with_label(mut tags: Vec<String>, new: u8) -> Vec<String> {
    if label(&tags) == new {
        return tags;
    }
    let Some(name) = NAMES.get(usize::from(new).wrapping_sub(1)) else {
        tags.retain(|tag| colour(tag) == 0);
        return tags;
    };
    if let Some(at) = tags.iter().rposition(|tag| colour(tag) == new) {
        let tag = tags.remove(at);
        tags.push(tag);
        return tags;
    }
    if let Some(at) = tags.iter().rposition(|tag| colour(tag) > 0) {
        tags.remove(at);
    }
    tags.push(format!("{name}\n{new}"));
    tags
}

/// The name of a tag, without its colour.
pub fn name(tag: &str) -> &str {
    tag.split_once('\n').map_or(tag, |(name, _)| name)
}

fn colour(tag: &str) -> u8 {
    let number = tag.rsplit_once('\n').and_then(|(_, number)| number.parse().ok());
    number.filter(|number| (1..=7).contains(number)).unwrap_or(0)
}

/// The value of [`TAGS`] as tags; `None` if it is something else.
pub fn read(value: &[u8]) -> Option<Vec<String>> {
    plist::read_texts(value)
}

/// The value of [`TAGS`].
pub fn write(tags: &[String]) -> Vec<u8> {
    plist::write_texts(tags)
}

/// The value of [`COMMENT`] in the form of the desktop database: MacRoman, with carriage returns.
/// `None` if it is something else.
pub fn read_comment(value: &[u8]) -> Option<Vec<u8>> {
    Some(encode_mac_roman(&plist::read_text(value)?.replace('\n', "\r")))
}

/// The value of [`COMMENT`] for a comment of the desktop database.
pub fn write_comment(comment: &[u8]) -> Vec<u8> {
    plist::write_text(&decode_mac_roman(comment).replace('\r', "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(all: &[&str]) -> Vec<String> {
        all.iter().map(|tag| (*tag).to_owned()).collect()
    }

    /// Observed of the Finder (github.com/danthedeckie/finder_colors/issues/7, RhetTbull/osxmetadata).
    #[test]
    fn the_label_is_the_colour_of_the_last_tag_with_one() {
        for (all, expected) in [
            (&[][..], 0),
            (&["Red\n6"], 6),
            (&["Red\n6", "Blue\n4"], 4),
            (&["Blue\n4", "urgent\n0", "plain"], 4),
            (&["a\nb", "c\n8", "d\n-1"], 0),
        ] {
            assert_eq!(label(&tags(all)), expected, "{all:?}");
        }
    }

    #[test]
    fn a_new_label_changes_as_few_tags_as_it_can() {
        for (before, new, after) in [
            (&[][..], 6, &["Red\n6"][..]),
            (&["plain"], 1, &["plain", "Gray\n1"]),
            (&["Red\n6", "plain"], 6, &["Red\n6", "plain"]),
            (&["work\n6", "Blue\n4"], 6, &["Blue\n4", "work\n6"]),
            (&["work\n6", "Blue\n4", "plain"], 7, &["work\n6", "plain", "Orange\n7"]),
            (&["Red\n6", "plain", "Blue\n4"], 0, &["plain"]),
            (&["Red\n6"], 0, &[]),
        ] {
            let after = tags(after);
            assert_eq!(with_label(tags(before), new), after, "{before:?} {new}");
            assert_eq!(label(&after), new);
        }
    }

    #[test]
    fn comments_are_text_in_one_place_and_mac_roman_in_the_other() {
        let value = write_comment(b"na\x95ve\rsecond line"); // Apple ROMAN.TXT: 0x95 is U+00EF
        assert_eq!(plist::read_text(&value).as_deref(), Some("na\u{ef}ve\nsecond line"));
        assert_eq!(read_comment(&value).as_deref(), Some(&b"na\x95ve\rsecond line"[..]));
        assert_eq!(read_comment(&plist::write_text("日本 i\u{308}")).as_deref(), Some(&b"__ \x95"[..]));
        assert_eq!(read_comment(b"no list"), None);
    }
}
