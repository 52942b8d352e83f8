//! The messages.

use wire::{Malformed, Reader, Writer};

use super::entry::{Entry, bytes, count, flag, name, path, put};
use super::{MAX_PATH, MAX_PAYLOAD};

/// Before a Hello, so that a program that is something else is recognized.
const MAGIC: &[u8; 16] = b"fourfold-replica";
/// The longest text of a message.
const MAX_TEXT: usize = 4096;

/// The identity of a dataset or a snapshot. It stays when the snapshot gets another name.
pub type Id = [u8; 16];

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The sender begins.
    Hello {
        /// The version of the stream.
        version: u16,
        /// The source, for people.
        name: String,
        /// The source's identity.
        source: Id,
    },
    /// What the receiver has.
    State(State),
    /// A snapshot follows.
    Begin(Begin),
    /// A piece of the stream that the host's own program has written.
    Stream(Vec<u8>),
    /// The end of that stream. If a text is there, the program has failed, and it says why.
    StreamEnd(String),
    /// A file, folder, link or fork.
    Entry(Box<Entry>),
    /// All names of a folder, in the order of their bytes. Other entries of the folder are removed.
    Names {
        /// The folder.
        folder: Vec<u8>,
        /// The next of its names.
        names: Vec<Vec<u8>>,
        /// No more names follow.
        is_last: bool,
    },
    /// The end of a batch of entries.
    Turn,
    /// Files of the batch whose data the receiver wants.
    Wants(Vec<Want>),
    /// Data of the file at this position of the batch follow.
    File(u32),
    /// Bytes of the file.
    Data {
        /// Their place.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A range that reads as zeros.
    Zeros {
        /// Its place.
        offset: u64,
        /// Its length.
        length: u64,
    },
    /// The file is complete, and its whole content has this checksum.
    End([u8; 32]),
    /// The snapshot is complete.
    Done,
    /// The receiver has done all of it; sentences about what it could not do.
    Finished(Vec<String>),
    /// The snapshots of the source.
    Snapshots {
        /// All of them.
        rows: Vec<Row>,
        /// What the source does not have any more stays at the destination.
        keep: bool,
    },
    /// A side cannot go on, and says why.
    Failed(String),
}

/// What the receiver has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The version of the stream.
    pub version: u16,
    /// The snapshots that it has completely, and the identities of its folder and those above it: a sender that does not compare
    /// those takes them for snapshots that it does not have.
    pub snapshots: Vec<Id>,
    /// The snapshot that it has in part.
    pub receiving: Option<Receiving>,
    /// Whether it takes the stream of its host's own program.
    pub native: Native,
}

/// The format of a snapshot's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    /// That of `btrfs send`.
    Btrfs,
    /// That of `zfs send`.
    Zfs,
}

/// Whether a receiver takes the stream of its host's own program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Native {
    /// It does, in this format, and it has received these snapshots by one.
    Ready(StreamFormat, Vec<Id>),
    /// It does not, for this reason.
    Unable(String),
}

impl Default for Native {
    fn default() -> Self {
        Self::Unable(String::new())
    }
}

/// A snapshot that a receiver has in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiving {
    /// Which one.
    pub id: Id,
    /// The older snapshot that it is sent as the difference to.
    pub base: Option<Id>,
    /// The host was started again meanwhile: what was written may not have reached the disk.
    pub is_suspect: bool,
}

/// A snapshot that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Its identity.
    pub id: Id,
    /// Its name at the source.
    pub name: String,
    /// When it was taken: nanoseconds since 1970.
    pub created: u64,
    /// The older snapshot that it is sent as the difference to. `None`: all entries follow.
    pub base: Option<Id>,
    /// Files have checksums, also those that have not changed.
    pub verify: bool,
    /// Entries that follow, about.
    pub entries: u64,
    /// Bytes of their data, about.
    pub bytes: u64,
    /// The stream of `btrfs send` comes before the entries. Otherwise: why it does not.
    pub native: Result<(), String>,
}

/// A file whose data the receiver wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// Its position in the batch.
    pub index: u32,
    /// From this offset on.
    pub from: u64,
    /// Only what differs from the base.
    pub is_delta: bool,
}

/// A snapshot of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its identity.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// The tags of its holds.
    pub held: Vec<String>,
}

impl Message {
    /// The number in the head of its frame.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => b'H',
            Self::State(_) => b'S',
            Self::Begin(_) => b'B',
            Self::Stream(_) => b'P',
            Self::StreamEnd(_) => b'Q',
            Self::Entry(_) => b'E',
            Self::Names { .. } => b'N',
            Self::Turn => b'T',
            Self::Wants(_) => b'W',
            Self::File(_) => b'F',
            Self::Data { .. } => b'D',
            Self::Zeros { .. } => b'Z',
            Self::End(_) => b'C',
            Self::Done => b'G',
            Self::Finished(_) => b'K',
            Self::Snapshots { .. } => b'L',
            Self::Failed(_) => b'X',
        }
    }

    /// Reads the payload of a frame.
    ///
    /// # Errors
    /// It is malformed.
    pub fn decode(kind: u8, payload: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let message = Self::of(kind, &mut r)?;
        r.finish()?;
        Ok(message)
    }

    fn of(kind: u8, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match kind {
            b'H' => {
                if r.array()? != *MAGIC {
                    return Err(Malformed("the beginning of a replication"));
                }
                Self::Hello { version: r.u16_be()?, name: text(r)?, source: r.array()? }
            }
            b'S' => Self::State(State::decode(r)?),
            b'B' => Self::Begin(Begin::decode(r)?),
            b'P' => Self::Stream(bytes(r, MAX_PAYLOAD)?.to_vec()),
            b'Q' => Self::StreamEnd(text(r)?),
            b'E' => Self::Entry(Box::new(Entry::decode(r)?)),
            b'N' => {
                let (folder, is_last) = (path(r)?, flag(r)?);
                let names = (0..count(r)?).map(|_| name(r)).collect::<Result<_, _>>()?;
                Self::Names { folder, names, is_last }
            }
            b'T' => Self::Turn,
            b'W' => Self::Wants((0..count(r)?).map(|_| Want::decode(r)).collect::<Result<_, _>>()?),
            b'F' => Self::File(r.u32_be()?),
            b'D' => {
                let offset = r.u64_be()?;
                let bytes = bytes(r, MAX_PAYLOAD)?.to_vec();
                range(offset, bytes.len() as u64)?;
                Self::Data { offset, bytes }
            }
            b'Z' => {
                let (offset, length) = (r.u64_be()?, r.u64_be()?);
                range(offset, length)?;
                Self::Zeros { offset, length }
            }
            b'C' => Self::End(r.array()?),
            b'G' => Self::Done,
            b'K' => Self::Finished((0..count(r)?).map(|_| text(r)).collect::<Result<_, _>>()?),
            b'L' => {
                let keep = flag(r)?;
                let rows = (0..count(r)?).map(|_| Row::decode(r)).collect::<Result<_, _>>()?;
                Self::Snapshots { rows, keep }
            }
            b'X' => Self::Failed(text(r)?),
            _ => return Err(Malformed("a message of this version")),
        })
    }

    /// Writes the payload.
    pub fn encode(&self, w: &mut Writer) {
        match self {
            Self::Hello { version, name, source } => {
                w.put(MAGIC);
                w.u16_be(*version);
                put_text(w, name);
                w.put(source);
            }
            Self::State(state) => state.encode(w),
            Self::Begin(begin) => begin.encode(w),
            Self::Stream(bytes) => put(w, bytes),
            Self::StreamEnd(why) => put_text(w, why),
            Self::Entry(entry) => entry.encode(w),
            Self::Names { folder, names, is_last } => {
                put(w, folder);
                w.u8((*is_last).into());
                w.u32_be(names.len() as u32);
                names.iter().for_each(|name| put(w, name));
            }
            Self::Turn | Self::Done => {}
            Self::Wants(wants) => {
                w.u32_be(wants.len() as u32);
                wants.iter().for_each(|want| want.encode(w));
            }
            Self::File(index) => w.u32_be(*index),
            Self::Data { offset, bytes } => {
                w.u64_be(*offset);
                put(w, bytes);
            }
            Self::Zeros { offset, length } => {
                w.u64_be(*offset);
                w.u64_be(*length);
            }
            Self::End(checksum) => w.put(checksum),
            Self::Finished(lines) => {
                w.u32_be(lines.len() as u32);
                lines.iter().for_each(|line| put_text(w, line));
            }
            Self::Snapshots { rows, keep } => {
                w.u8((*keep).into());
                w.u32_be(rows.len() as u32);
                rows.iter().for_each(|row| row.encode(w));
            }
            Self::Failed(why) => put_text(w, why),
        }
    }
}

impl State {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let version = r.u16_be()?;
        let snapshots = (0..count(r)?).map(|_| r.array()).collect::<Result<_, _>>()?;
        let receiving = match flag(r)? {
            false => None,
            true => Some(Receiving { id: r.array()?, base: optional(r)?, is_suspect: flag(r)? }),
        };
        let format = match r.u8()? {
            0 => None,
            1 => Some(StreamFormat::Btrfs),
            2 => Some(StreamFormat::Zfs),
            _ => return Err(Malformed("the format of a stream")),
        };
        let native = match format {
            Some(format) => {
                Native::Ready(format, (0..count(r)?).map(|_| r.array()).collect::<Result<_, _>>()?)
            }
            None => Native::Unable(text(r)?),
        };
        Ok(Self { version, snapshots, receiving, native })
    }

    fn encode(&self, w: &mut Writer) {
        w.u16_be(self.version);
        w.u32_be(self.snapshots.len() as u32);
        self.snapshots.iter().for_each(|id| w.put(id));
        w.u8(self.receiving.is_some().into());
        if let Some(receiving) = &self.receiving {
            w.put(&receiving.id);
            put_optional(w, receiving.base.as_ref());
            w.u8(receiving.is_suspect.into());
        }
        match &self.native {
            Native::Ready(format, ids) => {
                w.u8(match format {
                    StreamFormat::Btrfs => 1,
                    StreamFormat::Zfs => 2,
                });
                w.u32_be(ids.len() as u32);
                ids.iter().for_each(|id| w.put(id));
            }
            Native::Unable(why) => {
                w.u8(0);
                put_text(w, why);
            }
        }
    }
}

impl Begin {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (id, name, created) = (r.array()?, text(r)?, r.u64_be()?);
        let (base, verify) = (optional(r)?, flag(r)?);
        let (entries, bytes) = (r.u64_be()?, r.u64_be()?);
        let native = if flag(r)? { Ok(()) } else { Err(text(r)?) };
        Ok(Self { id, name, created, base, verify, entries, bytes, native })
    }

    fn encode(&self, w: &mut Writer) {
        w.put(&self.id);
        put_text(w, &self.name);
        w.u64_be(self.created);
        put_optional(w, self.base.as_ref());
        w.u8(self.verify.into());
        w.u64_be(self.entries);
        w.u64_be(self.bytes);
        w.u8(self.native.is_ok().into());
        if let Err(why) = &self.native {
            put_text(w, why);
        }
    }
}

impl Want {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { index: r.u32_be()?, from: r.u64_be()?, is_delta: flag(r)? })
    }

    fn encode(self, w: &mut Writer) {
        w.u32_be(self.index);
        w.u64_be(self.from);
        w.u8(self.is_delta.into());
    }
}

impl Row {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (id, name) = (r.array()?, text(r)?);
        Ok(Self { id, name, held: (0..count(r)?).map(|_| text(r)).collect::<Result<_, _>>()? })
    }

    fn encode(&self, w: &mut Writer) {
        w.put(&self.id);
        put_text(w, &self.name);
        w.u32_be(self.held.len() as u32);
        self.held.iter().for_each(|tag| put_text(w, tag));
    }
}

fn optional(r: &mut Reader<'_>) -> Result<Option<Id>, Malformed> {
    Ok(if flag(r)? { Some(r.array()?) } else { None })
}

fn put_optional(w: &mut Writer, id: Option<&Id>) {
    w.u8(id.is_some().into());
    w.put(id.map_or(&[], |id| &id[..]));
}

fn text(r: &mut Reader<'_>) -> Result<String, Malformed> {
    let bytes = bytes(r, MAX_TEXT)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| Malformed("a text in UTF-8"))
}

fn put_text(w: &mut Writer, text: &str) {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    put(w, &text.as_bytes()[..end]);
}

/// No file has bytes behind the largest offset of the host.
fn range(offset: u64, length: u64) -> Result<(), Malformed> {
    let end = offset.checked_add(length).filter(|end| i64::try_from(*end).is_ok());
    end.map(drop).ok_or(Malformed("a range of a file"))
}

const _: () = assert!(MAX_TEXT > MAX_PATH);
