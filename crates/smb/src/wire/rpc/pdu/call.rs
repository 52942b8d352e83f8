//! The messages of a call: request, response and fault, C706 12.6.4.

use wire::{Malformed, Reader, Writer};

use super::{Header, flags};
use crate::wire::rpc::Uuid;

/// `request`, C706 12.6.4.9, after the header: a fragment of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub allocation_hint: u32,
    pub context: u16,
    pub operation: u16,
    pub object: Option<Uuid>,
    /// Arguments, or the part of them that is in this fragment.
    pub stub: &'a [u8],
}

impl<'a> Request<'a> {
    /// Where the arguments begin, from the start of a message with this header.
    pub fn stub_at(header: &Header) -> usize {
        super::HEADER + 8 + if header.flags & flags::OBJECT_UUID != 0 { 16 } else { 0 }
    }

    /// The call after `header`, without a security trailer at its end.
    pub fn decode(header: &Header, r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (allocation_hint, context, operation) = (r.u32_le()?, r.u16_le()?, r.u16_le()?);
        let object = if header.flags & flags::OBJECT_UUID != 0 { Some(Uuid(r.array()?)) } else { None };
        Ok(Self { allocation_hint, context, operation, object, stub: r.rest() })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.allocation_hint);
        w.u16_le(self.context);
        w.u16_le(self.operation);
        if let Some(object) = self.object {
            w.put(&object.0);
        }
        w.put(self.stub);
    }
}

/// `response`, C706 12.6.4.10, after the header: a fragment of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// How many bytes of results are still to come, these included.
    pub allocation_hint: u32,
    pub context: u16,
    pub stub: &'a [u8],
}

impl Response<'_> {
    /// The header and the fields before the stub.
    pub const OVERHEAD: usize = super::HEADER + 8;

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.allocation_hint);
        w.u16_le(self.context);
        w.u16_le(0); // cancel count, reserved
        w.put(self.stub);
    }
}

wire::number! {
    /// Why a call was not answered: the status of a `fault`, C706 appendix E and MS-RPCE 3.1.1.5.5.
    pub Fault: u32 {
        /// `ERROR_ACCESS_DENIED`.
        ACCESS_DENIED = 0x0000_0005,
        /// `RPC_S_SEC_PKG_ERROR`: a signature is wrong.
        SECURITY_PACKAGE = 0x0000_0721,
        /// `RPC_X_BAD_STUB_DATA`: the arguments cannot be read.
        BAD_STUB_DATA = 0x0000_06f7,
        /// `nca_s_op_rng_error`: the interface has no such operation.
        OPERATION_RANGE = 0x1c01_0002,
        /// `nca_s_unk_if`: no such presentation context.
        UNKNOWN_INTERFACE = 0x1c01_0003,
        /// `nca_s_server_too_busy`.
        TOO_BUSY = 0x1c01_0014,
        /// `nca_s_proto_error`.
        PROTOCOL = 0x1c01_000b,
        /// `nca_s_fault_context_mismatch`: no such context handle.
        CONTEXT_MISMATCH = 0x1c00_001a,
        /// `nca_s_fault_cancel`.
        CANCELLED = 0x1c00_000d,
        /// `nca_s_fault_remote_no_memory`.
        NO_MEMORY = 0x1c00_001b,
    }
}

impl Fault {
    /// The fault after the header, C706 12.6.4.7.
    pub fn encode(self, context: u16, w: &mut Writer) {
        w.u32_le(32); // allocation hint: the whole message
        w.u16_le(context);
        w.u16_le(0); // cancel count, flags
        w.u32_le(self.0);
        w.u32_le(0);
    }
}

impl From<Malformed> for Fault {
    fn from(_: Malformed) -> Self {
        Self::BAD_STUB_DATA
    }
}
