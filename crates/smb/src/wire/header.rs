//! The header of every message, MS-SMB2 2.2.1.

use std::ops::Range;

use wire::{Malformed, Reader, Writer};

use super::Status;

/// The first four bytes of a message that is neither encrypted nor compressed.
pub const PROTOCOL_ID: [u8; 4] = [0xFE, b'S', b'M', b'B'];

/// What a request must have before it is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Connection,
    Session,
    Tree,
}

/// What the server knows of a command before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// The specification's name, if it has one.
    pub name: Option<&'static str>,
    pub scope: Scope,
    /// It acts on an open. In a chain it fails with the status of the request before it, if that gave no open.
    pub on_open: bool,
    /// It may end the lease of a folder. A client that has made a file and then lists the folder must know by then that it
    /// cannot take the listing from its cache.
    pub ends_leases: bool,
    /// It is executed after the login has expired, because it releases something, 3.3.5.2.9.
    pub releases: bool,
    /// It is refused if it was sent before the client lost a channel, 3.3.5.2.10.
    pub in_sequence: bool,
}

/// Declares the commands from one table. Its columns: name and number; scope; which properties are true.
macro_rules! commands {
    ($($name:ident = $number:literal: $scope:ident, [$($property:ident),*];)*) => {
        wire::number! {
            /// What a message asks or answers, MS-SMB2 2.2.1.2.
            pub Command: u16 { $($name = $number,)* }
        }

        impl Command {
            /// The properties of a command. An unknown one is refused after it was admitted.
            pub const fn properties(self) -> Properties {
                let unknown = Properties {
                    name: None,
                    scope: Scope::Tree,
                    on_open: false,
                    ends_leases: false,
                    releases: false,
                    in_sequence: false,
                };
                match self {
                    $(Self::$name => Properties {
                        name: Some(stringify!($name)),
                        scope: Scope::$scope,
                        $($property: true,)*
                        ..unknown
                    },)*
                    _ => unknown,
                }
            }
        }
    };
}

commands! {
    NEGOTIATE = 0x00: Connection, [];
    SESSION_SETUP = 0x01: Connection, [];
    LOGOFF = 0x02: Session, [releases];
    TREE_CONNECT = 0x03: Session, [];
    TREE_DISCONNECT = 0x04: Tree, [releases];
    CREATE = 0x05: Tree, [ends_leases];
    CLOSE = 0x06: Tree, [on_open, ends_leases, releases];
    FLUSH = 0x07: Tree, [on_open];
    READ = 0x08: Tree, [on_open];
    WRITE = 0x09: Tree, [on_open, in_sequence];
    LOCK = 0x0A: Tree, [on_open, releases];
    IOCTL = 0x0B: Tree, [on_open, in_sequence];
    CANCEL = 0x0C: Tree, [];
    ECHO = 0x0D: Session, [];
    QUERY_DIRECTORY = 0x0E: Tree, [on_open];
    CHANGE_NOTIFY = 0x0F: Tree, [on_open];
    QUERY_INFO = 0x10: Tree, [on_open];
    SET_INFO = 0x11: Tree, [on_open, ends_leases, in_sequence];
    OPLOCK_BREAK = 0x12: Tree, [];
    SERVER_TO_CLIENT_NOTIFICATION = 0x13: Tree, [];
}

wire::bits! {
    /// MS-SMB2 2.2.1.2.
    pub Flags: u32 {
        RESPONSE = 0x0000_0001,
        ASYNC = 0x0000_0002,
        /// This request uses the session, tree and file of the one before in the chain.
        RELATED = 0x0000_0004,
        SIGNED = 0x0000_0008,
        /// The three bits of the priority, 3.1.1.
        PRIORITY = 0x0000_0070,
        DFS = 0x1000_0000,
        REPLAY = 0x2000_0000,
    }
}

/// The field that has two forms, MS-SMB2 2.2.1.1 and 2.2.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// Of a request that is answered later, when [`Flags::ASYNC`] is set.
    Async(u64),
    /// `reserved` is the process id that old clients sent.
    Sync { reserved: u32, tree: u32 },
}

/// MS-SMB2 2.2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub credit_charge: u16,
    /// In a request of 3.x its low half is the channel sequence.
    pub status: Status,
    pub command: Command,
    /// Asked for in a request, granted in a response.
    pub credits: u16,
    pub flags: Flags,
    /// Where the next message of the chain begins, from the start of this one; 0 in the last.
    pub next_command: u32,
    pub message_id: u64,
    pub id: Id,
    pub session_id: u64,
    pub signature: [u8; 16],
}

impl Header {
    /// How long it is.
    pub const LEN: usize = 64;
    /// Where it has the status. Callers patch it in place.
    pub const STATUS: usize = 8;
    /// Where it has the credits.
    pub const CREDITS: usize = 14;
    /// Where it has the flags.
    pub const FLAGS: usize = 16;
    /// Where it has the offset of the next message.
    pub const NEXT_COMMAND: usize = 20;
    /// Where it has the signature, which counts as zeros while it is computed.
    pub const SIGNATURE: Range<usize> = 48..64;

    /// A client's request in no session, tree or chain.
    pub fn request(command: Command, message_id: u64) -> Self {
        Self {
            credit_charge: 1,
            status: Status::SUCCESS,
            command,
            credits: 1,
            flags: Flags::NONE,
            next_command: 0,
            message_id,
            id: Id::Sync { reserved: 0, tree: 0 },
            session_id: 0,
            signature: [0; 16],
        }
    }

    /// The header of the response to the request that has this one: not signed, not in a chain yet. MS-SMB2 3.3.4.1 and
    /// 3.3.4.1.3: the message id, the ids and the relation to the request before are repeated.
    pub fn response(&self, status: Status, credits: u16) -> Self {
        let repeated = self.flags & (Flags::RELATED | Flags::PRIORITY | Flags::ASYNC);
        Self {
            status,
            credits,
            flags: Flags::RESPONSE | repeated,
            next_command: 0,
            signature: [0; 16],
            ..*self
        }
    }

    /// The tree that is asked for; 0 where the header has an async id instead.
    pub fn tree_id(&self) -> u32 {
        match self.id {
            Id::Async(_) => 0,
            Id::Sync { tree, .. } => tree,
        }
    }

    /// The async id, where the header has one.
    pub fn async_id(&self) -> Option<u64> {
        match self.id {
            Id::Async(id) => Some(id),
            Id::Sync { .. } => None,
        }
    }

    /// The channel sequence of a request, 3.x.
    pub fn channel_sequence(&self) -> u16 {
        self.status.0 as u16
    }

    /// The header that `message` begins with.
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(message);
        if r.array()? != PROTOCOL_ID {
            return Err(Malformed("another protocol id"));
        }
        if usize::from(r.u16_le()?) != Self::LEN {
            return Err(Malformed("a header of another size"));
        }
        let (credit_charge, status) = (r.u16_le()?, Status(r.u32_le()?));
        let (command, credits) = (Command(r.u16_le()?), r.u16_le()?);
        let (flags, next_command, message_id) = (Flags(r.u32_le()?), r.u32_le()?, r.u64_le()?);
        let id = match flags.contains(Flags::ASYNC) {
            true => Id::Async(r.u64_le()?),
            false => Id::Sync { reserved: r.u32_le()?, tree: r.u32_le()? },
        };
        let (session_id, signature) = (r.u64_le()?, r.array()?);
        Ok(Self {
            credit_charge,
            status,
            command,
            credits,
            flags,
            next_command,
            message_id,
            id,
            session_id,
            signature,
        })
    }

    /// Appends the 64 bytes. [`Flags::ASYNC`] is written as `id` says.
    pub fn encode(&self, w: &mut Writer) {
        let form = if self.async_id().is_some() { Flags::ASYNC } else { Flags::NONE };
        w.put(&PROTOCOL_ID);
        w.u16_le(Self::LEN as u16);
        w.u16_le(self.credit_charge);
        w.u32_le(self.status.0);
        w.u16_le(self.command.0);
        w.u16_le(self.credits);
        w.u32_le((self.flags.difference(Flags::ASYNC) | form).0);
        w.u32_le(self.next_command);
        w.u64_le(self.message_id);
        match self.id {
            Id::Async(id) => w.u64_le(id),
            Id::Sync { reserved, tree } => {
                w.u32_le(reserved);
                w.u32_le(tree);
            }
        }
        w.u64_le(self.session_id);
        w.put(&self.signature);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TREE_CONNECT response, laid out by MS-SMB2 2.2.1.2.
    const SYNC: [u8; 64] = *b"\xfeSMB\x40\0\x01\0\x22\0\0\xc0\x03\0\x02\x01\x09\0\0\x10\x48\0\0\0\
        \x05\0\0\0\0\0\0\x80\xff\xfe\0\0\x07\0\0\0\x11\x22\x33\x44\x55\x66\x77\x88ABCDEFGHIJKLMNOP";

    fn header() -> Header {
        Header {
            credit_charge: 1,
            status: Status::ACCESS_DENIED,
            command: Command::TREE_CONNECT,
            credits: 0x0102,
            flags: Flags::RESPONSE | Flags::SIGNED | Flags::DFS,
            next_command: 72,
            message_id: 0x8000_0000_0000_0005,
            id: Id::Sync { reserved: 0xFEFF, tree: 7 },
            session_id: 0x8877_6655_4433_2211,
            signature: *b"ABCDEFGHIJKLMNOP",
        }
    }

    fn encoded(header: &Header) -> Vec<u8> {
        let mut w = Writer::new();
        header.encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn the_synchronous_form_has_a_tree() {
        assert_eq!(Header::decode(&SYNC), Ok(header()));
        assert_eq!(encoded(&header()), SYNC);
        assert_eq!(SYNC[Header::SIGNATURE], *b"ABCDEFGHIJKLMNOP");
        assert_eq!(SYNC[Header::NEXT_COMMAND], 72);
        assert_eq!(SYNC[Header::CREDITS..Header::FLAGS], [2, 1]);
    }

    #[test]
    fn the_asynchronous_form_has_an_id_and_its_flag() {
        let asynchronous = Header { id: Id::Async(0x0102_0304_0506_0708), ..header() };
        let bytes = encoded(&asynchronous);
        assert_eq!(bytes[16], 0x0b);
        assert_eq!(bytes[32..40], [8, 7, 6, 5, 4, 3, 2, 1]);
        let decoded = Header::decode(&bytes).unwrap();
        assert_eq!((decoded.async_id(), decoded.tree_id()), (Some(0x0102_0304_0506_0708), 0));
    }

    #[test]
    fn another_protocol_or_size_is_malformed() {
        for (at, byte) in [(0, 0xFF), (3, b'b'), (4, 65), (5, 1)] {
            let mut bytes = SYNC;
            bytes[at] = byte;
            assert!(Header::decode(&bytes).is_err(), "byte {at}");
        }
        assert!(Header::decode(&SYNC[..63]).is_err());
    }

    #[test]
    fn a_response_repeats_the_ids_and_not_the_signature() {
        let request = Header { flags: Flags::RELATED | Flags::SIGNED | Flags::REPLAY, ..header() };
        let response = request.response(Status::SUCCESS, 3);
        assert_eq!(response.flags, Flags::RESPONSE | Flags::RELATED);
        assert_eq!((response.message_id, response.id), (request.message_id, request.id));
        assert_eq!((response.next_command, response.signature), (0, [0; 16]));
        assert_eq!((response.status, response.credits), (Status::SUCCESS, 3));
    }

    #[test]
    fn the_channel_sequence_is_the_low_half_of_the_status() {
        assert_eq!(Header { status: Status(0x0000_0102), ..header() }.channel_sequence(), 0x0102);
    }
}
