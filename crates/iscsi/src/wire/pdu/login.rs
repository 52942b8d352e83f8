//! Login Request and Login Response, RFC 7143 11.12 and 11.13.

use wire::{Field, Malformed, Reader, Writer};

use super::head::Opcode;
use crate::wire::layout::pdu;

/// The only version of the protocol.
pub const VERSION: u8 = 0x00;

/// Login requests are always immediate.
const IMMEDIATE: u8 = 0x40;
wire::number! {
    /// A stage of the login phase, RFC 7143 11.12.3. Two bits; 2 is reserved.
    pub Stage: u8 {
        SECURITY_NEGOTIATION = 0,
        OPERATIONAL_NEGOTIATION = 1,
        FULL_FEATURE = 3,
    }
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

wire::bit_fields! { Stage }

pdu! {
    /// Login Request, RFC 7143 11.12. Its text follows the header.
    pub struct LoginRequest(Opcode::LOGIN_REQUEST.0 | IMMEDIATE, 0) {
        /// T: the initiator is ready for `next`.
        pub transit: bool = 0x80 of 1,
        /// C: the text continues in the next request.
        pub more: bool = 0x40 of 1,
        /// CSG.
        pub current: Stage = 0x0c of 1,
        /// NSG; has a meaning only with `transit`.
        pub next: Stage = 0x03 of 1,
        /// The highest version that the initiator supports.
        pub version_max: u8 = 0xff of 2,
        /// The lowest version that the initiator supports.
        pub version_min: u8 = 0xff of 3,
    } {
        /// Identifies the initiator's port, together with InitiatorName.
        pub isid: [u8; 6],
        /// 0: a new session; otherwise the session that the connection joins.
        pub tsih: u16,
        /// The same in all requests of a login.
        pub task_tag: u32,
        /// The number of this connection in the session.
        pub cid: u16 [2],
        /// CmdSN.
        pub cmd_sn: u32,
        /// ExpStatSN.
        pub exp_stat_sn: u32 [16],
    }
}

pdu! {
    /// Login Response, RFC 7143 11.13. Its text follows the header.
    pub struct LoginResponse(Opcode::LOGIN_RESPONSE.0, 0) {
        /// T: the target goes to `next`, too.
        pub transit: bool = 0x80 of 1,
        /// C: the text continues in the next response.
        pub more: bool = 0x40 of 1,
        /// CSG, as in the request.
        pub current: Stage = 0x0c of 1,
        /// NSG; has a meaning only with `transit`.
        pub next: Stage = 0x03 of 1,
        /// The highest version that the target supports.
        pub version_max: u8 = 0xff of 2,
        /// The version in use.
        pub version_active: u8 = 0xff of 3,
    } {
        /// As in the request.
        pub isid: [u8; 6],
        /// The session's number in the last response of a login; before that, as in the request.
        pub tsih: u16,
        /// As in the request.
        pub task_tag: u32 [16],
        /// The result.
        pub status: LoginStatus [10],
    }
}

impl Field<'_> for LoginStatus {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self(r.u8()?, r.u8()?))
    }

    fn write(&self, w: &mut Writer) {
        w.put(&[self.0, self.1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::pdu::SequenceNumbers;

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
        let response = LoginResponse::decode(&mut Reader::new(&bytes)).unwrap();
        let numbers = SequenceNumbers::decode(&mut Reader::new(&bytes[24..])).unwrap();
        assert_eq!((response.current, response.next), (Stage::OPERATIONAL_NEGOTIATION, Stage::FULL_FEATURE));
        assert_eq!((response.tsih, response.task_tag), (42, 7));
        assert_eq!(numbers, SequenceNumbers { stat_sn: 3, exp_cmd_sn: 5, max_cmd_sn: 36 });
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
