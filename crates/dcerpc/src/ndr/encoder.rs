//! Results of a call as bytes, C706 chapter 14.

use wire::{Sid, Writer};

use super::Handle;

/// Writes arguments. Targets of pointers wait until [`Encoder::flush`], which ends the outermost
/// structure.
#[derive(Debug, Default)]
pub struct Encoder {
    w: Writer,
    pointers: u32,
    /// Whether all pointers have one number.
    has_one_referent: bool,
    waiting: Vec<Pointee>,
}

#[derive(Debug)]
enum Pointee {
    /// With the NUL at its end.
    Wide(Vec<u16>),
    /// As many characters as its structure says, without NUL.
    Counted(Vec<u16>),
    Sid(Sid),
    /// Bytes in an array of that size.
    Octets {
        maximum: u32,
        bytes: Vec<u8>,
    },
}

macro_rules! aligned {
    ($($name:ident $t:ty = $to:ident;)*) => {$(
        pub fn $name(&mut self, value: $t) {
            self.align(size_of::<$t>());
            self.w.$to(value);
        }
    )*};
}

impl Encoder {
    /// An encoder of no arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An encoder that gives all pointers one number: a unique pointer says only that there is a target.
    pub fn of_unique_pointers() -> Self {
        Self { has_one_referent: true, ..Self::default() }
    }

    aligned! {
        u8 u8 = u8;
        u16 u16 = u16_le;
        u32 u32 = u32_le;
        i32 i32 = i32_le;
        u64 u64 = u64_le;
    }

    /// Zeros up to a multiple of `size`.
    pub fn align(&mut self, size: usize) {
        let at = self.w.len();
        self.w.zeros(at.next_multiple_of(size) - at);
    }

    /// Bytes as they are.
    pub fn put(&mut self, bytes: &[u8]) {
        self.w.put(bytes);
    }

    /// A number of elements. Whatever is encoded is far smaller than 4 GiB.
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// A context handle.
    pub fn handle(&mut self, handle: &Handle) {
        self.align(4);
        self.w.put(handle);
    }

    /// A unique pointer with a target, which the caller writes in its place.
    pub fn pointer(&mut self) {
        // Any number except 0. A full pointer has one that is used only once.
        let referent = 0x0002_0000 + 4 * self.pointers;
        self.pointers += u32::from(!self.has_one_referent);
        self.u32(referent);
    }

    /// A unique pointer to nothing.
    pub fn null(&mut self) {
        self.u32(0);
    }

    /// A unique pointer to a number, as an argument: the number follows at once.
    pub fn unique_u32(&mut self, value: Option<u32>) {
        match value {
            None => self.null(),
            Some(value) => {
                self.pointer();
                self.u32(value);
            }
        }
    }

    /// `[string] wchar_t *` inside a structure.
    pub fn string(&mut self, text: &str) {
        self.pointer();
        self.waiting.push(Pointee::Wide(text.encode_utf16().chain([0]).collect()));
    }

    /// `[string] wchar_t *` inside a structure, which may be null.
    pub fn optional_string(&mut self, text: Option<&str>) {
        match text {
            None => self.null(),
            Some(text) => self.string(text),
        }
    }

    /// `[string] wchar_t *` behind a reference pointer.
    pub fn wide_string(&mut self, text: &str) {
        let text: Vec<u16> = text.encode_utf16().chain([0]).collect();
        self.characters(&text);
    }

    /// `[string, unique] wchar_t *` as an argument: the characters follow at once.
    pub fn unique_wide_string(&mut self, text: &str) {
        self.pointer();
        self.wide_string(text);
    }

    /// The part of an `RPC_UNICODE_STRING` or a `STRING` (MS-NRPC 2.2.1.1.2) that stands inside its structure.
    pub fn counted_head(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u16;
        self.align(4);
        self.u16(length);
        self.u16(length);
        if bytes.is_empty() { self.null() } else { self.pointer() }
    }

    /// The part that follows: elements of `size` bytes.
    pub fn counted_tail(&mut self, bytes: &[u8], size: usize) {
        if !bytes.is_empty() {
            self.varying_head(bytes.len() / size);
            self.w.put(bytes);
        }
    }

    /// Of an array that is conformant and varying: the largest count, the offset, the count.
    fn varying_head(&mut self, count: usize) {
        self.count(count);
        self.u32(0);
        self.count(count);
    }

    /// An `RPC_UNICODE_STRING`, MS-DTYP 2.3.10. Its length is 16 bits of bytes: a longer string is
    /// cut there.
    pub fn counted(&mut self, text: &str) {
        let text: Vec<u16> = text.encode_utf16().take(usize::from(u16::MAX / 2)).collect();
        let bytes = 2 * text.len() as u16;
        self.align(4);
        self.u16(bytes);
        self.u16(bytes);
        if text.is_empty() {
            return self.null();
        }
        self.pointer();
        self.waiting.push(Pointee::Counted(text));
    }

    /// A pointer to a SID, MS-DTYP 2.4.2.3.
    pub fn sid(&mut self, sid: &Sid) {
        self.pointer();
        self.waiting.push(Pointee::Sid(*sid));
    }

    /// A pointer to bytes, in an array that is conformant and varying, C706 14.3.3.4.
    pub fn octets(&mut self, maximum: u32, bytes: Vec<u8>) {
        self.pointer();
        self.waiting.push(Pointee::Octets { maximum, bytes });
    }

    /// Writes the targets of all pointers so far.
    pub fn flush(&mut self) {
        for pointee in std::mem::take(&mut self.waiting) {
            match pointee {
                Pointee::Wide(text) | Pointee::Counted(text) => self.characters(&text),
                Pointee::Sid(sid) => self.sid_itself(&sid),
                Pointee::Octets { maximum, bytes } => {
                    self.u32(maximum);
                    self.u32(0);
                    self.count(bytes.len());
                    self.w.put(&bytes);
                }
            }
        }
    }

    /// A conformant and varying array of characters, C706 14.3.4.3.
    fn characters(&mut self, text: &[u16]) {
        self.varying_head(text.len());
        text.iter().for_each(|unit| self.w.u16_le(*unit));
    }

    /// The characters of a string and its NUL, varying only: for an array whose size the interface fixes.
    pub fn varying_string(&mut self, text: &str) {
        let text: Vec<u16> = text.encode_utf16().chain([0]).collect();
        self.u32(0);
        self.count(text.len());
        text.iter().for_each(|unit| self.w.u16_le(*unit));
    }

    /// MS-DTYP 2.4.2.3: the conformant array's size comes before the structure that ends with it.
    fn sid_itself(&mut self, sid: &Sid) {
        self.count(sid.subs().len());
        sid.encode(&mut self.w);
    }

    /// The bytes of all arguments.
    pub fn into_stub(self) -> Vec<u8> {
        debug_assert!(self.waiting.is_empty(), "a pointer without what it points to");
        self.w.into_bytes()
    }

    /// How many bytes there are so far.
    pub fn len(&self) -> usize {
        self.w.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.w.is_empty()
    }
}
