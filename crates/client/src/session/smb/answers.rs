//! What answers of an SMB server say: the data of a READ, and errors.

use ::smb::wire::Status;

use super::{BlockingLink, Client};
use crate::session::{Completion, HEAD};
use crate::{Error, Result};

/// Where READ's answer has the offset of its data, MS-SMB2 2.2.20.
const DATA_OFFSET_AT: usize = 64 + 2;

/// What failed in the client.
pub(super) fn said(client: &Client<BlockingLink>, error: ::smb::client::Error) -> Error {
    match error {
        ::smb::client::Error::Connection(error) => client.link.0.failed(&error),
        ::smb::client::Error::Refused(status) => refused(status, ""),
        other => Error::Other(other.to_string()),
    }
}

/// The data stay in the message: they are not copied.
pub(super) fn read_answer(id: u64, message: &[u8]) -> Result<Completion> {
    let short = || Error::Other("a short answer to READ".into());
    let offset = usize::from(*message.get(DATA_OFFSET_AT).ok_or_else(short)?);
    let length = message.get(DATA_OFFSET_AT + 2..).and_then(|bytes| bytes.first_chunk().copied());
    let length = u32::from_le_bytes(length.ok_or_else(short)?) as usize;
    let data = message.get(offset..).and_then(|data| data.get(..length)).ok_or_else(short)?;
    let finished = Completion::read(id, &data[..length.min(HEAD)]);
    Ok(Completion { length, ..finished })
}

/// The answer to a READ, if it is one, whose head that is kept is never longer than the data. And the name of a SID.
pub(in crate::session) fn decode_answer(message: &[u8]) {
    let _ = super::names::first_name(message); // any bytes are an answer or none
    if let Ok(finished) = read_answer(0, message) {
        assert!(finished.length <= message.len());
    }
}

pub(super) fn malformed(error: wire::Malformed) -> Error {
    Error::Other(format!("an answer that is not SMB: {error}"))
}

pub(super) fn refused(status: Status, path: &str) -> Error {
    match status {
        Status::DISK_FULL | Status::QUOTA_EXCEEDED => Error::Full,
        Status::ACCESS_DENIED => Error::Refused(format!("{path} {status:?}").trim().to_owned()),
        Status::OBJECT_NAME_NOT_FOUND | Status::OBJECT_PATH_NOT_FOUND | Status::BAD_NETWORK_NAME => {
            Error::Missing(path.to_owned())
        }
        Status::EAS_NOT_SUPPORTED => Error::Unsupported("setting extended attributes"),
        Status::NOT_SUPPORTED | Status::INVALID_INFO_CLASS => Error::Unsupported("this operation"),
        status => Error::Other(format!("{path} {status:?}").trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use wire::Writer;

    use super::*;

    #[test]
    fn the_data_of_a_read_are_found_in_its_answer() {
        let response =
            ::smb::wire::read::Response { data_remaining: 0, flags: 0, data: b"0123456789".to_vec() };
        let mut w = Writer::new();
        w.zeros(64);
        response.encode(&mut w);
        let finished = read_answer(3, w.as_bytes()).unwrap();
        assert_eq!((finished.length, &finished.head), (10, b"01234567"));
        assert!(read_answer(3, &w.as_bytes()[..80]).is_err());
    }
}
