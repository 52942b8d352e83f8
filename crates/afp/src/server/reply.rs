//! The reply to one command.

use conn::Reservation;
use vfs::Payload;
use wire::Writer;

use crate::wire::ResultCode;

/// The room of a reply's parameters: most are shorter.
const SHORT: usize = 64;

/// The reply of a successful command, or of a failed one whose reply has more than a result.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// The result; 0 by default.
    pub(super) code: Option<ResultCode>,
    /// The reply's parameters.
    pub(super) head: Vec<u8>,
    /// Data after them.
    pub(super) data: Option<Payload>,
    /// Memory that is reserved for the reply.
    pub(super) reserved: Reservation,
}

/// The outcome of a command. An error alone is a reply without parameters.
pub(super) type Outcome = Result<Reply, ResultCode>;

impl Reply {
    /// A successful reply without parameters.
    pub(super) fn empty() -> Self {
        Self::default()
    }

    /// A successful reply with these parameters.
    pub(super) fn encoded(encode: impl FnOnce(&mut Writer)) -> Self {
        let mut w = Writer::onto(Vec::with_capacity(SHORT));
        encode(&mut w);
        Self { head: w.into_bytes(), ..Self::default() }
    }

    /// Bytes of the parameters and the data.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.data.as_ref().map_or(0, Payload::len)
    }

    /// The same reply with another result.
    pub(super) fn with(self, code: ResultCode) -> Self {
        Self { code: Some(code), ..self }
    }
}
