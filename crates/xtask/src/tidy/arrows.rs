//! Which crate may use which crate, read from the manifests.

use std::path::Path;

use anyhow::{Context, Result};
use toml_edit::DocumentMut;

use super::Violation;

const PROTOCOLS: &[&str] = &["afp", "smb", "nfs", "iscsi"];

/// The drawing of ARCHITECTURE.md: each crate and the crates that it may use. A protocol never uses
/// another protocol.
const MAY_USE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("lock", &[]),
    ("auth", &["wire", "lock"]),
    ("cephfs", &["lock"]),
    ("formats", &["wire"]),
    ("dcerpc", &["wire"]),
    ("images", &["wire", "lock", "formats"]),
    ("query", &["wire", "formats"]),
    ("coherence", &["lock", "formats"]),
    ("resources", &["lock", "formats", "coherence"]),
    ("vfs", &["wire", "lock", "auth", "cephfs", "formats", "images", "coherence", "resources", "query"]),
    ("extract", &["wire", "query"]),
    ("spotlight", &["wire", "lock", "formats", "query", "vfs"]),
    ("search", &["wire", "lock", "query", "formats", "vfs"]),
    ("kerberos", &["wire", "auth"]),
    ("pam", &[]),
    ("domain", &["wire", "auth", "kerberos", "dcerpc"]),
    ("namespace", &["lock"]),
    ("snapshots", &["wire", "lock", "auth", "cephfs", "formats"]),
    ("replicate", &["wire", "lock", "auth", "vfs", "snapshots"]),
    ("conn", &["wire", "lock", "formats", "coherence", "resources"]),
    ("cluster", &["wire", "lock", "formats", "coherence", "conn"]),
    ("admin", &["wire", "lock", "auth", "cephfs", "formats", "snapshots", "namespace", "appletalk"]),
    ("afp", &["wire", "lock", "auth", "query", "vfs", "spotlight", "conn", "namespace"]),
    ("smb", &["wire", "lock", "auth", "query", "vfs", "spotlight", "conn", "namespace", "dcerpc"]),
    ("nfs", &["wire", "lock", "auth", "vfs", "conn", "namespace"]),
    ("iscsi", &["wire", "lock", "auth", "vfs", "conn"]),
    ("wsd", &["wire", "lock"]),
    ("appletalk", &["wire"]),
    ("client", &["wire", "lock", "auth", "vfs", "conn", "afp", "smb", "nfs", "iscsi", "appletalk"]),
    ("migrate", &["wire", "lock", "vfs", "client"]),
    ("mount", &["lock", "formats", "client"]),
    ("bench", &["wire", "lock", "auth", "formats", "conn", "afp", "smb", "nfs", "iscsi", "client"]),
    ("web", &["wire", "lock", "auth", "vfs", "snapshots", "conn", "admin"]),
    (
        "app",
        &[
            "wire",
            "lock",
            "auth",
            "cephfs",
            "formats",
            "images",
            "vfs",
            "conn",
            "admin",
            "afp",
            "smb",
            "nfs",
            "iscsi",
            "wsd",
            "appletalk",
            "snapshots",
            "replicate",
            "bench",
            "migrate",
            "mount",
            "client",
            "web",
            "kerberos",
            "pam",
            "domain",
            "namespace",
            "cluster",
            "extract",
            "query",
            "search",
        ],
    ),
    (
        "fuzzed",
        &[
            "wire",
            "lock",
            "auth",
            "formats",
            "images",
            "vfs",
            "afp",
            "smb",
            "nfs",
            "iscsi",
            "wsd",
            "appletalk",
            "snapshots",
            "replicate",
            "bench",
            "client",
            "conn",
            "admin",
            "web",
            "namespace",
            "cluster",
            "kerberos",
            "dcerpc",
            "domain",
            "query",
            "spotlight",
            "extract",
        ],
    ),
    ("xtask", &[]),
];

pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let mut findings = Vec::new();
    for entry in std::fs::read_dir(root.join("crates"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = format!("crates/{name}/Cargo.toml");
        let text =
            std::fs::read_to_string(root.join(&file)).with_context(|| format!("cannot read {file}"))?;
        findings.extend(manifest(&name, &text)?);
    }
    Ok(findings)
}

/// The forbidden arrows of one crate, including those of its tests.
fn manifest(name: &str, text: &str) -> Result<Vec<Violation>> {
    let file = format!("crates/{name}/Cargo.toml");
    let finding = |line, what| Violation { file: file.clone(), line, what };
    let Some((_, may_use)) = MAY_USE.iter().find(|(of, _)| *of == name) else {
        return Ok(vec![finding(1, format!("crate {name} is not in the table of arrows"))]);
    };
    let document: DocumentMut = text.parse().with_context(|| format!("cannot read {file}"))?;
    let mut findings = Vec::new();
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let Some(table) = document.get(section).and_then(|item| item.as_table_like()) else { continue };
        for (used, _) in table.iter().filter(|(used, _)| is_ours(used) && !may_use.contains(used)) {
            let line = 1 + text.lines().position(|line| line.starts_with(used)).unwrap_or(0);
            let reason = if PROTOCOLS.contains(&name) && PROTOCOLS.contains(&used) {
                ": a protocol never sees another"
            } else {
                ", which ARCHITECTURE.md does not draw"
            };
            findings.push(finding(line, format!("{name} → {used}{reason}")));
        }
    }
    Ok(findings)
}

fn is_ours(dependency: &str) -> bool {
    MAY_USE.iter().any(|(name, _)| *name == dependency)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(name: &str, text: &str) -> Vec<String> {
        manifest(name, text).unwrap().into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn drawn_arrows_and_others_crates_pass() {
        let text = "[dependencies]\nwire.workspace = true\nvfs = { path = \"../vfs\" }\nbytes = \"1\"\n";
        assert_eq!(whats("nfs", text), [""; 0]);
    }

    #[test]
    fn an_arrow_not_drawn_is_an_error_with_its_line() {
        let found = manifest("vfs", "[dependencies]\nwire.workspace = true\nnfs.workspace = true\n").unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].file.as_str()), (3, "crates/vfs/Cargo.toml"));
    }

    #[test]
    fn a_protocol_never_sees_another_not_even_in_tests() {
        let found = whats("smb", "[dev-dependencies]\nnfs.workspace = true\n");
        assert_eq!(found, ["smb → nfs: a protocol never sees another"]);
    }

    #[test]
    fn a_new_crate_needs_its_place_in_the_table() {
        assert_eq!(whats("helpers", ""), ["crate helpers is not in the table of arrows"]);
    }
}
