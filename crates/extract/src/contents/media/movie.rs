//! MP4 and QuickTime: the box `moov`.

use query::Attribute;

use super::super::bytes::{u16_be, u32_be};
use super::super::{Problem, Result, text};
use super::boxes::{child, children, find_at_top};
use super::duration;
use crate::extracted::Extracted;
use crate::source::Source;

/// The longest `moov` in bytes.
const LONGEST_MOOV: usize = 64 << 20;
/// Seconds between 1904, at which QuickTime's clock begins, and 1970.
const Y1904: i64 = 2_082_844_800;

pub(in crate::contents) fn movie(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let moov = find_at_top(source, b"moov", LONGEST_MOOV)?;
    if let Some(head) = child(&moov, b"mvhd") {
        movie_head(head, found)?;
    }
    let tracks =
        children(&moov).filter(|one| one.kind == b"trak").filter_map(|track| child(track.data, b"tkhd"));
    let largest = tracks.filter_map(|head| sides(head).ok()).max();
    if let Some((width, height)) = largest.filter(|(width, height)| *width > 0 && *height > 0) {
        found.add_number(Attribute::Width, width.into());
        found.add_number(Attribute::Height, height.into());
    }
    if let Some(user) = child(&moov, b"udta") {
        tags(user, found);
    }
    Ok(())
}

/// ISO 14496-12 8.2.2: the time of creation, the units of a second, the duration.
fn movie_head(head: &[u8], found: &mut Extracted) -> Result<()> {
    let long =
        |at: usize| Ok::<_, Problem>(u64::from(u32_be(head, at)?) << 32 | u64::from(u32_be(head, at + 4)?));
    let (created, of_second, units) = if head.first() == Some(&1) {
        (long(4)?, u32_be(head, 20)?, long(24)?)
    } else {
        (u32_be(head, 4)?.into(), u32_be(head, 12)?, u32_be(head, 16)?.into())
    };
    duration(units as f64, of_second.into(), found);
    let created = i64::try_from(created).ok().map(|created| created - Y1904);
    found.add_date(Attribute::Taken, created.filter(|created| *created > 0));
    Ok(())
}

/// The last two fields of a track's head, in units of 1/65536 pixel.
fn sides(head: &[u8]) -> Result<(u32, u32)> {
    let at = head.len().checked_sub(8).ok_or(Problem::Damaged("a cut box"))?;
    Ok((u32_be(head, at)? >> 16, u32_be(head, at + 4)? >> 16))
}

fn attribute(kind: &[u8]) -> Option<Attribute> {
    Some(match kind {
        b"\xa9nam" => Attribute::Title,
        b"\xa9ART" | b"aART" | b"\xa9aut" => Attribute::Author,
        b"\xa9alb" => Attribute::Album,
        b"\xa9gen" => Attribute::Genre,
        b"\xa9wrt" | b"\xa9com" => Attribute::Composer,
        b"\xa9mod" | b"\xa9too" => Attribute::Device,
        _ => return None,
    })
}

/// The tags of iTunes in `meta`, and those of QuickTime beside it.
fn tags(user: &[u8], found: &mut Extracted) {
    for tag in children(user) {
        if let Some(attribute) = attribute(tag.kind) {
            // A length, a language, the text.
            let length = u16_be(tag.data, 0).unwrap_or(0).into();
            let value = tag.data.get(4..).map(|rest| rest.get(..length).unwrap_or(rest));
            found.add_text(attribute, &text::decode(value.unwrap_or_default(), None));
        }
    }
    let Some(meta) = child(user, b"meta") else { return };
    // Version and flags are missing in QuickTime's own form.
    let list = meta.get(4..).and_then(|meta| child(meta, b"ilst")).or_else(|| child(meta, b"ilst"));
    for tag in list.into_iter().flat_map(children) {
        let Some(attribute) = attribute(tag.kind) else { continue };
        for data in children(tag.data).filter(|one| one.kind == b"data") {
            found.add_text(attribute, &String::from_utf8_lossy(data.data.get(8..).unwrap_or_default()));
        }
    }
}
