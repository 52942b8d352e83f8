//! The interface NETLOGON, MS-NRPC 3.5.4: what a member calls to have a login verified.

use dcerpc::ndr::{Decoder, Encoder};
use kerberos::wire::logon_info;
pub use kerberos::wire::logon_info::Validation;
use wire::Malformed;

/// NetrServerReqChallenge, 3.5.4.4.1.
pub const CHALLENGE: u16 = 4;
/// NetrServerAuthenticate3, 3.5.4.4.2.
pub const AUTHENTICATE: u16 = 26;
/// NetrLogonSamLogonEx, 3.5.4.5.1.
pub const LOGON: u16 = 39;

/// NetlogonNetworkInformation, 2.2.1.4.16.
const NETWORK: u16 = 2;
/// NetlogonValidationSamInfo4, 2.2.1.4.17.
const SAM_INFO4: u16 = 6;
/// WorkstationSecureChannel, 2.2.1.3.13.
const WORKSTATION: u16 = 2;

/// NegotiateFlags, 3.1.4.2.
pub mod flags {
    /// Keys of 128 bits (O).
    pub const STRONG_KEYS: u32 = 0x0000_4000;
    /// Trusts between forests: the level of validation with SIDs of other domains (R).
    pub const CROSS_FOREST: u32 = 0x0002_0000;
    /// AES and SHA-256 (W).
    pub const AES: u32 = 0x0100_0000;
    /// Calls over a sealed connection (Y).
    pub const SECURE_RPC: u32 = 0x4000_0000;
    /// What a channel of this server needs.
    pub const NEEDED: u32 = STRONG_KEYS | AES | SECURE_RPC;
    /// What it asks for.
    pub const ASKED: u32 = NEEDED | CROSS_FOREST;
}

/// The parties of a channel.
#[derive(Debug, Clone, Copy)]
pub struct Parties<'a> {
    /// The controller, such as `\\dc1.lab.test`.
    pub controller: &'a str,
    /// The account of this server, such as `FILER$`.
    pub account: &'a str,
    /// The short name of this server.
    pub computer: &'a str,
}

/// A login of a user, NETLOGON_NETWORK_INFO (2.2.1.4.5). The names are UTF-16LE.
#[derive(Debug, Clone, Copy)]
pub struct Logon<'a> {
    /// The user's domain.
    pub domain: &'a [u8],
    /// The user.
    pub user: &'a [u8],
    /// The client.
    pub workstation: &'a [u8],
    /// The server's challenge.
    pub challenge: [u8; 8],
    /// The client's answer by NTLMv2.
    pub nt: &'a [u8],
    /// Its answer by LMv2.
    pub lm: &'a [u8],
}

/// Asks for the controller's challenge.
#[must_use]
pub fn challenge(parties: &Parties<'_>, ours: [u8; 8]) -> Vec<u8> {
    let mut e = Encoder::of_unique_pointers();
    e.unique_wide_string(parties.controller);
    e.wide_string(parties.computer);
    e.put(&ours);
    e.into_stub()
}

/// The controller's challenge, and the status.
///
/// # Errors
/// The answer is cut.
pub fn challenged(stub: &[u8]) -> Result<([u8; 8], u32), Malformed> {
    let mut d = Decoder::new(stub);
    let answer = (d.array()?, d.u32()?);
    d.finish()?;
    Ok(answer)
}

/// Proves that this server knows the password of its account.
#[must_use]
pub fn authenticate(parties: &Parties<'_>, credential: [u8; 8]) -> Vec<u8> {
    let mut e = Encoder::of_unique_pointers();
    e.unique_wide_string(parties.controller);
    e.wide_string(parties.account);
    e.u16(WORKSTATION);
    e.wide_string(parties.computer);
    e.put(&credential);
    e.align(4);
    e.u32(flags::ASKED);
    e.into_stub()
}

/// What the controller answers to [`authenticate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthenticateResponse {
    /// Its proof that it knows the password, too.
    pub credential: [u8; 8],
    /// What both sides can do.
    pub flags: u32,
    /// An NTSTATUS.
    pub status: u32,
}

/// Reads the answer to [`authenticate`].
///
/// # Errors
/// The answer is cut.
pub fn authenticated(stub: &[u8]) -> Result<AuthenticateResponse, Malformed> {
    let mut d = Decoder::new(stub);
    let (credential, flags) = (d.array()?, d.u32()?);
    let (_number_of_account, status) = (d.u32()?, d.u32()?);
    d.finish()?;
    Ok(AuthenticateResponse { credential, flags, status })
}

/// Asks whether a login is right.
#[must_use]
pub fn logon(parties: &Parties<'_>, logon: &Logon<'_>) -> Vec<u8> {
    let mut e = Encoder::of_unique_pointers();
    e.unique_wide_string(parties.controller);
    e.unique_wide_string(parties.computer);
    e.align(4);
    e.u16(NETWORK);
    e.u16(NETWORK); // of the union
    e.pointer();
    e.counted_head(logon.domain);
    e.u32(0); // neither accounts of computers, nor of domains
    e.put(&[0; 8]); // a number of this login, which is not used
    e.counted_head(logon.user);
    e.counted_head(logon.workstation);
    e.put(&logon.challenge);
    e.counted_head(logon.nt);
    e.counted_head(logon.lm);
    for (bytes, size) in
        [(logon.domain, 2), (logon.user, 2), (logon.workstation, 2), (logon.nt, 1), (logon.lm, 1)]
    {
        e.counted_tail(bytes, size);
    }
    e.align(2);
    e.u16(SAM_INFO4);
    e.align(4);
    e.u32(0); // extra flags
    e.into_stub()
}

/// What the controller says of a login. The status is an NTSTATUS; if it is 0, there is a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// An NTSTATUS.
    pub status: u32,
    /// The user.
    pub validation: Option<Validation>,
}

/// Reads the answer to [`logon`].
///
/// # Errors
/// The answer is damaged.
pub fn verdict(stub: &[u8]) -> Result<Verdict, Malformed> {
    let mut d = Decoder::new(stub);
    if d.u16()? != SAM_INFO4 {
        return Err(Malformed("a validation of another level"));
    }
    let validation = match d.pointer()? {
        false => None,
        true => Some(d.own_form(4, logon_info::decode_validation)?),
    };
    let _is_final = d.u8()?;
    let (_extra_flags, status) = (d.u32()?, d.u32()?);
    d.finish()?;
    match (status, &validation) {
        (0, None) => Err(Malformed("a login without a user")),
        _ => Ok(Verdict { status, validation }),
    }
}

#[cfg(test)]
mod tests;
