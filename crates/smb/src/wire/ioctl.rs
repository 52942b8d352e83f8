//! IOCTL, MS-SMB2 2.2.31 and 2.2.32: the envelope. The control code defines its content.

use std::ops::Range;

use wire::{Malformed, Writer};

use super::fsctl::Code;
use super::{FileKey, Header, buffers};

/// IOCTL request, MS-SMB2 2.2.31. The output buffer of the specification is unused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub control_code: Code,
    pub file: FileKey,
    /// Where the input is in the message.
    pub input: Range<usize>,
    pub max_input_response: u32,
    pub max_output_response: u32,
    pub flags: u32,
}

impl Request {
    /// The one flag: a file system's control, not a device's.
    pub const IS_FSCTL: u32 = 1;
    /// How long the body is before its input.
    const FIXED: usize = 56;
    /// Where our own requests have their input, from the start of the header.
    pub const INPUT_OFFSET: usize = Header::LEN + Self::FIXED;

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 57)?;
        r.skip(2)?; // reserved
        let (control_code, file) = (Code(r.u32_le()?), FileKey::decode(&mut r)?);
        let (input_offset, input_count, max_input_response) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        let (output_offset, output_count) = (r.u32_le()?, r.u32_le()?);
        let (max_output_response, flags) = (r.u32_le()?, r.u32_le()?);
        r.skip(4)?; // reserved
        buffers::buffer(message, Self::FIXED, output_offset, output_count)?;
        let input = buffers::range(message, Self::FIXED, input_offset as usize, input_count as usize)?;
        Ok(Self { control_code, file, input, max_input_response, max_output_response, flags })
    }

    /// With `input`, at [`Self::INPUT_OFFSET`]. The range field is ignored.
    pub fn encode(&self, input: &[u8], w: &mut Writer) {
        w.u16_le(57);
        w.u16_le(0); // reserved
        w.u32_le(self.control_code.0);
        self.file.encode(w);
        w.u32_le(Self::INPUT_OFFSET as u32);
        w.u32_le(input.len() as u32);
        w.u32_le(self.max_input_response);
        w.u64_le(0); // output
        w.u32_le(self.max_output_response);
        w.u32_le(self.flags);
        w.u32_le(0); // reserved
        w.put(input);
    }
}

/// IOCTL response, MS-SMB2 2.2.32. No control code that is served answers with input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub control_code: Code,
    pub file: FileKey,
    pub output: Vec<u8>,
}

/// How long the body of a response is before its buffers.
const RESPONSE_FIXED: usize = 48;

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 49)?;
        r.skip(2)?; // reserved
        let (control_code, file) = (Code(r.u32_le()?), FileKey::decode(&mut r)?);
        r.skip(8)?; // input
        let (offset, count) = (r.u32_le()?, r.u32_le()?);
        r.skip(8)?; // flags, reserved
        let output = buffers::buffer(message, RESPONSE_FIXED, offset, count)?.to_vec();
        Ok(Self { control_code, file, output })
    }

    pub fn encode(&self, w: &mut Writer) {
        let buffer = (Header::LEN + RESPONSE_FIXED) as u32;
        w.u16_le(49);
        w.u16_le(0); // reserved
        w.u32_le(self.control_code.0);
        self.file.encode(w);
        w.u32_le(buffer);
        w.u32_le(0); // input count
        w.u32_le(buffer);
        w.u32_le(self.output.len() as u32);
        w.u64_le(0); // flags, reserved
        w.put(&self.output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> FileKey {
        FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 }
    }

    const BODY: &[u8] =
        b"\x39\0\0\0\x17\xc0\x11\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\
        \x78\0\0\0\x04\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\x01\0\0\0\0\0\0\0call";

    #[test]
    fn a_request_says_where_its_input_is() {
        let message = buffers::after_header(BODY);
        let request = Request {
            control_code: Code::PIPE_TRANSCEIVE,
            file: file(),
            input: 120..124,
            max_input_response: 1,
            max_output_response: 4096,
            flags: Request::IS_FSCTL,
        };
        assert_eq!(Request::decode(&message), Ok(request.clone()));
        let mut w = Writer::new();
        request.encode(b"call", &mut w);
        assert_eq!(w.as_bytes(), BODY);
        (0..message.len()).for_each(|len| assert!(Request::decode(&message[..len]).is_err(), "{len}"));
    }

    #[test]
    fn buffers_outside_of_the_message_are_malformed() {
        // The input's offset and count, the output's offset (it has no bytes, so it may be anywhere) and count.
        for (at, good) in [(88, false), (92, false), (100, true), (104, false)] {
            let mut message = buffers::after_header(BODY);
            message[at..at + 4].copy_from_slice(&[0xff; 4]);
            assert_eq!(Request::decode(&message).is_ok(), good, "at {at}");
        }
    }

    #[test]
    fn the_response_has_output_and_no_input() {
        let body =
            b"\x31\0\0\0\x17\xc0\x11\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\
            \x70\0\0\0\0\0\0\0\x70\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0answer";
        let response =
            Response { control_code: Code::PIPE_TRANSCEIVE, file: file(), output: b"answer".to_vec() };
        laid_out!(Response, body, response);
    }
}
