//! The metadata of a file, if they are to stay when the file's contents go: its Mac metadata and
//! named streams.

use super::{File, Streams};
use crate::backend::Stability;
use crate::mac::Metadata;
use crate::{Caller, Error, Result};

/// The most bytes of named streams that are carried over: those of Macs are short.
const MOST_BYTES: u64 = 16 << 20;

/// The metadata of a file, with the bytes of its named streams.
pub(crate) struct Described {
    pub(crate) metadata: Metadata,
    streams: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Streams {
    /// The metadata of a file. `TooMany` if its named streams are longer than what is carried over.
    pub(crate) fn described(&self, file: &File<'_>) -> Result<Described> {
        let ourselves = Caller::root();
        let infos = match self.may_have_streams(file.object, Some(file))? {
            true => self.streams(&ourselves, file)?,
            false => Vec::new(),
        };
        if infos.iter().map(|info| info.len).sum::<u64>() > MOST_BYTES {
            return Err(Error::TooMany);
        }
        let mut streams = Vec::new();
        for info in infos {
            let mut bytes = Vec::new();
            self.read_stream(&ourselves, file, &info.name, (0, info.len as usize), &mut bytes)?;
            streams.push((info.name, bytes));
        }
        Ok(Described { metadata: self.load(file)?.0, streams })
    }

    /// Gives a file these metadata. What it has already is not written.
    pub(crate) fn describe_as(&self, file: &File<'_>, described: &Described) -> Result<()> {
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
