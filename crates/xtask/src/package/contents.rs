//! The files that all packages have: documents, and what the program writes about itself.

use std::path::Path;

use anyhow::{Context, Result};

use super::{LIMIT, Parts};
use crate::process;

/// The shells with completions, and the name of each file.
pub const SHELLS: &[(&str, &str)] = &[("bash", "fourfold"), ("zsh", "_fourfold"), ("fish", "fourfold.fish")];
const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md"];

/// A file of the repository.
pub fn read(path: &str) -> Result<Vec<u8>> {
    std::fs::read(process::root().join(path)).with_context(|| format!("cannot read {path}"))
}

/// The documents for users, by their paths in the repository.
pub fn documents() -> Result<Vec<(String, Vec<u8>)>> {
    let mut paths: Vec<String> = DOCUMENTS.iter().map(|&path| path.to_owned()).collect();
    for entry in std::fs::read_dir(process::root().join("docs"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if [".md", ".svg"].iter().any(|end| name.ends_with(end)) {
            paths.push(format!("docs/{name}"));
        }
    }
    paths.sort();
    paths.into_iter().map(|path| read(&path).map(|bytes| (path, bytes))).collect()
}

impl Parts {
    /// The manual pages, by their names. None if the program writes none.
    pub fn manual(&self, place: &Path) -> Result<Vec<(String, Vec<u8>)>> {
        let folder = place.join("man");
        let _ = std::fs::remove_dir_all(&folder); // there may be none
        std::fs::create_dir_all(&folder)?;
        let written = process::output(&self.program.file, &["man", &folder.display().to_string()], LIMIT)?;
        if !written.status.success() {
            return Ok(Vec::new());
        }
        let mut pages = Vec::new();
        for entry in std::fs::read_dir(&folder)?.flatten() {
            pages.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
        }
        pages.sort();
        Ok(pages)
    }

    /// The completions for a shell. `None` if the program writes none.
    pub fn completions(&self, shell: &str) -> Result<Option<Vec<u8>>> {
        let written = process::output(&self.program.file, &["completions", shell], LIMIT)?;
        Ok((written.status.success() && !written.stdout.is_empty()).then_some(written.stdout))
    }

    /// Where the program is, for what it writes.
    pub fn place(&self) -> &Path {
        self.program.file.parent().unwrap_or(Path::new("."))
    }
}
