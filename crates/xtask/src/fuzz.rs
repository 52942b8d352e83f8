//! `cargo xtask fuzz`: a short run of every fuzz target, or one.

use anyhow::{Context, Result, bail};

use crate::process;

#[derive(clap::Args)]
pub struct FuzzArgs {
    /// One target (by default each in turn)
    target: Option<String>,
    /// How long each runs
    #[arg(long, default_value_t = 20)]
    seconds: u32,
}

pub fn run(args: &FuzzArgs) -> Result<()> {
    if process::find("cargo-fuzz").is_none() {
        bail!("cargo-fuzz is missing: cargo install cargo-fuzz, and rustup toolchain install nightly");
    }
    let limit = format!("-max_total_time={}", args.seconds);
    for target in targets()? {
        if args.target.as_ref().is_none_or(|wanted| *wanted == target) {
            println!("── {target}");
            process::run("cargo", &["+nightly", "fuzz", "run", &target, "--", &limit, "-rss_limit_mb=2048"])?;
        }
    }
    Ok(())
}

/// The names of `fuzz/fuzz_targets/*.rs`.
fn targets() -> Result<Vec<String>> {
    let folder = process::root().join("fuzz/fuzz_targets");
    let files = std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}
