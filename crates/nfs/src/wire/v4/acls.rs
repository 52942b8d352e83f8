//! Access control lists, RFC 7530 6.2.1 and RFC 8881 6.2.

use super::types::*;
use super::*;

enumeration! {
    /// acetype4.
    pub struct AceType;
    ALLOWED = 0,
    DENIED = 1,
    AUDIT = 2,
    ALARM = 3,
}

record! {
    /// nfsace4: an entry of a list.
    pub struct Ace<'a> {
        pub kind: AceType,
        /// aceflag4.
        pub flags: u32,
        /// acemask4.
        pub mask: u32,
        /// The users that it is about.
        pub who: OwnerName<'a>,
    }

    /// nfsacl41: a list, and where it comes from. From minor version 1.
    #[derive(Default)]
    pub struct FlaggedAces<'a> {
        /// aclflag4.
        pub flags: u32,
        pub aces: Aces<'a>,
    }

    /// mode_masked4: those bits of a mode that are in `mask`. From minor version 1. And mode_umask4, RFC 8275: the mode that a
    /// program wants for a new file, and the bits that its umask takes. In minor version 2.
    pub struct MaskedMode {
        pub value: u32,
        pub mask: u32,
    }
}

/// A counted array of nfsace4, kept as it is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Aces<'a> {
    count: u32,
    bytes: &'a [u8],
}

impl<'a> Aces<'a> {
    /// The most entries that are decoded. More do not fit in [`VALUES_LIMIT`] bytes.
    pub const LIMIT: u32 = (VALUES_LIMIT / 16) as u32;

    /// Entries that were written one after the other.
    pub fn new(count: u32, bytes: &'a [u8]) -> Self {
        Self { count, bytes }
    }

    /// How many entries there are.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The entries in their order.
    pub fn iter(&self) -> impl Iterator<Item = Ace<'a>> + use<'a> {
        let mut r = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| Ace::decode(&mut r).ok())
    }
}

impl<'a> Decode<'a> for Aces<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = r.u32_be()?;
        if count > Self::LIMIT {
            return Err(Malformed("more entries of an ACL than the limit"));
        }
        let start = r.clone();
        for _ in 0..count {
            Ace::decode(r)?;
        }
        let length = start.remaining() - r.remaining();
        Ok(Self { count, bytes: start.clone().take(length)? })
    }
}

impl Encode for Aces<'_> {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(self.count);
        w.put(self.bytes);
    }
}
