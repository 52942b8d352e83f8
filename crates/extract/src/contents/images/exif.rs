//! EXIF 2.32, and TIFF 6.0, in which it is written.

use query::Attribute;

use super::super::{Problem, Result, dates, text};
use super::size;
use crate::extracted::Extracted;

/// The most fields of a directory.
const MOST_FIELDS: usize = 512;
/// The longest text in bytes.
const LONGEST: usize = 4096;

/// Adds the facts of a TIFF file: of its first picture, and of the directory of EXIF in it.
pub(super) fn read(tiff: &[u8], found: &mut Extracted) -> Result<()> {
    let is_big_endian = match tiff {
        [b'M', b'M', 0, 42, ..] => true,
        [b'I', b'I', 42, 0, ..] => false,
        _ => return Err(Problem::Damaged("no EXIF")),
    };
    let reading = TiffReader { bytes: tiff, is_big_endian };
    let fields = reading.directory(reading.u32(4)? as usize)?;
    let mut facts = Facts::default();
    reading.facts(&fields, &mut facts);
    if let Some(place) = fields.iter().find(|field| field.tag == 0x8769) {
        // Damaged notes of the camera leave the picture's own.
        if let Ok(fields) = reading.directory(reading.number(place).unwrap_or(0) as usize) {
            reading.facts(&fields, &mut facts);
        }
    }
    facts.add_to(found);
    Ok(())
}

#[derive(Default)]
struct Facts {
    width: u32,
    height: u32,
    maker: String,
    model: String,
    artist: String,
    description: String,
    software: String,
    taken: String,
    zone: String,
}

impl Facts {
    fn add_to(&self, found: &mut Extracted) {
        if !found.facts.iter().any(|(attribute, _)| *attribute == Attribute::Width) {
            size(self.width, self.height, found);
        }
        let (maker, model) = (self.maker.trim(), self.model.trim());
        let has_maker = model.to_lowercase().starts_with(&maker.to_lowercase());
        let device = if has_maker { model.to_owned() } else { format!("{maker} {model}") };
        found.add_text(Attribute::Device, &device);
        if device.trim().is_empty() {
            found.add_text(Attribute::Device, &self.software);
        }
        found.add_text(Attribute::Author, &self.artist);
        found.add_text(Attribute::Title, &self.description);
        found.add_date(Attribute::Taken, dates::iso(&format!("{}{}", self.taken.trim(), self.zone.trim())));
    }
}

/// A field of a directory.
struct DirectoryField {
    tag: u16,
    kind: u16,
    count: u32,
    /// Where the four bytes of the value or of its place are.
    at: usize,
}

struct TiffReader<'a> {
    bytes: &'a [u8],
    is_big_endian: bool,
}

impl TiffReader<'_> {
    fn u16(&self, at: usize) -> Result<u16> {
        let read = if self.is_big_endian { super::u16_be } else { super::u16_le };
        read(self.bytes, at)
    }

    fn u32(&self, at: usize) -> Result<u32> {
        let read = if self.is_big_endian { super::u32_be } else { super::u32_le };
        read(self.bytes, at)
    }

    fn directory(&self, at: usize) -> Result<Vec<DirectoryField>> {
        let count = usize::from(self.u16(at)?).min(MOST_FIELDS);
        let field = |number: usize| {
            let at = at + 2 + 12 * number;
            Ok(DirectoryField {
                tag: self.u16(at)?,
                kind: self.u16(at + 2)?,
                count: self.u32(at + 4)?,
                at: at + 8,
            })
        };
        (0..count).map(field).collect()
    }

    /// A number of 8, 16 or 32 bits.
    fn number(&self, field: &DirectoryField) -> Option<u32> {
        match (field.kind, field.count) {
            (1, 1) => self.bytes.get(field.at).map(|byte| (*byte).into()),
            (3, 1) => self.u16(field.at).ok().map(u32::from),
            (4 | 13, 1) => self.u32(field.at).ok(),
            _ => None,
        }
    }

    /// Characters, which end with a NUL.
    fn text(&self, field: &DirectoryField) -> String {
        let count = (field.count as usize).min(LONGEST);
        let at =
            if field.count <= 4 { Some(field.at) } else { self.u32(field.at).ok().map(|at| at as usize) };
        let bytes = at.and_then(|at| self.bytes.get(at..at.checked_add(count)?)).unwrap_or_default();
        if !matches!(field.kind, 2 | 7) {
            return String::new();
        }
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        text::decode(bytes, None).into_owned()
    }

    fn facts(&self, fields: &[DirectoryField], facts: &mut Facts) {
        for field in fields {
            match field.tag {
                0x0100 | 0xa002 => facts.width = self.number(field).unwrap_or(facts.width),
                0x0101 | 0xa003 => facts.height = self.number(field).unwrap_or(facts.height),
                0x010e => facts.description = self.text(field),
                0x010f => facts.maker = self.text(field),
                0x0110 => facts.model = self.text(field),
                0x0131 => facts.software = self.text(field),
                0x013b => facts.artist = self.text(field),
                0x9003 => facts.taken = self.text(field),
                0x0132 if facts.taken.is_empty() => facts.taken = self.text(field),
                0x9011 => facts.zone = self.text(field),
                _ => {}
            }
        }
    }
}
