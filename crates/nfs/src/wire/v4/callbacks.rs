//! The calls of a server to its clients, RFC 7530 15, RFC 8881 20 and RFC 7862 16: CB_COMPOUND of one operation, in sessions
//! after CB_SEQUENCE. The layouts are those of RFC 7531, RFC 5662 and RFC 7863.

use super::attributes::{CHANGE, SIZE, Values};
use super::sessions::SessionId;
use super::types::*;
use super::*;

/// The version of the program that the server calls.
pub const CALLBACK_VERSION: u32 = 1;
/// CB_NULL, which shows that the client answers.
pub const CB_NULL: u32 = 0;
/// CB_COMPOUND.
pub const CB_COMPOUND: u32 = 1;
/// OP_CB_GETATTR.
const GETATTR: u32 = 3;
/// OP_CB_RECALL.
const RECALL: u32 = 4;
/// OP_CB_NOTIFY.
const NOTIFY: u32 = 6;
/// OP_CB_PUSH_DELEG.
const PUSH: u32 = 7;
/// OP_CB_RECALLABLE_OBJ_AVAIL.
const AVAILABLE: u32 = 9;
/// OP_CB_SEQUENCE.
const SEQUENCE: u32 = 11;
/// OP_CB_OFFLOAD.
const OFFLOAD: u32 = 15;
/// What follows the status in CB_SEQUENCE4resok: the session, its sequence number and three slots.
const SEQUENCE_RESULT: usize = 16 + 4 * 4;

record! {
    /// CB_SEQUENCE4args, RFC 8881 20.9, without lists of referring calls.
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

    /// CB_GETATTR4args, RFC 7530 15.1 and RFC 8881 20.1: what the holder of a delegation to write knows of the file.
    pub struct Ask<'a> {
        pub handle: FileHandle<'a>,
        pub wanted: Bitmap,
    }

    /// CB_RECALL4args, RFC 7530 15.2 and RFC 8881 20.2.
    pub struct Recall<'a> {
        pub state: StateId,
        /// The file is about to be emptied: the client need not write what it has in its cache.
        pub truncate: bool,
        pub handle: FileHandle<'a>,
    }

    /// CB_RECALLABLE_OBJ_AVAIL4args, RFC 8881 20.7: the server has delegations to grant again.
    pub struct Available {
        /// How many the client may have.
        pub keep: u32,
        /// RCA4_TYPE_MASK_*.
        pub kinds: Bitmap,
    }
}

/// open_delegation4 with a delegation, RFC 8881 18.16.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenDelegation {
    pub state: StateId,
    /// It allows writing, too.
    pub writes: bool,
    /// The client is to return it at once.
    pub is_recalled: bool,
}

impl Encode for OpenDelegation {
    fn encode(&self, w: &mut Writer) {
        let kind = if self.writes { DelegationType::WRITE } else { DelegationType::READ };
        kind.encode(w);
        self.state.encode(w);
        self.is_recalled.encode(w);
        if self.writes {
            LIMIT_SIZE.encode(w);
            u64::MAX.encode(w);
        }
        // nfsace4 that allows no user anything: the client asks by ACCESS.
        put_words(w, &[0, 0, 0]);
        Opaque::<0>::new(b"").encode(w);
    }
}

/// NFS_LIMIT_SIZE: a limit of the size of the file that the client may write without asking.
const LIMIT_SIZE: u32 = 1;

/// CB_PUSH_DELEG4args, RFC 8881 20.5: a delegation that the client has waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Push<'a> {
    pub handle: FileHandle<'a>,
    pub delegation: OpenDelegation,
}

impl Encode for Push<'_> {
    fn encode(&self, w: &mut Writer) {
        self.handle.encode(w);
        self.delegation.encode(w);
    }
}

/// RCA4_TYPE_MASK_RDATA_DLG, _WDATA_DLG and _DIR_DLG: the kinds of delegations.
pub const KINDS_OF_DELEGATIONS: &[u32] = &[0, 1, 2];

/// CB_OFFLOAD4args, RFC 7862 16.1: a copy that goes on after its reply has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offload<'a> {
    pub handle: FileHandle<'a>,
    /// The copy.
    pub state: StateId,
    /// NFS4_OK: all is copied.
    pub status: Status,
    /// How many bytes are copied.
    pub count: u64,
    /// Of a copy that has succeeded: whether the data are on the disk, and the write verifier.
    pub stable: StableHow,
    pub verifier: Verifier,
}

impl Encode for Offload<'_> {
    fn encode(&self, w: &mut Writer) {
        self.handle.encode(w);
        self.state.encode(w);
        self.status.encode(w);
        if self.status == Status::OK {
            None::<StateId>.encode(w); // there is nothing more to wait for
        }
        self.count.encode(w);
        if self.status == Status::OK {
            self.stable.encode(w);
            self.verifier.encode(w);
        }
    }
}

/// NOTIFY4_REMOVE_ENTRY, NOTIFY4_ADD_ENTRY and NOTIFY4_RENAME_ENTRY of notify_type4.
pub const REMOVE_ENTRY: u32 = 2;
pub const ADD_ENTRY: u32 = 3;
pub const RENAME_ENTRY: u32 = 4;

/// CB_NOTIFY4args, RFC 8881 20.4: changes in a folder of which the client has a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notify<'a> {
    pub state: StateId,
    pub handle: FileHandle<'a>,
    pub changes: &'a [EntryChange<'a>],
}

/// notify_entry4: a name, and those attributes of it that the client wants and the server tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifyEntry<'a> {
    pub name: Name<'a>,
    pub kind: Option<FileType>,
    pub fileid: Option<u64>,
}

/// One change: notify_remove4, notify_add4 and notify_rename4. The cookies and neighbours of entries are not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryChange<'a> {
    Removed(NotifyEntry<'a>),
    Added(NotifyEntry<'a>),
    Renamed { from: NotifyEntry<'a>, to: NotifyEntry<'a> },
}

impl EntryChange<'_> {
    /// Its notify_type4.
    pub fn number(&self) -> u32 {
        match self {
            Self::Removed(_) => REMOVE_ENTRY,
            Self::Added(_) => ADD_ENTRY,
            Self::Renamed { .. } => RENAME_ENTRY,
        }
    }
}

impl Encode for NotifyEntry<'_> {
    fn encode(&self, w: &mut Writer) {
        self.name.encode(w);
        Values { kind: self.kind, fileid: self.fileid, ..Values::default() }.encode(w);
    }
}

/// notify4: the bit of its kind, and a counted string with its value.
impl Encode for EntryChange<'_> {
    fn encode(&self, w: &mut Writer) {
        let removed = |entry: &NotifyEntry<'_>, w: &mut Writer| {
            entry.encode(w);
            0_u64.encode(w); // its cookie
        };
        let added = |entry: &NotifyEntry<'_>, w: &mut Writer| {
            w.u32_be(0); // no entry was replaced
            entry.encode(w);
            put_words(w, &[0, 0, 0]); // no cookie, no neighbour, and it need not be the last entry
        };
        Bitmap::of(&[self.number()]).encode(w);
        let start = w.len();
        w.u32_be(0);
        match self {
            Self::Removed(entry) => removed(entry, w),
            Self::Added(entry) => added(entry, w),
            Self::Renamed { from, to } => {
                removed(from, w);
                added(to, w);
            }
        }
        w.patch_u32_be(start, (w.len() - start - 4) as u32); // values are padded
    }
}

impl Encode for Notify<'_> {
    fn encode(&self, w: &mut Writer) {
        self.state.encode(w);
        self.handle.encode(w);
        w.u32_be(self.changes.len() as u32);
        self.changes.iter().for_each(|change| change.encode(w));
    }
}

/// What the server wants of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callback<'a> {
    GetAttr(Ask<'a>),
    Recall(Recall<'a>),
    Notify(Notify<'a>),
    Push(Push<'a>),
    Available(Available),
    Offload(Offload<'a>),
}

impl Encode for Callback<'_> {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::GetAttr(ask) => {
                w.u32_be(GETATTR);
                ask.encode(w);
            }
            Self::Recall(recall) => {
                w.u32_be(RECALL);
                recall.encode(w);
            }
            Self::Notify(notify) => {
                w.u32_be(NOTIFY);
                notify.encode(w);
            }
            Self::Push(push) => {
                w.u32_be(PUSH);
                push.encode(w);
            }
            Self::Available(available) => {
                w.u32_be(AVAILABLE);
                available.encode(w);
            }
            Self::Offload(offload) => {
                w.u32_be(OFFLOAD);
                offload.encode(w);
            }
        }
    }
}

/// CB_COMPOUND4args.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallbackCall<'a> {
    pub minor: u32,
    /// The name that the client of minor version 0 has given the callback. It has no meaning in a session, RFC 8881 20.8.3.
    pub ident: u32,
    /// From minor version 1.
    pub sequence: Option<CallbackSequence>,
    pub callback: Callback<'a>,
}

impl Encode for CallbackCall<'_> {
    fn encode(&self, w: &mut Writer) {
        Tag::new(b"").encode(w);
        put_words(w, &[self.minor, self.ident, 1 + u32::from(self.sequence.is_some())]);
        if let Some(sequence) = &self.sequence {
            w.u32_be(SEQUENCE);
            sequence.encode(w);
        }
        self.callback.encode(w);
    }
}

/// CB_COMPOUND4res.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackReply {
    /// The client has executed nothing, for this reason: of CB_SEQUENCE, or of the whole call.
    Refused(Status),
    /// The call had its turn in the session, if it was in one, and this is the status of what it wanted. `None`: the client has
    /// executed no more than CB_SEQUENCE.
    Executed { in_session: bool, status: Option<Status> },
    /// CB_GETATTR has succeeded.
    Attributes { in_session: bool, known: CachedAttributes },
}

/// The attributes that CB_GETATTR asks for, as the holder of a delegation knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedAttributes {
    pub change: u64,
    pub size: u64,
}

impl CachedAttributes {
    /// Their set.
    pub fn wanted() -> Bitmap {
        Bitmap::of(&[CHANGE, SIZE])
    }
}

impl Decode<'_> for CachedAttributes {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match Values::decode(r)? {
            Values { change: Some(change), size: Some(size), .. } => Ok(Self { change, size }),
            _ => Err(Malformed("CB_GETATTR without the attributes that it asks for")),
        }
    }
}

impl Encode for CachedAttributes {
    fn encode(&self, w: &mut Writer) {
        let values = Values { change: Some(self.change), size: Some(self.size), ..Values::default() };
        values.encode(w);
    }
}

impl Decode<'_> for CallbackReply {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let whole = Status::decode(r)?;
        Tag::decode(r)?;
        let results = r.u32_be()?;
        if results == 0 {
            return Ok(Self::Refused(whole));
        }
        let (operation, status) = (r.u32_be()?, Status::decode(r)?);
        match operation {
            SEQUENCE if status != Status::OK => return Ok(Self::Refused(status)),
            SEQUENCE => r.skip(SEQUENCE_RESULT)?,
            _ => return Self::of_operation(false, (operation, status), r),
        }
        if results == 1 {
            return Ok(Self::Executed { in_session: true, status: None });
        }
        let second = (r.u32_be()?, Status::decode(r)?);
        Self::of_operation(true, second, r)
    }
}

impl CallbackReply {
    fn of_operation(
        in_session: bool,
        (operation, status): (u32, Status),
        r: &mut Reader<'_>,
    ) -> Result<Self, Malformed> {
        match operation {
            GETATTR if status == Status::OK => {
                Ok(Self::Attributes { in_session, known: CachedAttributes::decode(r)? })
            }
            GETATTR | RECALL | NOTIFY | PUSH | AVAILABLE | OFFLOAD => {
                Ok(Self::Executed { in_session, status: Some(status) })
            }
            _ => Err(Malformed("another operation than those of the call")),
        }
    }
}

/// Of a recall or CB_GETATTR, for tests and fuzzing.
impl Encode for CallbackReply {
    fn encode(&self, w: &mut Writer) {
        let (whole, in_session, result) = match *self {
            Self::Refused(status) => (status, false, None),
            Self::Executed { in_session, status } => {
                (status.unwrap_or(Status::OK), in_session, status.map(|status| (RECALL, status)))
            }
            Self::Attributes { in_session, .. } => (Status::OK, in_session, Some((GETATTR, Status::OK))),
        };
        whole.encode(w);
        Tag::new(b"").encode(w);
        w.u32_be(u32::from(in_session) + u32::from(result.is_some()));
        if in_session {
            put_words(w, &[SEQUENCE, Status::OK.0]);
            w.zeros(SEQUENCE_RESULT);
        }
        if let Some((operation, status)) = result {
            w.u32_be(operation);
            status.encode(w);
        }
        if let Self::Attributes { known, .. } = self {
            known.encode(w);
        }
    }
}
