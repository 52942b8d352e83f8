//! DFS_GET_REFERRALS, MS-DFSC 2.2.2 and 2.2.3.

use wire::{Malformed, Reader, Writer};

use crate::wire::text;

/// REQ_GET_DFS_REFERRAL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub max_referral_level: u16,
    /// `\server\share\...`, without the NUL that ends it.
    pub path: Vec<u16>,
}

impl Request {
    /// Bytes after the NUL are ignored.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let max_referral_level = r.u16_le()?;
        let mut path = Vec::new();
        loop {
            match r.u16_le()? {
                0 => break,
                unit => path.push(unit),
            }
        }
        Ok(Self { max_referral_level, path })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(self.max_referral_level);
        text::put(w, &self.path);
        w.u16_le(0);
    }
}

/// REQ_GET_DFS_REFERRAL_EX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEx {
    pub max_referral_level: u16,
    pub path: Vec<u16>,
    pub site: Option<Vec<u16>>,
}

/// RequestFlags: a site's name follows.
const SITE_NAME: u16 = 1;

impl RequestEx {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (max_referral_level, flags, len) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
        let mut r = Reader::new(r.take(len as usize)?);
        let path = name(&mut r)?;
        let site = if flags & SITE_NAME != 0 { Some(name(&mut r)?) } else { None };
        Ok(Self { max_referral_level, path, site })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(self.max_referral_level);
        w.u16_le(if self.site.is_some() { SITE_NAME } else { 0 });
        let len_at = w.len();
        w.u32_le(0);
        for name in [Some(&self.path), self.site.as_ref()].into_iter().flatten() {
            w.u16_le(text::byte_len(name) as u16);
            text::put(w, name);
        }
        w.patch_u32_le(len_at, (w.len() - len_at - 4) as u32);
    }
}

/// A length u16 in bytes, then the units.
fn name(r: &mut Reader<'_>) -> Result<Vec<u16>, Malformed> {
    let len = r.u16_le()?;
    text::units(r, len.into())
}
