//! The files that all packages have: documents, and what the program writes about itself.

use std::path::Path;

use anyhow::{Context, Result};

use super::tree::{PackedTree, gzip};
use super::{LIMIT, PackageParts};
use crate::process;

/// The shells with completions, and the name of each file.
pub const SHELLS: &[(&str, &str)] = &[("bash", "fourfold"), ("zsh", "_fourfold"), ("fish", "fourfold.fish")];
/// The units of systemd.
pub const UNITS: &[&str] = &["fourfold.service", "fourfold-disks.service", "fourfold-disks.timer"];
const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md"];
const FOLDERS: &[&str] = &["docs", "docs/guides"];

/// Where the documents are installed.
pub const DOC: &str = "usr/share/doc/fourfold";
/// Documents of this size and more are compressed, as Debian's policy 12.3 says.
const LONG: usize = 4096;

/// The files that packages of a distribution install. `zsh`: the folder of completions of zsh, below `/usr/share`.
pub fn installed(parts: &PackageParts, zsh: &str) -> Result<PackedTree> {
    let mut tree = PackedTree::default();
    tree.program("usr/bin/fourfold", parts.program.bytes.clone());
    for unit in UNITS {
        tree.file(&format!("usr/lib/systemd/system/{unit}"), read(&format!("packaging/{unit}"))?);
    }
    tree.file("usr/lib/sysusers.d/fourfold.conf", read("packaging/sysusers.conf")?);
    tree.file("etc/fourfold/fourfold.toml", read("packaging/fourfold.toml")?);
    for example in ["unprivileged.conf", "grafana-dashboard.json"] {
        tree.file(&format!("{DOC}/examples/{example}"), read(&format!("packaging/{example}"))?);
    }
    tree.file(&format!("{DOC}/third-party.txt.gz"), gzip(parts.third_party.as_bytes())?);
    tree.file(&format!("{DOC}/changelog.gz"), gzip(&read("CHANGELOG.md")?)?);
    for (path, bytes) in documents()?.into_iter().filter(|(path, _)| path != "CHANGELOG.md") {
        if bytes.len() < LONG || path.ends_with(".svg") {
            tree.file(&format!("{DOC}/{path}"), bytes);
        } else {
            tree.file(&format!("{DOC}/{path}.gz"), gzip(&bytes)?);
        }
    }
    for (name, bytes) in parts.manual(parts.place())? {
        tree.file(&format!("usr/share/man/man1/{name}.gz"), gzip(&bytes)?);
    }
    let folders = ["bash-completion/completions", zsh, "fish/vendor_completions.d"];
    for ((shell, name), folder) in SHELLS.iter().zip(folders) {
        tree.file(&format!("usr/share/{folder}/{name}"), parts.completions(shell)?);
    }
    Ok(tree)
}

/// A file of the repository.
pub fn read(path: &str) -> Result<Vec<u8>> {
    std::fs::read(process::root().join(path)).with_context(|| format!("cannot read {path}"))
}

/// The documents for users, by their paths in the repository.
pub fn documents() -> Result<Vec<(String, Vec<u8>)>> {
    let mut paths: Vec<String> = DOCUMENTS.iter().map(|&path| path.to_owned()).collect();
    for folder in FOLDERS {
        for entry in std::fs::read_dir(process::root().join(folder))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".md", ".svg"].iter().any(|end| name.ends_with(end)) {
                paths.push(format!("{folder}/{name}"));
            }
        }
    }
    paths.sort();
    paths.into_iter().map(|path| read(&path).map(|bytes| (path, bytes))).collect()
}

impl PackageParts {
    /// The manual pages, by their names.
    pub fn manual(&self, place: &Path) -> Result<Vec<(String, Vec<u8>)>> {
        let folder = place.join("man");
        let _ = std::fs::remove_dir_all(&folder); // there may be none
        std::fs::create_dir_all(&folder)?;
        process::stdout_of(&self.program.file, &["man", &folder.display().to_string()], LIMIT)?;
        let mut pages = Vec::new();
        for entry in std::fs::read_dir(&folder)?.flatten() {
            pages.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
        }
        pages.sort();
        Ok(pages)
    }

    /// The completions for a shell.
    pub fn completions(&self, shell: &str) -> Result<Vec<u8>> {
        Ok(process::stdout_of(&self.program.file, &["completions", shell], LIMIT)?.into_bytes())
    }

    /// Where the program is, for what it writes.
    pub fn place(&self) -> &Path {
        self.program.file.parent().unwrap_or(Path::new("."))
    }
}
