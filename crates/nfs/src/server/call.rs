//! One call, RFC 5531: its program and its caller; and replies as bytes.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use conn::observe::RunningOperation;
use conn::{Allowance, Reply};
use vfs::state::Party;
use vfs::{Caller, Holder, Payload};
use wire::{Reader, Writer};

use super::export::Export;
use super::gss::{Flavor, SecuredCall};
use super::naming::Naming;
use super::v3::EarlyFileWrite;
use super::{CallOrigin, Protection, Service, v4};
use crate::wire::rpc::{CallHeader, Outcome, RecordMark, ReplyHeader};
use crate::wire::xdr::{Decode, Encode, arguments, padding};

/// The longest record that is received: a WRITE of the largest size with its head, and some room.
pub const MAX_RECORD: usize = (1 << 20) + 64 * 1024;

/// The caller's ids, as the call states them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallIdentity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    /// AUTH_NONE: always the anonymous user.
    pub(crate) nobody: bool,
}

/// A call whose head is decoded.
pub(super) struct ReceivedCall<'a> {
    pub(super) service: &'a Arc<Service>,
    pub(super) origin: CallOrigin,
    pub(super) memory: &'a Arc<Allowance>,
    pub(super) message: &'a Bytes,
    pub(super) header: CallHeader<'a>,
    pub(super) arguments: &'a [u8],
    pub(super) begun: Option<RunningOperation>,
}

impl<'a> ReceivedCall<'a> {
    /// The call of a user, with arguments that are a part of `message`.
    pub(super) fn call<'b>(self, identity: CallIdentity, message: &'b Bytes, arguments: &'b [u8]) -> Call<'b>
    where
        'a: 'b,
    {
        let Self { service, origin, memory, header, begun, .. } = self;
        let (room, minor) = (usize::MAX, v4::minor_of(&header, arguments));
        let (party, concerns) = (OnceLock::new(), OnceLock::new());
        Call {
            service,
            origin,
            memory,
            room,
            identity,
            gss: None,
            header,
            arguments,
            minor,
            message,
            early: None,
            begun,
            party,
            concerns,
        }
    }
}

/// A call that a program executes.
pub(crate) struct Call<'a> {
    pub(crate) service: &'a Arc<Service>,
    pub(crate) origin: CallOrigin,
    /// The memory that the client's requests may use.
    pub(crate) memory: &'a Arc<Allowance>,
    /// The most bytes of a listing, limited by the reserved memory.
    pub(crate) room: usize,
    pub(crate) identity: CallIdentity,
    /// The login that it belongs to, if that was by Kerberos.
    pub(super) gss: Option<SecuredCall>,
    pub(crate) header: CallHeader<'a>,
    pub(crate) arguments: &'a [u8],
    /// The minor version of NFSv4; 0 for everything else.
    pub(crate) minor: u32,
    /// The whole message, for data that must outlive the call.
    pub(crate) message: &'a Bytes,
    /// The part of the data of a WRITE that is written already.
    pub(super) early: Option<EarlyFileWrite>,
    /// When it began, if it is observed.
    pub(crate) begun: Option<RunningOperation>,
    /// The client of version 4 in whose session it is.
    pub(crate) party: OnceLock<Party>,
    /// The export that it concerns, if it is observed.
    pub(crate) concerns: OnceLock<Arc<Export>>,
}

impl<'a> Call<'a> {
    /// How users and groups are named to clients of version 4.
    pub(super) fn naming(&self) -> Arc<Naming> {
        self.service.naming()
    }

    /// How the caller has proven who it is.
    pub(super) fn flavor(&self) -> Flavor {
        self.gss.as_ref().map_or(Flavor::Sys, |secured| secured.flavor)
    }

    /// The account whose ticket the call has; `None` also for machines.
    pub(super) fn account(&self) -> Option<&str> {
        self.gss.as_ref().and_then(|secured| secured.context.account.as_deref())
    }

    /// Whether the caller has proven who it is, or its host has by a certificate.
    pub(super) fn has_login(&self) -> bool {
        self.gss.is_some() || self.origin.protection >= Protection::Certified
    }

    /// With whose opens those of the caller are counted. AUTH_SYS proves nothing: its uids are what the client says.
    pub(super) fn holder(&self, caller: &Caller) -> Holder {
        match self.gss {
            Some(_) => Holder::user(self.origin.address, caller.uid),
            None => Holder::guest(self.origin.address),
        }
    }

    /// Stands for the login; 0 without one.
    pub(super) fn principal_hash(&self) -> u64 {
        self.gss.as_ref().map_or(0, |secured| secured.context.principal_hash)
    }

    /// The arguments as one value.
    pub(crate) fn arguments<T: Decode<'a>>(&self) -> Result<T, Outcome> {
        arguments(&mut Reader::new(self.arguments)).map_err(|_| Outcome::GarbageArgs)
    }

    /// Notes which export the call concerns.
    pub(crate) fn note(&self, export: &Arc<Export>) {
        if self.begun.is_some() {
            let _ = self.concerns.set(export.clone()); // of two exports the first one counts
        }
    }

    /// The arguments must be empty.
    pub(crate) fn no_arguments(&self) -> Result<(), Outcome> {
        if self.arguments.is_empty() { Ok(()) } else { Err(Outcome::GarbageArgs) }
    }
}

/// A reply with a head but no results yet, after room for a record mark.
pub(super) fn empty(xid: u32) -> Writer {
    with_room(xid, 0)
}

/// The same, with room for so many bytes of data in addition.
pub(super) fn with_room(xid: u32, data: usize) -> Writer {
    let mut writer = Writer::onto(Vec::with_capacity(256 + data));
    writer.zeros(RecordMark::SIZE);
    ReplyHeader::success(xid).encode(&mut writer);
    writer
}

/// The reply, without a record mark, to a call whose real reply cannot be sent.
pub(super) fn failure(xid: u32) -> Vec<u8> {
    refusal(xid, Outcome::SystemErr).into_bytes().split_off(RecordMark::SIZE)
}

pub(super) fn refusal(xid: u32, outcome: Outcome) -> Writer {
    let mut writer = Writer::new();
    writer.zeros(RecordMark::SIZE);
    ReplyHeader { xid, outcome }.encode(&mut writer);
    writer
}

/// Sets the record mark; a datagram has none.
pub(super) fn finish(mut writer: Writer, body: Option<Payload>, origin: CallOrigin) -> Reply {
    let data = body.as_ref().map_or(0, Payload::len);
    let tail = padding(data);
    if origin.datagram {
        let head = writer.into_bytes().split_off(RecordMark::SIZE);
        return Reply { head, body, tail, ..Reply::default() };
    }
    let length = writer.len() - RecordMark::SIZE + data + tail;
    let mark = RecordMark { last: true, len: length as u32 }; // at most MAX_RECORD and a head
    writer.patch_u32_be(0, mark.word());
    Reply { head: writer.into_bytes(), body, tail, ..Reply::default() }
}
