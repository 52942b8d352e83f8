//! The messages between servers: who has the state of a file, what clients must hear, and what servers agree on at
//! the beginning of an epoch.

use coherence::state::{Back, ChangeNotice, FileState, Inheritance, OpenId, OpenReplica, Party};
use formats::FileId;
use wire::{Malformed, Reader, Writer};

use super::sums::SumsMessage;
use super::{MAX_ITEMS, MessageField, get_bytes, get_list, put_bytes, put_list};
use crate::node::{MAX_CALL, MAX_NOTE, OpenRecord};

/// The most files in one message.
pub const MAX_FILES: usize = 4_096;

/// A message between servers. *Home* is the server that knows which server has the state of a file;
/// *turn* counts up each time that the state is to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// To the home: the sender wants the state of a file.
    Ask(FileId),
    /// By the home: no server has the state of the file, so it is empty and the receiver's.
    Grant(FileId, u64),
    /// By the home: the state of the file is to go to this server.
    Recall(FileId, u16, u64),
    /// The state of the file, in one or more parts.
    Hand {
        /// The file.
        file: FileId,
        /// The turn of the order to hand it over.
        turn: u64,
        /// Which part of it.
        portion: Portion,
        /// More of it follows.
        more: bool,
        /// The state, or a part of it.
        state: FileState,
    },
    /// To the home: the state is empty, and the sender does not keep it.
    Release(FileId),
    /// By the home: the sender of [`Message::Release`] does not have the state any more. `false`: it is to hand
    /// it over, as it was told before.
    Released(FileId, bool),
    /// To the home of a client: something about what that client has of the file.
    Back(FileId, Back),
    /// The answer to [`Back::Remove`]: it is done.
    Removed(FileId, u64),
    /// To each new home, at the begin of an epoch: what the sender has of the files of that home.
    Report {
        /// The states that it has, with their turns.
        held: Vec<(FileId, u64)>,
        /// The states that it has sent to other servers, which may not have come: the receiver, the turn, and the
        /// number of the message, which is the highest one if it is not sent yet.
        sent: Vec<(FileId, u16, (u64, u64))>,
        /// The last message that it has received from each server.
        received: Vec<(u16, u64)>,
        /// The states that are elsewhere, with a part of the sender's clients.
        kept: Vec<FileId>,
        /// Opens of lost servers that the sender has inherited.
        inherited: Vec<Inheritance>,
        /// More of it follows.
        more: bool,
    },
    /// By the home: the state of the file is lost. The receiver makes it anew, out of so many parts of other
    /// servers and its own.
    Gather(FileId, u64, u16),
    /// By the home: the receiver's part of a lost state is to go to this server.
    GivePart(FileId, u16, u64),
    /// A change in the tree, for the receiver's subscribers.
    Told(ChangeNotice),
    /// Changes were not told: the receiver's subscribers look at everything again.
    Lost,
    /// To the successor of the sender: an open that it takes over if the sender is lost.
    Keep(Box<OpenRecord>),
    /// To the successor of the sender: this open is not to be taken over any more.
    Drop(OpenId),
    /// To a server that is not the successor of the sender any more.
    DropAll,
    /// A request that is not about the state of a file, with its number.
    Call(u64, Vec<u8>),
    /// The answer to the request with this number. `None`: it is refused, and nothing was done.
    Answer(u64, Option<Vec<u8>>),
    /// About quotas that the servers count together.
    Sums(SumsMessage),
    /// A client of the sender moves a folder: clients of the receiver are to open nothing inside it, if nothing is open there.
    Below {
        /// The number of the question.
        number: u64,
        /// The folder.
        folder: FileId,
        /// The party that moves it.
        by: Party,
    },
    /// The answer to the question of this number: clients of the sender open nothing in the folder. `false`: something is open.
    BelowAnswer(u64, bool),
    /// The move that the question of this number was for is over.
    BelowOver(u64),
}

/// The part of a state that a message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// All of it.
    Whole,
    /// What the sender's own clients have of a lost state ([`Message::Gather`]).
    Own,
    /// What the sender has inherited of a lost state. It comes before its own part.
    Inherited,
}

impl MessageField for Portion {
    fn put(&self, w: &mut Writer) {
        w.u8(match self {
            Self::Whole => 1,
            Self::Own => 2,
            Self::Inherited => 3,
        });
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u8()? {
            1 => Ok(Self::Whole),
            2 => Ok(Self::Own),
            3 => Ok(Self::Inherited),
            _ => Err(Malformed("an unknown portion")),
        }
    }
}

impl MessageField for Inheritance {
    fn put(&self, w: &mut Writer) {
        (self.file, self.client).put(w);
        self.open.put(w);
        (self.lease, self.reserved).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (file, client) = MessageField::get(r)?;
        let (open, (lease, reserved)) = (MessageField::get(r)?, MessageField::get(r)?);
        Ok(Self { file, client, open, lease, reserved })
    }
}

impl MessageField for OpenRecord {
    fn put(&self, w: &mut Writer) {
        (self.file, self.client).put(w);
        self.replica.open.put(w);
        put_list(w, &self.replica.ranges);
        self.replica.lease.put(w);
        put_bytes(w, &self.note);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (file, client) = MessageField::get(r)?;
        let (open, ranges, lease) = (MessageField::get(r)?, get_list(r, MAX_ITEMS)?, MessageField::get(r)?);
        let note = get_bytes(r, MAX_NOTE)?.into();
        Ok(Self { file, client, replica: OpenReplica { open, ranges, lease }, note })
    }
}

impl MessageField for FileId {
    fn put(&self, w: &mut Writer) {
        (self.device, self.inode).put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (device, inode) = MessageField::get(r)?;
        Ok(Self::new(device, inode))
    }
}

impl MessageField for Message {
    fn put(&self, w: &mut Writer) {
        match self {
            Self::Ask(file) => (1u8, *file).put(w),
            Self::Grant(file, turn) => (2u8, (*file, *turn)).put(w),
            Self::Recall(file, to, turn) => (3u8, (*file, *to, *turn)).put(w),
            Self::Hand { file, turn, portion, more, state } => {
                (4u8, (*file, *turn), (*portion, *more)).put(w);
                state.put(w);
            }
            Self::Release(file) => (5u8, *file).put(w),
            Self::Released(file, is_so) => (6u8, (*file, *is_so)).put(w),
            Self::Back(file, back) => {
                (7u8, *file).put(w);
                back.put(w);
            }
            Self::Removed(file, number) => (8u8, (*file, *number)).put(w),
            Self::Report { held, sent, received, kept, inherited, more } => {
                9u8.put(w);
                put_list(w, held);
                put_list(w, sent);
                put_list(w, received);
                put_list(w, kept);
                put_list(w, inherited);
                more.put(w);
            }
            Self::Gather(file, turn, parts) => (10u8, (*file, *turn, *parts)).put(w),
            Self::GivePart(file, to, turn) => (11u8, (*file, *to, *turn)).put(w),
            Self::Told(told) => {
                12u8.put(w);
                told.put(w);
            }
            Self::Lost => 13u8.put(w),
            Self::Keep(record) => {
                14u8.put(w);
                record.put(w);
            }
            Self::Drop(open) => (15u8, *open).put(w),
            Self::DropAll => 16u8.put(w),
            Self::Call(number, request) => {
                (17u8, *number).put(w);
                put_long(w, request);
            }
            Self::Answer(number, answer) => {
                (18u8, (*number, answer.is_some())).put(w);
                answer.iter().for_each(|answer| put_long(w, answer));
            }
            Self::Sums(message) => {
                19u8.put(w);
                message.put(w);
            }
            Self::Below { number, folder, by } => (20u8, (*number, *folder), *by).put(w),
            Self::BelowAnswer(number, is_held) => (21u8, *number, *is_held).put(w),
            Self::BelowOver(number) => (22u8, *number).put(w),
        }
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            1 => Self::Ask(MessageField::get(r)?),
            2 => {
                let (file, turn) = MessageField::get(r)?;
                Self::Grant(file, turn)
            }
            3 => {
                let (file, to, turn) = MessageField::get(r)?;
                Self::Recall(file, to, turn)
            }
            4 => {
                let ((file, turn), (portion, more)) = MessageField::get(r)?;
                Self::Hand { file, turn, portion, more, state: MessageField::get(r)? }
            }
            5 => Self::Release(MessageField::get(r)?),
            6 => {
                let (file, is_so) = MessageField::get(r)?;
                Self::Released(file, is_so)
            }
            7 => {
                let (file, back) = MessageField::get(r)?;
                Self::Back(file, back)
            }
            8 => {
                let (file, number) = MessageField::get(r)?;
                Self::Removed(file, number)
            }
            9 => Self::Report {
                held: get_list(r, MAX_FILES)?,
                sent: get_list(r, MAX_FILES)?,
                received: get_list(r, MAX_FILES)?,
                kept: get_list(r, MAX_FILES)?,
                inherited: get_list(r, MAX_FILES)?,
                more: MessageField::get(r)?,
            },
            10 => {
                let (file, turn, parts) = MessageField::get(r)?;
                Self::Gather(file, turn, parts)
            }
            11 => {
                let (file, to, turn) = MessageField::get(r)?;
                Self::GivePart(file, to, turn)
            }
            12 => Self::Told(MessageField::get(r)?),
            13 => Self::Lost,
            14 => Self::Keep(Box::new(MessageField::get(r)?)),
            15 => Self::Drop(MessageField::get(r)?),
            16 => Self::DropAll,
            17 => Self::Call(MessageField::get(r)?, get_long(r)?),
            18 => {
                let (number, is_some) = MessageField::get(r)?;
                Self::Answer(number, if is_some { Some(get_long(r)?) } else { None })
            }
            19 => Self::Sums(MessageField::get(r)?),
            20 => {
                let ((number, folder), by) = MessageField::get(r)?;
                Self::Below { number, folder, by }
            }
            21 => {
                let (number, is_held) = MessageField::get(r)?;
                Self::BelowAnswer(number, is_held)
            }
            22 => Self::BelowOver(MessageField::get(r)?),
            _ => return Err(Malformed("an unknown message")),
        })
    }
}

/// Up to [`MAX_CALL`] bytes behind their number.
fn put_long(w: &mut Writer, bytes: &[u8]) {
    w.u32_be(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    w.put(bytes);
}

fn get_long(r: &mut Reader<'_>) -> Result<Vec<u8>, Malformed> {
    let length = r.u32_be()? as usize;
    if length > MAX_CALL {
        return Err(Malformed("longer than its limit"));
    }
    Ok(r.take(length)?.to_vec())
}
