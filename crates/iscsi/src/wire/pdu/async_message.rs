//! Asynchronous Message, RFC 7143 11.9: what a target says without being asked.

use wire::{Malformed, Reader, Writer};

use super::head::{Lun, NO_TAG, Opcode, begin, open};

wire::number! {
    /// The event of an asynchronous message, RFC 7143 11.9.1.
    pub AsyncEvent: u8 {
        SCSI = 0,
        LOGOUT_REQUESTED = 1,
        CONNECTION_DROPPED = 2,
        SESSION_DROPPED = 3,
        NEGOTIATION_REQUESTED = 4,
    }
}

/// Asynchronous Message, RFC 7143 11.9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct AsyncMessage {
    pub lun: Lun,
    pub event: AsyncEvent,
    pub vendor_code: u8,
    pub parameters: [u16; 3],
}

impl AsyncMessage {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        open(r)?;
        let lun = Lun(r.array()?);
        r.skip(8)?;
        r.skip(12)?; // numbers
        let (event, vendor_code) = (AsyncEvent(r.u8()?), r.u8()?);
        let parameters = [r.u16_be()?, r.u16_be()?, r.u16_be()?];
        r.skip(4)?;
        Ok(Self { lun, event, vendor_code, parameters })
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        begin(w, Opcode::ASYNC_MESSAGE, [0x80, 0, 0], data_length);
        w.put(&self.lun.0);
        w.u32_be(NO_TAG);
        w.zeros(16); // and numbers
        w.u8(self.event.0);
        w.u8(self.vendor_code);
        self.parameters.iter().for_each(|value| w.u16_be(*value));
        w.zeros(4);
    }
}
