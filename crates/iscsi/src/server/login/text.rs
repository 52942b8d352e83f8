//! Text Requests in full feature phase, RFC 7143 6.4, 11.10 and 11.11.
//!
//! ```text
//! request, F ─► response, F                              all that is said at once
//! request, C ─► response with a tag ─► request, F ─► …    the question is long
//! request, F ─► response, C, with a tag ─► empty request ─► … ─► response, F    the answer is
//! ```

use std::collections::HashSet;

use super::declared::{ALIAS, FIRST, OF_TARGETS};
use super::gate::{ConnectionEnds, Gate, Initiator};
use super::negotiate::NegotiationKey;
use super::parameters::Parameters;
use super::{SessionKind, discovery, security};
use crate::wire::Writer;
use crate::wire::keys::{self, KeyValue, MAX_TEXT};
use crate::wire::pdu::{Lun, NO_TAG, RejectReason, TextRequest, TextResponse};

/// The text negotiation of a connection: one at a time.
#[derive(Default)]
pub(crate) struct Texts {
    exchange: Option<TextExchange>,
    /// The last transfer tag that the server gave out.
    last_tag: u32,
}

/// An exchange that is not finished.
struct TextExchange {
    task_tag: u32,
    /// The tag that the next request must have.
    transfer_tag: u32,
    /// The request's text so far, if it continues.
    asked: Vec<u8>,
    /// The rest of the answer.
    answer: Vec<u8>,
}

/// The initiator that asks, and its address.
pub(crate) struct TextSender<'a> {
    pub(crate) gate: &'a dyn Gate,
    pub(crate) peer: ConnectionEnds,
    /// The initiator's name.
    pub(crate) name: &'a str,
    /// The authenticated account.
    pub(crate) account: Option<&'a str>,
    pub(crate) kind: &'a SessionKind,
}

impl TextSender<'_> {
    pub(super) fn initiator(&self) -> Initiator<'_> {
        Initiator { name: self.name, account: self.account, host: self.peer.address.ip() }
    }
}

impl Texts {
    /// Answers a request. New declarations hold from the next response on. A rejected request ends
    /// its exchange.
    pub(crate) fn answer(
        &mut self,
        request: &TextRequest,
        text: &[u8],
        asker: &TextSender<'_>,
        parameters: &mut Parameters,
    ) -> Result<(TextResponse, Vec<u8>), RejectReason> {
        if request.more && request.last {
            return Err(RejectReason::INVALID_PDU_FIELD);
        }
        let mut exchange = self.exchange(request)?;
        let room = parameters.their_max_data as usize;
        if !exchange.answer.is_empty() {
            // RFC 7143 6.2: the initiator sends no text until the answer is complete.
            return match text.is_empty() && !request.more {
                true => Ok(self.respond(exchange, request, room)),
                false => Err(RejectReason::PROTOCOL_ERROR),
            };
        }
        exchange.asked.extend_from_slice(text);
        if exchange.asked.len() > MAX_TEXT {
            return Err(RejectReason::OUT_OF_RESOURCES);
        }
        if !request.more {
            let asked = std::mem::take(&mut exchange.asked);
            exchange.answer = answers(&asked, asker, parameters)?;
        }
        Ok(self.respond(exchange, request, room))
    }

    /// The exchange that a request begins or continues. A new exchange ends the earlier one.
    fn exchange(&mut self, request: &TextRequest) -> Result<TextExchange, RejectReason> {
        let begun = self.exchange.take();
        let task_tag = request.task_tag;
        if request.transfer_tag == NO_TAG {
            return Ok(TextExchange {
                task_tag,
                transfer_tag: NO_TAG,
                asked: Vec::new(),
                answer: Vec::new(),
            });
        }
        let is_next =
            |begun: &TextExchange| begun.task_tag == task_tag && begun.transfer_tag == request.transfer_tag;
        begun.filter(is_next).ok_or(RejectReason::PROTOCOL_ERROR)
    }

    /// Sends as much of the answer as fits.
    fn respond(
        &mut self,
        mut exchange: TextExchange,
        request: &TextRequest,
        room: usize,
    ) -> (TextResponse, Vec<u8>) {
        let rest = exchange.answer.split_off(fitting(&exchange.answer, room));
        let text = std::mem::replace(&mut exchange.answer, rest);
        let more = !exchange.answer.is_empty();
        let last = request.last && !more;
        let (task_tag, mut transfer_tag) = (exchange.task_tag, NO_TAG);
        if !last {
            self.last_tag = self.last_tag.wrapping_add(1) % NO_TAG;
            transfer_tag = self.last_tag;
            self.exchange = Some(TextExchange { transfer_tag, ..exchange });
        }
        (TextResponse { last, more, lun: Lun::default(), task_tag, transfer_tag }, text)
    }
}

/// How many bytes of a text to send in this room: whole pairs, if one fits.
fn fitting(text: &[u8], room: usize) -> usize {
    if text.len() <= room {
        return text.len();
    }
    text[..room].iter().rposition(|byte| *byte == 0).map_or(room, |end| end + 1)
}

/// The answers to a text.
fn answers(
    asked: &[u8],
    asker: &TextSender<'_>,
    parameters: &mut Parameters,
) -> Result<Vec<u8>, RejectReason> {
    let said = keys::decode(asked).map_err(|_| RejectReason::PROTOCOL_ERROR)?;
    let mut seen = HashSet::new();
    if !said.iter().all(|pair| seen.insert(pair.key)) {
        return Err(RejectReason::PROTOCOL_ERROR); // RFC 7143 6.2: a key may be sent once only
    }
    let mut w = Writer::new();
    for pair in said {
        answer(pair, asker, parameters, &mut w);
    }
    Ok(w.into_bytes())
}

fn answer(pair: KeyValue<'_>, asker: &TextSender<'_>, parameters: &mut Parameters, w: &mut Writer) {
    let of_login = |key| FIRST.contains(&key) || OF_TARGETS.contains(&key) || security::KEYS.contains(&key);
    match (pair.key, NegotiationKey::named(pair.key)) {
        ("SendTargets", _) => discovery::send_targets(pair.value, asker, w),
        (_, Some(key)) => {
            let answer = key.settle_later(parameters, pair.value);
            answer.text().into_iter().for_each(|value| keys::encode(pair.key, value, w));
        }
        (ALIAS, None) => {}
        (key, None) if of_login(key) => keys::encode(key, keys::REJECT, w),
        (key, None) => keys::encode(key, keys::NOT_UNDERSTOOD, w),
    }
}
