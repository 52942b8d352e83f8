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

wire::bits! {
    /// ReferralHeaderFlags, 2.2.4.
    pub ReferralFlags: u32 {
        REFERRAL_SERVERS = 1,
        STORAGE_SERVERS = 2,
        TARGET_FAILBACK = 4,
    }
}

/// RESP_GET_DFS_REFERRAL, 2.2.4: where a part of a path is. All entries have the same version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referrals {
    /// The part of the requested path that the targets stand for, as the client has spelled it.
    pub consumed: Vec<u16>,
    pub flags: ReferralFlags,
    /// ServerType: the targets are roots of namespaces, not targets of a link.
    pub is_root: bool,
    pub time_to_live_s: u32,
    /// The preferred one first.
    pub targets: Vec<Target>,
}

/// A target of a referral.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// `\server\share\...`.
    pub path: Vec<u16>,
    /// TargetSetBoundary: it is not as good as the one before it.
    pub begins_set: bool,
}

/// The bytes before the strings of an entry of the versions 2, 3 and 4.
const ENTRY_2: usize = 22;
const ENTRY_3: usize = 34;
/// ReferralEntryFlags of version 4: the first target of a set.
const TARGET_SET_BOUNDARY: u16 = 4;

impl Referrals {
    /// Writes entries of this version, 1 to 4: 2.2.5.1 to 2.2.5.4.
    pub fn encode(&self, version: u16, w: &mut Writer) {
        w.u16_le(text::byte_len(&self.consumed) as u16); // a path has at most 65,535 bytes
        w.u16_le(self.targets.len() as u16); // at most some tens
        w.u32_le(self.flags.0);
        match version {
            0 | 1 => self.targets.iter().for_each(|target| self.entry_1(&target.path, w)),
            2 => self.entries(2, ENTRY_2, w),
            version => self.entries(version.min(4), ENTRY_3, w),
        }
    }

    /// DFS_REFERRAL_V1, whose string is a part of it.
    fn entry_1(&self, target: &[u16], w: &mut Writer) {
        w.u16_le(1);
        w.u16_le((8 + text::byte_len(target) + 2) as u16);
        w.u16_le(u16::from(self.is_root));
        w.u16_le(0);
        text::put(w, target);
        w.u16_le(0);
    }

    /// The entries, and then their strings: the path, which all share, and each target.
    fn entries(&self, version: u16, size: usize, w: &mut Writer) {
        let all = size * self.targets.len();
        let path_size = text::byte_len(&self.consumed) as usize + 2;
        let mut target_at = all + path_size;
        for (number, target) in self.targets.iter().enumerate() {
            let own = number * size;
            w.u16_le(version);
            w.u16_le(size as u16);
            w.u16_le(u16::from(self.is_root));
            w.u16_le(if version == 4 && target.begins_set { TARGET_SET_BOUNDARY } else { 0 });
            if version == 2 {
                w.u32_le(0); // proximity
            }
            w.u32_le(self.time_to_live_s);
            for at in [all, all, target_at] {
                w.u16_le((at - own) as u16); // DFSPathOffset, DFSAlternatePathOffset, NetworkAddressOffset
            }
            w.zeros(size - if version == 2 { ENTRY_2 } else { 18 }); // ServiceSiteGuid
            target_at += text::byte_len(&target.path) as usize + 2;
        }
        for string in std::iter::once(&self.consumed).chain(self.targets.iter().map(|target| &target.path)) {
            text::put(w, string);
            w.u16_le(0);
        }
    }
}
