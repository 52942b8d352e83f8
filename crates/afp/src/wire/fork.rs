//! Forks of files: opening, reading, writing, Apple Filing Protocol Reference, FPOpenFork to FPSyncFork.
//!
//! Requests decode from the byte after the command's number. Bytes after the last field are
//! ignored. Offsets and lengths are signed; they have 64 bits in the commands whose names end in
//! Ext, and 32 bits in the others.

use wire::{Malformed, Reader, Writer, layout};

use super::strings::{high_bit, rest};
use super::{FileBitmap, Path};

/// The size of offsets and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// FPRead, FPWrite, FPByteRangeLock.
    Bits32,
    /// FPReadExt, FPWriteExt, FPByteRangeLockExt.
    Bits64,
}

impl Width {
    pub(super) fn decode(self, r: &mut Reader<'_>) -> Result<i64, Malformed> {
        match self {
            Self::Bits32 => Ok(r.i32_be()?.into()),
            Self::Bits64 => r.i64_be(),
        }
    }

    /// Whether a value fits.
    pub fn can_say(self, value: i64) -> bool {
        self == Self::Bits64 || i32::try_from(value).is_ok()
    }

    /// A value that does not fit is truncated: the caller knows the limit.
    pub(super) fn encode(self, value: i64, w: &mut Writer) {
        match self {
            Self::Bits32 => w.i32_be(value as i32),
            Self::Bits64 => w.i64_be(value),
        }
    }
}

wire::bits! {
    /// The client's access to a fork, and the access that it denies to others meanwhile.
    pub AccessMode: u16 {
        READ = 0x01,
        WRITE = 0x02,
        DENY_READ = 0x10,
        DENY_WRITE = 0x20,
    }
}

layout! {
    /// FPOpenFork.
    pub struct OpenFork<'a> {
        /// It is the resource fork, not the data fork.
        pub resource: bool => high_bit,
        pub volume: u16,
        pub folder: u32,
        /// Parameters of the file for the reply.
        pub bitmap: FileBitmap,
        pub access: AccessMode,
        pub path: Path<'a>,
    }
}

layout! {
    /// The reply to FPOpenFork. A deny conflict has it, too; its fork is then 0.
    pub struct OpenForkReply<'a> {
        pub bitmap: FileBitmap,
        /// The client's number for the fork from now on.
        pub fork: u16,
        /// The parameters of the bitmap.
        pub parameters: &'a [u8] => rest,
    }

    /// The request of FPCloseFork, FPFlushFork and FPSyncFork, with the fork.
    pub struct OneFork [1] {
        pub fork: u16,
    }
}

/// FPRead and FPReadExt. The reply has only the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    pub fork: u16,
    pub offset: i64,
    /// The most bytes to read.
    pub count: i64,
    /// The bits of a byte that are compared with `newline`. 0: no byte ends the read. Only in
    /// FPRead.
    pub newline_mask: u8,
    /// The read ends after this byte.
    pub newline: u8,
}

impl Read {
    pub fn decode(width: Width, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // pad
        let (fork, offset, count) = (r.u16_be()?, width.decode(r)?, width.decode(r)?);
        let (newline_mask, newline) = match width {
            Width::Bits32 => (r.u8()?, r.u8()?),
            Width::Bits64 => (0, 0),
        };
        Ok(Self { fork, offset, count, newline_mask, newline })
    }

    pub fn encode(&self, width: Width, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.fork);
        width.encode(self.offset, w);
        width.encode(self.count, w);
        if width == Width::Bits32 {
            w.u8(self.newline_mask);
            w.u8(self.newline);
        }
    }
}

/// FPWrite and FPWriteExt. The data follow at the offset in the frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// `offset` counts from the end of the fork.
    pub from_end: bool,
    pub fork: u16,
    pub offset: i64,
    /// How many bytes to write.
    pub count: i64,
}

impl Write {
    /// In the flags of FPWrite and FPByteRangeLock.
    pub(super) const FROM_END: u8 = 0x80;

    pub fn decode(width: Width, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            from_end: r.u8()? & Self::FROM_END != 0,
            fork: r.u16_be()?,
            offset: width.decode(r)?,
            count: width.decode(r)?,
        })
    }

    pub fn encode(&self, width: Width, w: &mut Writer) {
        w.u8(if self.from_end { Self::FROM_END } else { 0 });
        w.u16_be(self.fork);
        width.encode(self.offset, w);
        width.encode(self.count, w);
    }
}

/// The reply to FPWrite and FPWriteExt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteReply {
    /// The offset after the last written byte.
    pub end: i64,
}

impl WriteReply {
    pub fn decode(width: Width, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { end: width.decode(r)? })
    }

    pub fn encode(&self, width: Width, w: &mut Writer) {
        width.encode(self.end, w);
    }
}

layout! {
    /// FPGetForkParms.
    pub struct GetForkParms [1] {
        pub fork: u16,
        pub bitmap: FileBitmap,
    }

    /// The reply to FPGetForkParms.
    pub struct GetForkParmsReply<'a> {
        pub bitmap: FileBitmap,
        /// The parameters of the bitmap.
        pub parameters: &'a [u8] => rest,
    }
}

/// FPSetForkParms: the new length of the fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetForkParms {
    pub fork: u16,
    /// The length's bit.
    pub bitmap: FileBitmap,
    /// Has 64 bits when the bitmap names an extended length.
    pub length: i64,
}

impl SetForkParms {
    const EXTENDED: FileBitmap = FileBitmap::EXTENDED_DATA_LENGTH.union(FileBitmap::EXTENDED_RESOURCE_LENGTH);

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // pad
        let (fork, bitmap) = (r.u16_be()?, FileBitmap(r.u16_be()?));
        Ok(Self { fork, bitmap, length: Self::width(bitmap).decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.fork);
        w.u16_be(self.bitmap.0);
        Self::width(self.bitmap).encode(self.length, w);
    }

    fn width(bitmap: FileBitmap) -> Width {
        if bitmap.intersects(Self::EXTENDED) { Width::Bits64 } else { Width::Bits32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that `bytes`, encoded by hand from the reference, are `value`, and that no byte can
    /// be left out.
    macro_rules! laid_out {
        ($type:ty, $bytes:expr, $value:expr $(, $width:expr)?) => {{
            let (bytes, value): (&[u8], $type) = ($bytes, $value);
            assert_eq!(<$type>::decode($($width,)? &mut Reader::new(bytes)), Ok(value));
            let mut w = Writer::new();
            value.encode($($width,)? &mut w);
            assert_eq!(w.as_bytes(), bytes);
        }};
    }

    #[test]
    fn a_fork_is_opened_by_volume_folder_and_path() {
        let bytes = b"\x80\0\x01\0\0\0\x02\x04\x42\0\x33\x02\x05notes";
        let open = OpenFork {
            resource: true,
            volume: 1,
            folder: 2,
            bitmap: FileBitmap::PARENT_ID.union(FileBitmap::LONG_NAME).union(FileBitmap::RESOURCE_LENGTH),
            access: AccessMode(0x33),
            path: Path::long(b"notes"),
        };
        // The reference's bitmap: bits 1, 6 and 10.
        laid_out!(OpenFork<'_>, bytes, open);
        assert!(open.access.contains(AccessMode::READ | AccessMode::DENY_WRITE));
        laid_out!(
            OpenForkReply<'_>,
            b"\0\x01\0\x07\0\x20",
            OpenForkReply { bitmap: FileBitmap::ATTRIBUTES, fork: 7, parameters: b"\0\x20" }
        );
        laid_out!(OneFork, b"\0\0\x07", OneFork { fork: 7 });
    }

    #[test]
    fn a_read_of_32_bits_has_a_newline_and_one_of_64_has_none() {
        let short = Read { fork: 7, offset: 0x0102_0304, count: 4096, newline_mask: 0x7f, newline: 13 };
        laid_out!(Read, b"\0\0\x07\x01\x02\x03\x04\0\0\x10\0\x7f\x0d", short, Width::Bits32);
        let long = Read { offset: 1 << 32, newline_mask: 0, newline: 0, ..short };
        laid_out!(Read, b"\0\0\x07\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\x10\0", long, Width::Bits64);
    }

    #[test]
    fn offsets_of_32_bits_are_signed() {
        let write = Write { from_end: true, fork: 7, offset: -2, count: 3 };
        laid_out!(Write, b"\x80\0\x07\xff\xff\xff\xfe\0\0\0\x03", write, Width::Bits32);
        let write = Write { from_end: false, offset: 5 << 32, ..write };
        laid_out!(Write, b"\0\0\x07\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\x03", write, Width::Bits64);
        laid_out!(WriteReply, b"\0\0\0\x09", WriteReply { end: 9 }, Width::Bits32);
        laid_out!(WriteReply, b"\0\0\0\x01\0\0\0\x09", WriteReply { end: (1 << 32) + 9 }, Width::Bits64);
    }

    #[test]
    fn a_length_has_as_many_bits_as_its_parameter() {
        let (data, resource) = (FileBitmap::DATA_LENGTH, FileBitmap::EXTENDED_RESOURCE_LENGTH);
        laid_out!(GetForkParms, b"\0\0\x07\x02\0", GetForkParms { fork: 7, bitmap: data });
        let reply = GetForkParmsReply { bitmap: data, parameters: b"\0\0\0\x03" };
        laid_out!(GetForkParmsReply<'_>, b"\x02\0\0\0\0\x03", reply);
        let short = SetForkParms { fork: 7, bitmap: data, length: 3 };
        laid_out!(SetForkParms, b"\0\0\x07\x02\0\0\0\0\x03", short);
        let long = SetForkParms { fork: 7, bitmap: resource, length: 1 << 33 };
        laid_out!(SetForkParms, b"\0\0\x07\x40\0\0\0\0\x02\0\0\0\0", long);
        assert!(SetForkParms::decode(&mut Reader::new(b"\0\0\x07\x40\0\0\0\0\x02")).is_err());
    }
}
