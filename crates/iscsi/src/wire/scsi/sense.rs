//! Sense data, SPC-4 4.5: why a command failed, or a unit attention.

use wire::{Malformed, Reader, Writer};

wire::number! {
    /// Sense keys, SPC-4 4.5.6.
    pub Key: u8 ["Key({})"] {
        NO_SENSE = 0x0,
        RECOVERED_ERROR = 0x1,
        NOT_READY = 0x2,
        MEDIUM_ERROR = 0x3,
        HARDWARE_ERROR = 0x4,
        ILLEGAL_REQUEST = 0x5,
        UNIT_ATTENTION = 0x6,
        DATA_PROTECT = 0x7,
        COPY_ABORTED = 0xa,
        ABORTED_COMMAND = 0xb,
        MISCOMPARE = 0xe,
    }
}

/// Additional sense code and its qualifier, SPC-4 annex F.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asc(pub u8, pub u8);

#[allow(missing_docs, reason = "named as in SPC-4 annex F")]
impl Asc {
    pub const NONE: Self = Self(0x00, 0x00);
    pub const OPERATION_IN_PROGRESS: Self = Self(0x00, 0x16);
    pub const NOT_READY_INITIALIZING_COMMAND_REQUIRED: Self = Self(0x04, 0x02);
    pub const ASYMMETRIC_ACCESS_STATE_TRANSITION: Self = Self(0x04, 0x0a);
    pub const PORT_IN_STANDBY_STATE: Self = Self(0x04, 0x0b);
    pub const UNREACHABLE_COPY_TARGET: Self = Self(0x08, 0x04);
    pub const WRITE_ERROR: Self = Self(0x0c, 0x00);
    pub const UNEXPECTED_UNSOLICITED_DATA: Self = Self(0x0c, 0x0c);
    pub const NOT_ENOUGH_UNSOLICITED_DATA: Self = Self(0x0c, 0x0d);
    pub const THIRD_PARTY_DEVICE_FAILURE: Self = Self(0x0d, 0x01);
    pub const INCORRECT_COPY_TARGET_DEVICE_TYPE: Self = Self(0x0d, 0x03);
    pub const UNRECOVERED_READ_ERROR: Self = Self(0x11, 0x00);
    pub const PARAMETER_LIST_LENGTH_ERROR: Self = Self(0x1a, 0x00);
    pub const MISCOMPARE_DURING_VERIFY: Self = Self(0x1d, 0x00);
    pub const INVALID_OPERATION_CODE: Self = Self(0x20, 0x00);
    pub const LBA_OUT_OF_RANGE: Self = Self(0x21, 0x00);
    pub const INVALID_FIELD_IN_CDB: Self = Self(0x24, 0x00);
    pub const LOGICAL_UNIT_NOT_SUPPORTED: Self = Self(0x25, 0x00);
    pub const INVALID_FIELD_IN_PARAMETER_LIST: Self = Self(0x26, 0x00);
    pub const INVALID_RELEASE_OF_PERSISTENT_RESERVATION: Self = Self(0x26, 0x04);
    pub const TOO_MANY_TARGET_DESCRIPTORS: Self = Self(0x26, 0x06);
    pub const UNSUPPORTED_TARGET_DESCRIPTOR: Self = Self(0x26, 0x07);
    pub const TOO_MANY_SEGMENT_DESCRIPTORS: Self = Self(0x26, 0x08);
    pub const UNSUPPORTED_SEGMENT_DESCRIPTOR: Self = Self(0x26, 0x09);
    pub const UNEXPECTED_INEXACT_SEGMENT: Self = Self(0x26, 0x0a);
    pub const INLINE_DATA_LENGTH_EXCEEDED: Self = Self(0x26, 0x0b);
    pub const WRITE_PROTECTED: Self = Self(0x27, 0x00);
    pub const SPACE_ALLOCATION_FAILED: Self = Self(0x27, 0x07);
    pub const POWER_ON_OR_RESET: Self = Self(0x29, 0x00);
    pub const BUS_DEVICE_RESET: Self = Self(0x29, 0x03);
    pub const NEXUS_LOSS: Self = Self(0x29, 0x07);
    pub const MODE_PARAMETERS_CHANGED: Self = Self(0x2a, 0x01);
    pub const RESERVATIONS_PREEMPTED: Self = Self(0x2a, 0x03);
    pub const RESERVATIONS_RELEASED: Self = Self(0x2a, 0x04);
    pub const REGISTRATIONS_PREEMPTED: Self = Self(0x2a, 0x05);
    pub const ASYMMETRIC_ACCESS_STATE_CHANGED: Self = Self(0x2a, 0x06);
    pub const CAPACITY_CHANGED: Self = Self(0x2a, 0x09);
    pub const COMMANDS_CLEARED_BY_ANOTHER_INITIATOR: Self = Self(0x2f, 0x00);
    pub const SAVING_NOT_SUPPORTED: Self = Self(0x39, 0x00);
    pub const THIN_THRESHOLD_REACHED: Self = Self(0x38, 0x07);
    pub const MEDIUM_NOT_PRESENT: Self = Self(0x3a, 0x00);
    pub const INQUIRY_DATA_CHANGED: Self = Self(0x3f, 0x03);
    pub const REPORTED_LUNS_CHANGED: Self = Self(0x3f, 0x0e);
    pub const INTERNAL_TARGET_FAILURE: Self = Self(0x44, 0x00);
    pub const PERSISTENT_RESERVATION_INFORMATION_LOST: Self = Self(0x44, 0x01);
    pub const PROTOCOL_SERVICE_CRC_ERROR: Self = Self(0x47, 0x05);
    pub const INSUFFICIENT_RESOURCES: Self = Self(0x55, 0x03);
    pub const INSUFFICIENT_REGISTRATION_RESOURCES: Self = Self(0x55, 0x04);
}

/// The wrong field of a request, SPC-4 4.5.2.4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongField {
    /// It is in the command; otherwise in the parameter list.
    pub in_cdb: bool,
    /// The first byte of the field.
    pub byte: u16,
    /// The most significant bit of the field, if it is known.
    pub bit: Option<u8>,
}

/// Sense data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// The sense key.
    pub key: Key,
    /// The additional sense code.
    pub asc: Asc,
    /// The INFORMATION field: mostly a block's address, or an offset.
    pub information: Option<u64>,
    /// The wrong field of the request.
    pub field: Option<WrongField>,
    /// The segment of a copy that failed, in the COMMAND-SPECIFIC INFORMATION field (SPC-4
    /// 5.17.7.4).
    pub segment: Option<u16>,
}

impl Sense {
    /// Sense data with a key and a code.
    #[must_use]
    pub const fn new(key: Key, asc: Asc) -> Self {
        Self { key, asc, information: None, field: None, segment: None }
    }

    /// ILLEGAL REQUEST with this code.
    #[must_use]
    pub const fn illegal(asc: Asc) -> Self {
        Self::new(Key::ILLEGAL_REQUEST, asc)
    }

    /// INVALID FIELD IN CDB: a field of the command has an invalid value.
    #[must_use]
    pub const fn in_cdb(byte: u16) -> Self {
        let field = Some(WrongField { in_cdb: true, byte, bit: None });
        Self { field, ..Self::illegal(Asc::INVALID_FIELD_IN_CDB) }
    }

    /// INVALID FIELD IN PARAMETER LIST: a field of the parameter list has an invalid value.
    #[must_use]
    pub const fn in_parameters(byte: u16) -> Self {
        let field = Some(WrongField { in_cdb: false, byte, bit: None });
        Self { field, ..Self::illegal(Asc::INVALID_FIELD_IN_PARAMETER_LIST) }
    }

    /// UNIT ATTENTION with this code.
    #[must_use]
    pub const fn attention(asc: Asc) -> Self {
        Self::new(Key::UNIT_ATTENTION, asc)
    }

    /// The same sense data with INFORMATION.
    #[must_use]
    pub const fn about(mut self, information: u64) -> Self {
        self.information = Some(information);
        self
    }

    /// Writes fixed format, SPC-4 4.5.3: 18 bytes. INFORMATION that does not fit is left out.
    pub fn encode_fixed(&self, w: &mut Writer) {
        let information = self.information.and_then(|value| u32::try_from(value).ok());
        w.u8(0x70 | if information.is_some() { 0x80 } else { 0 });
        w.u8(0);
        w.u8(self.key.0);
        w.u32_be(information.unwrap_or(0));
        w.u8(10); // the length of the rest
        w.u32_be(u32::from(self.segment.unwrap_or(0)));
        w.put(&[self.asc.0, self.asc.1, 0]);
        w.put(&self.key_specific());
    }

    /// Writes descriptor format, SPC-4 4.5.2.
    pub fn encode_descriptors(&self, w: &mut Writer) {
        let mut descriptors = Writer::new();
        if let Some(information) = self.information {
            descriptors.put(&[0x00, 0x0a, 0x80, 0x00]);
            descriptors.u64_be(information);
        }
        if let Some(segment) = self.segment {
            descriptors.put(&[0x01, 0x0a, 0x00, 0x00]);
            descriptors.u64_be(u64::from(segment) << 32); // its third and fourth byte
        }
        if self.field.is_some() {
            descriptors.put(&[0x02, 0x06, 0x00, 0x00]);
            descriptors.put(&self.key_specific());
            descriptors.u8(0);
        }
        w.put(&[0x72, self.key.0, self.asc.0, self.asc.1, 0, 0, 0]);
        w.u8(descriptors.len() as u8); // 32 at most
        w.put(descriptors.as_bytes());
    }

    fn key_specific(&self) -> [u8; 3] {
        let Some(WrongField { in_cdb, byte, bit }) = self.field else { return [0; 3] };
        let [high, low] = byte.to_be_bytes();
        let flags = 0x80 | if in_cdb { 0x40 } else { 0 } | bit.map_or(0, |bit| 0x08 | bit & 7);
        [flags, high, low]
    }

    /// Reads sense data of either format, for clients.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let code = r.u8()?;
        match code & 0x7f {
            0x70 | 0x71 => Self::decode_fixed(code, r),
            0x72 | 0x73 => Self::decode_descriptors(r),
            _ => Err(Malformed("sense data of an unknown format")),
        }
    }

    fn decode_fixed(code: u8, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let key = Key(r.u8()? & 0xf);
        let information = r.u32_be()?;
        r.skip(3)?;
        let segment = Some(r.u16_be()?).filter(|_| key == Key::COPY_ABORTED);
        let asc = Asc(r.u8()?, r.u8()?);
        r.skip(1)?;
        let field = field(r.array()?);
        let information = (code & 0x80 != 0).then_some(u64::from(information));
        Ok(Self { key, asc, information, field, segment })
    }

    fn decode_descriptors(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut sense = Self::new(Key(r.u8()? & 0xf), Asc(r.u8()?, r.u8()?));
        r.skip(3)?;
        let length = usize::from(r.u8()?);
        let mut descriptors = Reader::new(r.take(length)?);
        while descriptors.remaining() > 0 {
            let (kind, length) = (descriptors.u8()?, descriptors.u8()?);
            let mut body = Reader::new(descriptors.take(usize::from(length))?);
            match kind {
                0x00 => {
                    body.skip(2)?;
                    sense.information = Some(body.u64_be()?);
                }
                0x01 => {
                    body.skip(2)?;
                    sense.segment = Some((body.u64_be()? >> 32) as u16); // its third and fourth byte
                }
                0x02 => {
                    body.skip(2)?;
                    sense.field = field(body.array()?);
                }
                _ => {}
            }
        }
        Ok(sense)
    }
}

fn field([flags, high, low]: [u8; 3]) -> Option<WrongField> {
    let bit = (flags & 0x08 != 0).then_some(flags & 7);
    let field = WrongField { in_cdb: flags & 0x40 != 0, byte: u16::from_be_bytes([high, low]), bit };
    (flags & 0x80 != 0).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_pointer_stands_where_spc_4_4_5_3_puts_it() {
        let mut w = Writer::new();
        Sense::in_cdb(2).encode_fixed(&mut w);
        let bytes = w.into_bytes();
        assert_eq!(bytes, [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0, 0xc0, 0, 2]);
    }

    #[test]
    fn both_formats_are_read_as_they_were_written() {
        for sense in [
            Sense::in_cdb(2),
            Sense::in_parameters(300),
            Sense { segment: Some(258), ..Sense::new(Key::COPY_ABORTED, Asc::NONE).about(9) },
            Sense::new(Key::MISCOMPARE, Asc::MISCOMPARE_DURING_VERIFY).about(17),
        ] {
            let (mut fixed, mut descriptors) = (Writer::new(), Writer::new());
            sense.encode_fixed(&mut fixed);
            sense.encode_descriptors(&mut descriptors);
            assert_eq!(Sense::decode(&mut Reader::new(fixed.as_bytes())), Ok(sense));
            assert_eq!(Sense::decode(&mut Reader::new(descriptors.as_bytes())), Ok(sense));
        }
    }
}
