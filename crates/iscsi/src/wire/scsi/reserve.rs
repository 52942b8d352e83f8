//! RESERVE(6), RESERVE(10), RELEASE(6) and RELEASE(10), SPC-2 7.20 to 7.23.

use wire::{Malformed, Reader};

/// One of the four commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// 3RDPTY: the reservation is for a third party.
    pub third_party: bool,
    /// The reservation is for a part of the unit, which is obsolete.
    pub extent: bool,
    /// Bytes of the parameter list, which describes a third party or a part of the unit.
    pub parameter_list_length: u16,
}

impl Request {
    /// Of a descriptor block of 6 bytes.
    pub fn decode_6(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // operation code
        let flags = r.u8()?;
        r.skip(1)?;
        let parameter_list_length = r.u16_be()?;
        Ok(Self { third_party: flags & 0x10 != 0, extent: flags & 0x01 != 0, parameter_list_length })
    }

    /// Of a descriptor block of 10 bytes.
    pub fn decode_10(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // operation code
        let flags = r.u8()?;
        r.skip(5)?;
        let parameter_list_length = r.u16_be()?;
        Ok(Self { third_party: flags & 0x10 != 0, extent: flags & 0x01 != 0, parameter_list_length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_stand_where_spc_2_puts_them() {
        let six = Request::decode_6(&mut Reader::new(&[0x16, 0x11, 0, 1, 2, 0])).unwrap();
        assert_eq!(six, Request { third_party: true, extent: true, parameter_list_length: 0x102 });
        let ten = Request::decode_10(&mut Reader::new(&[0x56, 0x10, 0, 9, 9, 9, 9, 1, 2, 0])).unwrap();
        assert_eq!(ten, Request { third_party: true, extent: false, parameter_list_length: 0x102 });
    }
}
