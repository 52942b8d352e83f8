//! Apple's create context "AAPL": what Mac clients ask a server about itself. Not in MS-SMB2; the layouts are those that
//! macOS's client sends and reads.

use wire::{Malformed, Reader, Writer};

use super::Status;
use super::buffers::{pad8, put_utf16, utf16};

wire::bits! {
    /// Which parts of the answer the client wants or the server gives.
    pub Fields: u64 {
        SERVER_CAPS = 1,
        VOLUME_CAPS = 2,
        MODEL = 4,
    }
}

wire::bits! {
    /// Capabilities of a server or a client.
    pub Caps: u64 {
        /// Listings carry Finder info and access.
        READ_DIR_ATTR = 0x01,
        OSX_COPYFILE = 0x02,
        /// Listings carry the POSIX mode.
        UNIX_BASED = 0x04,
        /// Modes and ids travel in access control lists.
        NFS_ACE = 0x08,
        READ_DIR_ATTR_V2 = 0x10,
        HIFI = 0x20,
    }
}

wire::bits! {
    /// Capabilities of a volume.
    pub VolumeCaps: u64 {
        RESOLVE_ID = 0x01,
        CASE_SENSITIVE = 0x02,
        FULL_SYNC = 0x04,
    }
}

const SERVER_QUERY: u32 = 1;
const RESOLVE_ID: u32 = 2;

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    ServerQuery {
        fields: Fields,
        client_caps: Caps,
    },
    /// The path of a file, by its number.
    ResolveId {
        file: u64,
    },
    Unknown {
        command: u32,
    },
}

impl Request {
    pub fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        let command = r.u32_le()?;
        r.skip(4)?; // reserved
        Ok(match command {
            SERVER_QUERY => Self::ServerQuery { fields: Fields(r.u64_le()?), client_caps: Caps(r.u64_le()?) },
            RESOLVE_ID => Self::ResolveId { file: r.u64_le()? },
            _ => Self::Unknown { command },
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        match *self {
            Self::ServerQuery { fields, client_caps } => {
                head(SERVER_QUERY, w);
                w.u64_le(fields.0);
                w.u64_le(client_caps.0);
            }
            Self::ResolveId { file } => {
                head(RESOLVE_ID, w);
                w.u64_le(file);
            }
            Self::Unknown { command } => head(command, w),
        }
    }
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    ServerQuery(ServerQuery),
    /// The path in UTF-16, from the share's root.
    ResolveId {
        status: Status,
        path: Vec<u16>,
    },
}

/// The parts that a server gives. The bitmap says which are present.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerQuery {
    pub server_caps: Option<Caps>,
    pub volume_caps: Option<VolumeCaps>,
    /// The model, which chooses the server's icon, in UTF-16.
    pub model: Option<Vec<u16>>,
}

impl Response {
    pub fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        let command = r.u32_le()?;
        r.skip(4)?; // reserved
        match command {
            SERVER_QUERY => ServerQuery::decode(&mut r).map(Self::ServerQuery),
            RESOLVE_ID => Ok(Self::ResolveId { status: Status(r.u32_le()?), path: string(&mut r)? }),
            _ => Err(Malformed("an unknown answer to AAPL")),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        match self {
            Self::ServerQuery(answer) => {
                head(SERVER_QUERY, w);
                answer.encode(w);
            }
            Self::ResolveId { status, path } => {
                head(RESOLVE_ID, w);
                w.u32_le(status.0);
                put_string(path, w);
            }
        }
        pad8(w, start);
    }
}

impl ServerQuery {
    fn fields(&self) -> Fields {
        let part = |there: bool, field| if there { field } else { Fields::NONE };
        part(self.server_caps.is_some(), Fields::SERVER_CAPS)
            | part(self.volume_caps.is_some(), Fields::VOLUME_CAPS)
            | part(self.model.is_some(), Fields::MODEL)
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let fields = Fields(r.u64_le()?);
        let mut answer = Self::default();
        if fields.contains(Fields::SERVER_CAPS) {
            answer.server_caps = Some(Caps(r.u64_le()?));
        }
        if fields.contains(Fields::VOLUME_CAPS) {
            answer.volume_caps = Some(VolumeCaps(r.u64_le()?));
        }
        if fields.contains(Fields::MODEL) {
            r.skip(4)?; // padding
            answer.model = Some(string(r)?);
        }
        Ok(answer)
    }

    fn encode(&self, w: &mut Writer) {
        w.u64_le(self.fields().0);
        if let Some(caps) = self.server_caps {
            w.u64_le(caps.0);
        }
        if let Some(caps) = self.volume_caps {
            w.u64_le(caps.0);
        }
        if let Some(model) = &self.model {
            w.u32_le(0); // padding
            put_string(model, w);
        }
    }
}

fn head(command: u32, w: &mut Writer) {
    w.u32_le(command);
    w.u32_le(0); // reserved
}

/// Text behind its length in bytes.
fn string(r: &mut Reader<'_>) -> Result<Vec<u16>, Malformed> {
    let length = r.u32_le()?;
    utf16(r.take(length as usize)?)
}

fn put_string(text: &[u16], w: &mut Writer) {
    w.u32_le((text.len() * 2) as u32);
    put_utf16(w, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn macos_asks_for_all_three_fields() {
        let bytes = b"\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x3f\0\0\0\0\0\0\0";
        let fields = Fields::SERVER_CAPS | Fields::VOLUME_CAPS | Fields::MODEL;
        let request = Request::ServerQuery { fields, client_caps: Caps(0x3F) };
        assert_eq!(Request::decode(bytes), Ok(request));
        assert_eq!(encoded(|w| request.encode(w)), bytes);
        assert!(Request::decode(&bytes[..23]).is_err());
    }

    #[test]
    fn the_answer_has_its_fields_in_the_order_of_the_bitmap() {
        let bytes = b"\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\
            \0\0\0\0\x06\0\0\0M\0a\0c\0\0\0";
        let answer = ServerQuery {
            server_caps: Some(Caps::READ_DIR_ATTR | Caps::UNIX_BASED),
            volume_caps: Some(VolumeCaps::FULL_SYNC),
            model: Some("Mac".encode_utf16().collect()),
        };
        let response = Response::ServerQuery(answer);
        assert_eq!(Response::decode(bytes), Ok(response.clone()));
        assert_eq!(encoded(|w| response.encode(w)), bytes);
        assert!(Response::decode(&bytes[..45]).is_err());
    }

    #[test]
    fn a_field_that_is_not_given_takes_no_room() {
        let bytes = b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
        let volume_caps = Some(VolumeCaps::CASE_SENSITIVE);
        let response = Response::ServerQuery(ServerQuery { volume_caps, ..ServerQuery::default() });
        assert_eq!(Response::decode(bytes), Ok(response.clone()));
        assert_eq!(encoded(|w| response.encode(w)), bytes);
    }

    #[test]
    fn a_file_number_resolves_to_a_path() {
        let bytes = b"\x02\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0";
        assert_eq!(Request::decode(bytes), Ok(Request::ResolveId { file: 9 }));
        assert_eq!(encoded(|w| Request::ResolveId { file: 9 }.encode(w)), bytes);
        let bytes = b"\x02\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0a\0\0\0\0\0\0\0";
        let response = Response::ResolveId { status: Status::SUCCESS, path: vec![b'a'.into()] };
        assert_eq!(Response::decode(bytes), Ok(response.clone()));
        assert_eq!(encoded(|w| response.encode(w)), bytes);
        assert_eq!(Request::decode(b"\x03\0\0\0\0\0\0\0"), Ok(Request::Unknown { command: 3 }));
    }
}
