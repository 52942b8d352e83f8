//! The table of LUNs: `luns.toml` of the state folder. The servers of a cluster have one table in common, and each keeps
//! a copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use auth::common_text::{CommonText, TRIES};
use auth::{FileError, durable};

use super::file::{LunError, LunFile, lock};
use super::record::LunRecord;

/// The table of a server.
#[derive(Clone)]
pub struct LunTable {
    state: PathBuf,
    common: Option<Arc<dyn CommonText>>,
}

impl LunTable {
    /// The table of a server that is alone, in this state folder.
    #[must_use]
    pub fn alone(state: &Path) -> Self {
        Self { state: state.into(), common: None }
    }

    /// The table that servers have in common. The first server gives its own.
    #[must_use]
    pub fn in_common(state: &Path, common: Arc<dyn CommonText>) -> Self {
        Self { state: state.into(), common: Some(common) }
    }

    /// The state folder.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Whether servers of a cluster have it in common.
    #[must_use]
    pub fn is_common(&self) -> bool {
        self.common.is_some()
    }

    /// Reads the table.
    ///
    /// # Errors
    /// It exists but cannot be read or parsed.
    pub fn read(&self) -> Result<LunFile, LunError> {
        match &self.common {
            None => LunFile::read(&self.state),
            Some(common) => self.read_common(&**common).map(|(file, _)| file),
        }
    }

    /// Reads, changes and writes the table. If `change` fails, or changes nothing, nothing is written.
    ///
    /// # Errors
    /// Those of reading, of `change` and of writing. [`LunError::Busy`]: another server has changed it meanwhile.
    pub fn edit<T, E: From<LunError>>(
        &self,
        change: impl FnOnce(&mut LunFile) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(common) = &self.common else { return LunFile::edit(&self.state, change) };
        let _lock = lock(&self.state)?;
        let (mut file, revision) = self.read_common(&**common)?;
        let before = file.luns.clone();
        let result = change(&mut file)?;
        if file.luns != before || (revision == 0 && !file.luns.is_empty()) {
            let is_swapped = common.swap(revision, &file.text()?).map_err(LunError::Cluster)?;
            if !is_swapped {
                return Err(LunError::Busy.into());
            }
        }
        self.copy(&file)?;
        Ok(result)
    }

    /// Keeps a copy in the state folder. LUNs that this server had before it joined stay in another file, once.
    fn copy(&self, file: &LunFile) -> Result<(), LunError> {
        let before = LunFile::read(&self.state)?;
        if before == *file {
            return Ok(());
        }
        let is_known = |lun: &LunRecord| file.luns.iter().any(|other| other.naa == lun.naa);
        let apart = self.state.join("luns.toml.before-cluster");
        if !before.luns.iter().all(is_known) && !apart.exists() {
            durable::replace(&apart, before.text()?.as_bytes()).map_err(FileError::io(&apart))?;
        }
        file.write()
    }

    /// The same, tried again while other servers change the table.
    ///
    /// # Errors
    /// As of [`LunTable::edit`].
    pub fn edit_again<T>(
        &self,
        mut change: impl FnMut(&mut LunFile) -> Result<T, LunError>,
    ) -> Result<T, LunError> {
        for _ in 1..TRIES {
            match self.edit(&mut change) {
                Err(LunError::Busy) => {}
                other => return other,
            }
        }
        self.edit(change)
    }

    fn read_common(&self, common: &dyn CommonText) -> Result<(LunFile, u64), LunError> {
        match common.read().map_err(LunError::Cluster)? {
            Some((text, revision)) => Ok((LunFile::parse(self.state.join("luns.toml"), &text)?, revision)),
            None => Ok((LunFile::read(&self.state)?, 0)),
        }
    }
}

#[cfg(test)]
mod tests;
