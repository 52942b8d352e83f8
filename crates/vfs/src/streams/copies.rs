//! Everything a file is besides its data, for a copy of it.

use super::{File, StreamInfo, Streams, found, xattrs};
use crate::backend::XattrMode;
use crate::mac::Metadata;
use crate::{Access, Caller, Error, Result};

/// What a file is besides its data, its fork's and streams' bytes excepted.
pub struct Besides {
    /// Finder info, times, flags.
    pub metadata: Metadata,
    /// The named streams.
    pub streams: Vec<StreamInfo>,
    /// The length of the resource fork.
    pub fork_len: u64,
    /// Host names and values.
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Besides {
    /// Extended attributes: names of the host, and values.
    pub(crate) fn xattrs(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.xattrs
    }
}

impl Streams {
    /// What a file is besides its data.
    pub fn besides(&self, caller: &Caller, file: &File<'_>) -> Result<Besides> {
        let mut xattrs = Vec::new();
        for name in found(file.object.list_xattrs())?.unwrap_or_default() {
            if name.starts_with(xattrs::PREFIX)
                && let Some(value) = found(file.object.xattr(&name))?
            {
                xattrs.push((name, value));
            }
        }
        let (streams, fork_len) = (self.streams(caller, file)?, self.fork_len(file)?);
        Ok(Besides { metadata: self.load(file)?.0, streams, fork_len, xattrs })
    }

    /// Makes the small parts of a file those of another one, as far as the host has room for them.
    pub fn take_besides(&self, caller: &Caller, file: &File<'_>, of: &Besides) -> Result<()> {
        file.require(caller, Access::WRITE)?;
        self.store(caller, file, &of.metadata)?;
        for (name, value) in &of.xattrs {
            match file.object.set_xattr(&Caller::root(), name, value, XattrMode::Set) {
                Err(Error::NotSupported) => break,
                other => other?,
            }
        }
        Ok(())
    }
}
