//! Entries linked by NextEntryOffset, a u32 at the start of each: the distance to the next entry, 0 in the last.

use wire::{Malformed, Reader, Writer};

/// Writes entries: pads each to where the next may begin, and links them.
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    start: usize,
    align: usize,
    last: Option<usize>,
}

impl Chain {
    /// A chain that begins where `w` stands, its entries multiples of `align` bytes after that.
    pub fn begin(w: &Writer, align: usize) -> Self {
        Self { start: w.len(), align, last: None }
    }

    /// Begins the next entry, its NextEntryOffset included.
    pub fn next(&mut self, w: &mut Writer) {
        if let Some(last) = self.last {
            w.zeros((w.len() - self.start).next_multiple_of(self.align) - (w.len() - self.start));
            w.patch_u32_le(last, (w.len() - last) as u32);
        }
        self.last = Some(w.len());
        w.u32_le(0);
    }
}

/// The entries of a list, each from after its NextEntryOffset to the next entry, padding included.
pub fn entries(bytes: &[u8]) -> Entries<'_> {
    Entries { rest: Some(bytes).filter(|bytes| !bytes.is_empty()) }
}

/// See [`entries`]. Ends after the first that is malformed.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Reader<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        Some(split(rest).map(|(entry, next)| {
            self.rest = next;
            Reader::new(entry)
        }))
    }
}

/// An entry without its NextEntryOffset, and what begins at the next one.
fn split(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Malformed> {
    let mut r = Reader::new(bytes);
    match r.u32_le()? as usize {
        0 => Ok((r.rest(), None)),
        // Less than the field itself would make the list endless.
        next if (4..bytes.len()).contains(&next) => Ok((&bytes[4..next], Some(&bytes[next..]))),
        _ => Err(Malformed("next entry outside the list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_from_the_start_of_the_list() {
        let mut w = Writer::onto(b"head".to_vec());
        let mut chain = Chain::begin(&w, 8);
        for byte in [7, 9] {
            chain.next(&mut w);
            w.u8(byte);
        }
        assert_eq!(w.as_bytes(), b"head\x08\0\0\0\x07\0\0\0\0\0\0\0\x09");
        let read: Vec<_> = entries(&w.as_bytes()[4..]).map(|entry| entry.unwrap().rest()).collect();
        assert_eq!(read, [&[7, 0, 0, 0][..], &[9]]);
    }

    #[test]
    fn an_offset_into_itself_or_past_the_end_is_malformed() {
        for next in [1, 3, 9, 8, u32::MAX] {
            let mut bytes = u32::to_le_bytes(next).to_vec();
            bytes.extend([0; 4]);
            let read: Vec<_> = entries(&bytes).collect();
            assert!(read.len() == 1 && read[0].is_err(), "{next}");
        }
        assert!(entries(b"").next().is_none());
        assert!(entries(b"\0\0").next().unwrap().is_err());
    }
}
