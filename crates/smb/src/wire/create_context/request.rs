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
    /// MS-SMB2 2.2.13.2.5: when the file changed, as the client knows it (a FILETIME): not then, no answer is wanted.
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
    /// SVHDX_OPEN_DEVICE_CONTEXT (2.2.13.2.14), and whatever else there may be.
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
