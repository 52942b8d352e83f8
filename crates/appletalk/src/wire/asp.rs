//! What the AppleTalk Session Protocol puts in the user bytes and the data of ATP's packets: Inside AppleTalk (second edition),
//! chapter 11, figures 11-10 to 11-15.

use wire::{Malformed, Reader, Writer};

use super::atp::UserBytes;

/// The only version of the protocol.
pub const VERSION: u16 = 0x0100;

wire::number! {
    /// SPFunction values, page 11-39.
    pub Function: u8 ["function {}"] {
        CLOSE_SESSION = 1,
        COMMAND = 2,
        GET_STATUS = 3,
        OPEN_SESSION = 4,
        TICKLE = 5,
        WRITE = 6,
        WRITE_CONTINUE = 7,
        ATTENTION = 8,
    }
}

wire::number! {
    /// Results of ASP: Inside Macintosh, Networking, chapter 8.
    pub Error: i16 ["error {}"] {
        NO_ERROR = 0,
        BAD_VERSION = -1066,
        BUFFER_TOO_SMALL = -1067,
        NO_MORE_SESSIONS = -1068,
        NO_SERVER = -1069,
        PARAMETER = -1070,
        SERVER_BUSY = -1071,
        SESSION_CLOSED = -1072,
        SIZE = -1073,
        TOO_MANY_CLIENTS = -1074,
        NO_ACKNOWLEDGEMENT = -1075,
    }
}

/// The user bytes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named in full, and each is in a figure")]
pub enum Header {
    /// Figure 11-10: either end closes the session.
    CloseSession { session: u8 },
    /// Figure 11-12: a command without data to be written.
    Command { session: u8, sequence: u16 },
    /// Figure 11-11.
    GetStatus,
    /// Figure 11-10: `socket` is the workstation session socket.
    OpenSession { socket: u8, version: u16 },
    /// Figure 11-15.
    Tickle { session: u8 },
    /// Figure 11-13: a command with data that the server asks for.
    Write { session: u8, sequence: u16 },
    /// Figure 11-14: the server asks for the data of the write with this number.
    WriteContinue { session: u8, sequence: u16 },
    /// Figure 11-15.
    Attention { session: u8, code: u16 },
}

impl Header {
    /// # Errors
    /// An unknown function.
    pub fn decode(user: UserBytes) -> Result<Self, Malformed> {
        let mut r = Reader::new(&user);
        let (function, first, second) = (Function(r.u8()?), r.u8()?, r.u16_be()?);
        match function {
            Function::CLOSE_SESSION => Ok(Self::CloseSession { session: first }),
            Function::COMMAND => Ok(Self::Command { session: first, sequence: second }),
            Function::GET_STATUS => Ok(Self::GetStatus),
            Function::OPEN_SESSION => Ok(Self::OpenSession { socket: first, version: second }),
            Function::TICKLE => Ok(Self::Tickle { session: first }),
            Function::WRITE => Ok(Self::Write { session: first, sequence: second }),
            Function::WRITE_CONTINUE => Ok(Self::WriteContinue { session: first, sequence: second }),
            Function::ATTENTION => Ok(Self::Attention { session: first, code: second }),
            _ => Err(Malformed("an unknown function of ASP")),
        }
    }

    /// The user bytes.
    #[must_use]
    pub fn encode(self) -> UserBytes {
        let (function, first, second) = match self {
            Self::CloseSession { session } => (Function::CLOSE_SESSION, session, 0),
            Self::Command { session, sequence } => (Function::COMMAND, session, sequence),
            Self::GetStatus => (Function::GET_STATUS, 0, 0),
            Self::OpenSession { socket, version } => (Function::OPEN_SESSION, socket, version),
            Self::Tickle { session } => (Function::TICKLE, session, 0),
            Self::Write { session, sequence } => (Function::WRITE, session, sequence),
            Self::WriteContinue { session, sequence } => (Function::WRITE_CONTINUE, session, sequence),
            Self::Attention { session, code } => (Function::ATTENTION, session, code),
        };
        user_bytes(function.0, first, second)
    }
}

/// The user bytes of the answer to OpenSess, figure 11-10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSessionReply {
    /// The server session socket.
    pub socket: u8,
    /// The session's number.
    pub session: u8,
    /// Whether the session is open.
    pub error: Error,
}

impl OpenSessionReply {
    /// Any four bytes are an answer.
    #[must_use]
    pub fn decode([socket, session, high, low]: UserBytes) -> Self {
        Self { socket, session, error: Error(i16::from_be_bytes([high, low])) }
    }

    /// The user bytes.
    #[must_use]
    pub fn encode(self) -> UserBytes {
        user_bytes(self.socket, self.session, self.error.0 as u16)
    }
}

/// The data of WriteContinue, figure 11-14: how many bytes the server has room for.
pub mod room {
    use super::{Malformed, Reader, Writer};

    /// # Errors
    /// Not two bytes.
    pub fn decode(data: &[u8]) -> Result<u16, Malformed> {
        let mut r = Reader::new(data);
        let room = r.u16_be()?;
        r.finish()?;
        Ok(room)
    }

    /// The two bytes.
    #[must_use]
    pub fn encode(room: u16) -> Vec<u8> {
        let mut w = Writer::new();
        w.u16_be(room);
        w.into_bytes()
    }
}

fn user_bytes(first: u8, second: u8, rest: u16) -> UserBytes {
    let [high, low] = rest.to_be_bytes();
    [first, second, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_its_number_and_fields() {
        let all: [(Header, UserBytes); 8] = [
            (Header::CloseSession { session: 5 }, [1, 5, 0, 0]),
            (Header::Command { session: 5, sequence: 0x0102 }, [2, 5, 1, 2]),
            (Header::GetStatus, [3, 0, 0, 0]),
            (Header::OpenSession { socket: 0xfd, version: VERSION }, [4, 0xfd, 1, 0]),
            (Header::Tickle { session: 5 }, [5, 5, 0, 0]),
            (Header::Write { session: 5, sequence: 0xffff }, [6, 5, 0xff, 0xff]),
            (Header::WriteContinue { session: 5, sequence: 3 }, [7, 5, 0, 3]),
            (Header::Attention { session: 5, code: 0x8001 }, [8, 5, 0x80, 1]),
        ];
        for (header, bytes) in all {
            assert_eq!(header.encode(), bytes);
            assert_eq!(Header::decode(bytes), Ok(header));
        }
        assert!(Header::decode([0, 1, 2, 3]).is_err());
        assert!(Header::decode([9, 1, 2, 3]).is_err());
    }

    #[test]
    fn the_answer_to_an_opening_has_socket_session_error() {
        let reply = OpenSessionReply { socket: 0x81, session: 7, error: Error::SERVER_BUSY };
        assert_eq!(reply.encode(), [0x81, 7, 0xfb, 0xd1]); // -1071
        assert_eq!(OpenSessionReply::decode([0x81, 7, 0xfb, 0xd1]), reply);
    }

    #[test]
    fn write_continue_has_two_bytes_of_room() {
        assert_eq!(room::encode(4_624), [0x12, 0x10]);
        assert_eq!(room::decode(&[0x12, 0x10]), Ok(4_624));
        assert!(room::decode(&[1]).is_err());
        assert!(room::decode(&[1, 2, 3]).is_err());
    }
}
