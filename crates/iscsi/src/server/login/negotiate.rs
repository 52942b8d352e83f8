//! The operational keys, RFC 7143 section 13: each is settled by what an initiator offers and what we have.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::parameters::{
    LENGTHS, MAX_BURST, MAX_CONNECTIONS, MAX_FIRST_BURST, MAX_R2T, Parameters, TaskReporting,
};
use crate::wire::keys;

/// RFC 7144 7.1.1: 2 is what RFC 7144 itself adds.
const PROTOCOL_LEVEL: u8 = 2;

/// What is answered to an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// This holds now.
    Value(Cow<'static, str>),
    /// Nothing: it was said, not offered.
    Nothing,
    /// It cannot be; what held before holds.
    Reject,
    /// It says nothing here.
    Irrelevant,
}

impl Answer {
    /// As it is written, if it is.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Value(value) => Some(value),
            Self::Nothing => None,
            Self::Reject => Some(keys::REJECT),
            Self::Irrelevant => Some(keys::IRRELEVANT),
        }
    }
}

/// For what a key is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The connection, in sessions of both types.
    Connection,
    /// The session: its first connection settles it.
    Session,
    /// A session with commands; in discovery it says nothing.
    Commands,
}

/// The session that is being made, as far as keys are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// This is the session's first connection.
    pub(super) leading: bool,
    pub(super) discovery: bool,
}

/// A key that is talked about.
pub(super) struct Key {
    name: &'static str,
    scope: Scope,
    settle: fn(&mut Parameters, &str) -> Answer,
}

const fn key(name: &'static str, scope: Scope, settle: fn(&mut Parameters, &str) -> Answer) -> Key {
    Key { name, scope, settle }
}

/// All of them, RFC 7143 section 13 and RFC 7144 7.1. Markers are no more (13.25), and SendTargets is not for logins.
const KEYS: [Key; 21] = [
    key("DataDigest", Scope::Connection, |p, value| digest(&mut p.data_digest, value)),
    key("DataPDUInOrder", Scope::Commands, |p, value| or(&mut p.pdu_in_order, value, true)),
    key("DataSequenceInOrder", Scope::Commands, |p, value| or(&mut p.sequence_in_order, value, true)),
    key("DefaultTime2Retain", Scope::Session, |p, value| lower(&mut p.time2retain_s, value, 0..=3600, 20)),
    key("DefaultTime2Wait", Scope::Session, |p, value| higher(&mut p.time2wait_s, value, 0..=3600, 0)),
    key("ErrorRecoveryLevel", Scope::Session, |p, value| lower(&mut p.error_recovery_level, value, 0..=2, 0)),
    key("FirstBurstLength", Scope::Commands, first_burst),
    key("HeaderDigest", Scope::Connection, |p, value| digest(&mut p.header_digest, value)),
    key("IFMarkInt", Scope::Connection, |_, _| Answer::Reject),
    key("IFMarker", Scope::Connection, |_, _| Answer::Value("No".into())),
    key("ImmediateData", Scope::Commands, |p, value| and(&mut p.immediate_data, value, true)),
    key("InitialR2T", Scope::Commands, |p, value| or(&mut p.initial_r2t, value, false)),
    key("MaxBurstLength", Scope::Commands, |p, value| lower(&mut p.max_burst, value, LENGTHS, MAX_BURST)),
    key("MaxConnections", Scope::Commands, |p, value| {
        lower(&mut p.max_connections, value, 1..=65_535, MAX_CONNECTIONS)
    }),
    key("MaxOutstandingR2T", Scope::Commands, |p, value| lower(&mut p.max_r2t, value, 1..=65_535, MAX_R2T)),
    key("MaxRecvDataSegmentLength", Scope::Connection, max_data),
    key("OFMarkInt", Scope::Connection, |_, _| Answer::Reject),
    key("OFMarker", Scope::Connection, |_, _| Answer::Value("No".into())),
    key("SendTargets", Scope::Connection, |_, _| Answer::Reject),
    key("TaskReporting", Scope::Commands, task_reporting),
    key("iSCSIProtocolLevel", Scope::Commands, |p, value| {
        lower(&mut p.protocol_level, value, 0..=31, PROTOCOL_LEVEL)
    }),
];

impl Key {
    /// The key of a name, if there is one.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        static TABLE: [Key; KEYS.len()] = KEYS;
        TABLE.iter().find(|key| key.name == name)
    }

    /// Takes what an initiator offers at a login, and says what holds then.
    pub(super) fn settle(&self, parameters: &mut Parameters, place: Place, offer: &str) -> Answer {
        match self.scope {
            Scope::Commands if place.discovery => Answer::Irrelevant,
            Scope::Commands | Scope::Session if !place.leading => Answer::Reject,
            Scope::Commands | Scope::Session | Scope::Connection => (self.settle)(parameters, offer),
        }
    }

    /// The same in full feature phase, where little can be said again.
    pub(super) fn settle_later(&self, parameters: &mut Parameters, offer: &str) -> Answer {
        match self.name {
            "MaxRecvDataSegmentLength" => (self.settle)(parameters, offer),
            _ => Answer::Reject,
        }
    }
}

/// What must hold between keys when all has been said.
pub(super) fn finish(parameters: &mut Parameters) {
    parameters.first_burst = parameters.first_burst.min(parameters.max_burst);
}

/// What is said of the length of bursts counts for what is said of their beginning, whichever comes first.
pub(super) fn order(key: &str) -> u8 {
    u8::from(key != "MaxBurstLength")
}

fn number(offer: &str, allowed: &RangeInclusive<u64>) -> Option<u64> {
    keys::number(offer).filter(|number| allowed.contains(number))
}

/// The result function is Minimum.
fn lower<T: TryFrom<u64> + Into<u64> + Copy>(
    field: &mut T,
    offer: &str,
    allowed: RangeInclusive<u64>,
    ours: T,
) -> Answer {
    settled(field, number(offer, &allowed).map(|offer| offer.min(ours.into())))
}

/// The result function is Maximum.
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

/// The first of the list that we have: all that RFC 7143 13.1 has.
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

/// Each side says its own.
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
