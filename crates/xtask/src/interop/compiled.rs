//! Programs of our own tests, which run against servers that `interop` starts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::process;

/// Compiles these tests of a package.
pub fn compile(package: &str, tests: &[&str]) -> Result<()> {
    let tests = tests.iter().flat_map(|name| ["--test", name]);
    let words: Vec<&str> =
        ["test", "--quiet", "--no-run", "--package", package].into_iter().chain(tests).collect();
    process::run("cargo", &words)
}

/// The newest program of a test.
pub fn program(test: &str) -> Result<String> {
    let folder = process::root().join("target/debug/deps");
    let is_it = |file: &Path| {
        let stem = file.file_name().and_then(|file| file.to_str()).and_then(|file| file.rsplit_once('-'));
        stem.is_some_and(|(stem, hash)| stem == test && !hash.contains('.'))
    };
    let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let newest =
        files.filter(|file| is_it(file)).max_by_key(|file| file.metadata().and_then(|of| of.modified()).ok());
    let newest = newest.with_context(|| format!("the test {test} is missing in {}", folder.display()))?;
    Ok(newest.display().to_string())
}
