use wire::{Malformed, Reader, Writer};

use super::head::{Lun, Opcode, begin, open};
use super::numbers::Numbers;

/// The sender's text is complete.
const FINAL: u8 = 0x80;
/// The text continues in the next PDU.
const CONTINUE: u8 = 0x40;

/// Text Request, RFC 7143 11.10. Its text follows the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRequest {
    /// I: it does not count in CmdSN.
    pub immediate: bool,
    /// F: the initiator's text is complete.
    pub last: bool,
    /// C: the text continues in the next request.
    pub more: bool,
    /// The value that the target gave together with `transfer_tag`.
    pub lun: Lun,
    /// The same in all requests of an exchange.
    pub task_tag: u32,
    /// The tag of the target's last response; [`super::NO_TAG`] at the beginning.
    pub transfer_tag: u32,
    /// CmdSN.
    pub cmd_sn: u32,
    /// ExpStatSN.
    pub exp_stat_sn: u32,
}

impl TextRequest {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (immediate, [flags, ..]) = open(r)?;
        let (lun, task_tag, transfer_tag) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        let (cmd_sn, exp_stat_sn) = (r.u32_be()?, r.u32_be()?);
        r.skip(16)?;
        let (last, more) = (flags & FINAL != 0, flags & CONTINUE != 0);
        Ok(Self { immediate, last, more, lun, task_tag, transfer_tag, cmd_sn, exp_stat_sn })
    }

    /// Writes the header.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        let immediate = if self.immediate { 0x40 } else { 0 };
        let flags = flags(self.last, self.more);
        begin(w, Opcode(Opcode::TEXT_REQUEST.0 | immediate), [flags, 0, 0], data_length);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.transfer_tag);
        w.u32_be(self.cmd_sn);
        w.u32_be(self.exp_stat_sn);
        w.zeros(16);
    }
}

/// Text Response, RFC 7143 11.11. Its text follows the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextResponse {
    /// F: the exchange is over.
    pub last: bool,
    /// C: the text continues in the next response.
    pub more: bool,
    /// The initiator repeats it in the next request.
    pub lun: Lun,
    /// As in the request.
    pub task_tag: u32,
    /// The tag of the next request; [`super::NO_TAG`] at the end.
    pub transfer_tag: u32,
}

impl TextResponse {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<(Self, Numbers), Malformed> {
        let (_, [flags, ..]) = open(r)?;
        let (lun, task_tag, transfer_tag) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        let numbers = Numbers::decode(r)?;
        r.skip(12)?;
        let (last, more) = (flags & FINAL != 0, flags & CONTINUE != 0);
        Ok((Self { last, more, lun, task_tag, transfer_tag }, numbers))
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        begin(w, Opcode::TEXT_RESPONSE, [flags(self.last, self.more), 0, 0], data_length);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.transfer_tag);
        w.zeros(24); // and numbers
    }
}

fn flags(last: bool, more: bool) -> u8 {
    let last = if last { FINAL } else { 0 };
    if more { last | CONTINUE } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::pdu::NO_TAG;

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
        let (response, numbers) = TextResponse::decode(&mut Reader::new(&bytes)).unwrap();
        assert!(response.more && !response.last);
        assert_eq!(response.transfer_tag, 3);
        assert_eq!(numbers, Numbers { stat_sn: 5, exp_cmd_sn: 9, max_cmd_sn: 40 });
        let mut w = Writer::new();
        response.encode(0x2000, &mut w);
        let mut written = w.into_bytes();
        numbers.stamp(&mut written, true);
        assert_eq!(written, bytes);
    }
}
