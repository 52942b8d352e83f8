//! FPSpotlightRPC: searches of Mac OS X 10.5 and later. Apple's reference only names it; the fields are those of captures and of
//! Netatalk's description.

use wire::{Malformed, Reader, Writer};

/// The flags of the second call, as macOS returns them.
const FLAGS: u32 = 0x0100_006b;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpotlightRequest<'a> {
    pub volume: u16,
    pub call: SpotlightCall<'a>,
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpotlightCall<'a> {
    /// The path by which paths of the volume begin.
    Open,
    Flags,
    /// A message of Spotlight.
    Message(&'a [u8]),
    /// A call of another number.
    Unknown(u32),
}

impl<'a> SpotlightRequest<'a> {
    /// The request after the command's number.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let volume = r.u16_be()?;
        r.skip(4)?; // always the same flags
        let call = match r.u32_be()? {
            1 | 4 => SpotlightCall::Open,
            2 => SpotlightCall::Flags,
            3 => {
                r.skip(4 + 8)?; // zeros, and two numbers of the client
                return Ok(Self { volume, call: SpotlightCall::Message(r.rest()) });
            }
            other => SpotlightCall::Unknown(other),
        };
        r.rest(); // the path at which the client has mounted the volume, or zeros
        Ok(Self { volume, call })
    }
}

/// The answer to the first call.
pub fn put_opened(volume: u16, path: &str, w: &mut Writer) {
    w.u32_be(volume.into());
    w.u32_be(0);
    w.put(path.as_bytes());
    w.u8(0);
}

/// The answer to the second call.
pub fn put_flags(w: &mut Writer) {
    w.u32_be(FLAGS);
}

/// The answer to a message.
pub fn put_message(message: &[u8], w: &mut Writer) {
    w.u32_be(0);
    w.put(message);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_numbers_and_the_third_has_a_message() {
        let decoded = |number: u8, rest: &[u8]| {
            let head = [0, 0, 7, 0, 0, 0x80, 4, 0, 0, 0, number];
            SpotlightRequest::decode(&mut Reader::new(&[&head[..], rest].concat())).map(|found| {
                assert_eq!(found.volume, 7);
                format!("{:?}", found.call)
            })
        };
        assert_eq!(decoded(1, b"\0\0\0\0/Volumes/a").as_deref(), Ok("Open"));
        assert_eq!(decoded(4, b"").as_deref(), Ok("Open"));
        assert_eq!(decoded(2, b"\0\0\0\0").as_deref(), Ok("Flags"));
        assert_eq!(decoded(3, b"0000--------AB").as_deref(), Ok("Message([65, 66])"));
        assert_eq!(decoded(9, b"").as_deref(), Ok("Unknown(9)"));
        assert!(decoded(3, b"0000").is_err());
    }
}
