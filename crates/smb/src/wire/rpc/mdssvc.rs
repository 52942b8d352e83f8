//! The metadata service of macOS, by which Finder searches a share: interface `mdssvc`. Apple has published no specification; the
//! fields are those of captures and of Samba's description, and those whose meaning nobody knows are named by their places.

use wire::Malformed;

use super::ndr::{Decoder, Encoder, Handle};

/// The longest text of a call, with its NUL.
const LONGEST_TEXT: u32 = 1025;
/// The longest message of Spotlight in a call.
pub const LONGEST_BLOB: u32 = 0xf_ffff;
/// What the second call returns about the server: the value of macOS.
const FLAGS: u32 = 0x6b00_0001;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Open(OpenShare),
    /// The second call of a client.
    Flags {
        handle: Handle,
    },
    Command {
        handle: Handle,
        /// The client asks for the rest of an answer.
        next_fragment: u32,
        /// A message of Spotlight.
        blob: Vec<u8>,
        /// The longest answer that the client takes.
        max_fragment: u32,
    },
    Close {
        handle: Handle,
    },
}

/// The first call of a client: it names a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenShare {
    pub device: u32,
    pub second: u32,
    pub third: u32,
    /// Where the client has mounted the share.
    pub mounted_at: String,
    pub share: String,
}

impl Request {
    /// The call `operation` with its arguments; none where there is no such operation.
    pub fn decode(operation: u16, stub: &[u8]) -> Result<Option<Self>, Malformed> {
        let d = &mut Decoder::new(stub);
        Ok(Some(match operation {
            0 => Self::Open(OpenShare {
                device: d.u32()?,
                second: d.u32()?,
                third: d.u32()?,
                mounted_at: text(d)?,
                share: text(d)?,
            }),
            1 => {
                let handle = d.handle()?;
                for _ in 0..6 {
                    d.u32()?; // a status, the device, the second number of the open, a status, a user, a group
                }
                Self::Flags { handle }
            }
            2 => {
                let handle = d.handle()?;
                for _ in 0..3 {
                    d.u32()?; // a status, the device, the second number of the open
                }
                let next_fragment = d.u32()?;
                d.u32()?; // the flags of the second call
                let blob = blob(d)?;
                d.u32()?;
                let max_fragment = d.u32()?;
                for _ in 0..4 {
                    d.u32()?; // a number, the longest answer again, two numbers
                }
                Self::Command { handle, next_fragment, blob, max_fragment }
            }
            3 => {
                let handle = d.handle()?;
                for _ in 0..4 {
                    d.u32()?;
                }
                Self::Close { handle }
            }
            _ => return Ok(None),
        }))
    }
}

/// A text in UTF-8 in a conformant and varying array, C706 14.3.4.3, with a NUL at its end.
fn text(d: &mut Decoder<'_>) -> Result<String, Malformed> {
    let (maximum, offset, actual) = (d.u32()?, d.u32()?, d.u32()?);
    if offset != 0 || actual > maximum || actual > LONGEST_TEXT {
        return Err(Malformed("a text outside of its array"));
    }
    let bytes = d.own_form(1, |r| r.take(actual as usize))?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// A length, a size, and a pointer to bytes in an array of that size.
fn blob(d: &mut Decoder<'_>) -> Result<Vec<u8>, Malformed> {
    let (length, size) = (d.u32()?, d.u32()?);
    if !d.pointer()? {
        return if length == 0 { Ok(Vec::new()) } else { Err(Malformed("bytes that are not there")) };
    }
    let (maximum, offset, actual) = (d.u32()?, d.u32()?, d.u32()?);
    if maximum != size || offset != 0 || actual != length || actual > maximum || actual > LONGEST_BLOB {
        return Err(Malformed("bytes outside of their array"));
    }
    Ok(d.own_form(1, |r| r.take(actual as usize))?.to_vec())
}

impl OpenShare {
    /// The answer: the path by which paths of the share begin, and a handle. Without a handle, the share cannot be searched.
    pub fn response(&self, opened: Option<(&str, &Handle)>) -> Vec<u8> {
        let (path, handle) = opened.unwrap_or(("", &[0; 20]));
        let mut e = Encoder::new();
        e.u32(self.device);
        e.u32(self.second);
        e.u32(self.third);
        let mut end = path.len().min(LONGEST_TEXT as usize - 1);
        while !path.is_char_boundary(end) {
            end -= 1;
        }
        e.u32(LONGEST_TEXT);
        e.u32(0);
        e.count(end + 1);
        e.put(&path.as_bytes()[..end]);
        e.put(&[0]);
        e.handle(handle);
        e.into_stub()
    }
}

/// The answer to the second call; without a share all its numbers are zero.
pub fn flags_response(is_open: bool) -> Vec<u8> {
    let mut e = Encoder::new();
    e.u32(0);
    e.u32(if is_open { FLAGS } else { 0 });
    e.u32(0);
    e.into_stub()
}

/// The answer to a command: a message of Spotlight, or a status that says that there is none.
pub fn command_response(blob: Option<Vec<u8>>) -> Vec<u8> {
    let mut e = Encoder::new();
    e.u32(0); // no fragment follows
    let status = if blob.is_some() { 0 } else { u32::MAX };
    let blob = blob.unwrap_or_default();
    e.count(blob.len());
    e.count(blob.len());
    if blob.is_empty() {
        e.null();
    } else {
        e.octets(blob.len() as u32, blob);
        e.flush();
    }
    e.u32(status);
    e.into_stub()
}

/// The answer to a command without a share.
pub fn no_command_response() -> Vec<u8> {
    let mut e = Encoder::new();
    for _ in 0..5 {
        e.u32(0); // no fragment, no bytes in no array, and no failure
    }
    e.into_stub()
}

/// The answer to the last call: its handle, and a status.
pub fn close_response(handle: &Handle) -> Vec<u8> {
    let mut e = Encoder::new();
    e.handle(handle);
    e.u32(0);
    e.into_stub()
}
