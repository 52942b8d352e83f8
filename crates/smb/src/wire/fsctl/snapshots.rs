//! SRV_ENUMERATE_SNAPSHOTS, MS-SMB2 2.2.32.2.

use wire::{Malformed, Reader, Writer};

use crate::wire::text;

/// SRV_SNAPSHOT_ARRAY.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshots {
    /// How many there are; `labels` may be empty for lack of room.
    pub total: u32,
    /// What all labels would take.
    pub array_size: u32,
    /// Each as `@GMT-2026.11.21-02.30.00`.
    pub labels: Vec<String>,
}

impl Snapshots {
    /// What comes before the labels.
    pub const FIXED_LEN: usize = 12;

    /// The answer that fits in `room` bytes: all labels or none, with what they would take.
    pub fn fitting(labels: Vec<String>, room: usize) -> Self {
        if labels.is_empty() {
            return Self::default();
        }
        let (total, array_size) = (labels.len() as u32, array_size(&labels));
        let fits = Self::FIXED_LEN + array_size as usize <= room;
        Self { total, array_size, labels: if fits { labels } else { Vec::new() } }
    }

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (total, returned, size) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        if returned == 0 {
            return Ok(Self { total, array_size: size, labels: Vec::new() });
        }
        let units = text::units(r, size as usize)?;
        let labels = units.split(|unit| *unit == 0).take_while(|label| !label.is_empty());
        let labels: Vec<_> = labels.map(String::from_utf16_lossy).collect();
        match labels.len() == returned as usize {
            true => Ok(Self { total, array_size: array_size(&labels), labels }),
            false => Err(Malformed("another number of snapshots than it says")),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.total);
        w.u32_le(self.labels.len() as u32);
        w.u32_le(self.array_size);
        if self.labels.is_empty() {
            return;
        }
        for label in &self.labels {
            text::put(w, &text::of(label));
            w.u16_le(0);
        }
        w.u16_le(0);
    }
}

/// Each label with a NUL, and one more at the end.
fn array_size(labels: &[String]) -> u32 {
    let units: usize = labels.iter().map(|label| label.encode_utf16().count() + 1).sum();
    u32::try_from(units * 2 + 2).unwrap_or(u32::MAX)
}
