//! The DCE/RPC association in a pipe (C706 chapter 9, MS-RPCE 3.3.3).
//!
//! ```text
//!            bind                  request, first           request, last: answered
//!   unbound ─────► bound, no call ───────────────► a call ──────────────────────────► bound, no call
//! ```
//! Authentication inside the pipe is refused: the user that opened the pipe is known, and the
//! session protects its bytes.

use std::sync::Arc;

use wire::Reader;

use super::{PipeHost, lsarpc, mdssvc, samr, srvsvc, wkssvc};
use crate::server::rpc::bound::{FragmentedCall, RpcBinding, Sizes, fault, responses, whole_bind};
use crate::wire::rpc::Syntax;
use crate::wire::rpc::pdu::{BindNak, Fault, Header, Request, kind};

/// Fragments as Windows uses them on pipes, and arguments that are enough to ask for the names of some thousand SIDs.
const SIZES: Sizes = Sizes { fragment: 4280, arguments: 256 << 10 };

/// What a message brings to be sent. As an error it is the last of the pipe: the client broke the protocol.
type Answers = Result<Vec<Vec<u8>>, Vec<Vec<u8>>>;

pub(super) struct PipeAssociation {
    pipe: &'static str,
    host: Arc<dyn PipeHost>,
    bound: Option<RpcBinding<PipeInterface>>,
    policies: lsarpc::Policies,
    sam: samr::Handles,
    searches: mdssvc::SearchedShares,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PipeInterface {
    Srvsvc,
    Wkssvc,
    Lsarpc,
    Samr,
    Mdssvc,
}

impl PipeAssociation {
    pub(super) fn new(pipe: &'static str, host: Arc<dyn PipeHost>) -> Self {
        Self {
            pipe,
            host,
            bound: None,
            policies: lsarpc::Policies::default(),
            sam: samr::Handles::default(),
            searches: mdssvc::SearchedShares::default(),
        }
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

    fn bind(&mut self, header: Header, mut r: Reader<'_>) -> Answers {
        if self.bound.is_some() {
            return Err(Vec::new());
        }
        if header.auth_length != 0 {
            let nak = BindNak { reason: BindNak::AUTHENTICATION_TYPE_NOT_RECOGNIZED };
            return Ok(vec![Header::new(kind::BIND_NAK, header.call).message(|w| nak.encode(w))]);
        }
        let bind = whole_bind(header, &mut r).map_err(|_| Vec::new())?;
        let mut bound = RpcBinding::new(&bind, SIZES);
        let group = if bind.group == 0 { 1 } else { bind.group }; // groups share nothing here
        let ack = bound.acknowledge(&bind, (format!("\\PIPE\\{}", self.pipe), group), PipeInterface::of);
        self.bound = Some(bound);
        Ok(vec![Header::new(kind::BIND_ACK, header.call).message(|w| ack.encode(w))])
    }

    fn alter(&mut self, header: Header, mut r: Reader<'_>) -> Answers {
        let bound = self.bound.as_mut().ok_or_else(Vec::new)?;
        if header.auth_length != 0 {
            return Err(vec![fault(header.call, 0, Fault::ACCESS_DENIED)]);
        }
        let bind = whole_bind(header, &mut r).map_err(|_| Vec::new())?;
        let group = if bind.group == 0 { 1 } else { bind.group };
        let ack = bound.acknowledge(&bind, (String::new(), group), PipeInterface::of);
        Ok(vec![Header::new(kind::ALTER_CONTEXT_RESP, header.call).message(|w| ack.encode(w))])
    }

    fn orphaned(&mut self, call: u32) -> Vec<Vec<u8>> {
        self.bound.iter_mut().for_each(|bound| bound.orphaned(call));
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

    fn answer(&mut self, call: FragmentedCall) -> Vec<Vec<u8>> {
        let result = self.perform(&call);
        match (result, &self.bound) {
            (Ok(stub), Some(bound)) => responses(call.id, call.context, &stub, bound.max_transmit),
            (Ok(_), None) => Vec::new(), // cannot be: only what is bound has calls
            (Err(reason), _) => vec![fault(call.id, call.context, reason)],
        }
    }

    fn perform(&mut self, call: &FragmentedCall) -> Result<Vec<u8>, Fault> {
        let bound = self.bound.as_ref().ok_or(Fault::UNKNOWN_INTERFACE)?;
        let (operation, stub, host) = (call.operation, &call.stub[..], &*self.host);
        match bound.interface(call.context)? {
            PipeInterface::Srvsvc => srvsvc::call(host, operation, stub),
            PipeInterface::Wkssvc => wkssvc::call(host, operation, stub),
            PipeInterface::Lsarpc => lsarpc::call(host, &mut self.policies, operation, stub),
            PipeInterface::Samr => samr::call(host, &mut self.sam, operation, stub),
            PipeInterface::Mdssvc => mdssvc::call(host, &mut self.searches, operation, stub),
        }
    }
}

impl PipeInterface {
    fn of(syntax: &Syntax) -> Option<Self> {
        match *syntax {
            Syntax::SRVSVC => Some(Self::Srvsvc),
            Syntax::WKSSVC => Some(Self::Wkssvc),
            Syntax::LSARPC => Some(Self::Lsarpc),
            Syntax::SAMR => Some(Self::Samr),
            Syntax::MDSSVC => Some(Self::Mdssvc),
            _ => None,
        }
    }
}
