//! The interface NETLOGON, MS-NRPC 3.5.4: what a member calls to have a login verified.

use kerberos::wire::logon_info;
pub use kerberos::wire::logon_info::Validation;
use wire::{Malformed, Reader, Writer};

use super::ndr::{REFERENT, align, counted_head, counted_tail, skip_to, string, unique_string};
use super::rpc::Interface;

/// 12345678-1234-abcd-ef00-01234567cffb 1.0.
pub const NETLOGON: Interface = Interface {
    uuid: [0x78, 0x56, 0x34, 0x12, 0x34, 0x12, 0xcd, 0xab, 0xef, 0x00, 0x01, 0x23, 0x45, 0x67, 0xcf, 0xfb],
    version: 1,
};

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
    let mut w = Writer::new();
    unique_string(&mut w, parties.controller);
    string(&mut w, parties.computer);
    w.put(&ours);
    w.into_bytes()
}

/// The controller's challenge, and the status.
///
/// # Errors
/// The answer is cut.
pub fn challenged(stub: &[u8]) -> Result<([u8; 8], u32), Malformed> {
    let mut r = Reader::new(stub);
    let answer = (r.array()?, r.u32_le()?);
    r.finish()?;
    Ok(answer)
}

/// Proves that this server knows the password of its account.
#[must_use]
pub fn authenticate(parties: &Parties<'_>, credential: [u8; 8]) -> Vec<u8> {
    let mut w = Writer::new();
    unique_string(&mut w, parties.controller);
    string(&mut w, parties.account);
    w.u16_le(WORKSTATION);
    string(&mut w, parties.computer);
    w.put(&credential);
    align(&mut w, 4);
    w.u32_le(flags::ASKED);
    w.into_bytes()
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
    let mut r = Reader::new(stub);
    let (credential, flags) = (r.array()?, r.u32_le()?);
    r.skip(4)?; // the number of the account
    let status = r.u32_le()?;
    r.finish()?;
    Ok(AuthenticateResponse { credential, flags, status })
}

/// Asks whether a login is right.
#[must_use]
pub fn logon(parties: &Parties<'_>, logon: &Logon<'_>) -> Vec<u8> {
    let mut w = Writer::new();
    unique_string(&mut w, parties.controller);
    unique_string(&mut w, parties.computer);
    align(&mut w, 4);
    w.u16_le(NETWORK);
    w.u16_le(NETWORK); // of the union
    w.u32_le(REFERENT);
    counted_head(&mut w, logon.domain);
    w.u32_le(0); // neither accounts of computers, nor of domains
    w.zeros(8); // a number of this login, which is not used
    counted_head(&mut w, logon.user);
    counted_head(&mut w, logon.workstation);
    w.put(&logon.challenge);
    counted_head(&mut w, logon.nt);
    counted_head(&mut w, logon.lm);
    for (bytes, size) in
        [(logon.domain, 2), (logon.user, 2), (logon.workstation, 2), (logon.nt, 1), (logon.lm, 1)]
    {
        counted_tail(&mut w, bytes, size);
    }
    align(&mut w, 2);
    w.u16_le(SAM_INFO4);
    align(&mut w, 4);
    w.u32_le(0); // extra flags
    w.into_bytes()
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
    let mut r = Reader::new(stub);
    if r.u16_le()? != SAM_INFO4 {
        return Err(Malformed("a validation of another level"));
    }
    skip_to(&mut r, 4)?;
    let validation = match r.u32_le()? {
        0 => None,
        _ => Some(logon_info::decode_validation(&mut r)?),
    };
    r.skip(1)?; // whether the answer is final
    skip_to(&mut r, 4)?;
    r.skip(4)?; // extra flags
    let status = r.u32_le()?;
    r.finish()?;
    match (status, &validation) {
        (0, None) => Err(Malformed("a login without a user")),
        _ => Ok(Verdict { status, validation }),
    }
}

#[cfg(test)]
mod tests;
