//! The tarball: the program with its documents, for any Linux that has what the program needs.

use anyhow::Result;

use super::PackageParts;
use super::contents::{self, SHELLS, UNITS};
use super::tree::PackedTree;

/// The name and the bytes. The name says whether the program is static (`musl`) or needs glibc (`gnu`).
pub fn make(parts: &PackageParts) -> Result<(String, Vec<u8>)> {
    let kind = if parts.program.is_static() { "musl" } else { "gnu" };
    let name = format!("fourfold-{}-{}-linux-{kind}", parts.version, parts.program.machine()?);
    let mut tree = PackedTree::default();
    tree.program(&format!("{name}/bin/fourfold"), parts.program.bytes.clone());
    for (path, bytes) in contents::documents()? {
        tree.file(&format!("{name}/{path}"), bytes);
    }
    for path in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.file(&format!("{name}/{path}"), contents::read(path)?);
    }
    let files = ["fourfold.toml", "sysusers.conf", "unprivileged.conf", "grafana-dashboard.json"];
    for file in UNITS.iter().copied().chain(files) {
        tree.file(&format!("{name}/packaging/{file}"), contents::read(&format!("packaging/{file}"))?);
    }
    tree.file(&format!("{name}/third-party.txt"), parts.third_party.as_bytes());
    for (page, bytes) in parts.manual(parts.place())? {
        tree.file(&format!("{name}/man/{page}"), bytes);
    }
    for (shell, file) in SHELLS {
        tree.file(&format!("{name}/completions/{file}"), parts.completions(shell)?);
    }
    Ok((format!("{name}.tar.gz"), parts.compress(&tree.tar("", parts.time)?)?))
}
