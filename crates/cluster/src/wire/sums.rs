//! What servers tell each other of the quotas that they count together.

use formats::FileId;
use wire::{Malformed, Reader, Writer};

use super::{MAX_FILES, MessageField, get_list, put_list};

/// The most servers of one sum.
pub const MAX_STARTS: usize = 1_024;
/// The most sums in one message.
pub const MAX_SUMS: usize = 256;

/// What servers tell each other of the quotas that they count together: see [`Sums`](crate::Sums).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SumsMessage {
    /// All that clients of the sender have changed of these folders since it started.
    Totals(Vec<(FileId, i64)>),
    /// The sender changes nothing any more.
    Ended,
    /// What the sender knows of these folders.
    Sums(Vec<Sum>),
    /// Something was changed that could not be counted: the files of the folder are to be counted again.
    Spoiled(FileId),
    /// The sender begins to count the files of the folder: the receiver notes what its clients change from now on. The count
    /// has this number.
    Follow(FileId, u64),
    /// The answer: the total of the sender when it began.
    Following(FileId, u64, i64),
    /// What has changed is to be told.
    Ask(FileId, u64),
    /// The answer, in one or more parts.
    Changed {
        /// The folder.
        folder: FileId,
        /// The number of the count.
        count: u64,
        /// The files that have changed since the last answer: their inode numbers, and what they counted with before their first
        /// change.
        files: Vec<(u64, u64)>,
        /// More of it follows.
        more: bool,
        /// Nothing is left out.
        is_whole: bool,
    },
    /// The count is over.
    Finish(FileId),
}

/// What a server knows of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// The folder.
    pub folder: FileId,
    /// How often all files were counted.
    pub version: u64,
    /// What they took then, in bytes.
    pub base: i64,
    /// All files were counted, and no change was lost since.
    pub is_exact: bool,
    /// The totals of the servers when the count began.
    pub starts: Vec<(u16, i64)>,
    /// The total of the sender.
    pub total: i64,
}

impl MessageField for i64 {
    fn put(&self, w: &mut Writer) {
        self.cast_unsigned().put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        u64::get(r).map(u64::cast_signed)
    }
}

impl MessageField for Sum {
    fn put(&self, w: &mut Writer) {
        (self.folder, self.version, self.base).put(w);
        self.is_exact.put(w);
        put_list(w, &self.starts);
        self.total.put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (folder, version, base) = MessageField::get(r)?;
        let (is_exact, starts) = (MessageField::get(r)?, get_list(r, MAX_STARTS)?);
        Ok(Self { folder, version, base, is_exact, starts, total: MessageField::get(r)? })
    }
}

impl MessageField for SumsMessage {
    fn put(&self, w: &mut Writer) {
        match self {
            Self::Totals(totals) => {
                1u8.put(w);
                put_list(w, totals);
            }
            Self::Ended => 2u8.put(w),
            Self::Sums(sums) => {
                3u8.put(w);
                put_list(w, sums);
            }
            Self::Spoiled(folder) => (4u8, *folder).put(w),
            Self::Follow(folder, count) => (5u8, *folder, *count).put(w),
            Self::Following(folder, count, total) => (6u8, *folder, (*count, *total)).put(w),
            Self::Ask(folder, count) => (7u8, *folder, *count).put(w),
            Self::Changed { folder, count, files, more, is_whole } => {
                (8u8, *folder, *count).put(w);
                put_list(w, files);
                (*more, *is_whole).put(w);
            }
            Self::Finish(folder) => (9u8, *folder).put(w),
        }
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            1 => Self::Totals(get_list(r, MAX_FILES)?),
            2 => Self::Ended,
            3 => Self::Sums(get_list(r, MAX_SUMS)?),
            4 => Self::Spoiled(MessageField::get(r)?),
            5 => {
                let (folder, count) = MessageField::get(r)?;
                Self::Follow(folder, count)
            }
            6 => {
                let (folder, count, total) = MessageField::get(r)?;
                Self::Following(folder, count, total)
            }
            7 => {
                let (folder, count) = MessageField::get(r)?;
                Self::Ask(folder, count)
            }
            8 => {
                let (folder, count) = MessageField::get(r)?;
                let (files, (more, is_whole)) = (get_list(r, MAX_FILES)?, MessageField::get(r)?);
                Self::Changed { folder, count, files, more, is_whole }
            }
            9 => Self::Finish(MessageField::get(r)?),
            _ => return Err(Malformed("an unknown message about sums")),
        })
    }
}
