use wire::{Malformed, Reader, Writer};

use super::head::{Opcode, begin, open};
use super::numbers::Numbers;

/// The only version of the protocol.
pub const VERSION: u8 = 0x00;

/// Login requests are always immediate.
const IMMEDIATE: u8 = 0x40;
/// The sender is ready to go to the next stage.
const TRANSIT: u8 = 0x80;
/// The text continues in the next request.
const CONTINUE: u8 = 0x40;

/// A stage of the login phase, RFC 7143 11.12.3. Two bits; 2 is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stage(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.12.3")]
impl Stage {
    pub const SECURITY_NEGOTIATION: Self = Self(0);
    pub const OPERATIONAL_NEGOTIATION: Self = Self(1);
    pub const FULL_FEATURE: Self = Self(3);
}

/// The result of a login: class and detail, RFC 7143 11.13.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginStatus(pub u8, pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.13.5")]
impl LoginStatus {
    pub const SUCCESS: Self = Self(0x00, 0x00);
    pub const TARGET_MOVED_TEMPORARILY: Self = Self(0x01, 0x01);
    pub const TARGET_MOVED_PERMANENTLY: Self = Self(0x01, 0x02);
    pub const INITIATOR_ERROR: Self = Self(0x02, 0x00);
    pub const AUTHENTICATION_FAILURE: Self = Self(0x02, 0x01);
    pub const AUTHORIZATION_FAILURE: Self = Self(0x02, 0x02);
    pub const NOT_FOUND: Self = Self(0x02, 0x03);
    pub const TARGET_REMOVED: Self = Self(0x02, 0x04);
    pub const UNSUPPORTED_VERSION: Self = Self(0x02, 0x05);
    pub const TOO_MANY_CONNECTIONS: Self = Self(0x02, 0x06);
    pub const MISSING_PARAMETER: Self = Self(0x02, 0x07);
    pub const CANNOT_INCLUDE_IN_SESSION: Self = Self(0x02, 0x08);
    pub const SESSION_TYPE_NOT_SUPPORTED: Self = Self(0x02, 0x09);
    pub const SESSION_DOES_NOT_EXIST: Self = Self(0x02, 0x0a);
    pub const INVALID_DURING_LOGIN: Self = Self(0x02, 0x0b);
    pub const TARGET_ERROR: Self = Self(0x03, 0x00);
    pub const SERVICE_UNAVAILABLE: Self = Self(0x03, 0x01);
    pub const OUT_OF_RESOURCES: Self = Self(0x03, 0x02);
}

/// Login Request, RFC 7143 11.12. Its text follows the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRequest {
    /// T: the initiator is ready for `next`.
    pub transit: bool,
    /// C: the text continues in the next request.
    pub more: bool,
    /// CSG.
    pub current: Stage,
    /// NSG; has a meaning only with `transit`.
    pub next: Stage,
    /// The highest version that the initiator supports.
    pub version_max: u8,
    /// The lowest version that the initiator supports.
    pub version_min: u8,
    /// Identifies the initiator's port, together with InitiatorName.
    pub isid: [u8; 6],
    /// 0: a new session; otherwise the session that the connection joins.
    pub tsih: u16,
    /// The same in all requests of a login.
    pub task_tag: u32,
    /// The number of this connection in the session.
    pub cid: u16,
    /// CmdSN.
    pub cmd_sn: u32,
    /// ExpStatSN.
    pub exp_stat_sn: u32,
}

impl LoginRequest {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (_, [flags, version_max, version_min]) = open(r)?;
        let (isid, tsih) = (r.array()?, r.u16_be()?);
        let (task_tag, cid) = (r.u32_be()?, r.u16_be()?);
        r.skip(2)?;
        let (cmd_sn, exp_stat_sn) = (r.u32_be()?, r.u32_be()?);
        r.skip(16)?;
        let (transit, more) = (flags & TRANSIT != 0, flags & CONTINUE != 0);
        let (current, next) = stages(flags);
        let request = Self {
            transit,
            more,
            current,
            next,
            version_max,
            version_min,
            isid,
            tsih,
            task_tag,
            cid,
            cmd_sn,
            exp_stat_sn,
        };
        Ok(request)
    }

    /// Writes the header.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        let flags = flags(self.transit, self.more, self.current, self.next);
        let opcode = Opcode(Opcode::LOGIN_REQUEST.0 | IMMEDIATE);
        begin(w, opcode, [flags, self.version_max, self.version_min], data_length);
        w.put(&self.isid);
        w.u16_be(self.tsih);
        w.u32_be(self.task_tag);
        w.u16_be(self.cid);
        w.u16_be(0);
        w.u32_be(self.cmd_sn);
        w.u32_be(self.exp_stat_sn);
        w.zeros(16);
    }
}

/// Login Response, RFC 7143 11.13. Its text follows the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginResponse {
    /// T: the target goes to `next`, too.
    pub transit: bool,
    /// C: the text continues in the next response.
    pub more: bool,
    /// CSG, as in the request.
    pub current: Stage,
    /// NSG; has a meaning only with `transit`.
    pub next: Stage,
    /// The highest version that the target supports.
    pub version_max: u8,
    /// The version in use.
    pub version_active: u8,
    /// As in the request.
    pub isid: [u8; 6],
    /// The session's number in the last response of a login; before that, as in the request.
    pub tsih: u16,
    /// As in the request.
    pub task_tag: u32,
    /// The result.
    pub status: LoginStatus,
}

impl LoginResponse {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<(Self, Numbers), Malformed> {
        let (_, [flags, version_max, version_active]) = open(r)?;
        let (isid, tsih) = (r.array()?, r.u16_be()?);
        let task_tag = r.u32_be()?;
        r.skip(4)?;
        let numbers = Numbers::decode(r)?;
        let status = LoginStatus(r.u8()?, r.u8()?);
        r.skip(10)?;
        let (transit, more) = (flags & TRANSIT != 0, flags & CONTINUE != 0);
        let (current, next) = stages(flags);
        let response =
            Self { transit, more, current, next, version_max, version_active, isid, tsih, task_tag, status };
        Ok((response, numbers))
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        let flags = flags(self.transit, self.more, self.current, self.next);
        begin(w, Opcode::LOGIN_RESPONSE, [flags, self.version_max, self.version_active], data_length);
        w.put(&self.isid);
        w.u16_be(self.tsih);
        w.u32_be(self.task_tag);
        w.zeros(16); // and numbers
        w.put(&[self.status.0, self.status.1]);
        w.zeros(10);
    }
}

/// CSG and NSG.
fn stages(flags: u8) -> (Stage, Stage) {
    (Stage(flags >> 2 & 3), Stage(flags & 3))
}

fn flags(transit: bool, more: bool, current: Stage, next: Stage) -> u8 {
    let transit = if transit { TRANSIT } else { 0 };
    let more = if more { CONTINUE } else { 0 };
    transit | more | (current.0 & 3) << 2 | next.0 & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encoded by hand from RFC 7143 11.12: T, CSG 0, NSG 1, an ISID in random format like
    /// open-iscsi's.
    const REQUEST_BYTES: [u8; 48] = [
        0x43, 0x81, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, // opcode, flags, versions, lengths
        0x00, 0x02, 0x3d, 0x00, 0x00, 0x01, 0x00, 0x00, // ISID, TSIH
        0x00, 0x00, 0x00, 0x07, 0x00, 0x01, 0x00, 0x00, // task tag, CID
        0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x09, // CmdSN, ExpStatSN
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn a_request_is_laid_out_as_in_rfc_7143_11_12() {
        let request = LoginRequest::decode(&mut Reader::new(&REQUEST_BYTES)).unwrap();
        let expected = LoginRequest {
            transit: true,
            more: false,
            current: Stage::SECURITY_NEGOTIATION,
            next: Stage::OPERATIONAL_NEGOTIATION,
            version_max: 0,
            version_min: 0,
            isid: [0x00, 0x02, 0x3d, 0x00, 0x00, 0x01],
            tsih: 0,
            task_tag: 7,
            cid: 1,
            cmd_sn: 5,
            exp_stat_sn: 9,
        };
        assert_eq!(request, expected);
        let mut w = Writer::new();
        request.encode(0x102, &mut w);
        assert_eq!(w.as_bytes(), REQUEST_BYTES);
    }

    #[test]
    fn a_response_is_laid_out_as_in_rfc_7143_11_13() {
        let bytes = [
            0x23, 0x87, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18, // opcode, flags, versions, lengths
            0x80, 0x12, 0x34, 0x56, 0x00, 0x00, 0x00, 0x2a, // ISID, TSIH
            0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, // task tag
            0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x05, // StatSN, ExpCmdSN
            0x00, 0x00, 0x00, 0x24, 0x02, 0x0a, 0x00, 0x00, // MaxCmdSN, status
            0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let (response, numbers) = LoginResponse::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!((response.current, response.next), (Stage::OPERATIONAL_NEGOTIATION, Stage::FULL_FEATURE));
        assert_eq!((response.tsih, response.task_tag), (42, 7));
        assert_eq!(numbers, Numbers { stat_sn: 3, exp_cmd_sn: 5, max_cmd_sn: 36 });
        assert_eq!(response.status, LoginStatus::SESSION_DOES_NOT_EXIST);
        let mut w = Writer::new();
        response.encode(24, &mut w);
        let mut written = w.into_bytes();
        numbers.stamp(&mut written, true);
        assert_eq!(written, bytes);
    }

    #[test]
    fn what_is_shorter_is_refused() {
        for length in 0..48 {
            assert!(LoginRequest::decode(&mut Reader::new(&REQUEST_BYTES[..length])).is_err());
        }
    }
}
