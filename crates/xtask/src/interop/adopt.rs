//! `fourfold adopt` by difference: smbd and Fourfold serve the same random smb.conf, and Fourfold must never admit what smbd refuses.
//! `interop/adopt/difference.py` makes the files and is the client.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::expected::Expectations;
use super::outcome::Outcomes;
use super::smb::python;
use super::{InteropArgs, conclude, prepare};
use crate::{debian, isolate, process, server};

/// Files of one run. Each has the settings of a share; 25 are served at once.
const FILES: u32 = 50;
/// The first file of a run without `--seed`.
const SEED: u64 = 1;
/// The time limit of a hundred files.
const LIMIT: Duration = Duration::from_secs(300);

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = python::install()
    {
        println!("no Python packages: {error:#}");
    }
    prepare(args, debian::SMB_PEER, false)?;
    let mut outcomes = Outcomes::default();
    match unable() {
        Some(why) => outcomes.skip("difference to smbd", &why),
        None => outcomes.run("difference to smbd", &[], || difference(args)),
    }
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join("interop/adopt/expected.toml"))?.else_pass();
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn unable() -> Option<String> {
    if !isolate::is_isolated() || !process::is_root() {
        return Some("it needs root and namespaces".into());
    }
    if !python::is_installed() {
        return Some("its Python packages are not installed".into());
    }
    process::find("smbd").is_none().then(|| "smbd is not installed".into())
}

fn difference(args: &InteropArgs) -> Result<()> {
    let files = args.files.unwrap_or(FILES);
    let (seed, limit) = (args.seed.unwrap_or(SEED), LIMIT * (files / 100 + 1));
    let (program, place) = (server::binary(), process::root().join("target/interop-adopt"));
    let script = process::root().join("interop/adopt/difference.py");
    let words =
        [python::program(), "-B".into(), script, "--program".into(), program, "--place".into(), place];
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let numbers = ["--shares".to_owned(), files.to_string(), "--seed".into(), seed.to_string()];
    let words: Vec<&str> = words.iter().chain(&numbers).map(String::as_str).collect();
    let output = process::output("env", &words, limit)?;
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
