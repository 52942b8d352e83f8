//! The metadata of a file, if they are to stay when the file's contents go: its Mac metadata and
//! named streams, when two files exchange their contents; what only Macs know of, when another client replaces a file.

use super::{File, Streams};
use crate::backend::{Stability, Wait};
use crate::mac::{FinderInfo, Metadata};
use crate::{Caller, Error, Result, Time};

/// The most bytes of named streams that are carried over: those of Macs are short.
const MOST_BYTES: u64 = 16 << 20;

/// The longest resource fork that is copied to a file's successor.
const MOST_OF_FORK: u64 = 256 << 20;
/// How much of a resource fork is copied at once.
const PIECE: usize = 1 << 20;
/// What the names of streams of Macs begin with.
const OF_MAC: &[u8] = b"com.apple.";

/// What a file has that only Macs know of: Finder info, comment, streams of Macs (tags among them) and a resource fork. One
/// of these at least.
pub(crate) struct OfMac {
    finder_info: FinderInfo,
    comment: Vec<u8>,
    created: Time,
    streams: Vec<(Vec<u8>, Vec<u8>)>,
    fork_len: u64,
}

/// Whether only Macs know of a named stream.
pub(crate) fn is_of_mac(name: &[u8]) -> bool {
    name.starts_with(OF_MAC)
}

/// The metadata of a file, with the bytes of its named streams.
pub(crate) struct MetadataWithStreams {
    pub(crate) metadata: Metadata,
    streams: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Streams {
    /// The metadata of a file. `TooMany` if its named streams are longer than what is carried over.
    pub(crate) fn described(&self, file: &File<'_>) -> Result<MetadataWithStreams> {
        Ok(MetadataWithStreams { metadata: self.load(file)?.0, streams: self.with_bytes(file, |_| true)? })
    }

    /// The named streams of a file that are wanted, with their bytes.
    fn with_bytes(
        &self,
        file: &File<'_>,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let ourselves = Caller::root();
        let mut infos = match self.may_have_streams(file.object, Some(file))? {
            true => self.streams(&ourselves, file)?,
            false => Vec::new(),
        };
        infos.retain(|info| is_wanted(&info.name));
        if infos.iter().map(|info| info.len).sum::<u64>() > MOST_BYTES {
            return Err(Error::FileTooLarge);
        }
        let mut streams = Vec::new();
        for info in infos {
            let mut bytes = Vec::new();
            self.read_stream(&ourselves, file, &info.name, (0, info.len as usize), &mut bytes)?;
            streams.push((info.name, bytes));
        }
        Ok(streams)
    }

    /// What a file with these metadata has that only Macs know of; `None` if there is nothing.
    pub(crate) fn of_mac(&self, file: &File<'_>, metadata: Metadata, created: Time) -> Result<Option<OfMac>> {
        let streams = self.with_bytes(file, is_of_mac)?;
        let Metadata { finder_info, comment, .. } = metadata;
        let of_mac = OfMac { finder_info, comment, created, streams, fork_len: self.fork_len(file)? };
        Ok((!of_mac.is_empty()).then_some(of_mac))
    }

    /// Gives a file what another one has, whose place is `of`. What tells that it is whole, the Finder info, comes last.
    pub(crate) fn give_of_mac(&self, file: &File<'_>, kept: &OfMac, of: &File<'_>) -> Result<()> {
        let ourselves = Caller::root();
        self.copy_fork(file, kept.fork_len, of)?;
        for (name, bytes) in &kept.streams {
            self.write_stream(&ourselves, file, name, 0, bytes, Stability::Unstable)?;
        }
        let mut metadata = self.load(file)?.0;
        metadata.finder_info = kept.finder_info;
        metadata.comment.clone_from(&kept.comment);
        metadata.times.created = Some(kept.created);
        self.store(&ourselves, file, &metadata)
    }

    fn copy_fork(&self, file: &File<'_>, len: u64, of: &File<'_>) -> Result<()> {
        if len > MOST_OF_FORK {
            return Err(Error::FileTooLarge);
        }
        let ourselves = Caller::root();
        let Some(fork) = self.fork(&ourselves, of)? else { return Ok(()) };
        let mut at = 0;
        while at < len {
            let mut piece = Vec::new();
            let read = fork.read_at(at, PIECE.min((len - at) as usize), &mut piece, Wait::Allowed)?;
            if read == 0 {
                break; // it was cut
            }
            self.write_fork(&ourselves, file, at, &piece, Stability::Unstable)?;
            at += read as u64;
        }
        Ok(())
    }

    /// Gives a file these metadata. What it has already is not written.
    pub(crate) fn describe_as(&self, file: &File<'_>, described: &MetadataWithStreams) -> Result<()> {
        let ourselves = Caller::root();
        let has = self.described(file)?;
        if has.metadata != described.metadata {
            self.store(&ourselves, file, &described.metadata)?;
        }
        for (name, _) in &has.streams {
            if described.streams.iter().all(|(kept, _)| kept != name) {
                self.remove_stream(&ourselves, file, name)?;
            }
        }
        for stream in described.streams.iter().filter(|stream| !has.streams.contains(stream)) {
            let (name, bytes) = stream;
            self.truncate_stream(&ourselves, file, name, 0)?;
            self.write_stream(&ourselves, file, name, 0, bytes, Stability::Unstable)?;
        }
        Ok(())
    }
}

impl OfMac {
    fn is_empty(&self) -> bool {
        let Self { finder_info, comment, created: _, streams, fork_len } = self;
        *finder_info == FinderInfo::NONE && comment.is_empty() && streams.is_empty() && *fork_len == 0
    }
}
