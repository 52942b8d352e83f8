//! `cargo xtask compare nfs`: ours beside the peer from Debian's packages, on the same folder and file system, driven by the
//! same load program in alternating runs with a warm cache.

mod folder;
mod report;
mod rows;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::loader::{self, Measured};
use crate::server::{self, Server};
use crate::{debian, ganesha, isolate, process};
use rows::{Group, Row};

#[derive(clap::Args)]
pub struct Args {
    /// nfs
    protocol: String,
    /// How often each row runs on each server
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only rows whose name contains one of these (comma separated)
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Only this server: ours or peer
    #[arg(long)]
    only: Option<String>,
    /// Two rounds of short runs, some two minutes in all
    #[arg(long)]
    quick: bool,
    /// How often a run is repeated that other programs disturbed
    #[arg(long, default_value_t = 0)]
    retries: usize,
    /// Write every figure there too
    #[arg(long)]
    json: Option<PathBuf>,
    /// Take the release binary as it is
    #[arg(long)]
    no_build: bool,
}

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    Ours,
    Peer,
}

/// One run of one row.
#[derive(Debug, serde::Serialize)]
pub struct Sample {
    pub row: &'static str,
    pub who: Who,
    pub round: usize,
    pub measured: Measured,
}

pub fn run(args: &Args) -> Result<()> {
    if args.protocol != "nfs" {
        bail!("{} has no comparison yet; there is: nfs", args.protocol);
    }
    prepare(args)?;
    isolate::enter()?;
    let bench = Bench {
        load: loader::compile("load")?,
        folder: folder::prepare()?,
        who: who(args)?,
        quick: args.quick,
        retries: args.retries,
    };
    let groups = rows::groups(&args.rows);
    let mut samples = Vec::new();
    let outcome =
        bench.measure(&groups, if args.quick { args.rounds.min(2) } else { args.rounds }, &mut samples);
    // What was measured before a failure is worth seeing too.
    print!("\n{}", report::table(&groups, &samples));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report::json(&groups, &samples))?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    outcome
}

/// Installs and builds, which needs the outside network, before that is left behind.
fn prepare(args: &Args) -> Result<()> {
    if isolate::is_isolated() {
        return Ok(());
    }
    let mut missing = debian::ensure(debian::NFS_CLIENTS, false)?;
    missing.extend(debian::ensure(debian::NFS_PEER, false)?);
    if !missing.is_empty() {
        println!("missing Debian packages: {}", missing.join(" "));
    }
    if !args.no_build && args.only.as_deref() != Some("peer") {
        process::run("cargo", &["build", "--release", "--quiet", "--package", "fourfold"])?;
    }
    Ok(())
}

fn who(args: &Args) -> Result<Vec<Who>> {
    Ok(match args.only.as_deref() {
        None => vec![Who::Ours, Who::Peer],
        Some("ours") => vec![Who::Ours],
        Some("peer") => vec![Who::Peer],
        Some(other) => bail!("--only {other}: say ours or peer"),
    })
}

/// What stays the same through a comparison.
struct Bench {
    load: PathBuf,
    folder: PathBuf,
    who: Vec<Who>,
    quick: bool,
    retries: usize,
}

impl Bench {
    /// Both servers run throughout; they take turns at each group of rows, and who begins changes with the round.
    /// Round 0 warms both up and is not kept.
    fn measure(&self, groups: &[Group], rounds: usize, samples: &mut Vec<Sample>) -> Result<()> {
        let servers =
            self.who.iter().map(|who| Ok((*who, self.start(*who, "")?))).collect::<Result<Vec<_>>>()?;
        for (last, round) in [false, true].into_iter().flat_map(|last| (0..=rounds).map(move |r| (last, r))) {
            for group in groups.iter().filter(|group| group.last == last) {
                for turn in 0..servers.len() {
                    let (who, server) = &servers[(turn + round) % servers.len()];
                    let group_samples = self.run_group(group, *who, server, round)?;
                    if round > 0 {
                        samples.extend(group_samples);
                    }
                }
            }
        }
        Ok(())
    }

    /// Starts a server whose own files are apart from those of others of its kind.
    fn start(&self, who: Who, apart: &str) -> Result<Server> {
        match who {
            Who::Peer => ganesha::start(&self.folder, Path::new(&format!("target/compare/ganesha{apart}"))),
            Who::Ours => server::ours(&server::Options {
                share: &self.folder,
                state: &process::fresh_folder(&format!("compare/state{apart}"))?,
                portmap_port: "off",
                nfs_port: process::free_port()?,
            }),
        }
    }

    fn run_group(&self, group: &Group, who: Who, server: &Server, round: usize) -> Result<Vec<Sample>> {
        if group.fresh {
            if round == 0 {
                return Ok(Vec::new());
            }
            // Memory that earlier runs left behind would hide what connections take.
            let server = self.start(who, "-fresh")?;
            return group.rows.iter().map(|row| self.run_row(row, who, &server, round)).collect();
        }
        group.rows.iter().map(|row| self.run_row(row, who, server, round)).collect()
    }

    fn run_row(&self, row: &Row, who: Who, server: &Server, round: usize) -> Result<Sample> {
        let own = format!("{}-{who:?}-{round}", row.file);
        let file = if row.makes_files() { &own } else { row.file };
        let args = row.arguments(file, self.quick || round == 0);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = || {
            folder::warm(&self.folder, row.file)?;
            loader::load(&self.load, &args, &server.address, server.running.pid())
                .with_context(|| format!("{who:?}, row {:?}", row.name))
        };
        let mut measured = run()?;
        for _ in 0..self.retries {
            if round == 0 || !row.may_repeat() || measured.others_cpu < report::DISTURBED * measured.seconds {
                break;
            }
            std::thread::sleep(std::time::Duration::from_secs(2));
            let again = run()?;
            if again.others_cpu / again.seconds < measured.others_cpu / measured.seconds {
                measured = again;
            }
        }
        if round > 0 {
            println!("{round} {who:?} {}: {}", row.name, report::one(row, &measured));
        }
        Ok(Sample { row: row.name, who, round, measured })
    }
}
