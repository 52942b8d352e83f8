//! `cargo xtask compare nfs | smb | afp | iscsi`: our server and the peer on the same folder and
//! file system. The same load program drives both in alternating runs with a warm cache. `compare
//! large`: a folder of 1,000,000 files and one of 10,000, on our server.
//! `compare calls`: our server's system calls per operation.

pub mod afp;
mod calls;
mod folder;
mod iscsi;
mod large;
mod nfs;
mod report;
mod rows;
mod smb;

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::debian::Package;
use crate::loader::{self, Measured};
use crate::process::{self, Running};
use crate::{debian, isolate};
use rows::{Group, Row};

#[derive(clap::Args)]
pub struct Args {
    /// nfs, smb, afp or iscsi; large: a folder of 1,000,000 files beside one of 10,000; calls: system calls per operation
    protocol: Protocol,
    /// How often each row runs on each server
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only rows whose name contains one of these (comma separated)
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Only this server: ours or peer
    #[arg(long)]
    only: Option<String>,
    /// Two rounds of short runs, some two minutes in all (smb and iscsi: five)
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
    /// smb: libsmb2's headers and libsmb2.a, where pkg-config does not know of it (Debian has libsmb2-dev from 13 on)
    #[arg(long, value_name = "DIR")]
    libsmb2: Option<PathBuf>,
    /// afp: Netatalk's afpd, version 4, with its libraries where it was installed (Debian has netatalk from 13 on)
    #[arg(long, value_name = "FILE")]
    afpd: Option<PathBuf>,
    /// calls: this program of ours instead of the release build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Protocol {
    Nfs,
    Smb,
    Afp,
    Iscsi,
    Large,
    Calls,
}

/// The measured server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Ours,
    /// The peer in the configuration of that name.
    Peer(&'static str),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "ours",
            Self::Peer(configuration) => configuration,
        })
    }
}

impl serde::Serialize for Who {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The load program, and the folder that all servers share.
pub struct Place {
    pub load: PathBuf,
    pub folder: PathBuf,
    /// The peer's program, if it is not installed in the system.
    pub peer: Option<PathBuf>,
}

/// A running server.
pub struct Contestant {
    pub running: Running,
    /// The server's address, as options of the load program.
    pub reach: Vec<String>,
}

impl Protocol {
    fn packages(self) -> &'static [&'static [Package]] {
        match self {
            Self::Nfs => nfs::PACKAGES,
            Self::Smb => smb::PACKAGES,
            Self::Afp => &[],
            Self::Iscsi => iscsi::PACKAGES,
            Self::Large => large::PACKAGES,
            Self::Calls => calls::PACKAGES,
        }
    }

    fn groups(self) -> Vec<Group> {
        match self {
            Self::Nfs => nfs::groups(),
            Self::Smb => smb::groups(),
            Self::Afp => afp::groups(),
            Self::Iscsi => iscsi::groups(),
            Self::Large | Self::Calls => Vec::new(),
        }
    }

    fn place(self, args: &Args) -> Result<Place> {
        match self {
            Self::Nfs => nfs::place(),
            Self::Smb => smb::place(args.libsmb2.as_deref()),
            Self::Afp => afp::place(args.only == Some("ours".into()), args.afpd.as_deref()),
            Self::Iscsi | Self::Large | Self::Calls => iscsi::place(),
        }
    }

    fn start(self, place: &Place, who: Who, apart: &str) -> Result<Contestant> {
        let folder = &place.folder;
        match self {
            Self::Nfs => nfs::start(folder, who, apart),
            Self::Smb => smb::start(folder, who, apart),
            Self::Afp => afp::start(place, who, apart),
            Self::Iscsi | Self::Large | Self::Calls => iscsi::start(place, who, apart),
        }
    }

    /// Writes back dirty data, and reads the data of the row into memory.
    fn warm(self, place: &Place, row: &Row, who: Who) -> Result<()> {
        match self {
            Self::Nfs | Self::Smb | Self::Afp => folder::warm(&place.folder, row.file),
            Self::Iscsi | Self::Large | Self::Calls => iscsi::warm(&place.folder, row.file, who),
        }
    }
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
    prepare(args)?;
    isolate::enter()?;
    if matches!(args.protocol, Protocol::Large) {
        return large::run(args.quick);
    }
    if matches!(args.protocol, Protocol::Calls) {
        return calls::run(&args.rows, args.program.as_deref(), args.libsmb2.as_deref());
    }
    let bench = Bench {
        protocol: args.protocol,
        place: args.protocol.place(args)?,
        only: only(args)?,
        quick: args.quick,
        retries: args.retries,
    };
    let groups = rows::chosen(args.protocol.groups(), &args.rows);
    let mut samples = Vec::new();
    let outcome =
        bench.measure(&groups, if args.quick { args.rounds.min(2) } else { args.rounds }, &mut samples);
    // Results from before a failure are useful, too.
    print!("\n{}", report::table(&groups, &samples));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report::json(&groups, &samples))?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    outcome
}

/// Installs and builds the programs. That needs the outside network, which is left afterwards.
fn prepare(args: &Args) -> Result<()> {
    if isolate::is_isolated() {
        return Ok(());
    }
    for packages in args.protocol.packages() {
        for missing in debian::ensure(packages, false)? {
            println!("missing Debian package: {missing}");
        }
    }
    if !args.no_build && args.program.is_none() && args.only.as_deref() != Some("peer") {
        process::run("cargo", &["build", "--release", "--quiet", "--package", "fourfold"])?;
    }
    Ok(())
}

/// Whether only our server (`true`) or only the peer is measured.
fn only(args: &Args) -> Result<Option<bool>> {
    Ok(match args.only.as_deref() {
        None => None,
        Some("ours") => Some(true),
        Some("peer") => Some(false),
        Some(other) => bail!("--only {other}: say ours or peer"),
    })
}

/// The fixed parts of a comparison.
struct Bench {
    protocol: Protocol,
    place: Place,
    only: Option<bool>,
    quick: bool,
    retries: usize,
}

impl Bench {
    /// All servers run throughout. They take turns at each group of rows, and the server that
    /// begins changes with the round. Round 0 warms them up and is not kept.
    fn measure(&self, groups: &[Group], rounds: usize, samples: &mut Vec<Sample>) -> Result<()> {
        let servers = self.start_all(groups)?;
        for (last, round) in [false, true].into_iter().flat_map(|last| (0..=rounds).map(move |r| (last, r))) {
            for group in groups.iter().filter(|group| group.last == last) {
                if group.once && round != 1 {
                    continue;
                }
                let whom = self.whom(group);
                for turn in 0..whom.len() {
                    let who = whom[(turn + round) % whom.len()];
                    let server =
                        servers.iter().find(|(started, _)| *started == who).map(|(_, server)| server);
                    let group_samples = self.run_group(group, who, server.context("not started")?, round)?;
                    if round > 0 {
                        samples.extend(group_samples);
                    }
                }
            }
        }
        Ok(())
    }

    fn start_all(&self, groups: &[Group]) -> Result<Vec<(Who, Contestant)>> {
        let mut servers: Vec<(Who, Contestant)> = Vec::new();
        for who in groups.iter().flat_map(|group| self.whom(group)) {
            if !servers.iter().any(|(started, _)| *started == who) {
                servers.push((who, self.start(who, "")?));
            }
        }
        Ok(servers)
    }

    fn whom(&self, group: &Group) -> Vec<Who> {
        let everybody = [Who::Ours].into_iter().chain(group.peers().iter().copied().map(Who::Peer));
        everybody.filter(|who| self.only.is_none_or(|ours| ours == (*who == Who::Ours))).collect()
    }

    fn start(&self, who: Who, apart: &str) -> Result<Contestant> {
        self.protocol.start(&self.place, who, apart)
    }

    fn run_group(&self, group: &Group, who: Who, server: &Contestant, round: usize) -> Result<Vec<Sample>> {
        if group.fresh {
            if round == 0 {
                return Ok(Vec::new());
            }
            // Memory left by earlier runs would hide the memory that connections take.
            let server = self.start(who, "-fresh")?;
            return group.rows.iter().map(|row| self.run_row(row, who, &server, round)).collect();
        }
        group.rows.iter().map(|row| self.run_row(row, who, server, round)).collect()
    }

    fn run_row(&self, row: &Row, who: Who, server: &Contestant, round: usize) -> Result<Sample> {
        let own = format!("{}-{who}-{round}", row.file);
        let file = if row.makes_files() { &own } else { row.file };
        let mut args = row.arguments(file, self.quick || round == 0);
        args.extend_from_slice(&server.reach);
        let run = || {
            self.protocol.warm(&self.place, row, who)?;
            loader::load(&self.place.load, &args, server.running.pid())
                .with_context(|| format!("{who}, row {:?}", row.name))
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
            println!("{round} {who} {}: {}", row.name, report::one(row, &measured));
        }
        Ok(Sample { row: row.name, who, round, measured })
    }
}
