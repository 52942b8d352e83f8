//! ACE, MS-DTYP 2.4.4, and ACL, 2.4.5.

use wire::{Malformed, Reader, Writer};

use super::{AccessMask, Sid};

wire::number! {
    /// AceType.
    pub AceType: u8 {
        ALLOWED = 0x00,
        DENIED = 0x01,
        AUDIT = 0x02,
        ALARM = 0x03,
        ALLOWED_OBJECT = 0x05,
        DENIED_OBJECT = 0x06,
        AUDIT_OBJECT = 0x07,
        ALLOWED_CALLBACK = 0x09,
        DENIED_CALLBACK = 0x0A,
        ALLOWED_CALLBACK_OBJECT = 0x0B,
        DENIED_CALLBACK_OBJECT = 0x0C,
        AUDIT_CALLBACK = 0x0D,
        AUDIT_CALLBACK_OBJECT = 0x0F,
        MANDATORY_LABEL = 0x11,
        RESOURCE_ATTRIBUTE = 0x12,
        SCOPED_POLICY_ID = 0x13,
    }
}

impl AceType {
    /// Whether it consists of a mask, a SID and data that depend on the type.
    fn is_plain(self) -> bool {
        matches!(self.0, 0x00..=0x03 | 0x09 | 0x0A | 0x0D | 0x11..=0x13)
    }
}

wire::bits! {
    /// AceFlags.
    pub AceFlags: u8 {
        OBJECT_INHERIT = 0x01,
        CONTAINER_INHERIT = 0x02,
        NO_PROPAGATE_INHERIT = 0x04,
        INHERIT_ONLY = 0x08,
        INHERITED = 0x10,
        SUCCESSFUL_ACCESS = 0x40,
        FAILED_ACCESS = 0x80,
    }
}

/// An entry of an access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ace {
    pub kind: AceType,
    pub flags: AceFlags,
    pub body: AceBody,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AceBody {
    /// Rights and the SID that gets or loses them. `rest` is a callback's condition or a resource's
    /// attribute, and mostly empty.
    Plain { mask: AccessMask, sid: Sid, rest: Vec<u8> },
    /// Entries with object types, and unknown ones: kept as bytes.
    Other(Vec<u8>),
}

impl Ace {
    /// An entry that allows.
    pub fn allow(sid: Sid, mask: AccessMask, flags: AceFlags) -> Self {
        Self { kind: AceType::ALLOWED, flags, body: AceBody::Plain { mask, sid, rest: Vec::new() } }
    }

    /// An entry that denies.
    pub fn deny(sid: Sid, mask: AccessMask, flags: AceFlags) -> Self {
        Self { kind: AceType::DENIED, ..Self::allow(sid, mask, flags) }
    }

    /// How many bytes it takes, a multiple of 4.
    pub fn byte_len(&self) -> usize {
        let len = match &self.body {
            AceBody::Plain { sid, rest, .. } => 8 + sid.byte_len() + rest.len(),
            AceBody::Other(data) => 4 + data.len(),
        };
        len.next_multiple_of(4)
    }

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, flags) = (AceType(r.u8()?), AceFlags(r.u8()?));
        let size = usize::from(r.u16_le()?);
        let body = r.take(size.checked_sub(4).ok_or(Malformed("ACE smaller than its header"))?)?;
        let body = match kind.is_plain() {
            true => plain(&mut Reader::new(body))?,
            false => AceBody::Other(body.to_vec()),
        };
        Ok(Self { kind, flags, body })
    }

    /// An entry longer than its length can say is cut; none that was decoded is.
    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        let len = self.byte_len().min(MAX_LEN);
        w.u8(self.kind.0);
        w.u8(self.flags.0);
        w.u16_le(len as u16);
        match &self.body {
            AceBody::Plain { mask, sid, rest } => {
                w.u32_le(mask.0);
                sid.encode(w);
                w.put(rest);
            }
            AceBody::Other(data) => w.put(data),
        }
        w.truncate(start + len);
        w.zeros(start + len - w.len());
    }
}

/// The largest multiple of 4 that 16 bits hold.
const MAX_LEN: usize = 0xFFFC;

fn plain(r: &mut Reader<'_>) -> Result<AceBody, Malformed> {
    let mask = AccessMask(r.u32_le()?);
    let sid = Sid::decode(r)?;
    Ok(AceBody::Plain { mask, sid, rest: r.rest().to_vec() })
}

/// An access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    /// 2, or 4 with object types.
    pub revision: u8,
    pub aces: Vec<Ace>,
}

impl Acl {
    /// A list without object types.
    pub fn new(aces: Vec<Ace>) -> Self {
        Self { revision: 2, aces }
    }

    /// How many bytes it takes.
    pub fn byte_len(&self) -> usize {
        8 + self.aces.iter().map(Ace::byte_len).sum::<usize>()
    }

    /// Unused space after the entries of the list is ignored.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let revision = r.u8()?;
        r.skip(1)?;
        let size = usize::from(r.u16_le()?);
        let (count, _) = (r.u16_le()?, r.u16_le()?);
        let mut r =
            Reader::new(r.take(size.checked_sub(8).ok_or(Malformed("ACL smaller than its header"))?)?);
        let aces = (0..count).map(|_| Ace::decode(&mut r)).collect::<Result<_, _>>()?;
        Ok(Self { revision, aces })
    }

    /// Entries that do not fit in 64 KiB are left out: ask [`byte_len`](Self::byte_len) before.
    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u8(self.revision);
        w.zeros(7);
        let mut count = 0;
        for ace in &self.aces {
            if w.len() - start + ace.byte_len() > MAX_LEN {
                break;
            }
            ace.encode(w);
            count += 1;
        }
        w.patch_u16_le(start + 2, (w.len() - start) as u16);
        w.patch_u16_le(start + 4, count);
    }
}
