//! SID, MS-DTYP 2.4.2.

use std::fmt;
use std::str::FromStr;

use crate::{Malformed, Reader, Writer};

/// An identity: an authority and up to 15 numbers below it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sid {
    /// 48 bits.
    authority: u64,
    count: u8,
    /// Zero after the first `count`.
    subs: [u32; Self::MAX_SUBS],
}

const REVISION: u8 = 1;

impl Sid {
    /// The most sub-authorities a SID has.
    pub const MAX_SUBS: usize = 15;

    /// A SID of our own.
    ///
    /// # Panics
    /// With more than 15 sub-authorities.
    pub const fn new(authority: u64, subs: &[u32]) -> Self {
        assert!(subs.len() <= Self::MAX_SUBS);
        let mut all = [0; Self::MAX_SUBS];
        let mut at = 0;
        while at < subs.len() {
            all[at] = subs[at];
            at += 1;
        }
        Self { authority, count: subs.len() as u8, subs: all }
    }

    /// The identifier authority.
    pub fn authority(&self) -> u64 {
        self.authority
    }

    /// The sub-authorities; the last is the relative identifier.
    pub fn subs(&self) -> &[u32] {
        &self.subs[..self.count.into()]
    }

    /// The SID of an account of this domain; none when it is too long already.
    pub fn with_rid(&self, rid: u32) -> Option<Self> {
        let mut sid = *self;
        *sid.subs.get_mut(usize::from(self.count))? = rid;
        sid.count += 1;
        Some(sid)
    }

    /// The numbers after `prefix` and the same authority. `None` if the SID does not begin with
    /// these.
    pub fn below(&self, prefix: &Sid) -> Option<&[u32]> {
        match self.authority == prefix.authority {
            true => self.subs().strip_prefix(prefix.subs()),
            false => None,
        }
    }

    /// The domain of an account, and its number in it. `None` for a SID without sub-authorities.
    pub fn split(&self) -> Option<(Self, u32)> {
        let (rid, above) = self.subs().split_last()?;
        Some((Self::new(self.authority, above), *rid))
    }

    /// How many bytes it takes.
    pub fn byte_len(&self) -> usize {
        8 + self.subs().len() * 4
    }

    /// Reads one.
    ///
    /// # Errors
    /// The revision is another one, there are too many sub-authorities, or bytes are missing.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        if r.u8()? != REVISION {
            return Err(Malformed("SID of another revision"));
        }
        let count = r.u8()?;
        if usize::from(count) > Self::MAX_SUBS {
            return Err(Malformed("SID with more than 15 sub-authorities"));
        }
        let authority = (u64::from(r.u16_be()?) << 32) | u64::from(r.u32_be()?);
        let mut subs = [0; Self::MAX_SUBS];
        for sub in &mut subs[..count.into()] {
            *sub = r.u32_le()?;
        }
        Ok(Self { authority, count, subs })
    }

    /// Appends it.
    pub fn encode(&self, w: &mut Writer) {
        w.u8(REVISION);
        w.u8(self.count);
        w.u16_be((self.authority >> 32) as u16);
        w.u32_be(self.authority as u32);
        for sub in self.subs() {
            w.u32_le(*sub);
        }
    }
}

/// S-1-5-32-544; an authority of 2^32 or more in hexadecimal, MS-DTYP 2.4.2.1.
impl fmt::Display for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.authority >> 32 {
            0 => write!(f, "S-1-{}", self.authority)?,
            _ => write!(f, "S-1-{:#014x}", self.authority)?,
        }
        self.subs().iter().try_for_each(|sub| write!(f, "-{sub}"))
    }
}

impl fmt::Debug for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Sid {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        parse(text).ok_or(Malformed("not a SID"))
    }
}

fn parse(text: &str) -> Option<Sid> {
    let mut parts = text.strip_prefix("S-1-").or_else(|| text.strip_prefix("s-1-"))?.split('-');
    let authority = parts.next()?;
    let authority = match authority.strip_prefix("0x").or_else(|| authority.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(digits(hex)?, 16).ok()?,
        None => digits(authority)?.parse().ok()?,
    };
    let mut sid = Sid { authority, count: 0, subs: [0; Sid::MAX_SUBS] };
    for part in parts {
        sid = sid.with_rid(digits(part)?.parse().ok()?)?;
    }
    (authority >> 48 == 0).then_some(sid)
}

/// No sign, which `parse` would take.
fn digits(text: &str) -> Option<&str> {
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(text)
}
