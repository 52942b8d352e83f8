//! The calls of a server to a client of minor version 1, RFC 8881 20: CB_COMPOUND of CB_SEQUENCE and CB_RECALL. The layouts
//! are those of RFC 5662.

use super::sessions::SessionId;
use super::types::*;
use super::*;

/// The version of the program that the server calls.
pub const CALLBACK_VERSION: u32 = 1;
/// CB_NULL, which shows that the client answers.
pub const CB_NULL: u32 = 0;
/// CB_COMPOUND.
pub const CB_COMPOUND: u32 = 1;
/// OP_CB_RECALL.
const RECALL: u32 = 4;
/// OP_CB_SEQUENCE.
const SEQUENCE: u32 = 11;
/// What follows the status in CB_SEQUENCE4resok: the session, its sequence number and three slots.
const SEQUENCE_RESULT: usize = 16 + 4 * 4;

record! {
    /// CB_SEQUENCE4args, 20.9, without lists of referring calls.
    pub struct CallbackSequence {
        pub session: SessionId,
        pub sequence: u32,
        pub slot: u32,
        pub highest_slot: u32,
        /// The client is to keep its reply.
        pub cache: bool,
        /// csa_referring_call_lists, of which there are none.
        pub referring: u32,
    }

    /// CB_RECALL4args, 20.2.
    pub struct Recall<'a> {
        pub state: StateId,
        /// The file is about to be emptied: the client need not write what it has in its cache.
        pub truncate: bool,
        pub handle: FileHandle<'a>,
    }
}

/// CB_COMPOUND4args that recall a delegation, as a client of this minor version understands them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallCall<'a> {
    pub minor: u32,
    pub sequence: CallbackSequence,
    pub recall: Recall<'a>,
}

impl Encode for RecallCall<'_> {
    fn encode(&self, w: &mut Writer) {
        Tag::new(b"").encode(w);
        // callback_ident has no meaning in a session, RFC 8881 20.8.3.
        put_words(w, &[self.minor, 0, 2, SEQUENCE]);
        self.sequence.encode(w);
        w.u32_be(RECALL);
        self.recall.encode(w);
    }
}

/// CB_COMPOUND4res of a [`RecallCall`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallReply {
    /// The status of CB_SEQUENCE.
    pub sequence: Status,
    /// The status of CB_RECALL, if the client executed it.
    pub recall: Option<Status>,
}

impl Decode<'_> for RecallReply {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let status = Status::decode(r)?;
        Tag::decode(r)?;
        let results = r.u32_be()?;
        if results == 0 {
            return Ok(Self { sequence: status, recall: None });
        }
        if r.u32_be()? != SEQUENCE {
            return Err(Malformed("another operation than CB_SEQUENCE"));
        }
        let sequence = Status::decode(r)?;
        if sequence != Status::OK || results == 1 {
            return Ok(Self { sequence, recall: None });
        }
        r.skip(SEQUENCE_RESULT)?;
        if r.u32_be()? != RECALL {
            return Err(Malformed("another operation than CB_RECALL"));
        }
        Ok(Self { sequence, recall: Some(Status::decode(r)?) })
    }
}

impl Encode for RecallReply {
    fn encode(&self, w: &mut Writer) {
        let status = self.recall.filter(|_| self.sequence == Status::OK).unwrap_or(self.sequence);
        status.encode(w);
        Tag::new(b"").encode(w);
        put_words(w, &[1 + u32::from(self.recall.is_some()), SEQUENCE]);
        self.sequence.encode(w);
        if let Some(recall) = self.recall {
            w.zeros(SEQUENCE_RESULT);
            w.u32_be(RECALL);
            recall.encode(w);
        }
    }
}
