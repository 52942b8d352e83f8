//! Logins, RFC 7143 6.3.

use wire::{Reader, Writer};

use super::chap::{Chap, value};
use super::{Client, Error, Link, Result, encoded};
use crate::wire::keys;
use crate::wire::pdu::{LoginRequest, LoginResponse, LoginStatus, Opcode, Stage};

/// The most responses of a login that bring nothing new.
const MAX_ROUNDS: usize = 8;

/// The identity of the initiator, the target, and the parameters to negotiate.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// The initiator's name.
    pub initiator: &'a str,
    /// The initiator's port, together with its name.
    pub isid: [u8; 6],
    /// The target; `None` makes a discovery session.
    pub target: Option<&'a str>,
    /// The proof of the initiator's identity; `None` logs in without authentication.
    pub chap: Option<Chap<'a>>,
    /// Asks for both digests.
    pub digests: bool,
    /// Further keys for the operational stage.
    pub keys: &'a [(&'a str, &'a str)],
}

impl<'a> Login<'a> {
    /// A login to this target, without authentication, with sizes that cause no delay.
    #[must_use]
    pub fn to(target: &'a str) -> Self {
        Self {
            initiator: "iqn.2026-11.invalid:initiator",
            isid: [0x80, 0, 0, 0, 0, 1],
            target: Some(target),
            chap: None,
            digests: false,
            keys: &[
                ("InitialR2T", "No"),
                ("ImmediateData", "Yes"),
                ("MaxRecvDataSegmentLength", "1048576"),
                ("MaxBurstLength", "1048576"),
                ("FirstBurstLength", "262144"),
            ],
        }
    }

    /// A login to a discovery session.
    #[must_use]
    pub fn discovery() -> Self {
        Self { target: None, keys: &[], ..Self::to("") }
    }
}

/// The negotiated parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegotiatedParameters {
    /// The session's number.
    pub tsih: u16,
    /// CRC32C behind headers.
    pub header_digest: bool,
    /// CRC32C behind data.
    pub data_digest: bool,
    /// The most data that the target accepts in one PDU.
    pub max_segment: usize,
    /// The most data of a command that the initiator sends unsolicited.
    pub first_burst: usize,
    /// Data may travel with a command.
    pub immediate_data: bool,
}

impl Default for NegotiatedParameters {
    /// The defaults of RFC 7143 section 13.
    fn default() -> Self {
        Self {
            tsih: 0,
            header_digest: false,
            data_digest: false,
            max_segment: 8192,
            first_burst: 65_536,
            immediate_data: true,
        }
    }
}

impl<L: Link> Client<L> {
    /// Logs in: security, then operational parameters.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn log_in(&mut self, login: &Login<'_>) -> Result<()> {
        let method = if login.chap.is_some() { "CHAP" } else { "None" };
        let mut pairs =
            vec![("InitiatorName", login.initiator.to_owned()), ("AuthMethod", method.to_owned())];
        match login.target {
            Some(target) => {
                pairs.extend([("SessionType", "Normal".into()), ("TargetName", target.to_owned())])
            }
            None => pairs.push(("SessionType", "Discovery".into())),
        }
        let next = (login.chap.is_none(), Stage::OPERATIONAL_NEGOTIATION);
        self.exchange(login, next, &pairs)?;
        if let Some(chap) = &login.chap {
            self.prove(login, chap)?;
        }
        self.settle(login)
    }

    /// The operational stage.
    fn settle(&mut self, login: &Login<'_>) -> Result<()> {
        let digest = if login.digests { "CRC32C" } else { "None" };
        let mut pairs: Vec<(&str, String)> =
            vec![("HeaderDigest", digest.to_owned()), ("DataDigest", digest.to_owned())];
        pairs.extend(login.keys.iter().map(|(key, value)| (*key, (*value).to_owned())));
        let mut text = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let (response, said) = self.exchange(login, (true, Stage::FULL_FEATURE), &pairs)?;
            text.extend_from_slice(&said);
            pairs.clear();
            if response.transit {
                self.agreed = agreed(&text, response.tsih);
                return Ok(());
            }
        }
        Err(wire::Malformed("a login without an end").into())
    }

    /// Sends a request and receives its response; returns the response's text. `transit` is the
    /// next stage.
    pub(super) fn exchange(
        &mut self,
        login: &Login<'_>,
        (transit, next): (bool, Stage),
        pairs: &[(&str, String)],
    ) -> Result<(LoginResponse, Vec<u8>)> {
        let current = match next {
            Stage::FULL_FEATURE => Stage::OPERATIONAL_NEGOTIATION,
            _ => Stage::SECURITY_NEGOTIATION,
        };
        let mut text = Writer::new();
        pairs.iter().for_each(|(key, value)| keys::encode(key, value, &mut text));
        let request = self.login_request(login.isid, (transit, current, next));
        self.send(encoded(|w| request.encode(text.len(), w)), text.as_bytes())?;
        let mut whole = Vec::new();
        loop {
            let (response, said) = self.login_response()?;
            whole.extend_from_slice(&said);
            if !response.more {
                return Ok((response, whole));
            }
            let request = self.login_request(login.isid, (false, current, next));
            self.send(encoded(|w| request.encode(0, w)), &[])?;
        }
    }

    /// Sends a login request of a new session.
    pub fn login_request(
        &self,
        isid: [u8; 6],
        (transit, current, next): (bool, Stage, Stage),
    ) -> LoginRequest {
        LoginRequest {
            transit,
            more: false,
            current,
            next: if transit { next } else { Stage::SECURITY_NEGOTIATION },
            version_max: 0,
            version_min: 0,
            isid,
            tsih: 0,
            task_tag: 0,
            cid: 0,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        }
    }

    /// Receives the response to a login request; returns it with its text.
    ///
    /// # Errors
    /// See [`Error`]: also when the target refuses the login.
    pub fn login_response(&mut self) -> Result<(LoginResponse, Vec<u8>)> {
        let pdu = self.expect(Opcode::LOGIN_RESPONSE)?;
        let response = LoginResponse::decode(&mut Reader::new(&pdu.header))?;
        match response.status {
            LoginStatus::SUCCESS => Ok((response, pdu.data)),
            status => Err(Error::Login(status)),
        }
    }
}

fn agreed(text: &[u8], tsih: u16) -> NegotiatedParameters {
    let default = NegotiatedParameters::default();
    let number =
        |key, default| value(text, key).and_then(|v| keys::number(&v)).map_or(default, |n| n as usize);
    let is_digest = |key| value(text, key).is_some_and(|value| value == "CRC32C");
    NegotiatedParameters {
        tsih,
        header_digest: is_digest("HeaderDigest"),
        data_digest: is_digest("DataDigest"),
        max_segment: number("MaxRecvDataSegmentLength", default.max_segment),
        first_burst: number("FirstBurstLength", default.first_burst),
        immediate_data: value(text, "ImmediateData").is_none_or(|value| value == "Yes"),
    }
}
