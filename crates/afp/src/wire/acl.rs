//! Access control lists, Apple Filing Protocol Reference, FPGetACL, FPSetACL, FPAccess, and "ACL Structures".

use wire::{Malformed, Reader, Writer, layout};

use super::Path;
use super::strings::even;

/// A user or group, as directory services identify it.
pub type Uuid = [u8; 16];

wire::bits! {
    /// The parts of a file's security that are read or set, "File Security Bitmap".
    pub Bitmap: u16 {
        OWNER = 1,
        GROUP = 2,
        ACL = 4,
        /// FPSetACL: removes the ACL.
        REMOVE_ACL = 8,
        /// FPSetACL: adds the entries that are inherited from the folder above.
        INHERIT = 16,
    }
}

layout! {
    /// One entry of an ACL, "kauth_ace".
    pub struct KauthAce {
        pub who: Uuid,
        /// [`KauthAce::PERMIT`] or [`KauthAce::DENY`], and the flags of inheritance.
        pub flags: u32,
        pub rights: u32,
    }
}

impl KauthAce {
    pub const LEN: usize = 24;

    /// The flags that contain the kind.
    pub const KIND: u32 = 0xf;
    pub const PERMIT: u32 = 1;
    pub const DENY: u32 = 2;
    pub const INHERITED: u32 = 0x10;
    pub const FILE_INHERIT: u32 = 0x20;
    pub const DIRECTORY_INHERIT: u32 = 0x40;
    pub const LIMIT_INHERIT: u32 = 0x80;
    pub const ONLY_INHERIT: u32 = 0x100;
}

/// An ACL, "kauth_acl".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KauthAcl {
    pub flags: u32,
    /// In the order of their evaluation.
    pub entries: Vec<KauthAce>,
}

impl KauthAcl {
    /// The file does not inherit from the folder above.
    pub const NO_INHERIT: u32 = 0x2_0000;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (count, flags) = (usize::try_from(r.u32_be()?).unwrap_or(usize::MAX), r.u32_be()?);
        if r.remaining() / KauthAce::LEN < count {
            return Err(Malformed("fewer entries than announced"));
        }
        let entries: Result<_, _> = (0..count).map(|_| KauthAce::decode(r)).collect();
        Ok(Self { flags, entries: entries? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_be(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        w.u32_be(self.flags);
        self.entries.iter().for_each(|entry| entry.encode(w));
    }
}

/// Owner, group and ACL, as far as a bitmap has them. The values of FPSetACL, and the reply to
/// FPGetACL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Security {
    pub owner: Option<Uuid>,
    pub group: Option<Uuid>,
    pub acl: Option<KauthAcl>,
}

impl Security {
    fn decode(bitmap: Bitmap, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let owner = bitmap.contains(Bitmap::OWNER).then(|| r.array()).transpose()?;
        let group = bitmap.contains(Bitmap::GROUP).then(|| r.array()).transpose()?;
        let acl = bitmap.contains(Bitmap::ACL).then(|| KauthAcl::decode(r)).transpose()?;
        Ok(Self { owner, group, acl })
    }

    fn encode(&self, w: &mut Writer) {
        self.owner.iter().chain(&self.group).for_each(|who| w.put(who));
        self.acl.iter().for_each(|acl| acl.encode(w));
    }

    /// The bits of the existing values.
    fn bitmap(&self) -> u16 {
        let bit = |is_there, bit: Bitmap| if is_there { bit.0 } else { 0 };
        bit(self.owner.is_some(), Bitmap::OWNER)
            | bit(self.group.is_some(), Bitmap::GROUP)
            | bit(self.acl.is_some(), Bitmap::ACL)
    }
}

layout! {
    /// FPGetACL, request.
    pub struct Get<'a> [1] {
        pub volume: u16,
        pub directory: u32,
        pub bitmap: Bitmap,
        /// The longest reply; 0 for any length.
        pub max_reply: u32,
        pub path: Path<'a>,
    }
}

/// FPGetACL, reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply(pub Security);

impl Reply {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let bitmap = Bitmap(r.u16_be()?);
        Security::decode(bitmap, r).map(Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(self.0.bitmap());
        self.0.encode(w);
    }
}

/// FPSetACL, request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set<'a> {
    pub volume: u16,
    pub directory: u32,
    /// [`Bitmap::REMOVE_ACL`] and [`Bitmap::INHERIT`]; the bits of values follow from the values.
    pub bitmap: Bitmap,
    pub path: Path<'a>,
    pub security: Security,
}

impl<'a> Set<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        let (volume, directory, bitmap) = (r.u16_be()?, r.u32_be()?, Bitmap(r.u16_be()?));
        let path = Path::decode(r)?;
        even::skip(r)?;
        Ok(Self { volume, directory, bitmap, path, security: Security::decode(bitmap, r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        let values = Bitmap::OWNER.0 | Bitmap::GROUP.0 | Bitmap::ACL.0;
        w.u8(0);
        w.u16_be(self.volume);
        w.u32_be(self.directory);
        w.u16_be(self.bitmap.0 & !values | self.security.bitmap());
        self.path.encode(w);
        even::pad(w, start);
        self.security.encode(w);
    }
}

layout! {
    /// FPAccess, request.
    pub struct Access<'a> [1] {
        pub volume: u16,
        pub directory: u32 [2],
        /// The user that the client asks for: its own user.
        pub who: Uuid,
        /// All rights that it needs.
        pub rights: u32,
        pub path: Path<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The layouts are those of the request and reply blocks of the Apple Filing Protocol Reference.

    const WHO: Uuid = *b"0123456789abcdef";

    fn acl() -> KauthAcl {
        KauthAcl {
            flags: 0,
            entries: vec![KauthAce { who: WHO, flags: KauthAce::PERMIT | KauthAce::INHERITED, rights: 6 }],
        }
    }

    #[test]
    fn security_is_asked_for_and_answered_by_bitmap() {
        let bytes = b"\0\0\x01\0\0\0\x02\0\x07\0\0\x10\0\x02\x01f";
        let get = Get { volume: 1, directory: 2, bitmap: Bitmap(7), max_reply: 4096, path: Path::long(b"f") };
        assert_eq!(Get::decode(&mut Reader::new(bytes)), Ok(get));
        let mut w = Writer::new();
        get.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);

        let bytes = b"\0\x060123456789abcdef\0\0\0\x01\0\0\0\x000123456789abcdef\0\0\0\x11\0\0\0\x06";
        let reply = Reply(Security { owner: None, group: Some(WHO), acl: Some(acl()) });
        assert_eq!(Reply::decode(&mut Reader::new(bytes)), Ok(reply.clone()));
        let mut w = Writer::new();
        reply.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
    }

    #[test]
    fn security_is_set_from_an_even_offset_on() {
        // 14 bytes with the command before the ACL: no padding.
        let bytes =
            b"\0\0\x01\0\0\0\x02\0\x14\x02\x02fi\0\0\0\x01\0\0\0\x000123456789abcdef\0\0\0\x11\0\0\0\x06";
        let security = Security { acl: Some(acl()), ..Security::default() };
        let bitmap = Bitmap(Bitmap::ACL.0 | Bitmap::INHERIT.0);
        let set = Set { volume: 1, directory: 2, bitmap, path: Path::long(b"fi"), security };
        assert_eq!(Set::decode(&mut Reader::new(bytes)), Ok(set.clone()));
        let mut w = Writer::new();
        set.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);

        let removing = b"\0\0\x01\0\0\0\x02\0\x08\x02\x01f\0";
        let set = Set::decode(&mut Reader::new(removing)).unwrap();
        assert_eq!((set.bitmap, set.security), (Bitmap::REMOVE_ACL, Security::default()));
        assert!(Set::decode(&mut Reader::new(&removing[..12])).is_ok(), "no byte is left for padding");
    }

    #[test]
    fn an_acl_has_no_more_entries_than_there_are_bytes_for() {
        let bytes = b"\xff\xff\xff\xff\0\0\0\x000123456789abcdef\0\0\0\x11\0\0\0\x06";
        assert!(KauthAcl::decode(&mut Reader::new(bytes)).is_err());
    }

    #[test]
    fn access_is_asked_for_by_uuid_and_rights() {
        let bytes = b"\0\0\x01\0\0\0\x02\0\x000123456789abcdef\0\0\0\x06\x02\x01f";
        let access = Access { volume: 1, directory: 2, who: WHO, rights: 6, path: Path::long(b"f") };
        assert_eq!(Access::decode(&mut Reader::new(bytes)), Ok(access));
        let mut w = Writer::new();
        access.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
    }
}
