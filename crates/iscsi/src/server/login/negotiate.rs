//! The operational keys, RFC 7143 section 13: the offer of the initiator and the support of the
//! server settle each key.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::parameters::{
    LENGTHS, MAX_BURST, MAX_CONNECTIONS, MAX_FIRST_BURST, MAX_R2T, Parameters, TaskReporting,
};
use crate::wire::keys;

/// RFC 7144 7.1.1: 2 stands for RFC 7144 itself.
const PROTOCOL_LEVEL: u8 = 2;

/// The answer to an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The value that holds from now on.
    Value(Cow<'static, str>),
    /// No answer: the key is declared, not offered.
    Nothing,
    /// The offer is not acceptable; the previous value holds.
    Reject,
    /// The key has no meaning here.
    Irrelevant,
}

impl Answer {
    /// The text of the answer, if there is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Value(value) => Some(value),
            Self::Nothing => None,
            Self::Reject => Some(keys::REJECT),
            Self::Irrelevant => Some(keys::IRRELEVANT),
        }
    }
}

/// The scope of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyScope {
    /// The connection, in sessions of both types.
    Connection,
    /// The session: the first connection settles it.
    Session,
    /// A session with commands; the key has no meaning in discovery.
    Commands,
}

/// The session that is being made, as far as it matters for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NegotiatedSession {
    /// This is the session's first connection.
    pub(super) leading: bool,
    pub(super) discovery: bool,
}

/// A key of the negotiation.
pub(super) struct NegotiationKey {
    name: &'static str,
    scope: KeyScope,
    settle: fn(&mut Parameters, &str) -> Answer,
}

const fn key(
    name: &'static str,
    scope: KeyScope,
    settle: fn(&mut Parameters, &str) -> Answer,
) -> NegotiationKey {
    NegotiationKey { name, scope, settle }
}

/// All keys, RFC 7143 section 13 and RFC 7144 7.1. Markers are obsolete (13.25), and SendTargets is
/// not for logins.
const KEYS: [NegotiationKey; 21] = [
    key("DataDigest", KeyScope::Connection, |p, value| digest(&mut p.data_digest, value)),
    key("DataPDUInOrder", KeyScope::Commands, |p, value| or(&mut p.pdu_in_order, value, true)),
    key("DataSequenceInOrder", KeyScope::Commands, |p, value| or(&mut p.sequence_in_order, value, true)),
    key("DefaultTime2Retain", KeyScope::Session, |p, value| lower(&mut p.time2retain_s, value, 0..=3600, 20)),
    key("DefaultTime2Wait", KeyScope::Session, |p, value| higher(&mut p.time2wait_s, value, 0..=3600, 0)),
    key("ErrorRecoveryLevel", KeyScope::Session, |p, value| {
        lower(&mut p.error_recovery_level, value, 0..=2, 0)
    }),
    key("FirstBurstLength", KeyScope::Commands, first_burst),
    key("HeaderDigest", KeyScope::Connection, |p, value| digest(&mut p.header_digest, value)),
    key("IFMarkInt", KeyScope::Connection, |_, _| Answer::Reject),
    key("IFMarker", KeyScope::Connection, |_, _| Answer::Value("No".into())),
    key("ImmediateData", KeyScope::Commands, |p, value| and(&mut p.immediate_data, value, true)),
    key("InitialR2T", KeyScope::Commands, |p, value| or(&mut p.initial_r2t, value, false)),
    key("MaxBurstLength", KeyScope::Commands, |p, value| lower(&mut p.max_burst, value, LENGTHS, MAX_BURST)),
    key("MaxConnections", KeyScope::Commands, |p, value| {
        lower(&mut p.max_connections, value, 1..=65_535, MAX_CONNECTIONS)
    }),
    key("MaxOutstandingR2T", KeyScope::Commands, |p, value| {
        lower(&mut p.max_r2t, value, 1..=65_535, MAX_R2T)
    }),
    key("MaxRecvDataSegmentLength", KeyScope::Connection, max_data),
    key("OFMarkInt", KeyScope::Connection, |_, _| Answer::Reject),
    key("OFMarker", KeyScope::Connection, |_, _| Answer::Value("No".into())),
    key("SendTargets", KeyScope::Connection, |_, _| Answer::Reject),
    key("TaskReporting", KeyScope::Commands, task_reporting),
    key("iSCSIProtocolLevel", KeyScope::Commands, |p, value| {
        lower(&mut p.protocol_level, value, 0..=31, PROTOCOL_LEVEL)
    }),
];

impl NegotiationKey {
    /// The key with this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        static TABLE: [NegotiationKey; KEYS.len()] = KEYS;
        TABLE.iter().find(|key| key.name == name)
    }

    /// Takes an initiator's offer during the login, and returns the answer.
    pub(super) fn settle(
        &self,
        parameters: &mut Parameters,
        place: NegotiatedSession,
        offer: &str,
    ) -> Answer {
        match self.scope {
            KeyScope::Commands if place.discovery => Answer::Irrelevant,
            KeyScope::Commands | KeyScope::Session if !place.leading => Answer::Reject,
            KeyScope::Commands | KeyScope::Session | KeyScope::Connection => (self.settle)(parameters, offer),
        }
    }

    /// Like `settle`, for full feature phase, where few keys can be changed.
    pub(super) fn settle_later(&self, parameters: &mut Parameters, offer: &str) -> Answer {
        match self.name {
            "MaxRecvDataSegmentLength" => (self.settle)(parameters, offer),
            _ => Answer::Reject,
        }
    }
}

/// Enforces the rules between keys at the end of the negotiation.
pub(super) fn finish(parameters: &mut Parameters) {
    parameters.first_burst = parameters.first_burst.min(parameters.max_burst);
}

/// FirstBurstLength depends on MaxBurstLength, whichever key comes first in the text.
pub(super) fn order(key: &str) -> u8 {
    u8::from(key != "MaxBurstLength")
}

fn number(offer: &str, allowed: &RangeInclusive<u64>) -> Option<u64> {
    keys::number(offer).filter(|number| allowed.contains(number))
}

/// Settles a key whose result function is Minimum.
fn lower<T: TryFrom<u64> + Into<u64> + Copy>(
    field: &mut T,
    offer: &str,
    allowed: RangeInclusive<u64>,
    ours: T,
) -> Answer {
    settled(field, number(offer, &allowed).map(|offer| offer.min(ours.into())))
}

/// Settles a key whose result function is Maximum.
fn higher<T: TryFrom<u64> + Into<u64> + Copy>(
    field: &mut T,
    offer: &str,
    allowed: RangeInclusive<u64>,
    ours: T,
) -> Answer {
    settled(field, number(offer, &allowed).map(|offer| offer.max(ours.into())))
}

fn settled<T: TryFrom<u64>>(field: &mut T, number: Option<u64>) -> Answer {
    let Some((number, value)) = number.and_then(|number| Some((number, T::try_from(number).ok()?))) else {
        return Answer::Reject;
    };
    *field = value;
    Answer::Value(number.to_string().into())
}

fn or(field: &mut bool, offer: &str, ours: bool) -> Answer {
    decided(field, keys::boolean(offer).map(|offer| offer | ours))
}

fn and(field: &mut bool, offer: &str, ours: bool) -> Answer {
    decided(field, keys::boolean(offer).map(|offer| offer & ours))
}

fn decided(field: &mut bool, result: Option<bool>) -> Answer {
    let Some(result) = result else { return Answer::Reject };
    *field = result;
    Answer::Value(keys::yes_or_no(result).into())
}

/// The first supported digest of the list: all digests of RFC 7143 13.1 are supported.
fn digest(field: &mut bool, offer: &str) -> Answer {
    let chosen = keys::list(offer).find(|digest| matches!(*digest, "CRC32C" | keys::NONE));
    let Some(chosen) = chosen else { return Answer::Reject };
    *field = chosen == "CRC32C";
    Answer::Value(if *field { "CRC32C" } else { keys::NONE }.into())
}

fn first_burst(parameters: &mut Parameters, offer: &str) -> Answer {
    let ours = MAX_FIRST_BURST.min(parameters.max_burst);
    lower(&mut parameters.first_burst, offer, LENGTHS, ours)
}

/// Each side declares its own value.
fn max_data(parameters: &mut Parameters, said: &str) -> Answer {
    match settled(&mut parameters.their_max_data, number(said, &LENGTHS)) {
        Answer::Value(_) => Answer::Nothing,
        other => other,
    }
}

fn task_reporting(parameters: &mut Parameters, offer: &str) -> Answer {
    if !keys::list(offer).any(|kind| kind == "RFC3720") {
        return Answer::Reject;
    }
    parameters.task_reporting = TaskReporting::Rfc3720;
    Answer::Value("RFC3720".into())
}
