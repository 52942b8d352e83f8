//! The messages by which a client chooses an interface, C706 12.6.4.3 and 12.6.4.4.

use wire::{Malformed, Reader, Writer};

use crate::Syntax;

/// `bind` and `alter_context`, C706 12.6.4.3 and 12.6.4.1, after the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    pub max_transmit: u16,
    pub max_receive: u16,
    pub group: u32,
    pub contexts: Vec<PresentationContext>,
}

/// The interface that the client wants to call, and the forms in which it can write arguments, C706
/// 12.6.3.1 `p_cont_elem_t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentationContext {
    pub id: u16,
    pub interface: Syntax,
    pub transfers: Vec<Syntax>,
}

impl Bind {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (max_transmit, max_receive, group) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
        let count = r.u8()?;
        r.skip(3)?; // reserved
        let contexts = (0..count).map(|_| PresentationContext::decode(r)).collect::<Result<_, _>>()?;
        Ok(Self { max_transmit, max_receive, group, contexts })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(self.max_transmit);
        w.u16_le(self.max_receive);
        w.u32_le(self.group);
        w.u8(self.contexts.len() as u8);
        w.zeros(3);
        self.contexts.iter().for_each(|context| context.encode(w));
    }
}

impl PresentationContext {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (id, count) = (r.u16_le()?, r.u8()?);
        r.skip(1)?; // reserved
        let interface = Syntax::decode(r)?;
        let transfers = (0..count).map(|_| Syntax::decode(r)).collect::<Result<_, _>>()?;
        Ok(Self { id, interface, transfers })
    }

    fn encode(&self, w: &mut Writer) {
        w.u16_le(self.id);
        w.u8(self.transfers.len() as u8);
        w.u8(0);
        self.interface.encode(w);
        self.transfers.iter().for_each(|transfer| transfer.encode(w));
    }
}

/// `bind_ack` and `alter_context_resp`, C706 12.6.4.4 and 12.6.4.2, after the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindAck {
    pub max_transmit: u16,
    pub max_receive: u16,
    pub group: u32,
    /// The secondary address: for a pipe, its name. Empty when a context is altered.
    pub address: String,
    pub results: Vec<ContextResult>,
}

/// The answer to one presentation context, `p_result_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextResult {
    pub verdict: Verdict,
    /// The reason of a rejection, C706 `p_provider_reason_t`. After a negotiation of features: the
    /// server's features.
    pub reason: u16,
    /// The chosen form of arguments. Zeros if none was chosen.
    pub transfer: Option<Syntax>,
}

/// C706 `p_cont_def_result_t`, and MS-RPCE 2.2.2.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Acceptance = 0,
    ProviderRejection = 2,
    NegotiateAck = 3,
}

impl ContextResult {
    pub const ABSTRACT_SYNTAX_NOT_SUPPORTED: u16 = 1;
    pub const PROPOSED_TRANSFER_SYNTAXES_NOT_SUPPORTED: u16 = 2;
    pub const LOCAL_LIMIT_EXCEEDED: u16 = 3;
}

impl BindAck {
    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u16_le(self.max_transmit);
        w.u16_le(self.max_receive);
        w.u32_le(self.group);
        if self.address.is_empty() {
            w.u16_le(0);
        } else {
            w.u16_le(self.address.len() as u16 + 1);
            w.put(self.address.as_bytes());
            w.u8(0);
        }
        // The header before it is 16 bytes, so the message has the same alignment.
        let written = w.len() - start;
        w.zeros(written.next_multiple_of(4) - written);
        w.u8(self.results.len() as u8);
        w.zeros(3);
        self.results.iter().for_each(|result| result.encode(w));
    }
}

impl ContextResult {
    fn encode(&self, w: &mut Writer) {
        w.u16_le(self.verdict as u16);
        w.u16_le(self.reason);
        match self.transfer {
            Some(transfer) => transfer.encode(w),
            None => w.zeros(20),
        }
    }
}

/// `bind_nak`, C706 12.6.4.5 and MS-RPCE 2.2.2.9, after the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindNak {
    pub reason: u16,
}

impl BindNak {
    pub const LOCAL_LIMIT_EXCEEDED: u16 = 2;
    pub const AUTHENTICATION_TYPE_NOT_RECOGNIZED: u16 = 8;
    pub const INVALID_CHECKSUM: u16 = 9;

    pub fn encode(self, w: &mut Writer) {
        w.u16_le(self.reason);
        w.put(&[1, 5, 0]); // the one version of the protocol that is spoken
    }
}
