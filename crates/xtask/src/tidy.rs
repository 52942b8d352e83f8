//! The measurable rules of the code and of its pages. Each finding names file, line and rule.

mod arrows;
mod commands;
mod documents;
mod examples;
mod floors;
mod fuzzed;
mod links;
mod opening;
mod pages;
mod ranks;
mod rules;
mod sentences;
mod source;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    pub file: String,
    pub line: usize,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

pub fn run() -> Result<()> {
    let root = process::root();
    let mut findings = arrows::check(&root)?;
    findings.extend(documents::check(&root)?);
    let pages = pages::all(&root)?;
    findings.extend(sentences::check(&pages));
    findings.extend(commands::check(&pages));
    findings.extend(links::check(&root, &pages));
    let files = rust_files(&root)?;
    let mut sources = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(root.join(file))?;
        let source =
            source::Source::parse(file, &text).with_context(|| format!("cannot read {file} as Rust"))?;
        findings.extend(rules::check(&source));
        findings.extend(opening::check(&source));
        findings.extend(examples::check(file, &text));
        sources.push(source);
    }
    findings.extend(floors::check(&sources));
    findings.extend(ranks::check(&root, &sources)?);
    findings.extend(fuzzed::check(&root, &files)?);
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy: {} findings", findings.len());
    }
    println!("tidy: {} files, no findings", files.len());
    Ok(())
}

/// Every Rust file of the crates, relative to the root, in order.
fn rust_files(root: &Path) -> Result<Vec<String>> {
    let files = files_below(&root.join("crates"), "rs")?;
    let mut files: Vec<String> = files.into_iter().map(|path| relative(root, path)).collect();
    files.sort();
    Ok(files)
}

/// Every file below a folder whose name ends like this.
fn files_below(top: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                files.push(path);
            }
        }
    }
    Ok(files)
}

fn relative(root: &Path, path: PathBuf) -> String {
    path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned()
}
