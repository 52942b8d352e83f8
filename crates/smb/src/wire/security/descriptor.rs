//! SECURITY_DESCRIPTOR, self-relative, MS-DTYP 2.4.6, and SECURITY_INFORMATION, 2.4.7.

use wire::{Malformed, Reader, Writer};

use super::{Acl, Sid};
wire::bits! {
    /// Control.
    pub Control: u16 {
        OWNER_DEFAULTED = 0x0001,
        GROUP_DEFAULTED = 0x0002,
        DACL_PRESENT = 0x0004,
        DACL_DEFAULTED = 0x0008,
        SACL_PRESENT = 0x0010,
        SACL_DEFAULTED = 0x0020,
        DACL_AUTO_INHERIT_REQUIRED = 0x0100,
        SACL_AUTO_INHERIT_REQUIRED = 0x0200,
        DACL_AUTO_INHERITED = 0x0400,
        SACL_AUTO_INHERITED = 0x0800,
        DACL_PROTECTED = 0x1000,
        SACL_PROTECTED = 0x2000,
        RM_CONTROL_VALID = 0x4000,
        SELF_RELATIVE = 0x8000,
    }
}

wire::bits! {
    /// Which parts of a descriptor are asked for or set: AdditionalInformation of QUERY_INFO and SET_INFO.
    pub SecurityInformation: u32 {
        OWNER = 0x0000_0001,
        GROUP = 0x0000_0002,
        DACL = 0x0000_0004,
        SACL = 0x0000_0008,
        LABEL = 0x0000_0010,
        ATTRIBUTE = 0x0000_0020,
        SCOPE = 0x0000_0040,
        BACKUP = 0x0001_0000,
        UNPROTECTED_SACL = 0x1000_0000,
        UNPROTECTED_DACL = 0x2000_0000,
        PROTECTED_SACL = 0x4000_0000,
        PROTECTED_DACL = 0x8000_0000,
    }
}

/// The owner of a file and the access rights on it.
///
/// `DACL_PRESENT` without a `dacl` is a NULL list: every user may do everything. A `dacl` without
/// entries lets no user in.
/// Writing sets `SELF_RELATIVE`, and the present bit of each list there is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityDescriptor {
    pub control: Control,
    pub owner: Option<Sid>,
    pub group: Option<Sid>,
    pub sacl: Option<Acl>,
    pub dacl: Option<Acl>,
}

const REVISION: u8 = 1;
const HEADER_LEN: usize = 20;

impl SecurityDescriptor {
    /// How many bytes it takes.
    pub fn byte_len(&self) -> usize {
        let sids = [&self.owner, &self.group].into_iter().flatten().map(Sid::byte_len).sum::<usize>();
        let acls = [&self.sacl, &self.dacl].into_iter().flatten().map(Acl::byte_len).sum::<usize>();
        HEADER_LEN + sids + acls
    }

    /// Offsets count from the first byte of `bytes`. A list is ignored if its present bit is not
    /// set.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        if r.u8()? != REVISION {
            return Err(Malformed("security descriptor of another revision"));
        }
        r.skip(1)?;
        let control = Control(r.u16_le()?);
        if !control.contains(Control::SELF_RELATIVE) {
            return Err(Malformed("security descriptor with pointers"));
        }
        let (owner, group) = (part(bytes, r.u32_le()?)?, part(bytes, r.u32_le()?)?);
        let (sacl, dacl) = (part(bytes, r.u32_le()?)?, part(bytes, r.u32_le()?)?);
        let acl = |part: Option<Reader<'_>>, present| {
            part.filter(|_| control.contains(present)).map(|mut r| Acl::decode(&mut r)).transpose()
        };
        Ok(Self {
            control,
            owner: owner.map(|mut r| Sid::decode(&mut r)).transpose()?,
            group: group.map(|mut r| Sid::decode(&mut r)).transpose()?,
            sacl: acl(sacl, Control::SACL_PRESENT)?,
            dacl: acl(dacl, Control::DACL_PRESENT)?,
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        let mut control = self.control | Control::SELF_RELATIVE;
        for (_, present) in [(&self.sacl, Control::SACL_PRESENT), (&self.dacl, Control::DACL_PRESENT)]
            .iter()
            .filter(|(acl, _)| acl.is_some())
        {
            control |= *present;
        }
        w.u8(REVISION);
        w.u8(0);
        w.u16_le(control.0);
        w.zeros(16);
        let place = |w: &mut Writer, field: usize| w.patch_u32_le(start + field, (w.len() - start) as u32);
        for (field, sid) in [(4, &self.owner), (8, &self.group)] {
            if let Some(sid) = sid {
                place(w, field);
                sid.encode(w);
            }
        }
        for (field, acl) in [(12, &self.sacl), (16, &self.dacl)] {
            if let Some(acl) = acl {
                place(w, field);
                acl.encode(w);
            }
        }
    }
}

/// The value at an offset. `None` at 0.
fn part(bytes: &[u8], offset: u32) -> Result<Option<Reader<'_>>, Malformed> {
    let mut r = Reader::new(bytes);
    match offset as usize {
        0 => Ok(None),
        offset if offset < HEADER_LEN => Err(Malformed("part of a security descriptor inside its header")),
        offset => r.skip(offset).map(|()| Some(r)),
    }
}
