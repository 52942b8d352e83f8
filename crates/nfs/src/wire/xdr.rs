//! XDR, RFC 4506: the basic forms of all protocols here.
//!
//! Values borrow from the message that they were read from. Padding is ignored when read, and
//! written as zeros.

mod declare;

use std::fmt;
use std::ops::Deref;

use wire::{Malformed, Reader, Writer};

pub(crate) use declare::{enumeration, record};

/// A value that can be read from XDR.
pub trait Decode<'a>: Sized {
    /// Reads the value, leaving `r` after it.
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed>;
}

/// A value that can be written as XDR.
pub trait Encode {
    /// Appends the value to `w`.
    fn encode(&self, w: &mut Writer);
}

/// Reads all that is left of a message as one `T`; left-over bytes are an error (RFC 5531: GARBAGE_ARGS).
pub fn arguments<'a, T: Decode<'a>>(r: &mut Reader<'a>) -> Result<T, Malformed> {
    let value = T::decode(r)?;
    if r.remaining() == 0 { Ok(value) } else { Err(Malformed("bytes left over after the arguments")) }
}

/// How many bytes of padding follow `len` bytes of an opaque or string, RFC 4506 4.9.
pub fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// How many bytes an opaque of `len` bytes takes, its length word and padding included.
pub fn opaque_size(len: usize) -> usize {
    4 + len + padding(len)
}

/// Reads a variable-length opaque or string of at most `limit` bytes, RFC 4506 4.10 and 4.11.
pub fn opaque<'a>(r: &mut Reader<'a>, limit: usize) -> Result<&'a [u8], Malformed> {
    let len = r.u32_be()? as usize;
    if len > limit {
        return Err(Malformed("opaque longer than its limit"));
    }
    let bytes = r.take(len)?;
    r.skip(padding(len))?;
    Ok(bytes)
}

/// Writes a variable-length opaque or string.
pub fn put_opaque(w: &mut Writer, bytes: &[u8]) {
    w.u32_be(u32::try_from(bytes.len()).expect("messages are far shorter than 4 GiB"));
    w.put(bytes);
    w.put(&[0; 3][..padding(bytes.len())]);
}

/// Writes integers one after the other.
pub fn put_words(w: &mut Writer, words: &[u32]) {
    words.iter().for_each(|&word| w.u32_be(word));
}

/// Reads a linked list, RFC 4506 4.19: each item after a TRUE, the end marked by FALSE. The list
/// grows as items are found, so the server never allocates memory for items that a peer only
/// announces.
pub fn list<'a, T: Decode<'a>>(r: &mut Reader<'a>) -> Result<Vec<T>, Malformed> {
    let mut items = Vec::new();
    while bool::decode(r)? {
        items.push(T::decode(r)?);
    }
    Ok(items)
}

/// Writes a linked list.
pub fn put_list<T: Encode>(w: &mut Writer, items: impl IntoIterator<Item = T>) {
    for item in items {
        true.encode(w);
        item.encode(w);
    }
    false.encode(w);
}

/// A variable-length opaque or string of at most `LIMIT` bytes, any bytes. A longer one is not
/// decoded. Encoding a longer one is a bug of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opaque<'a, const LIMIT: usize>(pub &'a [u8]);

impl<'a, const LIMIT: usize> Opaque<'a, LIMIT> {
    /// The most bytes it may hold.
    pub const LIMIT: usize = LIMIT;

    /// These bytes, for sending.
    pub fn new(bytes: &'a [u8]) -> Self {
        debug_assert!(bytes.len() <= LIMIT, "an opaque of {} bytes where {LIMIT} are allowed", bytes.len());
        Self(bytes)
    }
}

impl<const LIMIT: usize> Deref for Opaque<'_, LIMIT> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

impl<const LIMIT: usize> fmt::Debug for Opaque<'_, LIMIT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl<'a, const LIMIT: usize> Decode<'a> for Opaque<'a, LIMIT> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        opaque(r, LIMIT).map(Self)
    }
}

impl<const LIMIT: usize> Encode for Opaque<'_, LIMIT> {
    fn encode(&self, w: &mut Writer) {
        put_opaque(w, self.0);
    }
}

/// A counted array of at most `LIMIT` integers, RFC 4506 4.13, kept in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Words<const LIMIT: usize> {
    words: [u32; LIMIT],
    len: usize,
}

impl<const LIMIT: usize> Words<LIMIT> {
    /// The first `len` of `words`; the rest is zero.
    pub(super) const fn first(words: [u32; LIMIT], len: usize) -> Self {
        Self { words, len }
    }

    /// The first `LIMIT` of `words`.
    pub fn new(words: &[u32]) -> Self {
        let len = words.len().min(LIMIT);
        let mut kept = [0; LIMIT];
        kept[..len].copy_from_slice(&words[..len]);
        Self { words: kept, len }
    }
}

impl<const LIMIT: usize> Default for Words<LIMIT> {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl<const LIMIT: usize> Deref for Words<LIMIT> {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.words[..self.len]
    }
}

impl<const LIMIT: usize> fmt::Debug for Words<LIMIT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'a, const LIMIT: usize> Decode<'a> for Words<LIMIT> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let len = r.u32_be()? as usize;
        if len > LIMIT {
            return Err(Malformed("array longer than its limit"));
        }
        let mut words = [0; LIMIT];
        for word in &mut words[..len] {
            *word = r.u32_be()?;
        }
        Ok(Self { words, len })
    }
}

impl<const LIMIT: usize> Encode for Words<LIMIT> {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(self.len as u32);
        put_words(w, self);
    }
}

impl Decode<'_> for u32 {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.u32_be()
    }
}

impl Encode for u32 {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(*self);
    }
}

impl Decode<'_> for i32 {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.i32_be()
    }
}

impl Encode for i32 {
    fn encode(&self, w: &mut Writer) {
        w.i32_be(*self);
    }
}

impl Decode<'_> for i64 {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.i64_be()
    }
}

impl Encode for i64 {
    fn encode(&self, w: &mut Writer) {
        w.i64_be(*self);
    }
}

impl Decode<'_> for u64 {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.u64_be()
    }
}

impl Encode for u64 {
    fn encode(&self, w: &mut Writer) {
        w.u64_be(*self);
    }
}

/// A boolean, RFC 4506 4.4: only 0 or 1.
impl Decode<'_> for bool {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("boolean that is neither 0 nor 1")),
        }
    }
}

impl Encode for bool {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(u32::from(*self));
    }
}

/// Fixed-length opaque, RFC 4506 4.9, of a length that needs no padding.
impl<const N: usize> Decode<'_> for [u8; N] {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        const { assert!(N.is_multiple_of(4)) };
        r.array()
    }
}

impl<const N: usize> Encode for [u8; N] {
    fn encode(&self, w: &mut Writer) {
        const { assert!(N.is_multiple_of(4)) };
        w.put(self);
    }
}

/// Optional data, RFC 4506 4.19.
impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        if bool::decode(r)? { T::decode(r).map(Some) } else { Ok(None) }
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, w: &mut Writer) {
        self.is_some().encode(w);
        if let Some(value) = self {
            value.encode(w);
        }
    }
}

impl Decode<'_> for () {
    fn decode(_: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(())
    }
}

impl Encode for () {
    fn encode(&self, _: &mut Writer) {}
}

impl<T: Encode> Encode for &T {
    fn encode(&self, w: &mut Writer) {
        (**self).encode(w);
    }
}

#[cfg(test)]
pub(crate) mod tests;
