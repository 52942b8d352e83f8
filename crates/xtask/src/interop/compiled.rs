//! Programs of our own tests, which run against servers that `interop` starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::{compiler, process};

/// A program of tests: the folder of its crate, and its name.
#[derive(Clone, Copy)]
pub struct TestProgram {
    pub folder: &'static str,
    pub name: &'static str,
}

/// Compiles these programs, as `cargo xtask test` does: what that command compiled is not compiled again with other features.
pub fn compile(programs: &[TestProgram]) -> Result<()> {
    let names = programs.iter().flat_map(|program| ["--test", program.name]);
    let output = Command::new("cargo")
        .envs(compiler::env()?)
        .args(["test", "--quiet", "--no-run", "--workspace", "--message-format=json-render-diagnostics"])
        .args(names)
        .current_dir(process::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "the tests are not compiled ({})", output.status);
    let messages: Vec<serde_json::Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    for program in programs {
        let manifest = format!("/crates/{}/Cargo.toml", program.folder);
        let is_it = |message: &&serde_json::Value| {
            message["target"]["name"] == program.name
                && message["manifest_path"].as_str().is_some_and(|path| path.ends_with(&manifest))
        };
        let executable = messages.iter().filter(is_it).find_map(|message| message["executable"].as_str());
        link(program, Path::new(executable.with_context(|| missing(program))?))?;
    }
    Ok(())
}

/// Notes where a program is, for [`program()`], which may run where cargo cannot.
fn link(program: &TestProgram, executable: &Path) -> Result<()> {
    let at = place(program);
    fs::create_dir_all(at.parent().context("it is below target")?)?;
    let _ = fs::remove_file(&at);
    std::os::unix::fs::symlink(executable, &at).with_context(|| format!("cannot make {}", at.display()))
}

fn place(program: &TestProgram) -> PathBuf {
    process::root().join(format!("target/tests/{}-{}", program.folder, program.name))
}

fn missing(program: &TestProgram) -> String {
    format!("the tests {} of crates/{} are missing", program.name, program.folder)
}

/// The program of tests that was compiled last.
pub fn program(program: &TestProgram) -> Result<String> {
    let at = place(program);
    ensure!(at.exists(), "{}: {} leads nowhere", missing(program), at.display());
    Ok(at.display().to_string())
}
