//! `cargo xtask docs`: the manual is tried.
//!
//! `guides` does what the guides of `docs/guides`, and some pages beside them, say, each on a blank machine of its own. `page` reads the
//! commands from the page, `place` makes the machine, and `play` runs them and compares what comes out with what the page says.

mod outcome;
mod page;
mod place;
mod play;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::debian::{self, Package};
use crate::{interop, process};

/// The folder of the guides.
const GUIDES: &str = "docs/guides";
/// Pages of `docs` whose commands are run, too.
const OTHERS: &[&str] = &["hardening", "sharing", "troubleshooting", "upgrading"];

#[derive(clap::Args)]
pub struct DocsArgs {
    #[command(subcommand)]
    command: DocsCommand,
}

#[derive(clap::Subcommand)]
enum DocsCommand {
    /// Run the commands of the guides, each guide on a blank machine in namespaces; needs root
    Guides(GuidesArgs),
}

#[derive(clap::Args)]
struct GuidesArgs {
    /// Only these guides, such as `home`
    only: Vec<String>,
    /// Take target/interop/fourfold as it is
    #[arg(long)]
    no_build: bool,
    /// Take this program instead, such as target/debug/fourfold
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Print each command and what it says
    #[arg(long)]
    show: bool,
    /// This process is on the blank machine of the one guide
    #[arg(long, hide = true)]
    inside: bool,
}

pub fn run(args: &DocsArgs) -> Result<()> {
    let DocsCommand::Guides(args) = &args.command;
    if args.inside {
        let name = args.only.first().context("no guide is named")?;
        return play::play(&path(name), &read(name)?, args.show);
    }
    all_guides(args)
}

/// The clients that guides use, and what makes the machine.
pub const PACKAGES: &[Package] = &[
    Package { name: "smbclient", shows: "/usr/bin/smbclient" },
    Package { name: "libnfs-utils", shows: "/usr/bin/nfs-ls" },
    Package { name: "libiscsi-bin", shows: "/usr/bin/iscsi-ls" },
    Package { name: "curl", shows: "/usr/bin/curl" },
    Package { name: "xfsprogs", shows: "/usr/sbin/mkfs.xfs" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/unshare" },
];

fn all_guides(args: &GuidesArgs) -> Result<()> {
    let names = if args.only.is_empty() { names()? } else { args.only.clone() };
    for name in &names {
        page::steps(&read(name)?).with_context(|| path(name))?;
    }
    let missing = debian::ensure(PACKAGES, false)?;
    if !process::is_root() || !missing.is_empty() {
        let reason = format!("guides need root and these packages: {}", missing.join(" "));
        ensure!(!process::is_ci(), "{reason}");
        println!("skipped: {reason}");
        return Ok(());
    }
    if !args.no_build && args.program.is_none() {
        interop::build()?;
    }
    let program = args.program.clone().unwrap_or_else(|| process::root().join(interop::PROGRAM));
    let program = program.canonicalize().with_context(|| format!("no program {}", program.display()))?;
    let failed = play_all(&names, &program, args.show)?;
    println!("{} guides, {} failed", names.len(), failed.len());
    if !failed.is_empty() {
        bail!("guides whose commands do not do what they say: {}", failed.join(", "));
    }
    Ok(())
}

/// Plays several pages at the same time, as each of them mostly waits. Returns the names of those that failed.
fn play_all(names: &[String], program: &Path, show: bool) -> Result<Vec<String>> {
    let threads = if show { 1 } else { std::thread::available_parallelism()?.get() };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failed = Vec::new();
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let began = Instant::now();
            let result = place::play_in(name, program, show);
            let word = if result.is_ok() { "ok" } else { "FAILED" };
            println!("{word:<7} {} ({:.1} s)", path(name), began.elapsed().as_secs_f64());
            if let Err(error) = result {
                println!("{error:#}");
                failed.push(name.clone());
            }
        }
        failed
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let failed =
            workers.into_iter().map(|worker| worker.join().map_err(|_| anyhow!("a thread has panicked")));
        Ok(failed.collect::<Result<Vec<_>>>()?.concat())
    })
}

/// The pages, the longest first.
fn names() -> Result<Vec<String>> {
    let folder = process::root().join(GUIDES);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let pages = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut names: Vec<String> =
        pages.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.extend(OTHERS.iter().map(|&name| name.to_owned()));
    names.sort_by_key(|name| Reverse(read(name).map_or(0, |text| text.len())));
    ensure!(!names.is_empty(), "there are no guides in {}", folder.display());
    Ok(names)
}

/// The path of a page from the root.
fn path(name: &str) -> String {
    let folder = if OTHERS.contains(&name) { "docs" } else { GUIDES };
    format!("{folder}/{name}.md")
}

fn read(name: &str) -> Result<String> {
    let path = process::root().join(path(name));
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}
