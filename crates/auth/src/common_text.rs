//! A text that the servers of a cluster have in common, and what a server and its cluster had last. Each server has a copy of
//! the text, in which people and programs change things without the cluster; three texts say what has changed where.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::durable;

/// How often a change is tried while other servers change the text.
pub const TRIES: usize = 16;

/// A text and its revision; `None`: it was never written.
pub type TextRevision = Option<(String, u64)>;

/// A text of a cluster. Both methods wait for the cluster.
pub trait CommonText: Send + Sync {
    /// The name of the cluster.
    fn cluster(&self) -> &str;

    /// The text and its revision; `None`: it was never written.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self) -> Result<TextRevision, String>;

    /// Replaces the text if it is still of this revision (0: it was never written). Returns whether it was.
    ///
    /// # Errors
    /// It cannot be written. It may have been replaced.
    fn swap(&self, revision: u64, text: &str) -> Result<bool, String>;
}

/// What a server and its cluster had when they were last the same, as a file of the state folder has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// The name of the cluster.
    cluster: String,
    /// The text of the cluster.
    text: String,
    /// The text of the server; `None`: it was the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    here: Option<String>,
}

impl Last {
    /// This cluster and the server had these texts.
    #[must_use]
    pub fn new(cluster: &str, there: String, here: String) -> Self {
        let here = (here != there).then_some(here);
        Self { cluster: cluster.to_owned(), text: there, here }
    }

    /// What the server had.
    #[must_use]
    pub fn here(&self) -> &str {
        self.here.as_ref().unwrap_or(&self.text)
    }

    /// What the cluster had.
    #[must_use]
    pub fn there(&self) -> &str {
        &self.text
    }

    /// What this server and the cluster of this name had last. `None`: nothing, or it cannot be read.
    #[must_use]
    pub fn read(path: &Path, cluster: &str) -> Option<Self> {
        let last: Self = toml_edit::de::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        Some(last).filter(|last| last.cluster == cluster)
    }

    /// Replaces the file, if it differs.
    ///
    /// # Errors
    /// The old file is still complete.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = toml_edit::ser::to_string(self).map_err(io::Error::other)?;
        if std::fs::read_to_string(path).is_ok_and(|before| before == text) {
            return Ok(());
        }
        durable::replace(path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_had_is_read_for_the_same_cluster_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("last");
        assert_eq!(Last::read(&path, "home"), None);
        for (there, here) in [("a = 1\n", "a = 1\n"), ("a = 1\n", "# of a person\na = 1\n"), ("", "")] {
            let last = Last::new("home", there.to_owned(), here.to_owned());
            last.write(&path).unwrap();
            let read = Last::read(&path, "home").unwrap();
            assert_eq!((read.there(), read.here()), (there, here));
            assert_eq!(Last::read(&path, "other"), None);
        }
        std::fs::write(&path, "{\"cluster\":\"home\"}").unwrap();
        assert_eq!(Last::read(&path, "home"), None, "not TOML");
    }
}
