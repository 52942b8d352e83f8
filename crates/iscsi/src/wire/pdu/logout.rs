use wire::{Malformed, Reader, Writer};

use super::head::{Opcode, begin, open};
use super::numbers::Numbers;

/// What the logout closes, RFC 7143 11.14.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoutReason(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.14.1")]
impl LogoutReason {
    pub const CLOSE_SESSION: Self = Self(0);
    pub const CLOSE_CONNECTION: Self = Self(1);
    pub const REMOVE_FOR_RECOVERY: Self = Self(2);
}

/// The result of a logout, RFC 7143 11.15.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoutResult(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.15.1")]
impl LogoutResult {
    pub const CLOSED: Self = Self(0);
    pub const CID_NOT_FOUND: Self = Self(1);
    pub const RECOVERY_NOT_SUPPORTED: Self = Self(2);
    pub const CLEANUP_FAILED: Self = Self(3);
}

/// Logout Request, RFC 7143 11.14.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct LogoutRequest {
    pub immediate: bool,
    pub reason: LogoutReason,
    pub task_tag: u32,
    pub cid: u16,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
}

impl LogoutRequest {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (immediate, [flags, ..]) = open(r)?;
        r.skip(8)?;
        let (task_tag, cid) = (r.u32_be()?, r.u16_be()?);
        r.skip(2)?;
        let (cmd_sn, exp_stat_sn) = (r.u32_be()?, r.u32_be()?);
        r.skip(16)?;
        Ok(Self { immediate, reason: LogoutReason(flags & 0x7f), task_tag, cid, cmd_sn, exp_stat_sn })
    }

    /// Writes the header.
    pub fn encode(&self, w: &mut Writer) {
        let immediate = if self.immediate { 0x40 } else { 0 };
        begin(w, Opcode(Opcode::LOGOUT_REQUEST.0 | immediate), [0x80 | self.reason.0, 0, 0], 0);
        w.zeros(8);
        w.u32_be(self.task_tag);
        w.u16_be(self.cid);
        w.u16_be(0);
        w.u32_be(self.cmd_sn);
        w.u32_be(self.exp_stat_sn);
        w.zeros(16);
    }
}

/// Logout Response, RFC 7143 11.15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct LogoutResponse {
    pub result: LogoutResult,
    pub task_tag: u32,
    pub time2wait_s: u16,
    pub time2retain_s: u16,
}

impl LogoutResponse {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<(Self, Numbers), Malformed> {
        let (_, [_, result, _]) = open(r)?;
        r.skip(8)?;
        let task_tag = r.u32_be()?;
        r.skip(4)?;
        let numbers = Numbers::decode(r)?;
        r.skip(4)?;
        let (time2wait_s, time2retain_s) = (r.u16_be()?, r.u16_be()?);
        r.skip(4)?;
        Ok((Self { result: LogoutResult(result), task_tag, time2wait_s, time2retain_s }, numbers))
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, w: &mut Writer) {
        begin(w, Opcode::LOGOUT_RESPONSE, [0x80, self.result.0, 0], 0);
        w.zeros(8);
        w.u32_be(self.task_tag);
        w.zeros(20); // and numbers
        w.u16_be(self.time2wait_s);
        w.u16_be(self.time2retain_s);
        w.zeros(4);
    }
}
