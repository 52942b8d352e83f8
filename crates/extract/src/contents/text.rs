//! Text in any encoding, and formats that are text.

pub(super) mod entities;
pub(super) mod html;
pub(super) mod rtf;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use query::Attribute;

use super::{Result, bytes};
use crate::extracted::Extracted;
use crate::source::Source;

/// How much of a text tells the encoding.
const SAMPLE: usize = 64 << 10;

/// Plain text.
pub(super) fn plain(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let bytes = bytes::whole(source)?;
    if is_text(&bytes[..bytes.len().min(SAMPLE)]) {
        found.push(&decode(&bytes, None));
    }
    Ok(())
}

/// Markdown: its first heading is the title.
pub(super) fn markdown(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let bytes = bytes::whole(source)?;
    if !is_text(&bytes[..bytes.len().min(SAMPLE)]) {
        return Ok(());
    }
    let text = decode(&bytes, None);
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.into_iter().for_each(|heading| found.add_text(Attribute::Title, heading.trim_end_matches('#')));
    found.push(&text);
    Ok(())
}

/// Whether bytes are text in some encoding: few controls, or UTF-16.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    if utf16_of(bytes).is_some() {
        return true;
    }
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    let controls = bytes.iter().filter(is_control).count();
    !bytes.contains(&0) && controls * 100 <= bytes.len()
}

/// Bytes as text. `label` is what a format says of the encoding; a mark at the beginning counts more, and UTF-8 that is valid too.
pub(super) fn decode<'a>(bytes: &'a [u8], label: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0;
    }
    if let Some(encoding) = utf16_of(bytes) {
        return encoding.decode_without_bom_handling(bytes).0;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let stated = label.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    let encoding = stated.filter(|stated| *stated != UTF_8).unwrap_or_else(|| guess(bytes));
    encoding.decode_without_bom_handling(bytes).0
}

/// The encoding that the bytes themselves suggest.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() == bytes.len());
    // A cut character at the end of a sample must not make UTF-8 of a large file anything else.
    let is_utf8 = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && sample.len() < bytes.len(),
    };
    if is_utf8 { UTF_8 } else { detector.guess(None, Utf8Detection::Allow) }
}

/// UTF-16 without a mark: many characters of it have a zero byte, and on one side only.
fn utf16_of(bytes: &[u8]) -> Option<&'static Encoding> {
    let (pairs, _) = bytes[..bytes.len().min(SAMPLE)].as_chunks::<2>();
    if bytes.starts_with(&[0xff, 0xfe]) {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(&[0xfe, 0xff]) {
        return Some(UTF_16BE);
    }
    let low = pairs.iter().filter(|[first, second]| *first == 0 && *second != 0).count();
    let high = pairs.iter().filter(|[first, second]| *first != 0 && *second == 0).count();
    let both = pairs.iter().filter(|pair| **pair == [0, 0]).count();
    if pairs.len() < 4 || both > 0 {
        return None;
    }
    match (low * 5 > pairs.len() * 2, high * 5 > pairs.len() * 2) {
        (true, false) if high == 0 => Some(UTF_16BE),
        (false, true) if low == 0 => Some(UTF_16LE),
        _ => None,
    }
}
