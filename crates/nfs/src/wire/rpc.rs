//! ONC RPC version 2, RFC 5531: record marks, calls, replies, AUTH_NONE and AUTH_SYS.

use wire::{Malformed, Reader, Writer};

use super::gss;
use super::xdr::{
    Decode, Encode, Opaque, Words, arguments, enumeration, opaque, put_opaque, put_words, record,
};

/// The only version of the RPC protocol.
pub const RPC_VERSION: u32 = 2;
/// The longest body of a credential or verifier, RFC 5531 8.2.
pub const AUTH_BODY_LIMIT: usize = 400;
/// The longest machine name of AUTH_SYS, RFC 5531 Appendix A.
pub const MACHINE_NAME_LIMIT: usize = 255;
/// The most supplementary groups of AUTH_SYS, RFC 5531 Appendix A.
pub const GIDS_LIMIT: usize = 16;

const CALL: u32 = 0;
const REPLY: u32 = 1;
const ACCEPTED: u32 = 0;
const DENIED: u32 = 1;

/// The four bytes before each fragment of a record on a stream, RFC 5531 11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordMark {
    /// Whether this fragment ends its record.
    pub last: bool,
    /// How many bytes the fragment has, below 2^31.
    pub len: u32,
}

impl RecordMark {
    /// How many bytes a record mark takes.
    pub const SIZE: usize = 4;
    /// The longest fragment a record mark can announce.
    pub const LEN_LIMIT: u32 = 0x7fff_ffff;
    const LAST: u32 = 0x8000_0000;

    /// The record mark as a number.
    pub fn word(self) -> u32 {
        debug_assert!(self.len <= Self::LEN_LIMIT);
        self.len | if self.last { Self::LAST } else { 0 }
    }

    /// Reads a record mark.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let word = u32::from_be_bytes(bytes);
        Self { last: word & Self::LAST != 0, len: word & Self::LEN_LIMIT }
    }

    /// The record mark on the wire.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        self.word().to_be_bytes()
    }
}

/// The transaction id that begins every message; 0 if the message is too short for one.
pub fn xid(message: &[u8]) -> u32 {
    Reader::new(message).u32_be().unwrap_or(0)
}

/// The program that a call is for, RFC 5531 9: after the transaction id, the kind of the message and the version of RPC.
pub fn program(message: &[u8]) -> Option<u32> {
    let mut r = Reader::new(message);
    r.skip(12).ok()?;
    r.u32_be().ok()
}

enumeration! {
    /// auth_flavor, RFC 5531 8.2.
    pub struct AuthFlavor;
    AUTH_NONE = 0,
    AUTH_SYS = 1,
    AUTH_SHORT = 2,
    AUTH_DH = 3,
    RPCSEC_GSS = 6,
    AUTH_TLS = 7,
}

enumeration! {
    /// auth_stat, why authentication failed, RFC 5531 9.
    pub struct AuthStat;
    AUTH_BADCRED = 1,
    AUTH_REJECTEDCRED = 2,
    AUTH_BADVERF = 3,
    AUTH_REJECTEDVERF = 4,
    AUTH_TOOWEAK = 5,
    AUTH_INVALIDRESP = 6,
    AUTH_FAILED = 7,
    RPCSEC_GSS_CREDPROBLEM = 13,
    RPCSEC_GSS_CTXPROBLEM = 14,
}

record! {
    /// authsys_parms, RFC 5531 Appendix A.
    pub struct AuthSys<'a> {
        pub stamp: u32,
        pub machine_name: Opaque<'a, MACHINE_NAME_LIMIT>,
        pub uid: u32,
        pub gid: u32,
        pub gids: Words<GIDS_LIMIT>,
    }
}

/// opaque_auth: the caller's credential, or its verifier, RFC 5531 8.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    /// An anonymous caller.
    None,
    /// A Unix user, as the client states.
    Sys(AuthSys<'a>),
    /// A call in a security context, or about one, RFC 2203.
    Gss(gss::Credential<'a>),
    /// A client that asks for TLS, RFC 9289 4.1.
    Tls,
    /// AUTH_SYS or RPCSEC_GSS with a body that breaks its layout or limits. The answer is AUTH_BADCRED.
    Malformed,
    /// An unsupported flavour. The answer is AUTH_TOOWEAK or AUTH_BADCRED.
    Unknown(AuthFlavor),
}

impl<'a> Decode<'a> for Credential<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let flavor = AuthFlavor::decode(r)?;
        let body = opaque(r, AUTH_BODY_LIMIT)?;
        Ok(match flavor {
            // Its body should be empty, and is ignored if it is not.
            AuthFlavor::AUTH_NONE => Self::None,
            AuthFlavor::AUTH_TLS if body.is_empty() => Self::Tls,
            AuthFlavor::AUTH_SYS => arguments(&mut Reader::new(body)).map_or(Self::Malformed, Self::Sys),
            AuthFlavor::RPCSEC_GSS => match gss::Credential::of(body) {
                Ok(Some(credential)) => Self::Gss(credential),
                Ok(None) => Self::Unknown(flavor), // another version
                Err(_) => Self::Malformed,
            },
            other => Self::Unknown(other),
        })
    }
}

impl Encode for Credential<'_> {
    fn encode(&self, w: &mut Writer) {
        let flavor = match self {
            Self::None => AuthFlavor::AUTH_NONE,
            Self::Gss(_) => AuthFlavor::RPCSEC_GSS,
            Self::Tls => AuthFlavor::AUTH_TLS,
            Self::Sys(_) | Self::Malformed => AuthFlavor::AUTH_SYS,
            Self::Unknown(flavor) => *flavor,
        };
        flavor.encode(w);
        let at = w.len();
        put_opaque(w, &[]);
        match self {
            Self::Sys(sys) => sys.encode(w),
            Self::Gss(credential) => credential.put(w),
            _ => {}
        }
        w.patch_u32_be(at, (w.len() - at - 4) as u32); // a multiple of four: no padding
    }
}

/// call_body with its xid, RFC 5531 9. The procedure's arguments follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallHeader<'a> {
    pub xid: u32,
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    pub credential: Credential<'a>,
    pub verifier: AuthFlavor,
}

impl<'a> CallHeader<'a> {
    fn decode_after_version(xid: u32, r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (program, version, procedure) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let credential = Credential::decode(r)?;
        let verifier = AuthFlavor::decode(r)?;
        opaque(r, AUTH_BODY_LIMIT)?; // nothing to verify in AUTH_NONE and AUTH_SYS
        Ok(Self { xid, program, version, procedure, credential, verifier })
    }
}

impl<'a> Decode<'a> for CallHeader<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match Message::decode(r)? {
            Message::Call(header) => Ok(header),
            _ => Err(Malformed("not a call of RPC version 2")),
        }
    }
}

impl Encode for CallHeader<'_> {
    fn encode(&self, w: &mut Writer) {
        put_words(w, &[self.xid, CALL, RPC_VERSION, self.program, self.version, self.procedure]);
        self.credential.encode(w);
        self.verifier.encode(w);
        put_opaque(w, &[]);
    }
}

/// The outcome of a call: reply_body, RFC 5531 9, accepted and denied alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Accepted; the procedure's results follow.
    Success,
    ProgUnavail,
    ProgMismatch {
        low: u32,
        high: u32,
    },
    ProcUnavail,
    GarbageArgs,
    SystemErr,
    /// Denied: the server does not support the caller's RPC version.
    RpcMismatch {
        low: u32,
        high: u32,
    },
    /// Denied: the server did not accept the caller's credential.
    AuthError(AuthStat),
}

impl Outcome {
    fn decode_accepted(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        AuthFlavor::decode(r)?; // the server's verifier: nothing to verify in AUTH_NONE
        opaque(r, AUTH_BODY_LIMIT)?;
        Ok(match r.u32_be()? {
            0 => Self::Success,
            1 => Self::ProgUnavail,
            2 => Self::ProgMismatch { low: r.u32_be()?, high: r.u32_be()? },
            3 => Self::ProcUnavail,
            4 => Self::GarbageArgs,
            5 => Self::SystemErr,
            _ => return Err(Malformed("unknown accept_stat")),
        })
    }

    fn decode_denied(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => Ok(Self::RpcMismatch { low: r.u32_be()?, high: r.u32_be()? }),
            1 => Ok(Self::AuthError(AuthStat::decode(r)?)),
            _ => Err(Malformed("unknown reject_stat")),
        }
    }
}

impl Decode<'_> for Outcome {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            ACCEPTED => Self::decode_accepted(r),
            DENIED => Self::decode_denied(r),
            _ => Err(Malformed("unknown reply_stat")),
        }
    }
}

impl Encode for Outcome {
    fn encode(&self, w: &mut Writer) {
        const HEAD: [u32; 3] = [ACCEPTED, AuthFlavor::AUTH_NONE.0, 0]; // and an empty verifier
        let mut accepted = |words: &[u32]| {
            put_words(w, &HEAD);
            put_words(w, words);
        };
        match *self {
            Self::Success => accepted(&[0]),
            Self::ProgUnavail => accepted(&[1]),
            Self::ProgMismatch { low, high } => accepted(&[2, low, high]),
            Self::ProcUnavail => accepted(&[3]),
            Self::GarbageArgs => accepted(&[4]),
            Self::SystemErr => accepted(&[5]),
            Self::RpcMismatch { low, high } => put_words(w, &[DENIED, 0, low, high]),
            Self::AuthError(why) => put_words(w, &[DENIED, 1, why.0]),
        }
    }
}

/// The head of a reply; after [`Outcome::Success`] come the procedure's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHeader {
    pub xid: u32,
    pub outcome: Outcome,
}

impl ReplyHeader {
    /// How many bytes the head of a reply takes before the results.
    pub const SUCCESS_SIZE: usize = 24;

    /// The head of a reply that has results.
    pub fn success(xid: u32) -> Self {
        Self { xid, outcome: Outcome::Success }
    }
}

impl<'a> Decode<'a> for ReplyHeader {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match Message::decode(r)? {
            Message::Reply(header) => Ok(header),
            _ => Err(Malformed("not a reply")),
        }
    }
}

impl Encode for ReplyHeader {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(self.xid);
        w.u32_be(REPLY);
        self.outcome.encode(w);
    }
}

/// The head of any RPC message, rpc_msg of RFC 5531 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A call of RPC version 2.
    Call(CallHeader<'a>),
    /// A call of another RPC version with an unknown layout. The answer is
    /// [`Outcome::RpcMismatch`].
    OtherVersion { xid: u32, version: u32 },
    /// A reply.
    Reply(ReplyHeader),
}

impl<'a> Decode<'a> for Message<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (xid, kind) = (r.u32_be()?, r.u32_be()?);
        match kind {
            CALL => match r.u32_be()? {
                RPC_VERSION => CallHeader::decode_after_version(xid, r).map(Self::Call),
                version => Ok(Self::OtherVersion { xid, version }),
            },
            REPLY => Ok(Self::Reply(ReplyHeader { xid, outcome: Outcome::decode(r)? })),
            _ => Err(Malformed("neither a call nor a reply")),
        }
    }
}

#[cfg(test)]
mod tests;
