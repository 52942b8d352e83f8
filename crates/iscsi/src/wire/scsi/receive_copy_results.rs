//! RECEIVE COPY RESULTS: RECEIVE COPY STATUS(LID1), FAILURE DETAILS(LID1) and OPERATING PARAMETERS, SPC-4 6.22, 6.23 and 6.25.

use wire::{Malformed, Reader, Writer};

use super::{Sense, Status};

/// Reserved bytes in the middle of the failure details.
const RESERVED: usize = 52;

/// One of the three commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The service action.
    pub action: u8,
    /// LIST IDENTIFIER.
    pub list_identifier: u8,
    /// The allocation length.
    pub allocation_length: u32,
}

impl Request {
    /// RECEIVE COPY STATUS(LID1).
    pub const STATUS: u8 = 0x00;
    /// RECEIVE COPY OPERATING PARAMETERS.
    pub const OPERATING_PARAMETERS: u8 = 0x03;
    /// RECEIVE COPY FAILURE DETAILS(LID1).
    pub const FAILURE_DETAILS: u8 = 0x04;

    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // operation code
        let (action, list_identifier) = (r.u8()? & 0x1f, r.u8()?);
        r.skip(7)?;
        Ok(Self { action, list_identifier, allocation_length: r.u32_be()? })
    }
}

wire::number! {
    /// COPY COMMAND STATUS, SPC-4 table 254.
    pub CopyStatus: u8 {
        IN_PROGRESS = 0,
        COMPLETED = 1,
        COMPLETED_WITH_ERRORS = 2,
    }
}

/// The progress of a copy, SPC-4 table 253.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The status.
    pub status: CopyStatus,
    /// The number of segments that were begun.
    pub segments: u16,
    /// The number of bytes that were written.
    pub bytes: u64,
}

impl Progress {
    /// Bytes are counted in KiB or larger units once they do not fit.
    pub fn encode(&self, w: &mut Writer) {
        let (mut unit, mut count) = (0, self.bytes);
        while count > u64::from(u32::MAX) {
            count >>= 10;
            unit += 1;
        }
        w.u32_be(8);
        w.u8(self.status.0);
        w.u16_be(self.segments);
        w.u8(unit);
        w.u32_be(count as u32); // it fits now
    }
}

/// Why a copy failed, SPC-4 table 246; only a length if there is no failure.
pub fn encode_failure(sense: Option<&Sense>, w: &mut Writer) {
    let Some(sense) = sense else {
        w.u32_be(0);
        return;
    };
    let mut encoded = Writer::new();
    sense.encode_fixed(&mut encoded);
    w.u32_be((RESERVED + 4 + encoded.len()) as u32); // 74
    w.zeros(RESERVED);
    w.u8(Status::CHECK_CONDITION.0);
    w.u8(0);
    w.u16_be(encoded.len() as u16); // 18
    w.put(encoded.as_bytes());
}

/// The supported copies, as INQUIRY and this command report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyLimits {
    /// The most CSCD descriptors.
    pub targets: u16,
    /// The most segment descriptors.
    pub segments: u16,
    /// The most bytes of both.
    pub descriptors_length: u32,
    /// The most bytes of a segment.
    pub segment_length: u32,
    /// The most copies at a time.
    pub concurrent: u8,
    /// The supported descriptors, ascending.
    pub descriptors: &'static [u8],
    /// The supported commands and their service actions, ascending.
    pub commands: &'static [(u8, &'static [u8])],
}

impl CopyLimits {
    /// RECEIVE COPY OPERATING PARAMETERS, SPC-4 table 244. There is no inline data, and no data is held.
    pub fn encode_parameters(&self, w: &mut Writer) {
        w.u32_be((40 + self.descriptors.len()) as u32);
        w.put(&[0x01, 0, 0, 0]); // SNLID
        w.u16_be(self.targets);
        w.u16_be(self.segments);
        w.u32_be(self.descriptors_length);
        w.u32_be(self.segment_length);
        w.zeros(12); // inline data, held data, stream devices
        w.zeros(2);
        w.u16_be(u16::from(self.concurrent));
        w.u8(self.concurrent);
        w.zeros(6); // granularity: bytes
        w.u8(self.descriptors.len() as u8);
        w.put(self.descriptors);
    }

    /// The third-party copy page of INQUIRY without its header, SPC-4 7.8.17.
    pub fn encode_page(&self, w: &mut Writer) {
        let mut commands = Writer::new();
        for (opcode, actions) in self.commands {
            commands.put(&[*opcode, actions.len() as u8]);
            commands.put(actions);
        }
        listed(0x0001, &[commands.len() as u8], commands.as_bytes(), w); // Supported Commands
        w.put(&[0x00, 0x04, 0x00, 0x1c]); // Parameter Data
        w.zeros(4);
        w.u16_be(self.targets);
        w.u16_be(self.segments);
        w.u32_be(self.descriptors_length);
        w.zeros(16);
        listed(0x0008, &[self.descriptors.len() as u8], self.descriptors, w); // Supported Descriptors
        listed(0x000c, &[0, 2], &[0xff, 0xff], w); // Supported CSCD IDs: the unit itself
        w.put(&[0x80, 0x01, 0x00, 0x20]); // General Copy Operations
        w.u32_be(u32::from(self.concurrent));
        w.u32_be(u32::from(self.concurrent));
        w.u32_be(self.segment_length);
        w.zeros(20); // granularity: bytes
    }
}

/// A third-party copy descriptor with a list, padded to a multiple of four.
fn listed(kind: u16, length: &[u8], list: &[u8], w: &mut Writer) {
    let padded = (length.len() + list.len()).next_multiple_of(4);
    w.u16_be(kind);
    w.u16_be(padded as u16);
    w.put(length);
    w.put(list);
    w.zeros(padded - length.len() - list.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::scsi::{Asc, Key};

    const LIMITS: CopyLimits = CopyLimits {
        targets: 8,
        segments: 32,
        descriptors_length: 2048,
        segment_length: 1 << 26,
        concurrent: 16,
        descriptors: &[0x02, 0x0a, 0xe4],
        commands: &[(0x83, &[0]), (0x84, &[0, 3, 4])],
    };

    fn encoded(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn progress_is_that_of_spc_4_table_253() {
        let cdb = [0x84, 0x04, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0];
        let request = Request::decode(&mut Reader::new(&cdb)).unwrap();
        assert_eq!(request, Request { action: 4, list_identifier: 7, allocation_length: 1024 });
        let mut progress = Progress { status: CopyStatus::COMPLETED, segments: 2, bytes: 1 << 20 };
        assert_eq!(encoded(|w| progress.encode(w)), [0, 0, 0, 8, 1, 0, 2, 0, 0, 0x10, 0, 0]);
        progress.bytes = 1 << 32;
        assert_eq!(encoded(|w| progress.encode(w)), [0, 0, 0, 8, 1, 0, 2, 1, 0, 0x40, 0, 0]);
    }

    #[test]
    fn failure_details_are_those_of_spc_4_table_246() {
        let sense = Sense::new(Key::COPY_ABORTED, Asc::NONE);
        let details = encoded(|w| encode_failure(Some(&sense), w));
        assert_eq!(details[..4], [0, 0, 0, 74]);
        assert_eq!(details[56..63], [0x02, 0, 0, 18, 0x70, 0, 0x0a]);
        assert_eq!(details.len(), 78);
        assert_eq!(encoded(|w| encode_failure(None, w)), [0; 4]);
    }

    #[test]
    fn operating_parameters_are_those_of_spc_4_table_244() {
        let parameters = encoded(|w| LIMITS.encode_parameters(w));
        let mut expected = vec![0, 0, 0, 43, 1, 0, 0, 0, 0, 8, 0, 32, 0, 0, 8, 0, 4, 0, 0, 0];
        expected.extend([0; 14]);
        expected.extend([0, 16, 16, 0, 0, 0, 0, 0, 0, 3, 0x02, 0x0a, 0xe4]);
        assert_eq!(parameters, expected);
    }

    #[test]
    fn the_page_is_that_of_spc_4_7_8_17() {
        let page = encoded(|w| LIMITS.encode_page(w));
        let mut expected = vec![0x00, 0x01, 0, 12, 8, 0x83, 1, 0, 0x84, 3, 0, 3, 4, 0, 0, 0];
        expected.extend([0x00, 0x04, 0, 28, 0, 0, 0, 0, 0, 8, 0, 32, 0, 0, 8, 0]);
        expected.extend([0; 16]);
        expected.extend([0x00, 0x08, 0, 4, 3, 0x02, 0x0a, 0xe4]);
        expected.extend([0x00, 0x0c, 0, 4, 0, 2, 0xff, 0xff]);
        expected.extend([0x80, 0x01, 0, 32, 0, 0, 0, 16, 0, 0, 0, 16, 4, 0, 0, 0]);
        expected.extend([0; 20]);
        assert_eq!(page, expected);
    }
}
