//! The compiled programs of the tests, run without cargo: cargo would wait while it compiles something else beside them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::TestPart;
use crate::{check, compiler, process};

/// How long one program may take.
const LIMIT: Duration = Duration::from_secs(1200);
/// Tests of app whose results depend on what else runs: other tests do not run beside them.
const ALONE: [&str; 1] = ["slow_clients::each_trouble_of_a_network_or_client_is_named_and_no_other"];

/// A program of tests, and the folder in which cargo runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    at: String,
    folder: String,
}

/// Notes where cargo has compiled the tests of all crates.
pub fn find() -> Result<()> {
    let output = Command::new("cargo")
        .envs(compiler::env()?)
        .args(check::TEST)
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .current_dir(process::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "the tests are not compiled ({})", output.status);
    fs::write(list(), output.stdout)?;
    Ok(())
}

/// Where cargo's messages are.
fn list() -> PathBuf {
    process::root().join("target/tests/programs.json")
}

/// The programs that cargo's messages name, one message a line.
fn programs(messages: &str) -> Vec<Program> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests = messages.filter(|message| message["profile"]["test"] == true);
    let program = |message: Value| {
        let manifest = message["manifest_path"].as_str()?;
        let folder = manifest.strip_suffix("/Cargo.toml")?.to_owned();
        Some(Program { at: message["executable"].as_str()?.to_owned(), folder })
    };
    tests.filter_map(program).collect()
}

/// Runs a part of them, one after another.
pub fn run(part: TestPart) -> Result<()> {
    let at = list();
    let messages = fs::read_to_string(&at).with_context(|| format!("cannot read {}", at.display()))?;
    let is_meant = |program: &Program| program.folder.ends_with("/app") == (part != TestPart::Others);
    let programs: Vec<Program> = programs(&messages).into_iter().filter(is_meant).collect();
    ensure!(!programs.is_empty(), "{} names no program", at.display());
    if part == TestPart::Alone {
        return ALONE.into_iter().try_for_each(|test| alone(&programs, test));
    }
    let failed: Vec<String> = programs.iter().filter_map(|program| one(program, &[]).err()).collect();
    ensure!(failed.is_empty(), "these failed:\n{}", failed.join("\n"));
    Ok(())
}

/// Runs a test that other runs leave out.
fn alone(programs: &[Program], test: &str) -> Result<()> {
    let is_meant = |program: &&Program| program.at.rsplit('/').next().is_some_and(|at| at.starts_with("it-"));
    let program = programs.iter().find(is_meant).context("the integration tests of app are not compiled")?;
    let said = one(program, &["--ignored", "--exact", test]).map_err(anyhow::Error::msg)?;
    ensure!(said.contains(" 1 passed"), "there is no test {test}");
    Ok(())
}

/// Runs one program, and prints what it says when it has ended, and returns it. An error says which has failed.
fn one(program: &Program, more: &[&str]) -> Result<String, String> {
    let Program { at, folder } = program;
    let mut words = vec!["-C".to_owned(), folder.clone(), format!("CARGO_MANIFEST_DIR={folder}")];
    words.extend(check::test_settings().map(|(name, value)| format!("{name}={value}")));
    words.extend([at.clone(), "--quiet".to_owned()]);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let output = process::output("env", &words, LIMIT).map_err(|error| format!("{at}: {error:#}"))?;
    let [said, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    println!("── {at}\n{said}{errors}");
    if output.status.success() { Ok(said.into_owned()) } else { Err(format!("{at} ({})", output.status)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of cargo 1.95, without what nothing here reads.
    const MESSAGES: &str = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/vfs/Cargo.toml","profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/crates/app/Cargo.toml","profile":{"test":false},"executable":"/w/target/debug/fourfold"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/app/Cargo.toml","profile":{"test":true},"executable":"/w/target/debug/deps/it-81eb"}
{"reason":"build-finished","success":true}"#;

    #[test]
    fn only_tests_are_programs() {
        let [at, folder] = ["/w/target/debug/deps/it-81eb", "/w/crates/app"].map(str::to_owned);
        assert_eq!(programs(MESSAGES), [Program { at, folder }]);
    }
}
