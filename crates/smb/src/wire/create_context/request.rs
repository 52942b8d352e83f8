//! What the create contexts of a request say, MS-SMB2 2.2.13.2.

use std::borrow::Cow;

use wire::{Malformed, Reader, Writer};

use super::values::{DurableFlags, Lease};
use super::{RawContext, tag};
use crate::wire::FileKey;

/// MS-SMB2 2.2.13.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context<'a> {
    /// A list of FILE_FULL_EA_INFORMATION, 2.2.13.2.1.
    EaBuffer(&'a [u8]),
    /// A self-relative security descriptor, 2.2.13.2.2.
    SecurityDescriptor(&'a [u8]),
    /// MS-SMB2 2.2.13.2.3.
    DurableRequest,
    /// MS-SMB2 2.2.13.2.4.
    DurableReconnect(FileKey),
    /// MS-SMB2 2.2.13.2.11.
    DurableRequestV2 {
        timeout_ms: u32,
        flags: DurableFlags,
        create_guid: [u8; 16],
    },
    /// MS-SMB2 2.2.13.2.12.
    DurableReconnectV2 {
        file: FileKey,
        create_guid: [u8; 16],
        flags: DurableFlags,
    },
    /// MS-SMB2 2.2.13.2.6.
    AllocationSize(u64),
    /// MS-SMB2 2.2.13.2.5: the time (a FILETIME) of the file's last change that the client knows.
    /// If it is still the same, the client wants no answer.
    MaximalAccess(Option<u64>),
    /// The snapshot of this time (a FILETIME), 2.2.13.2.7.
    Timewarp(u64),
    /// MS-SMB2 2.2.13.2.9.
    DiskId,
    Lease(Lease),
    /// MS-SMB2 2.2.13.2.13.
    AppInstanceId([u8; 16]),
    /// MS-SMB2 2.2.13.2.15.
    AppInstanceVersion {
        high: u64,
        low: u64,
    },
    /// See [`crate::wire::aapl`].
    Apple(&'a [u8]),
    /// The mode of a file to be made.
    Posix(u32),
    /// SVHDX_OPEN_DEVICE_CONTEXT (2.2.13.2.14), and unknown contexts.
    Unknown {
        tag: &'a [u8],
        data: &'a [u8],
    },
}

impl<'a> Context<'a> {
    pub fn decode(raw: &'a RawContext<'_>) -> Result<Self, Malformed> {
        let (tag, data): (&[u8], &[u8]) = (&raw.tag, &raw.data);
        let mut r = Reader::new(data);
        let context = match tag {
            tag::EA_BUFFER => Self::EaBuffer(r.rest()),
            tag::SECURITY_DESCRIPTOR => Self::SecurityDescriptor(r.rest()),
            tag::DURABLE_REQUEST => {
                r.skip(16)?; // reserved
                Self::DurableRequest
            }
            tag::DURABLE_RECONNECT => Self::DurableReconnect(FileKey::decode(&mut r)?),
            tag::DURABLE_REQUEST_V2 => {
                let (timeout_ms, flags) = (r.u32_le()?, DurableFlags(r.u32_le()?));
                r.skip(8)?; // reserved
                Self::DurableRequestV2 { timeout_ms, flags, create_guid: r.array()? }
            }
            tag::DURABLE_RECONNECT_V2 => {
                let (file, create_guid) = (FileKey::decode(&mut r)?, r.array()?);
                Self::DurableReconnectV2 { file, create_guid, flags: DurableFlags(r.u32_le()?) }
            }
            tag::ALLOCATION_SIZE => Self::AllocationSize(r.u64_le()?),
            tag::MAXIMAL_ACCESS if data.is_empty() => Self::MaximalAccess(None),
            tag::MAXIMAL_ACCESS => Self::MaximalAccess(Some(r.u64_le()?)),
            tag::TIMEWARP => Self::Timewarp(r.u64_le()?),
            tag::DISK_ID => Self::DiskId,
            tag::LEASE => Self::Lease(Lease::decode(r.rest())?),
            tag::APP_INSTANCE_ID => Self::AppInstanceId(app_instance(&mut r, 20)?.array()?),
            tag::APP_INSTANCE_VERSION => {
                app_instance(&mut r, 24)?.skip(4)?; // padding
                Self::AppInstanceVersion { high: r.u64_le()?, low: r.u64_le()? }
            }
            tag::APPLE => Self::Apple(r.rest()),
            tag::POSIX => Self::Posix(r.u32_le()?),
            _ => Self::Unknown { tag, data: r.rest() },
        };
        r.finish()?;
        Ok(context)
    }

    pub fn encode(&self) -> RawContext<'a> {
        let mut w = Writer::new();
        self.encode_data(&mut w);
        RawContext { tag: Cow::Borrowed(self.tag()), data: Cow::Owned(w.into_bytes()) }
    }

    fn tag(&self) -> &'a [u8] {
        match self {
            Self::EaBuffer(_) => tag::EA_BUFFER,
            Self::SecurityDescriptor(_) => tag::SECURITY_DESCRIPTOR,
            Self::DurableRequest => tag::DURABLE_REQUEST,
            Self::DurableReconnect(_) => tag::DURABLE_RECONNECT,
            Self::DurableRequestV2 { .. } => tag::DURABLE_REQUEST_V2,
            Self::DurableReconnectV2 { .. } => tag::DURABLE_RECONNECT_V2,
            Self::AllocationSize(_) => tag::ALLOCATION_SIZE,
            Self::MaximalAccess(_) => tag::MAXIMAL_ACCESS,
            Self::Timewarp(_) => tag::TIMEWARP,
            Self::DiskId => tag::DISK_ID,
            Self::Lease(_) => tag::LEASE,
            Self::AppInstanceId(_) => tag::APP_INSTANCE_ID,
            Self::AppInstanceVersion { .. } => tag::APP_INSTANCE_VERSION,
            Self::Apple(_) => tag::APPLE,
            Self::Posix(_) => tag::POSIX,
            Self::Unknown { tag, .. } => tag,
        }
    }

    fn encode_data(&self, w: &mut Writer) {
        match *self {
            Self::EaBuffer(data) | Self::SecurityDescriptor(data) | Self::Apple(data) => w.put(data),
            Self::Unknown { data, .. } => w.put(data),
            Self::DurableRequest => w.zeros(16), // reserved
            Self::DurableReconnect(file) => file.encode(w),
            Self::DurableRequestV2 { timeout_ms, flags, create_guid } => {
                w.u32_le(timeout_ms);
                w.u32_le(flags.0);
                w.u64_le(0); // reserved
                w.put(&create_guid);
            }
            Self::DurableReconnectV2 { file, create_guid, flags } => {
                file.encode(w);
                w.put(&create_guid);
                w.u32_le(flags.0);
            }
            Self::AllocationSize(value) | Self::Timewarp(value) => w.u64_le(value),
            Self::MaximalAccess(None) | Self::DiskId => {}
            Self::MaximalAccess(Some(time)) => w.u64_le(time),
            Self::Lease(lease) => lease.encode(w),
            Self::AppInstanceId(id) => {
                w.u16_le(20);
                w.u16_le(0); // reserved
                w.put(&id);
            }
            Self::AppInstanceVersion { high, low } => {
                w.u16_le(24);
                w.zeros(6); // reserved and padding
                w.u64_le(high);
                w.u64_le(low);
            }
            Self::Posix(mode) => w.u32_le(mode),
        }
    }
}

/// Behind the structure size, which must be `size`, and the reserved field of an application instance.
fn app_instance<'r, 'a>(r: &'r mut Reader<'a>, size: u16) -> Result<&'r mut Reader<'a>, Malformed> {
    if r.u16_le()? != size {
        return Err(Malformed("another structure size"));
    }
    r.skip(2)?; // reserved
    Ok(r)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUID: [u8; 16] = *b"ABCDEFGHIJKLMNOP";
    const FILE: FileKey = FileKey { persistent: 1, volatile: 2 };

    /// What each says, its name and its data by MS-SMB2 2.2.13.2.
    const ALL: &[(Context<'_>, &[u8], &[u8])] = &[
        (Context::EaBuffer(b"list"), b"ExtA", b"list"),
        (Context::SecurityDescriptor(b"acl"), b"SecD", b"acl"),
        (Context::DurableRequest, b"DHnQ", &[0; 16]),
        (Context::DurableReconnect(FILE), b"DHnC", b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"),
        (
            Context::DurableRequestV2 {
                timeout_ms: 60_000,
                flags: DurableFlags::PERSISTENT,
                create_guid: GUID,
            },
            b"DH2Q",
            b"\x60\xea\0\0\x02\0\0\0\0\0\0\0\0\0\0\0ABCDEFGHIJKLMNOP",
        ),
        (
            Context::DurableReconnectV2 { file: FILE, create_guid: GUID, flags: DurableFlags::PERSISTENT },
            b"DH2C",
            b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0ABCDEFGHIJKLMNOP\x02\0\0\0",
        ),
        (Context::AllocationSize(0x0102), b"AlSi", b"\x02\x01\0\0\0\0\0\0"),
        (Context::MaximalAccess(None), b"MxAc", b""),
        (Context::MaximalAccess(Some(0x0102)), b"MxAc", b"\x02\x01\0\0\0\0\0\0"),
        (Context::Timewarp(0x0102), b"TWrp", b"\x02\x01\0\0\0\0\0\0"),
        (Context::DiskId, b"QFid", b""),
        (
            Context::AppInstanceId(GUID),
            b"\x45\xbc\xa6\x6a\xef\xa7\xf7\x4a\x90\x08\xfa\x46\x2e\x14\x4d\x74",
            b"\x14\0\0\0ABCDEFGHIJKLMNOP",
        ),
        (
            Context::AppInstanceVersion { high: 1, low: 2 },
            b"\xb9\x82\xd0\xb7\x3b\x56\x07\x4f\xa0\x7b\x52\x4a\x81\x16\xa0\x10",
            b"\x18\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0",
        ),
        (Context::Apple(b"query"), b"AAPL", b"query"),
        (
            Context::Posix(0o644),
            b"\x93\xad\x25\x50\x9c\xb4\x11\xe7\xb4\x23\x83\xde\x96\x8b\xcd\x7c",
            b"\xa4\x01\0\0",
        ),
        (Context::Unknown { tag: b"Nobo", data: b"dy" }, b"Nobo", b"dy"),
    ];

    fn raw<'a>(tag: &'a [u8], data: &'a [u8]) -> RawContext<'a> {
        RawContext { tag: tag.into(), data: data.into() }
    }

    #[test]
    fn each_has_its_name_and_layout() {
        for (context, tag, data) in ALL {
            assert_eq!(Context::decode(&raw(tag, data)).as_ref(), Ok(context));
            assert_eq!(context.encode(), raw(tag, data));
        }
    }

    #[test]
    fn a_context_of_fixed_size_has_no_other() {
        for (context, tag, data) in ALL {
            let longer = [data, &[0][..]].concat();
            let is_open = matches!(
                context,
                Context::EaBuffer(_)
                    | Context::SecurityDescriptor(_)
                    | Context::Apple(_)
                    | Context::Unknown { .. }
            );
            assert_eq!(Context::decode(&raw(tag, &longer)).is_ok(), is_open, "{context:?}");
            let shorter = &data[..data.len().saturating_sub(1)];
            let same = is_open || data.is_empty();
            assert_eq!(Context::decode(&raw(tag, shorter)).is_ok(), same, "{context:?}");
        }
    }

    #[test]
    fn a_lease_is_told_by_its_length() {
        assert!(matches!(
            Context::decode(&raw(tag::LEASE, &[0; 32])),
            Ok(Context::Lease(Lease { v2: None, .. }))
        ));
        assert!(matches!(
            Context::decode(&raw(tag::LEASE, &[0; 52])),
            Ok(Context::Lease(Lease { v2: Some(_), .. }))
        ));
        assert!(Context::decode(&raw(tag::LEASE, &[0; 40])).is_err());
    }
}
