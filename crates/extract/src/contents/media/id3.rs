//! MP3: the tags of ID3 (2.2 to 2.4, and 1), and the duration by the head of the first frame (ISO 11172-3, 2.4.1.3).

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};
use query::Attribute;

use super::super::bytes::{find, u32_be};
use super::super::{Problem, Result, text};
use super::duration;
use crate::extracted::Extracted;
use crate::source::Source;

/// The longest tags in bytes; pictures in them are passed over.
const LONGEST_TAGS: usize = 16 << 20;
/// How far after the tags the first frame is looked for.
const SEARCHED: usize = 64 << 10;
/// Kilobits of a second: MPEG 1 and MPEG 2, layer III.
const RATES: [[u32; 15]; 2] = [
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const FREQUENCIES: [u32; 3] = [44_100, 48_000, 32_000];

pub(super) fn extract(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let head = source.bytes_at(0, 10)?;
    let mut audio = 0;
    if head.starts_with(b"ID3") && head.len() == 10 {
        let length = synchsafe(&head[6..10])?;
        audio = 10 + u64::from(length);
        let tags = source.bytes_at(10, (length as usize).min(LONGEST_TAGS))?;
        frames(&tags, head[3], found);
    }
    let mut end = source.length();
    let old = source.bytes_at(end.saturating_sub(128), 128)?;
    if let Some(old) = old.strip_prefix(b"TAG").filter(|old| old.len() == 125) {
        end -= 128;
        for (range, attribute) in
            [(0..30, Attribute::Title), (30..60, Attribute::Author), (60..90, Attribute::Album)]
        {
            let is_known = found.facts.iter().any(|(of, _)| *of == attribute);
            if !is_known {
                let value = old[range].split(|byte| *byte == 0).next().unwrap_or_default();
                found.add_text(attribute, &text::decode(value, None));
            }
        }
    }
    let bytes = source.bytes_at(audio, SEARCHED)?;
    length(&bytes, end.saturating_sub(audio), found);
    Ok(())
}

/// Four times seven bits.
fn synchsafe(bytes: &[u8]) -> Result<u32> {
    let number = u32_be(bytes, 0)?;
    if number & 0x8080_8080 != 0 {
        return Err(Problem::Damaged("tags of no length"));
    }
    Ok(number & 0x7f | number >> 1 & 0x3f80 | number >> 2 & 0x1f_c000 | number >> 3 & 0xfe0_0000)
}

/// The frames of ID3v2, each with an attribute in its name.
fn frames(tags: &[u8], version: u8, found: &mut Extracted) {
    let of_name = if version == 2 { 3 } else { 4 };
    let head = if version == 2 { 6 } else { 10 };
    let mut rest = tags;
    while rest.len() > head && rest[0] != 0 {
        let size = match version {
            2 => u32::from_be_bytes([0, rest[3], rest[4], rest[5]]),
            3 => u32_be(rest, 4).unwrap_or(0),
            _ => synchsafe(&rest[4..8]).unwrap_or(0),
        };
        let (name, data) = (&rest[..of_name], rest.get(head..head + size as usize));
        let Some(data) = data.filter(|data| !data.is_empty()) else { return };
        rest = &rest[head + size as usize..];
        let attribute = match name {
            b"TIT2" | b"TT2" => Attribute::Title,
            b"TPE1" | b"TP1" | b"TPE2" | b"TP2" => Attribute::Author,
            b"TALB" | b"TAL" => Attribute::Album,
            b"TCON" | b"TCO" => Attribute::Genre,
            b"TCOM" | b"TCM" => Attribute::Composer,
            _ => continue,
        };
        found.add_text(attribute, &value(data));
    }
}

/// A text after the number of its encoding.
fn value(data: &[u8]) -> String {
    let (encoding, text) = (data[0], &data[1..]);
    let text = match (encoding, text) {
        (1, [0xfe, 0xff, rest @ ..]) | (2, rest) => UTF_16BE.decode_without_bom_handling(rest).0,
        (1, [0xff, 0xfe, rest @ ..]) | (1, rest) => UTF_16LE.decode_without_bom_handling(rest).0,
        (3, rest) => String::from_utf8_lossy(rest),
        (_, rest) => WINDOWS_1252.decode_without_bom_handling(rest).0,
    };
    text.split('\0').next().unwrap_or_default().to_owned()
}

/// The duration: by the count of frames that a file of variable rate has at its beginning, else by the rate.
fn length(bytes: &[u8], audio: u64, found: &mut Extracted) {
    let is_frame = |pair: &[u8]| pair[0] == 0xff && pair[1] & 0xe6 == 0xe2;
    let Some(at) = bytes.windows(2).position(is_frame) else { return };
    let Ok(head) = u32_be(bytes, at) else { return };
    let version = head >> 19 & 3; // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    let rate = RATES[usize::from(version != 3)].get((head >> 12 & 15) as usize).copied().unwrap_or(0);
    let frequency = FREQUENCIES.get((head >> 10 & 3) as usize).copied().unwrap_or(0);
    let frequency = frequency
        >> match version {
            3 => 0,
            2 => 1,
            _ => 2,
        };
    let of_frame = if version == 3 { 1152.0 } else { 576.0 };
    let first = &bytes[at..bytes.len().min(at + 256)];
    let counted = [&b"Xing"[..], b"Info"].iter().find_map(|mark| find(first, mark));
    let frames = counted.filter(|mark| u32_be(first, mark + 4).is_ok_and(|flags| flags & 1 != 0));
    if let Some(Ok(frames)) = frames.map(|mark| u32_be(first, mark + 8)) {
        duration(f64::from(frames) * of_frame, frequency.into(), found);
    } else if let Some(Ok(frames)) = find(first, b"VBRI").map(|mark| u32_be(first, mark + 14)) {
        duration(f64::from(frames) * of_frame, frequency.into(), found);
    } else if rate > 0 {
        duration(audio.saturating_sub(at as u64) as f64, f64::from(rate) * 125.0, found);
    }
}
