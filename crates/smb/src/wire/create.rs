//! CREATE, MS-SMB2 2.2.13 and 2.2.14.

use wire::{Malformed, Writer};

use super::buffers::{self, pad8};
use super::create_context::{self, RawContext};
use super::{FileKey, Header, NetworkOpen, OplockLevel};

wire::number! {
    /// What to do when the file exists and when not, MS-SMB2 2.2.13.
    pub Disposition: u32 {
        SUPERSEDE = 0,
        OPEN = 1,
        CREATE = 2,
        OPEN_IF = 3,
        OVERWRITE = 4,
        OVERWRITE_IF = 5,
    }
}

wire::bits! {
    /// What other opens may do at the same time, MS-SMB2 2.2.13.
    pub ShareAccess: u32 {
        READ = 1,
        WRITE = 2,
        DELETE = 4,
    }
}

wire::bits! {
    /// MS-SMB2 2.2.13.
    pub Options: u32 {
        DIRECTORY_FILE = 0x0000_0001,
        WRITE_THROUGH = 0x0000_0002,
        SEQUENTIAL_ONLY = 0x0000_0004,
        NO_INTERMEDIATE_BUFFERING = 0x0000_0008,
        SYNCHRONOUS_IO_ALERT = 0x0000_0010,
        SYNCHRONOUS_IO_NONALERT = 0x0000_0020,
        NON_DIRECTORY_FILE = 0x0000_0040,
        COMPLETE_IF_OPLOCKED = 0x0000_0100,
        NO_EA_KNOWLEDGE = 0x0000_0200,
        OPEN_REMOTE_INSTANCE = 0x0000_0400,
        RANDOM_ACCESS = 0x0000_0800,
        DELETE_ON_CLOSE = 0x0000_1000,
        OPEN_BY_FILE_ID = 0x0000_2000,
        OPEN_FOR_BACKUP_INTENT = 0x0000_4000,
        NO_COMPRESSION = 0x0000_8000,
        OPEN_REQUIRING_OPLOCK = 0x0001_0000,
        DISALLOW_EXCLUSIVE = 0x0002_0000,
        RESERVE_OPFILTER = 0x0010_0000,
        OPEN_REPARSE_POINT = 0x0020_0000,
        OPEN_NO_RECALL = 0x0040_0000,
        OPEN_FOR_FREE_SPACE_QUERY = 0x0080_0000,
    }
}

wire::number! {
    /// What the server has done, MS-SMB2 2.2.14.
    pub Action: u32 {
        SUPERSEDED = 0,
        OPENED = 1,
        CREATED = 2,
        OVERWRITTEN = 3,
    }
}

wire::number! {
    /// How far the server may act as the client, MS-SMB2 2.2.13.
    pub Impersonation: u32 {
        ANONYMOUS = 0,
        IDENTIFICATION = 1,
        IMPERSONATION = 2,
        DELEGATE = 3,
    }
}

/// CREATE request, MS-SMB2 2.2.13.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    pub oplock_level: OplockLevel,
    pub impersonation: Impersonation,
    /// An access mask.
    pub desired_access: u32,
    pub file_attributes: u32,
    pub share_access: ShareAccess,
    pub disposition: Disposition,
    pub options: Options,
    /// The path in the share, in UTF-16, with backslashes and without one at the beginning.
    pub name: Vec<u16>,
    pub contexts: Vec<RawContext<'a>>,
}

/// How long the body of a request is before its buffer.
const REQUEST_FIXED: usize = 56;
/// How long the body of a response is before its buffer.
const RESPONSE_FIXED: usize = 88;

impl<'a> Request<'a> {
    /// Whether an existing file loses its data.
    pub fn overwrites(&self) -> bool {
        matches!(
            self.disposition,
            Disposition::SUPERSEDE | Disposition::OVERWRITE | Disposition::OVERWRITE_IF
        )
    }

    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 57)?;
        r.skip(1)?; // security flags, reserved
        let (oplock_level, impersonation) = (OplockLevel(r.u8()?), Impersonation(r.u32_le()?));
        r.skip(16)?; // create flags and reserved
        let (desired_access, file_attributes) = (r.u32_le()?, r.u32_le()?);
        let (share_access, disposition) = (ShareAccess(r.u32_le()?), Disposition(r.u32_le()?));
        let options = Options(r.u32_le()?);
        let (name_offset, name_length) = (r.u16_le()?, r.u16_le()?);
        let (contexts_offset, contexts_length) = (r.u32_le()?, r.u32_le()?);
        let name = buffers::buffer(message, REQUEST_FIXED, name_offset, name_length)?;
        let contexts = buffers::buffer(message, REQUEST_FIXED, contexts_offset, contexts_length)?;
        Ok(Self {
            oplock_level,
            impersonation,
            desired_access,
            file_attributes,
            share_access,
            disposition,
            options,
            name: buffers::utf16(name)?,
            contexts: create_context::decode_list(contexts)?,
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u16_le(57);
        w.u8(0); // security flags, reserved
        w.u8(self.oplock_level.0);
        w.u32_le(self.impersonation.0);
        w.zeros(16); // create flags and reserved
        w.u32_le(self.desired_access);
        w.u32_le(self.file_attributes);
        w.u32_le(self.share_access.0);
        w.u32_le(self.disposition.0);
        w.u32_le(self.options.0);
        w.u16_le((Header::LEN + REQUEST_FIXED) as u16);
        w.u16_le((self.name.len() * 2) as u16);
        let contexts_at = w.len();
        w.zeros(8);
        buffers::put_utf16(w, &self.name);
        put_contexts(&self.contexts, start, contexts_at, w);
        if w.len() == start + REQUEST_FIXED {
            w.u8(0); // the buffer has at least one byte
        }
    }

    /// The data of the context that `tag` names.
    pub fn context(&self, tag: &[u8]) -> Option<&[u8]> {
        self.contexts.iter().find(|context| *context.tag == *tag).map(|context| &*context.data)
    }
}

/// CREATE response, MS-SMB2 2.2.14.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response<'a> {
    pub oplock_level: OplockLevel,
    /// 1: the file is a reparse point, 3.x.
    pub flags: u8,
    pub action: Action,
    pub info: NetworkOpen,
    pub file: FileKey,
    pub contexts: Vec<RawContext<'a>>,
}

impl<'a> Response<'a> {
    /// Of `flags`: the path ends with a reparse point.
    pub const REPARSE_POINT: u8 = 1;

    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 89)?;
        let (oplock_level, flags, action) = (OplockLevel(r.u8()?), r.u8()?, Action(r.u32_le()?));
        let info = NetworkOpen::decode(&mut r)?;
        r.skip(4)?; // reserved
        let file = FileKey::decode(&mut r)?;
        let (offset, length) = (r.u32_le()?, r.u32_le()?);
        let contexts = buffers::buffer(message, RESPONSE_FIXED, offset, length)?;
        let contexts = create_context::decode_list(contexts)?;
        Ok(Self { oplock_level, flags, action, info, file, contexts })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u16_le(89);
        w.u8(self.oplock_level.0);
        w.u8(self.flags);
        w.u32_le(self.action.0);
        self.info.encode(w);
        w.u32_le(0); // reserved
        self.file.encode(w);
        let contexts_at = w.len();
        w.zeros(8);
        put_contexts(&self.contexts, start, contexts_at, w);
    }
}

/// Appends `contexts` to the body that began at `start`, and their offset and length at `at`.
fn put_contexts(contexts: &[RawContext<'_>], start: usize, at: usize, w: &mut Writer) {
    if contexts.is_empty() {
        return;
    }
    pad8(w, start);
    let first = w.len();
    create_context::encode_list(contexts, w);
    w.patch_u32_le(at, (Header::LEN + first - start) as u32);
    w.patch_u32_le(at + 4, (w.len() - first) as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_name_and_contexts_at_multiples_of_eight() {
        let body = b"\x39\0\0\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
            \x89\0\x12\0\x80\0\0\0\x07\0\0\0\x01\0\0\0\x40\0\0\0\x78\0\x06\0\x80\0\0\0\x14\0\0\0\
            a\0\\\0b\0\0\0\0\0\0\0\x10\0\x04\0\0\0\0\0\0\0\0\0MxAc";
        let request = Request {
            oplock_level: OplockLevel::LEASE,
            impersonation: Impersonation::IMPERSONATION,
            desired_access: 0x0012_0089,
            file_attributes: 0x80,
            share_access: ShareAccess::READ | ShareAccess::WRITE | ShareAccess::DELETE,
            disposition: Disposition::OPEN,
            options: Options::NON_DIRECTORY_FILE,
            name: r"a\b".encode_utf16().collect(),
            contexts: vec![RawContext { tag: b"MxAc".into(), data: b"".into() }],
        };
        assert_eq!(request.context(b"MxAc"), Some(&b""[..]));
        assert_eq!(request.context(b"QFid"), None);
        laid_out!(Request<'_>, body, request);
    }

    #[test]
    fn the_share_itself_has_no_name_and_still_one_byte() {
        let mut message = vec![0; 121];
        message[64] = 57;
        message[108] = 0x78; // the offset of a name of no bytes
        let request = Request::decode(&message).unwrap();
        assert!(request.name.is_empty() && request.contexts.is_empty());
        let mut w = Writer::new();
        request.encode(&mut w);
        assert_eq!(w.as_bytes(), &message[64..]);
        assert_eq!(Request::decode(&message[..120]), Ok(request));
        assert!(Request::decode(&message[..119]).is_err());
    }

    #[test]
    fn names_outside_of_the_message_are_malformed() {
        let mut message = vec![0; 124];
        message[64] = 57;
        for (offset, length, good) in [(120, 4, true), (120, 6, false), (118, 4, false), (120, 3, false)] {
            (message[108], message[110]) = (offset, length);
            assert_eq!(Request::decode(&message).is_ok(), good, "{length} bytes at {offset}");
        }
    }

    #[test]
    fn a_response_says_what_was_done_and_with_what() {
        let body = b"\x59\0\x08\x01\x02\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\
            \0\x10\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\
            \x98\0\0\0\x20\0\0\0\0\0\0\0\x10\0\x04\0\0\0\x18\0\x08\0\0\0DHnQ\0\0\0\0\0\0\0\0\0\0\0\0";
        let info = NetworkOpen {
            creation_time: 1,
            last_access_time: 2,
            last_write_time: 3,
            change_time: 4,
            allocation_size: 4096,
            end_of_file: 5,
            file_attributes: 0x20,
        };
        let response = Response {
            oplock_level: OplockLevel::EXCLUSIVE,
            flags: 1,
            action: Action::CREATED,
            info,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            contexts: vec![RawContext { tag: b"DHnQ".into(), data: (&[0; 8]).into() }],
        };
        laid_out!(Response<'_>, body, response);
    }
}
