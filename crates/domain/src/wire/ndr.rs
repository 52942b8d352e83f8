//! Values in NDR, C706 14: each begins at a multiple of its own size in the message.

use wire::{Malformed, Reader, Writer};

/// The referent of a pointer that leads somewhere. Its value says nothing else.
pub(super) const REFERENT: u32 = 0x0002_0000;

/// Zeros up to the next multiple of `size`.
pub(super) fn align(w: &mut Writer, size: usize) {
    w.zeros(w.len().wrapping_neg() % size);
}

/// Skips to the next multiple of `size`.
pub(super) fn skip_to(r: &mut Reader<'_>, size: usize) -> Result<(), Malformed> {
    r.skip(r.position().wrapping_neg() % size)
}

/// A string with a zero at its end, C706 14.3.4.2.
pub(super) fn string(w: &mut Writer, text: &str) {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    align(w, 4);
    array_head(w, units.len() as u32);
    units.iter().for_each(|unit| w.u16_le(*unit));
}

/// A pointer to such a string, which may be null.
pub(super) fn unique_string(w: &mut Writer, text: &str) {
    align(w, 4);
    w.u32_le(REFERENT);
    string(w, text);
}

/// The head of RPC_UNICODE_STRING (MS-DTYP 2.3.10) or STRING (MS-NRPC 2.2.1.1.2): the bytes come after the structure.
pub(super) fn counted_head(w: &mut Writer, bytes: &[u8]) {
    let length = bytes.len() as u16;
    w.u16_le(length);
    w.u16_le(length);
    w.u32_le(if bytes.is_empty() { 0 } else { REFERENT });
}

/// What such a head leads to: elements of `size` bytes.
pub(super) fn counted_tail(w: &mut Writer, bytes: &[u8], size: usize) {
    if !bytes.is_empty() {
        align(w, 4);
        array_head(w, (bytes.len() / size) as u32);
        w.put(bytes);
    }
}

/// Of a conformant and varying array: the largest count, the offset, the count.
fn array_head(w: &mut Writer, count: u32) {
    w.u32_le(count);
    w.u32_le(0);
    w.u32_le(count);
}
