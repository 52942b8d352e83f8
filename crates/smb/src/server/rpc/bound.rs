//! What a client has bound, and the call that is arriving: C706 chapter 9, MS-RPCE 3.3.3. Named pipes and connections over TCP
//! have the same.

use std::collections::BTreeMap;

use wire::{Malformed, Reader};

use crate::wire::rpc::Syntax;
use crate::wire::rpc::pdu::{
    Bind, BindAck, ContextResult, Fault, Header, LEAST_FRAGMENT, PresentationContext, Request, Response,
    Verdict, flags, kind,
};

/// How many presentation contexts a client may have.
const MAX_CONTEXTS: usize = 64;
/// Features of MS-RPCE 2.2.2.14 that are kept: an orphaned call does not end the connection.
const FEATURES: u64 = 0x02;

/// What a transport allows.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Sizes {
    /// The largest fragment that is sent or asked for.
    pub(in crate::server) fragment: u16,
    /// The longest arguments of a call in bytes.
    pub(in crate::server) arguments: usize,
}

/// What a client has bound. `I` names the interfaces that there are.
pub(in crate::server) struct RpcBinding<I> {
    sizes: Sizes,
    /// The largest fragment that the client takes.
    pub(in crate::server) max_transmit: u16,
    max_receive: u16,
    contexts: BTreeMap<u16, I>,
    arriving: Option<FragmentedCall>,
}

/// A call of which fragments have come.
pub(in crate::server) struct FragmentedCall {
    pub(in crate::server) id: u32,
    pub(in crate::server) context: u16,
    pub(in crate::server) operation: u16,
    pub(in crate::server) stub: Vec<u8>,
}

impl<I: Copy> RpcBinding<I> {
    pub(in crate::server) fn new(bind: &Bind, sizes: Sizes) -> Self {
        Self {
            sizes,
            max_transmit: bind.max_receive.clamp(LEAST_FRAGMENT, sizes.fragment),
            max_receive: bind.max_transmit.clamp(LEAST_FRAGMENT, sizes.fragment),
            contexts: BTreeMap::new(),
            arriving: None,
        }
    }

    /// The answer to a bind or to an altered context. `find` knows the interfaces.
    pub(in crate::server) fn acknowledge(
        &mut self,
        bind: &Bind,
        (address, group): (String, u32),
        find: impl Fn(&Syntax) -> Option<I>,
    ) -> BindAck {
        BindAck {
            max_transmit: self.max_transmit,
            max_receive: self.max_receive,
            group,
            address,
            results: bind.contexts.iter().map(|context| self.judge(context, &find)).collect(),
        }
    }

    fn judge(
        &mut self,
        context: &PresentationContext,
        find: &impl Fn(&Syntax) -> Option<I>,
    ) -> ContextResult {
        if let Some(asked) = context.transfers.iter().find_map(Syntax::bind_time_features) {
            let reason = (asked & FEATURES) as u16;
            return ContextResult { verdict: Verdict::NegotiateAck, reason, transfer: None };
        }
        let Some(interface) = find(&context.interface) else {
            return rejection(ContextResult::ABSTRACT_SYNTAX_NOT_SUPPORTED);
        };
        if !context.transfers.contains(&Syntax::NDR) {
            return rejection(ContextResult::PROPOSED_TRANSFER_SYNTAXES_NOT_SUPPORTED);
        }
        if self.contexts.len() >= MAX_CONTEXTS && !self.contexts.contains_key(&context.id) {
            return rejection(ContextResult::LOCAL_LIMIT_EXCEEDED);
        }
        self.contexts.insert(context.id, interface);
        ContextResult { verdict: Verdict::Acceptance, reason: 0, transfer: Some(Syntax::NDR) }
    }

    /// The interface of a presentation context.
    pub(in crate::server) fn interface(&self, context: u16) -> Result<I, Fault> {
        self.contexts.get(&context).copied().ok_or(Fault::UNKNOWN_INTERFACE)
    }

    /// Adds a fragment to its call, and returns the call when it is whole.
    pub(in crate::server) fn gather(
        &mut self,
        header: Header,
        request: Request<'_>,
    ) -> Result<Option<FragmentedCall>, Fault> {
        let mut call = if header.flags & flags::FIRST != 0 {
            let (context, operation) = (request.context, request.operation);
            if self.arriving.is_some() {
                return Err(Fault::PROTOCOL);
            }
            FragmentedCall { id: header.call, context, operation, stub: Vec::new() }
        } else {
            self.arriving.take_if(|call| call.id == header.call).ok_or(Fault::PROTOCOL)?
        };
        if call.stub.len() + request.stub.len() > self.sizes.arguments {
            return Err(Fault::NO_MEMORY);
        }
        call.stub.extend_from_slice(request.stub);
        if header.flags & flags::LAST != 0 {
            return Ok(Some(call));
        }
        self.arriving = Some(call);
        Ok(None)
    }

    /// The client does not want the answer to a call any more.
    pub(in crate::server) fn orphaned(&mut self, call: u32) {
        self.arriving.take_if(|arriving| arriving.id == call);
    }
}

fn rejection(reason: u16) -> ContextResult {
    ContextResult { verdict: Verdict::ProviderRejection, reason, transfer: None }
}

/// A `bind` must not be in fragments, MS-RPCE 3.3.1.5.2.
pub(in crate::server) fn whole_bind(header: Header, r: &mut Reader<'_>) -> Result<Bind, Malformed> {
    if header.flags & flags::WHOLE == flags::WHOLE {
        Bind::decode(r)
    } else {
        Err(Malformed("a bind in fragments"))
    }
}

/// A part of an answer: the flags of its fragment, and its content.
pub(in crate::server) struct Part<'a> {
    pub(in crate::server) flags: u8,
    pub(in crate::server) response: Response<'a>,
}

/// An answer as parts of at most `room` bytes. All but the last have a multiple of 16 bytes of results: of eight, as MS-RPCE
/// wants, and of 16, which needs no padding where it is encrypted.
pub(in crate::server) fn parts(context: u16, stub: &[u8], room: usize) -> impl Iterator<Item = Part<'_>> {
    let room = room & !15;
    let count = stub.len().div_ceil(room).max(1);
    (0..count).map(move |index| {
        let rest = &stub[index * room..];
        let first = if index == 0 { flags::FIRST } else { 0 };
        let last = if index + 1 == count { flags::LAST } else { 0 };
        let response =
            Response { allocation_hint: rest.len() as u32, context, stub: &rest[..rest.len().min(room)] };
        Part { flags: first | last, response }
    })
}

/// An answer as unprotected fragments of at most `max` bytes.
pub(in crate::server) fn responses(call: u32, context: u16, stub: &[u8], max: u16) -> Vec<Vec<u8>> {
    let fragment = |part: Part<'_>| {
        let header = Header { flags: part.flags, ..Header::new(kind::RESPONSE, call) };
        header.message(|w| part.response.encode(w))
    };
    parts(context, stub, usize::from(max) - Response::OVERHEAD).map(fragment).collect()
}

/// The answer to a call that has no result. Such calls were not executed, except for one that was cancelled while it waited, and one
/// whose result cannot be signed.
pub(in crate::server) fn fault(call: u32, context: u16, reason: Fault) -> Vec<u8> {
    let mut header = Header::new(kind::FAULT, call);
    if !matches!(reason, Fault::CANCELLED | Fault::SECURITY_PACKAGE) {
        header.flags |= flags::DID_NOT_EXECUTE;
    }
    header.message(|w| reason.encode(context, w))
}
