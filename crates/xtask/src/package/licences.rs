//! The notices of the libraries that are linked into the program. Their licences want them in each copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Names of files with licences begin with one of these, in upper case.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// A longer file is no licence.
const LONGEST: u64 = 256 << 10;

/// One text: for each licence text the libraries that have it.
pub fn notices(metadata: &Value) -> Result<String> {
    let packages = packages(metadata)?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in linked(metadata)? {
        let package = packages.get(id).with_context(|| format!("cargo metadata has no package {id}"))?;
        if package["source"].is_null() {
            continue; // ours
        }
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} {} ({})", word("name"), word("version"), word("license"));
        let folder = Path::new(word("manifest_path")).parent().unwrap_or(Path::new(""));
        let found = files(folder)?;
        if found.is_empty() {
            texts.entry("The library names its licence only.".to_owned()).or_default().push(name);
        } else {
            found.into_iter().for_each(|text| texts.entry(text).or_default().push(name.clone()));
        }
    }
    let mut whole = "The program fourfold contains these libraries. Each list of libraries is followed by their licence.\n".to_owned();
    let mut texts: Vec<_> = texts.into_iter().map(|(text, names)| (names, text)).collect();
    texts.sort();
    for (names, text) in texts {
        whole.push_str(&format!("\n{}\n{}\n\n{text}\n", "=".repeat(80), names.join("\n")));
    }
    Ok(whole)
}

fn packages(metadata: &Value) -> Result<BTreeMap<&str, &Value>> {
    let all = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    Ok(all.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect())
}

/// The program and all that it uses, without what only compiles or tests.
fn linked(metadata: &Value) -> Result<BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
    let uses: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, &node["deps"]))).collect();
    let is_program = |id: &&&str| {
        packages(metadata).is_ok_and(|all| all.get(**id).is_some_and(|p| p["name"] == "fourfold"))
    };
    let mut waiting = vec![*uses.keys().find(is_program).context("cargo metadata has no program fourfold")?];
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        let dependencies = uses.get(id).and_then(|deps| deps.as_array()).into_iter().flatten();
        let is_linked = |dependency: &&Value| {
            dependency["dep_kinds"]
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        };
        waiting.extend(dependencies.filter(is_linked).filter_map(|dependency| dependency["pkg"].as_str()));
    }
    Ok(found)
}

/// The licences in the folder of a library, in the order of their names.
fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let is_licence = |name: &str| NAMES.iter().any(|begin| name.to_ascii_uppercase().starts_with(begin));
    let mut names: Vec<_> =
        entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_licence)).collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    let is_short = |entry: &std::fs::DirEntry| {
        entry.metadata().is_ok_and(|data| data.is_file() && data.len() <= LONGEST)
    };
    let text = |entry: &std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path()).ok()?;
        Some(text.replace("\r\n", "\n").trim().to_owned())
    };
    Ok(names.iter().filter(|entry| is_short(entry)).filter_map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_compiles_or_tests_is_not_linked() {
        let dependency =
            |id: &str, kind: Value| serde_json::json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = serde_json::json!({
            "packages": [{"id": "f", "name": "fourfold"}, {"id": "x", "name": "xtask"}],
            "resolve": {"nodes": [
                {"id": "x", "deps": [dependency("tar", Value::Null)]},
                {"id": "f", "deps": [
                    dependency("tokio", Value::Null), dependency("tempfile", "dev".into()), dependency("cc", "build".into())
                ]},
                {"id": "tokio", "deps": [dependency("mio", Value::Null)]},
                {"id": "mio", "deps": []}, {"id": "cc", "deps": []}, {"id": "tempfile", "deps": []}, {"id": "tar", "deps": []}
            ]}
        });
        assert_eq!(linked(&metadata).unwrap(), BTreeSet::from(["f", "mio", "tokio"]));
    }

    #[test]
    fn licences_of_a_library_are_found_by_their_names() {
        let folder = crate::process::root();
        assert_eq!(files(&folder).unwrap().len(), 2, "LICENSE-APACHE and LICENSE-MIT");
    }
}
