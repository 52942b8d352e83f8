//! `cargo xtask interop`: other people's clients against a freshly started server. Each named outcome is compared with the
//! committed list `interop/<protocol>/expected.toml`.

mod expected;
mod nfs;
mod nfs3_client;
mod outcome;

use anyhow::{Result, bail};

use crate::{debian, isolate, process};
use expected::Expected;
use outcome::Outcomes;

#[derive(clap::Args)]
pub struct Args {
    /// nfs
    protocol: String,
    /// Take the release binary as it is
    #[arg(long)]
    no_build: bool,
    /// Test the peer instead of ours, as far as it goes, and print its outcomes: what does it do there?
    #[arg(long)]
    peer: bool,
    /// Print the list of outcomes in the form of expected.toml
    #[arg(long)]
    list: bool,
}

pub fn run(args: &Args) -> Result<()> {
    if args.protocol != "nfs" {
        bail!("{} has no interop tests yet; there are: nfs", args.protocol);
    }
    if !isolate::is_isolated() {
        let _ = std::fs::remove_file(summary_file());
        for package in debian::ensure(debian::NFS_CLIENTS, true)? {
            println!("missing Debian package: {package}");
        }
        if !args.no_build && !args.peer {
            process::run("cargo", &["build", "--release", "--quiet", "--package", "fourfold"])?;
        }
    }
    isolate::enter()?;
    let mut outcomes = Outcomes::default();
    if args.peer {
        nfs::run_on_peer(&mut outcomes)?;
        print!("{}", outcomes.as_toml());
        return Ok(());
    }
    nfs::run(&mut outcomes)?;
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expected::read(&process::root().join("interop/nfs/expected.toml"))?;
    let verdict = expected.compare(&outcomes, process::is_ci());
    for line in &verdict.lines {
        println!("{line}");
    }
    println!("{}", verdict.summary());
    std::fs::write(summary_file(), verdict.summary())?;
    if verdict.failed > 0 {
        bail!("{} outcomes differ from interop/nfs/expected.toml", verdict.failed);
    }
    Ok(())
}

fn summary_file() -> std::path::PathBuf {
    process::root().join("target/interop-summary")
}

/// `N passed, N failed, N skipped` of the last run.
pub fn last_summary() -> String {
    // A run that did not get that far counts as one failure, so that nobody takes silence for success.
    std::fs::read_to_string(summary_file()).unwrap_or_else(|_| "0 passed, 1 failed, 0 skipped".to_owned())
}
