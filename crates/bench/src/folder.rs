//! The bench's own folder on a server: a random name, and a file in it that says what it is.

use crate::{Protocol, Result};
use client::{Connector, DataTransfer, OpenIntent, Session};

/// The beginning of the folder's name.
pub(crate) const PREFIX: &str = "fourfold-bench-";
const MARK: &str = "about this folder.txt";
const TEXT: &str = "A benchmark (fourfold bench) made this folder, and deletes it at its end.\n\
                    If no benchmark runs, the folder may be deleted.\n";

/// A folder on a server. A disk has none.
pub(crate) struct Folder {
    pub(crate) name: String,
    made: bool,
}

impl Folder {
    /// Makes the folder. The name must be free: nothing is done to a folder that exists.
    pub(crate) fn make(connector: &Connector) -> Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| crate::Error::Other(error.to_string()))?;
        let name = format!("{PREFIX}{:016x}", u64::from_be_bytes(random));
        let made = connector.target().protocol != Protocol::Iscsi;
        let folder = Self { name, made };
        let mut session = connector.connect(0)?;
        if made {
            session.make_folder(&folder.name)?;
            if let Err(error) = folder.mark(&mut *session) {
                folder.remove(connector);
                return Err(error);
            }
        }
        Ok(folder)
    }

    fn mark(&self, session: &mut dyn Session) -> Result<()> {
        let file = session.open(&self.path(), OpenIntent::Create)?;
        session.start(file, DataTransfer::Write { offset: 0, data: TEXT.as_bytes(), stable: false })?;
        session.finish()?;
        session.close(file)
    }

    fn path(&self) -> String {
        format!("{}/{MARK}", self.name)
    }

    /// Removes the folder, which is empty but for the mark. Returns its name if that fails.
    pub(crate) fn remove(&self, connector: &Connector) -> Option<String> {
        if !self.made {
            return None;
        }
        let remove = || -> Result<()> {
            let mut session = connector.connect(0)?;
            match session.remove(&self.path()) {
                Ok(()) | Err(crate::Error::Missing(_)) => session.remove_folder(&self.name),
                Err(error) => Err(error),
            }
        };
        remove().err().map(|_| self.name.clone())
    }
}
