//! `cargo xtask compare nfs | smb | afp | iscsi`: our server and the peer on the same folder and
//! file system. The same load program drives both in alternating runs with a warm cache. `compare
//! large`: a folder of 1,000,000 files and one of 10,000, on our server.
//! `compare calls`: our server's system calls per operation. `compare --all`: the four protocols,
//! judged. `compare bench`: our benchmark's clients beside the load programs. `compare poll`: our server with and without
//! polling.

pub mod afp;
mod all;
mod calls;
mod folder;
pub mod iscsi;
mod judge;
mod large;
mod link;
mod loads;
mod nfs;
mod nfs4;
mod poll;
mod report;
mod rows;
mod scale;
mod search;
mod smb;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::debian::Package;
use crate::loader::{self, LoadResult};
use crate::process::{self, Running};
use crate::{debian, isolate, netatalk, server};
use rows::{ComparisonRow, RowGroup};

#[derive(clap::Args)]
pub struct CompareArgs {
    /// nfs, smb, afp or iscsi; large: a folder of 1,000,000 files beside one of 10,000; calls: system calls per operation; bench: the clients
    /// of `fourfold bench` beside the load programs; poll: our server that polls beside the same that does not; search: our index
    /// beside a walk and a listing over SMB, and what it costs other operations
    #[arg(required_unless_present = "all")]
    protocol: Option<ComparedProtocol>,
    /// nfs, smb, afp and iscsi (or the named one) in one table with the bars; without --quick, --rows, --only and a
    /// protocol also in docs/performance.md
    #[arg(long)]
    all: bool,
    /// --all: measure nothing, and write docs/performance.md from the last report of each protocol (target/compare)
    #[arg(long)]
    page: bool,
    /// --all: compare our figures with those that an earlier --all --json wrote
    #[arg(long, value_name = "FILE", requires = "all")]
    against: Option<PathBuf>,
    /// smb: streams over a network of this speed, made of two namespaces, beside smbd
    #[arg(long, value_name = "RATE", conflicts_with = "all")]
    link: Option<link::LinkRate>,
    /// nfs: this version of NFS (4.1 or 4.2) by the clients of `fourfold bench`, beside Ganesha and beside version 3 of ours
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["all", "link", "json"])]
    version: Option<nfs4::SessionVersion>,
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
    /// A client that is alone stays on one processor, so that its rows do not measure how an idle processor wakes up
    #[arg(long)]
    pinned: bool,
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
    /// This program of ours instead of the release build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ComparedProtocol {
    Nfs,
    Smb,
    Afp,
    Iscsi,
    Large,
    Search,
    Calls,
    Bench,
    Poll,
    Scale,
}

/// The measured server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredServer {
    Ours,
    /// The peer in the configuration of that name.
    Peer(&'static str),
}

impl fmt::Display for MeasuredServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "ours",
            Self::Peer(configuration) => configuration,
        })
    }
}

impl serde::Serialize for MeasuredServer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The load program, and the folder that all servers share.
pub struct ComparisonPlace {
    pub load: PathBuf,
    pub folder: PathBuf,
    /// The peer's program, if it is not installed in the system.
    pub peer: Option<PathBuf>,
    /// Where the servers listen, if it is not the loopback device.
    pub host: Option<&'static str>,
}

/// A running server.
pub struct Contestant {
    pub running: Running,
    /// The server's address, as options of the load program.
    pub reach: Vec<String>,
}

impl Contestant {
    /// One of these options.
    fn option(&self, name: &str) -> Result<&String> {
        let at = self.reach.iter().position(|word| word == name);
        at.and_then(|at| self.reach.get(at + 1)).with_context(|| format!("no {name}"))
    }
}

impl ComparedProtocol {
    /// Its name in tables.
    fn title(self) -> &'static str {
        match self {
            Self::Nfs => "NFS",
            Self::Smb => "SMB",
            Self::Afp => "AFP",
            Self::Iscsi => "iSCSI",
            Self::Large => "large folders",
            Self::Search => "searches",
            Self::Calls => "system calls",
            Self::Bench => "fourfold bench",
            Self::Poll => "polling",
            Self::Scale => "scale",
        }
    }

    /// The peer's server, if there is a peer.
    fn peer_program(self) -> &'static str {
        match self {
            Self::Nfs => "ganesha.nfsd",
            Self::Smb => "smbd",
            Self::Afp => "afpd",
            Self::Iscsi => "tgtd",
            Self::Large | Self::Calls | Self::Bench | Self::Poll | Self::Search | Self::Scale => "",
        }
    }

    fn packages(self) -> &'static [&'static [Package]] {
        match self {
            Self::Nfs => nfs::PACKAGES,
            Self::Smb => smb::PACKAGES,
            Self::Afp => &[],
            Self::Iscsi => iscsi::PACKAGES,
            Self::Large => large::PACKAGES,
            Self::Search => search::PACKAGES,
            Self::Calls => calls::PACKAGES,
            Self::Bench | Self::Poll => loads::PACKAGES,
            Self::Scale => scale::PACKAGES,
        }
    }

    fn groups(self) -> Vec<RowGroup> {
        match self {
            Self::Nfs => nfs::groups(),
            Self::Smb => smb::groups(),
            Self::Afp => afp::groups(),
            Self::Iscsi => iscsi::groups(),
            Self::Large | Self::Calls | Self::Bench | Self::Poll | Self::Search | Self::Scale => Vec::new(),
        }
    }

    /// Whether clients use files of the shared folder.
    fn has_files(self) -> bool {
        matches!(self, Self::Nfs | Self::Smb | Self::Afp)
    }

    /// The place of a comparison of our own servers. `None`: it is SMB, and there is no libsmb2.
    fn own_place(self, libsmb2: Option<&Path>) -> Result<Option<ComparisonPlace>> {
        Ok(Some(match self {
            Self::Smb if loader::compile_smb(libsmb2)?.is_none() => return Ok(None),
            Self::Smb => smb::place(libsmb2)?,
            Self::Nfs => nfs::place()?,
            Self::Afp => afp::place(true, None)?,
            _ => iscsi::place()?,
        }))
    }

    fn place(self, args: &CompareArgs) -> Result<ComparisonPlace> {
        match self {
            Self::Nfs => nfs::place(),
            Self::Smb => smb::place(args.libsmb2.as_deref()),
            Self::Afp => afp::place(args.only == Some("ours".into()), args.afpd.as_deref()),
            Self::Iscsi
            | Self::Large
            | Self::Calls
            | Self::Bench
            | Self::Poll
            | Self::Search
            | Self::Scale => iscsi::place(),
        }
    }

    fn start(self, place: &ComparisonPlace, who: MeasuredServer, apart: &str) -> Result<Contestant> {
        let folder = &place.folder;
        match self {
            Self::Nfs => nfs::start(folder, who, apart),
            Self::Smb => smb::start(place, who, apart),
            Self::Afp => afp::start(place, who, apart),
            Self::Iscsi
            | Self::Large
            | Self::Calls
            | Self::Bench
            | Self::Poll
            | Self::Search
            | Self::Scale => iscsi::start(place, who, apart),
        }
    }

    /// Writes back dirty data, and reads the data of the row into memory.
    fn warm(self, place: &ComparisonPlace, row: &ComparisonRow, who: MeasuredServer) -> Result<()> {
        if row.makes_large_files() {
            folder::use_free_memory();
        }
        match self {
            Self::Nfs | Self::Smb | Self::Afp => folder::warm(&place.folder, row.file),
            Self::Iscsi
            | Self::Large
            | Self::Calls
            | Self::Bench
            | Self::Poll
            | Self::Search
            | Self::Scale => iscsi::warm(&place.folder, row.file, who),
        }
    }
}

/// One run of one row.
#[derive(Debug, serde::Serialize)]
pub struct Sample {
    pub row: &'static str,
    pub who: MeasuredServer,
    pub round: usize,
    pub measured: LoadResult,
}

/// The middle of some values; 0 if there are none.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

pub fn run(args: &CompareArgs) -> Result<()> {
    if args.all {
        return all::run(args);
    }
    let protocol = args.protocol.context("name a protocol")?;
    prepare(protocol, args)?;
    isolate::enter()?;
    if let Some(program) = &args.program {
        server::use_program(program);
    }
    if let Some(version) = args.version {
        ensure!(protocol == ComparedProtocol::Nfs, "--version measures nfs only");
        return nfs4::run(&nfs::place()?, version, args.rounds, &args.rows);
    }
    match protocol {
        ComparedProtocol::Large => large::run(args.quick),
        ComparedProtocol::Search => search::run(args.rounds, args.quick, args.libsmb2.as_deref()),
        ComparedProtocol::Calls => calls::run(&args.rows, args.libsmb2.as_deref()),
        ComparedProtocol::Bench => loads::run(args.rounds, args.libsmb2.as_deref()),
        ComparedProtocol::Poll => poll::run(args.rounds, &args.rows, args.libsmb2.as_deref()),
        ComparedProtocol::Scale => scale::run(args.rounds, &args.rows, args.libsmb2.as_deref()),
        ComparedProtocol::Nfs | ComparedProtocol::Smb | ComparedProtocol::Afp | ComparedProtocol::Iscsi => {
            compare(protocol, args)
        }
    }
}

/// Measures our server and the peer, and prints the table.
fn compare(protocol: ComparedProtocol, args: &CompareArgs) -> Result<()> {
    let mut place = protocol.place(args)?;
    if let Some(rate) = args.link {
        ensure!(protocol == ComparedProtocol::Smb, "--link measures smb only");
        link::set_up(rate, &mut place)?;
    }
    let bench = Bench {
        protocol,
        place,
        only: only(args)?,
        quick: args.quick,
        pinned: args.pinned,
        retries: args.retries,
    };
    let all = if args.link.is_some() { link::groups() } else { protocol.groups() };
    let groups = rows::chosen(all, &args.rows);
    let mut samples = Vec::new();
    let outcome =
        bench.measure(&groups, if args.quick { args.rounds.min(2) } else { args.rounds }, &mut samples);
    // Results from before a failure are useful, too.
    print!("\n{}", report::table(&groups, &samples));
    let report = serde_json::to_string_pretty(&report::json(&groups, &samples))?;
    if let Some(rate) = args.link {
        print!("\n{}", link::table(rate, &judge::lines(protocol, &groups, &report)?));
    }
    if let Some(path) = &args.json {
        std::fs::write(path, report).with_context(|| format!("cannot write {}", path.display()))?;
    }
    outcome
}

/// Installs and builds the programs. That needs the outside network, which is left afterwards.
fn prepare(protocol: ComparedProtocol, args: &CompareArgs) -> Result<()> {
    if isolate::is_isolated() {
        return Ok(());
    }
    install(protocol)?;
    if protocol == ComparedProtocol::Afp && args.afpd.is_none() && args.only.as_deref() != Some("ours") {
        netatalk::packages::install().unwrap_or_else(|error| println!("{error:#}"));
    }
    if !args.no_build && args.program.is_none() && args.only.as_deref() != Some("peer") {
        process::run("cargo", &["build", "--release", "--quiet", "--package", "fourfold"])?;
    }
    Ok(())
}

/// Installs what the comparison needs, where that is possible.
fn install(protocol: ComparedProtocol) -> Result<()> {
    for packages in protocol.packages() {
        for missing in debian::ensure(packages, false)? {
            println!("missing Debian package: {missing}");
        }
    }
    Ok(())
}

/// Whether only our server (`true`) or only the peer is measured.
fn only(args: &CompareArgs) -> Result<Option<bool>> {
    Ok(match args.only.as_deref() {
        None => None,
        Some("ours") => Some(true),
        Some("peer") => Some(false),
        Some(other) => bail!("--only {other}: say ours or peer"),
    })
}

/// The fixed parts of a comparison.
struct Bench {
    protocol: ComparedProtocol,
    place: ComparisonPlace,
    only: Option<bool>,
    quick: bool,
    pinned: bool,
    retries: usize,
}

impl Bench {
    /// All servers run throughout. They take turns at each group of rows, and the server that
    /// begins changes with the round. Round 0 warms them up and is not kept.
    fn measure(&self, groups: &[RowGroup], rounds: usize, samples: &mut Vec<Sample>) -> Result<()> {
        if self.protocol.has_files() {
            folder::fill(&self.place.folder, groups.iter().flat_map(|group| &group.rows))?;
        }
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

    fn start_all(&self, groups: &[RowGroup]) -> Result<Vec<(MeasuredServer, Contestant)>> {
        let mut servers: Vec<(MeasuredServer, Contestant)> = Vec::new();
        for who in groups.iter().flat_map(|group| self.whom(group)) {
            if !servers.iter().any(|(started, _)| *started == who) {
                servers.push((who, self.start(who, "")?));
            }
        }
        Ok(servers)
    }

    fn whom(&self, group: &RowGroup) -> Vec<MeasuredServer> {
        let everybody =
            [MeasuredServer::Ours].into_iter().chain(group.peers().iter().copied().map(MeasuredServer::Peer));
        everybody.filter(|who| self.only.is_none_or(|ours| ours == (*who == MeasuredServer::Ours))).collect()
    }

    fn start(&self, who: MeasuredServer, apart: &str) -> Result<Contestant> {
        self.protocol.start(&self.place, who, apart)
    }

    fn run_group(
        &self,
        group: &RowGroup,
        who: MeasuredServer,
        server: &Contestant,
        round: usize,
    ) -> Result<Vec<Sample>> {
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

    fn run_row(
        &self,
        row: &ComparisonRow,
        who: MeasuredServer,
        server: &Contestant,
        round: usize,
    ) -> Result<Sample> {
        let own = format!("{}-{who}-{round}", row.file);
        let file = if row.makes_files() { &own } else { row.file };
        let mut args = row.arguments(file, self.quick || round == 0);
        args.extend_from_slice(&server.reach);
        args.extend(["--pin".to_owned(), u8::from(self.pinned).to_string()]);
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
        if row.makes_large_files() {
            folder::remove(&self.place.folder, &own)?;
        }
        Ok(Sample { row: row.name, who, round, measured })
    }
}
