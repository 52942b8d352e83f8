//! What the create contexts of a response say, MS-SMB2 2.2.14.2.

use std::borrow::Cow;

use wire::{Malformed, Reader, Writer};

use super::values::{DurableFlags, Lease};
use super::{RawContext, tag};
use crate::wire::Status;

/// MS-SMB2 2.2.14.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Context {
    /// MS-SMB2 2.2.14.2.3.
    Durable,
    /// MS-SMB2 2.2.14.2.12.
    DurableV2 {
        timeout_ms: u32,
        flags: DurableFlags,
    },
    /// MS-SMB2 2.2.14.2.5: whether the access is known, and the access mask.
    MaximalAccess {
        status: Status,
        access: u32,
    },
    /// MS-SMB2 2.2.14.2.9.
    DiskId {
        file: u64,
        volume: u64,
    },
    Lease(Lease),
    /// See [`crate::wire::aapl`].
    Apple(Vec<u8>),
    /// Of the POSIX extensions; `sids` are the owner's and the group's SID, one after the other.
    Posix {
        links: u32,
        reparse_tag: u32,
        mode: u32,
        sids: Vec<u8>,
    },
    Unknown {
        tag: Vec<u8>,
        data: Vec<u8>,
    },
}

impl Context {
    pub fn decode(raw: &RawContext<'_>) -> Result<Self, Malformed> {
        let mut r = Reader::new(&raw.data);
        let context = match &*raw.tag {
            tag::DURABLE_REQUEST => {
                r.skip(8)?; // reserved
                Self::Durable
            }
            tag::DURABLE_REQUEST_V2 => {
                Self::DurableV2 { timeout_ms: r.u32_le()?, flags: DurableFlags(r.u32_le()?) }
            }
            tag::MAXIMAL_ACCESS => Self::MaximalAccess { status: Status(r.u32_le()?), access: r.u32_le()? },
            tag::DISK_ID => {
                let (file, volume) = (r.u64_le()?, r.u64_le()?);
                r.skip(16)?; // reserved
                Self::DiskId { file, volume }
            }
            tag::LEASE => Self::Lease(Lease::decode(r.rest())?),
            tag::APPLE => Self::Apple(r.rest().to_vec()),
            tag::POSIX => {
                let (links, reparse_tag, mode) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
                Self::Posix { links, reparse_tag, mode, sids: r.rest().to_vec() }
            }
            tag => Self::Unknown { tag: tag.to_vec(), data: r.rest().to_vec() },
        };
        r.finish()?;
        Ok(context)
    }

    pub fn encode(&self) -> RawContext<'static> {
        let mut w = Writer::new();
        self.encode_data(&mut w);
        RawContext { tag: self.tag(), data: Cow::Owned(w.into_bytes()) }
    }

    fn tag(&self) -> Cow<'static, [u8]> {
        Cow::Borrowed(match self {
            Self::Durable => tag::DURABLE_REQUEST,
            Self::DurableV2 { .. } => tag::DURABLE_REQUEST_V2,
            Self::MaximalAccess { .. } => tag::MAXIMAL_ACCESS,
            Self::DiskId { .. } => tag::DISK_ID,
            Self::Lease(_) => tag::LEASE,
            Self::Apple(_) => tag::APPLE,
            Self::Posix { .. } => tag::POSIX,
            Self::Unknown { tag, .. } => return Cow::Owned(tag.clone()),
        })
    }

    fn encode_data(&self, w: &mut Writer) {
        match self {
            Self::Durable => w.zeros(8), // reserved
            Self::DurableV2 { timeout_ms, flags } => {
                w.u32_le(*timeout_ms);
                w.u32_le(flags.0);
            }
            Self::MaximalAccess { status, access } => {
                w.u32_le(status.0);
                w.u32_le(*access);
            }
            Self::DiskId { file, volume } => {
                w.u64_le(*file);
                w.u64_le(*volume);
                w.zeros(16); // reserved
            }
            Self::Lease(lease) => lease.encode(w),
            Self::Apple(data) | Self::Unknown { data, .. } => w.put(data),
            Self::Posix { links, reparse_tag, mode, sids } => {
                w.u32_le(*links);
                w.u32_le(*reparse_tag);
                w.u32_le(*mode);
                w.put(sids);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_name_and_layout() {
        // By MS-SMB2 2.2.14.2; the POSIX one as Samba's documentation of the extensions lays it out.
        let all: [(Context, &[u8], &[u8]); 7] = [
            (Context::Durable, b"DHnQ", &[0; 8]),
            (
                Context::DurableV2 { timeout_ms: 60_000, flags: DurableFlags::PERSISTENT },
                b"DH2Q",
                b"\x60\xea\0\0\x02\0\0\0",
            ),
            (
                Context::MaximalAccess { status: Status::SUCCESS, access: 0x001F_01FF },
                b"MxAc",
                b"\0\0\0\0\xff\x01\x1f\0",
            ),
            (
                Context::DiskId { file: 1, volume: 2 },
                b"QFid",
                b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            ),
            (Context::Apple(b"answer".to_vec()), b"AAPL", b"answer"),
            (
                Context::Posix { links: 1, reparse_tag: 0, mode: 0o644, sids: b"sids".to_vec() },
                b"\x93\xad\x25\x50\x9c\xb4\x11\xe7\xb4\x23\x83\xde\x96\x8b\xcd\x7c",
                b"\x01\0\0\0\0\0\0\0\xa4\x01\0\0sids",
            ),
            (Context::Unknown { tag: b"Nobo".to_vec(), data: b"dy".to_vec() }, b"Nobo", b"dy"),
        ];
        for (context, tag, data) in all {
            let raw = RawContext { tag: tag.into(), data: data.into() };
            assert_eq!(Context::decode(&raw).as_ref(), Ok(&context));
            assert_eq!(context.encode(), raw);
        }
    }

    #[test]
    fn fewer_or_more_bytes_are_malformed() {
        for (tag, len) in [(tag::DURABLE_REQUEST, 8), (tag::DURABLE_REQUEST_V2, 8), (tag::DISK_ID, 32)] {
            for wrong in [len - 1, len + 1] {
                let raw = RawContext { tag: tag.into(), data: vec![0; wrong].into() };
                assert!(Context::decode(&raw).is_err(), "{wrong} bytes");
            }
        }
    }
}
