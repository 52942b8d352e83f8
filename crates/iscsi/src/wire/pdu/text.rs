//! Text Request and Text Response, RFC 7143 11.10 and 11.11, by which initiators ask for the list of targets.

use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

pdu! {
    /// Text Request, RFC 7143 11.10. Its text follows the header.
    pub struct TextRequest(Opcode::TEXT_REQUEST.0, 0) {
        /// I: it does not count in CmdSN.
        pub immediate: bool = 0x40 of 0,
        /// F: the initiator's text is complete.
        pub last: bool = 0x80 of 1,
        /// C: the text continues in the next request.
        pub more: bool = 0x40 of 1,
    } {
        /// The value that the target gave together with `transfer_tag`.
        pub lun: Lun,
        /// The same in all requests of an exchange.
        pub task_tag: u32,
        /// The tag of the target's last response; [`super::NO_TAG`] at the beginning.
        pub transfer_tag: u32,
        /// CmdSN.
        pub cmd_sn: u32,
        /// ExpStatSN.
        pub exp_stat_sn: u32 [16],
    }
}

pdu! {
    /// Text Response, RFC 7143 11.11. Its text follows the header.
    pub struct TextResponse(Opcode::TEXT_RESPONSE.0, 0) {
        /// F: the exchange is over.
        pub last: bool = 0x80 of 1,
        /// C: the text continues in the next response.
        pub more: bool = 0x40 of 1,
    } {
        /// The initiator repeats it in the next request.
        pub lun: Lun,
        /// As in the request.
        pub task_tag: u32,
        /// The tag of the next request; [`super::NO_TAG`] at the end.
        pub transfer_tag: u32 [24],
    }
}

#[cfg(test)]
mod tests {
    use wire::{Reader, Writer};

    use super::*;
    use crate::wire::pdu::{NO_TAG, SequenceNumbers};

    #[test]
    fn a_request_is_laid_out_as_in_rfc_7143_11_10() {
        let bytes = [
            0x44, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, // opcode, flags, lengths
            0, 0, 0, 0, 0, 0, 0, 0, // LUN
            0x00, 0x00, 0x00, 0x02, 0xff, 0xff, 0xff, 0xff, // task tag, transfer tag
            0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x09, // CmdSN, ExpStatSN
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let request = TextRequest::decode(&mut Reader::new(&bytes)).unwrap();
        let expected = TextRequest {
            immediate: true,
            last: true,
            more: false,
            lun: Lun::default(),
            task_tag: 2,
            transfer_tag: NO_TAG,
            cmd_sn: 5,
            exp_stat_sn: 9,
        };
        assert_eq!(request, expected);
        let mut w = Writer::new();
        request.encode(16, &mut w);
        assert_eq!(w.as_bytes(), bytes);
    }

    #[test]
    fn a_response_is_laid_out_as_in_rfc_7143_11_11() {
        let bytes = [
            0x24, 0x40, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, // opcode, flags, lengths
            0, 0, 0, 0, 0, 0, 0, 0, // LUN
            0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x03, // task tag, transfer tag
            0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x09, // StatSN, ExpCmdSN
            0x00, 0x00, 0x00, 0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // MaxCmdSN
        ];
        let response = TextResponse::decode(&mut Reader::new(&bytes)).unwrap();
        let numbers = SequenceNumbers::decode(&mut Reader::new(&bytes[24..])).unwrap();
        assert!(response.more && !response.last);
        assert_eq!(response.transfer_tag, 3);
        assert_eq!(numbers, SequenceNumbers { stat_sn: 5, exp_cmd_sn: 9, max_cmd_sn: 40 });
        let mut w = Writer::new();
        response.encode(0x2000, &mut w);
        let mut written = w.into_bytes();
        numbers.stamp(&mut written, true);
        assert_eq!(written, bytes);
    }
}
