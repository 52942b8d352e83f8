//! The DCE/RPC association in a pipe (C706 chapter 9, MS-RPCE 3.3.3): what was bound, and the call that is arriving.
//!
//! ```text
//!            bind                  request, first           request, last: answered
//!   unbound ─────► bound, no call ───────────────► a call ──────────────────────────► bound, no call
//! ```
//! Authentication inside the pipe is refused: the user that opened the pipe is known, and the
//! session protects its bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::{Malformed, Reader};

use super::{PipeHost, lsarpc, samr, srvsvc, wkssvc};
use crate::wire::rpc::Syntax;
use crate::wire::rpc::pdu::{
    Bind, BindAck, BindNak, ContextResult, Fault, Header, LEAST_FRAGMENT, PresentationContext, Request,
    Response, Verdict, flags, kind,
};

/// The largest fragment that is sent or asked for: what Windows uses on pipes.
const FRAGMENT: u16 = 4280;
/// How many presentation contexts a client may have.
const MAX_CONTEXTS: usize = 64;
/// The longest arguments of a call in bytes: enough to ask for the names of some thousand SIDs.
const MAX_ARGUMENTS: usize = 256 << 10;
/// Features of MS-RPCE 2.2.2.14 that are kept: an orphaned call does not end the connection.
const FEATURES: u64 = 0x02;

/// What a message brings to be sent. As an error it is the last of the pipe: the client broke the protocol.
type Answers = Result<Vec<Vec<u8>>, Vec<Vec<u8>>>;

pub(super) struct Association {
    pipe: &'static str,
    host: Arc<dyn PipeHost>,
    bound: Option<Bound>,
    policies: lsarpc::Policies,
    sam: samr::Handles,
}

struct Bound {
    max_transmit: u16,
    max_receive: u16,
    contexts: BTreeMap<u16, Interface>,
    arriving: Option<Call>,
}

/// A call of which fragments have come.
struct Call {
    id: u32,
    context: u16,
    operation: u16,
    stub: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    Srvsvc,
    Wkssvc,
    Lsarpc,
    Samr,
}

impl Association {
    pub(super) fn new(pipe: &'static str, host: Arc<dyn PipeHost>) -> Self {
        Self { pipe, host, bound: None, policies: lsarpc::Policies::default(), sam: samr::Handles::default() }
    }

    /// Takes one whole message.
    pub(super) fn receive(&mut self, message: &[u8]) -> Answers {
        let mut r = Reader::new(message);
        let header = Header::decode(&mut r).map_err(|_| Vec::new())?;
        match header.kind {
            kind::BIND => self.bind(header, r),
            kind::ALTER_CONTEXT => self.alter(header, r),
            kind::REQUEST => self.request(header, r),
            kind::ORPHANED => Ok(self.orphaned(header.call)),
            kind::CO_CANCEL => Ok(Vec::new()), // calls are answered before the next message is read
            _ => Err(Vec::new()),
        }
    }

    fn bind(&mut self, header: Header, r: Reader<'_>) -> Answers {
        if self.bound.is_some() {
            return Err(Vec::new());
        }
        if header.auth_length != 0 {
            let nak = BindNak { reason: BindNak::AUTHENTICATION_TYPE_NOT_RECOGNIZED };
            return Ok(vec![Header::new(kind::BIND_NAK, header.call).message(|w| nak.encode(w))]);
        }
        let bind = whole_bind(header, r).map_err(|_| Vec::new())?;
        let mut bound = Bound {
            max_transmit: bind.max_receive.clamp(LEAST_FRAGMENT, FRAGMENT),
            max_receive: bind.max_transmit.clamp(LEAST_FRAGMENT, FRAGMENT),
            contexts: BTreeMap::new(),
            arriving: None,
        };
        let ack = bound.acknowledge(&bind, format!("\\PIPE\\{}", self.pipe));
        self.bound = Some(bound);
        Ok(vec![Header::new(kind::BIND_ACK, header.call).message(|w| ack.encode(w))])
    }

    fn alter(&mut self, header: Header, r: Reader<'_>) -> Answers {
        let bound = self.bound.as_mut().ok_or_else(Vec::new)?;
        if header.auth_length != 0 {
            return Err(vec![fault(header.call, 0, Fault::ACCESS_DENIED)]);
        }
        let bind = whole_bind(header, r).map_err(|_| Vec::new())?;
        let ack = bound.acknowledge(&bind, String::new());
        Ok(vec![Header::new(kind::ALTER_CONTEXT_RESP, header.call).message(|w| ack.encode(w))])
    }

    fn orphaned(&mut self, call: u32) -> Vec<Vec<u8>> {
        if let Some(bound) = &mut self.bound {
            bound.arriving.take_if(|arriving| arriving.id == call);
        }
        Vec::new()
    }

    fn request(&mut self, header: Header, mut r: Reader<'_>) -> Answers {
        let broken = |fault_of| vec![fault(header.call, 0, fault_of)];
        let bound = self.bound.as_mut().ok_or_else(|| broken(Fault::PROTOCOL))?;
        if header.auth_length != 0 {
            return Err(broken(Fault::ACCESS_DENIED));
        }
        let request = Request::decode(&header, &mut r).map_err(|_| broken(Fault::PROTOCOL))?;
        match bound.gather(header, request) {
            Err(fault) => Err(broken(fault)),
            Ok(None) => Ok(Vec::new()),
            Ok(Some(call)) => Ok(self.answer(call)),
        }
    }

    fn answer(&mut self, call: Call) -> Vec<Vec<u8>> {
        let result = self.perform(&call);
        match (result, &self.bound) {
            (Ok(stub), Some(bound)) => responses(call.id, call.context, &stub, bound.max_transmit),
            (Ok(_), None) => Vec::new(), // cannot be: only what is bound has calls
            (Err(reason), _) => vec![fault(call.id, call.context, reason)],
        }
    }

    fn perform(&mut self, call: &Call) -> Result<Vec<u8>, Fault> {
        let interface = self.bound.as_ref().and_then(|bound| bound.contexts.get(&call.context).copied());
        let (operation, stub, host) = (call.operation, &call.stub[..], &*self.host);
        match interface.ok_or(Fault::UNKNOWN_INTERFACE)? {
            Interface::Srvsvc => srvsvc::call(host, operation, stub),
            Interface::Wkssvc => wkssvc::call(host, operation, stub),
            Interface::Lsarpc => lsarpc::call(host, &mut self.policies, operation, stub),
            Interface::Samr => samr::call(host, &mut self.sam, operation, stub),
        }
    }
}

/// A `bind` must not be in fragments, MS-RPCE 3.3.1.5.2.
fn whole_bind(header: Header, mut r: Reader<'_>) -> Result<Bind, Malformed> {
    if header.flags & flags::WHOLE == flags::WHOLE {
        Bind::decode(&mut r)
    } else {
        Err(Malformed("a bind in fragments"))
    }
}

impl Bound {
    fn acknowledge(&mut self, bind: &Bind, address: String) -> BindAck {
        BindAck {
            max_transmit: self.max_transmit,
            max_receive: self.max_receive,
            group: if bind.group == 0 { 1 } else { bind.group }, // groups share nothing here
            address,
            results: bind.contexts.iter().map(|context| self.judge(context)).collect(),
        }
    }

    fn judge(&mut self, context: &PresentationContext) -> ContextResult {
        if let Some(asked) = context.transfers.iter().find_map(Syntax::bind_time_features) {
            let reason = (asked & FEATURES) as u16;
            return ContextResult { verdict: Verdict::NegotiateAck, reason, transfer: None };
        }
        let Some(interface) = Interface::of(&context.interface) else {
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

    /// Adds a fragment to its call, and returns the call when it is whole.
    fn gather(&mut self, header: Header, request: Request<'_>) -> Result<Option<Call>, Fault> {
        let mut call = if header.flags & flags::FIRST != 0 {
            let (context, operation) = (request.context, request.operation);
            if self.arriving.is_some() {
                return Err(Fault::PROTOCOL);
            }
            Call { id: header.call, context, operation, stub: Vec::new() }
        } else {
            self.arriving.take_if(|call| call.id == header.call).ok_or(Fault::PROTOCOL)?
        };
        if call.stub.len() + request.stub.len() > MAX_ARGUMENTS {
            return Err(Fault::NO_MEMORY);
        }
        call.stub.extend_from_slice(request.stub);
        if header.flags & flags::LAST != 0 {
            return Ok(Some(call));
        }
        self.arriving = Some(call);
        Ok(None)
    }
}

fn rejection(reason: u16) -> ContextResult {
    ContextResult { verdict: Verdict::ProviderRejection, reason, transfer: None }
}

impl Interface {
    fn of(syntax: &Syntax) -> Option<Self> {
        match *syntax {
            Syntax::SRVSVC => Some(Self::Srvsvc),
            Syntax::WKSSVC => Some(Self::Wkssvc),
            Syntax::LSARPC => Some(Self::Lsarpc),
            Syntax::SAMR => Some(Self::Samr),
            _ => None,
        }
    }
}

/// An answer as fragments of at most `max` bytes. All but the last have a multiple of eight bytes of results.
fn responses(call: u32, context: u16, stub: &[u8], max: u16) -> Vec<Vec<u8>> {
    let room = (usize::from(max) - Response::OVERHEAD) & !7;
    let count = stub.len().div_ceil(room).max(1);
    let fragment = |index: usize| {
        let rest = &stub[index * room..];
        let mut header = Header::new(kind::RESPONSE, call);
        header.flags = if index == 0 { flags::FIRST } else { 0 };
        header.flags |= if index + 1 == count { flags::LAST } else { 0 };
        let response =
            Response { allocation_hint: rest.len() as u32, context, stub: &rest[..rest.len().min(room)] };
        header.message(|w| response.encode(w))
    };
    (0..count).map(fragment).collect()
}

fn fault(call: u32, context: u16, reason: Fault) -> Vec<u8> {
    let mut header = Header::new(kind::FAULT, call);
    header.flags |= flags::DID_NOT_EXECUTE;
    header.message(|w| reason.encode(context, w))
}
