//! The buffer that all encoders append to.

/// Appends values to a byte buffer, which it owns; [`Writer::into_bytes`] gives it back.
#[derive(Debug, Default, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
}

macro_rules! integers {
    ($($be:ident $le:ident $t:ty;)*) => {$(
        #[doc = concat!("Appends a big-endian `", stringify!($t), "`.")]
        pub fn $be(&mut self, value: $t) {
            self.bytes.extend_from_slice(&value.to_be_bytes());
        }
        #[doc = concat!("Appends a little-endian `", stringify!($t), "`.")]
        pub fn $le(&mut self, value: $t) {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    )*};
}

impl Writer {
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer that appends to `bytes`, keeping what is there and its capacity.
    pub fn onto(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    integers! {
        u16_be u16_le u16;
        u32_be u32_le u32;
        u64_be u64_le u64;
        i16_be i16_le i16;
        i32_be i32_le i32;
        i64_be i64_le i64;
    }

    /// Makes room for `bytes` more bytes at once.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends `bytes` as they are.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends `count` zero bytes.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// How many bytes have been written, those it started from included.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Overwrites the four bytes at `at` with a big-endian value: for counts and lengths known only afterwards.
    ///
    /// # Panics
    /// When fewer than `at + 4` bytes have been written: a mistake of the caller, never of a peer.
    pub fn patch_u32_be(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Overwrites the two bytes at `at` with a big-endian value.
    ///
    /// # Panics
    /// When fewer than `at + 2` bytes have been written: a mistake of the caller, never of a peer.
    pub fn patch_u16_be(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// Overwrites the two bytes at `at` with a little-endian value.
    ///
    /// # Panics
    /// When fewer than `at + 2` bytes have been written: a mistake of the caller, never of a peer.
    pub fn patch_u16_le(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// Overwrites the four bytes at `at` with a little-endian value.
    ///
    /// # Panics
    /// When fewer than `at + 4` bytes have been written: a mistake of the caller, never of a peer.
    pub fn patch_u32_le(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Drops everything after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// What has been written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The buffer.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_both_byte_orders_and_patches() {
        let mut w = Writer::new();
        w.u32_be(0);
        w.u16_be(0x0102);
        w.u16_le(0x0102);
        w.patch_u32_be(0, 8);
        assert_eq!(w.as_bytes(), [0, 0, 0, 8, 1, 2, 2, 1]);
        w.patch_u16_le(2, 0x0304);
        w.patch_u32_le(4, 0x0506_0708);
        assert_eq!(w.as_bytes(), [0, 0, 4, 3, 8, 7, 6, 5]);
        w.patch_u16_be(0, 0x0a0b);
        assert_eq!(w.as_bytes()[..4], [10, 11, 4, 3]);
    }
}
