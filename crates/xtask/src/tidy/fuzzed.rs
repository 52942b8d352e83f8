//! Every decoder has a fuzz target.
//!
//! A file `crates/nfs/src/wire/v3/read.rs` is `nfs/wire/v3/read`. A target covers it when a line
//! `//! covers:` in `fuzz/fuzz_targets/*.rs` lists it or a folder above it (`nfs/wire/v3`),
//! separated by commas, or when the target has its name: `nfs_v3_read`, `nfs_v3`. `_requests` and
//! `_replies` at the end of a name say only which half the target feeds.

use std::path::Path;

use anyhow::Result;

use super::Violation;

pub fn check(root: &Path, files: &[String]) -> Result<Vec<Violation>> {
    let mut covered = Vec::new();
    if let Ok(targets) = std::fs::read_dir(root.join("fuzz/fuzz_targets")) {
        for path in targets.flatten().map(|target| target.path()) {
            if let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) {
                covered.extend(covers(stem, &std::fs::read_to_string(&path)?));
            }
        }
    }
    let mut findings: Vec<Violation> = files.iter().filter_map(|file| check_file(file, &covered)).collect();
    findings.retain(|finding| !is_list_of_modules(root, &finding.file));
    Ok(findings)
}

/// Whether a file has only the modules of its folder, and no code.
fn is_list_of_modules(root: &Path, file: &str) -> bool {
    let path = root.join(file);
    path.with_extension("").is_dir() && std::fs::read_to_string(path).is_ok_and(|text| !text.contains("fn "))
}

fn check_file(file: &str, covered: &[String]) -> Option<Violation> {
    let decoder = decoder(file)?;
    let is_under = |covered: &String| decoder == *covered || decoder.starts_with(&format!("{covered}/"));
    if covered.iter().any(is_under) {
        return None;
    }
    let what = format!("no fuzz target covers {decoder}");
    Some(Violation { file: file.to_owned(), line: 1, what })
}

/// `nfs/wire/v3/read` for such a file's path; `dcerpc/epm` in the crate of codecs `dcerpc`. `None` for a file without a decoder.
fn decoder(file: &str) -> Option<String> {
    let path = file.strip_prefix("crates/")?.strip_suffix(".rs")?;
    if let Some(inside) = path.strip_prefix("dcerpc/src/") {
        return (inside != "lib").then(|| format!("dcerpc/{inside}"));
    }
    let (name, inside) = path.split_once("/src/wire/")?;
    let is_glue = inside == "mod" || inside.ends_with("/mod");
    let is_test = inside.ends_with("tests") || inside.starts_with("tests/") || inside.contains("/tests/");
    (!is_glue && !is_test).then(|| format!("{name}/wire/{inside}"))
}

/// The files that a target covers: by its name, and by its lines `//! covers:`.
fn covers(stem: &str, text: &str) -> Vec<String> {
    let half = stem.strip_suffix("_requests").or_else(|| stem.strip_suffix("_replies")).unwrap_or(stem);
    let by_name = half.split_once('_').map(|(name, rest)| format!("{name}/wire/{}", rest.replace('_', "/")));
    let mut all: Vec<String> = by_name.into_iter().collect();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("//! covers:")) {
        all.extend(line.split([',', ' ']).map(normal).filter(|entry| !entry.is_empty()));
    }
    all
}

/// `crates/nfs/src/wire/v3.rs` and `nfs::wire::v3` are `nfs/wire/v3`.
fn normal(entry: &str) -> String {
    let entry = entry.trim().replace("::", "/").replace("/src/", "/");
    let entry = entry.strip_prefix("crates/").unwrap_or(&entry);
    entry.strip_suffix(".rs").unwrap_or(entry).trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_without_a_target_is_found() {
        let covered = covers("nfs_rpc", "//! covers: nfs::wire::v3, nfs/wire/mount.rs\n");
        for file in ["rpc.rs", "v3/read.rs", "v3.rs", "mount.rs", "v3/mod.rs", "mod.rs"] {
            assert_eq!(check_file(&format!("crates/nfs/src/wire/{file}"), &covered), None, "{file}");
        }
        for file in ["nlm.rs", "v30.rs", "v4/read.rs"] {
            assert!(check_file(&format!("crates/nfs/src/wire/{file}"), &covered).is_some(), "{file}");
        }
    }

    #[test]
    fn a_target_for_requests_covers_the_whole_version() {
        let file = "crates/nfs/src/wire/v3/read.rs";
        assert_eq!(check_file(file, &covers("nfs_v3_requests", "")), None);
        assert!(check_file(file, &covers("nfs_v4_requests", "")).is_some());
    }

    #[test]
    fn files_outside_wire_need_none() {
        assert_eq!(check_file("crates/nfs/src/server/read.rs", &[]), None);
    }
}
