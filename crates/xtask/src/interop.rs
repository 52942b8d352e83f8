//! `cargo xtask interop`: other projects' clients against a freshly started server. Each named
//! outcome is compared with the committed list `interop/<protocol>/expected.toml`.

mod adopt;
mod afp;
mod appletalk;
mod bench;
mod cable;
mod capture;
mod ceph;
mod cluster;
mod coherence;
mod compiled;
mod console;
mod domain;
mod expected;
mod guest;
mod iscsi;
mod layouts;
mod linux;
mod migrate;
mod nfs;
mod nfs3_client;
mod outcome;
mod package;
mod realm;
mod rights;
mod smb;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::debian::Package;
use crate::{debian, isolate, process, server};
use expected::{Expectations, SuiteVerdict};
use outcome::Outcomes;

/// The program of [`build`].
pub const PROGRAM: &str = "target/interop/fourfold";
const PROTOCOLS: &[&str] = &[
    "nfs",
    "smb",
    "afp",
    "appletalk",
    "iscsi",
    "linux",
    "layouts",
    "coherence",
    "ceph",
    "cluster",
    "bench",
    "package",
    "console",
    "domain",
    "migrate",
    "adopt",
    "rights",
];

#[derive(clap::Args)]
pub struct InteropArgs {
    /// nfs, smb, afp, iscsi or linux; appletalk: Debian 13's AppleTalk in a virtual machine; layouts: folders that Samba or Netatalk has served; coherence: clients of all protocols on one file;
    /// ceph: shares in a Ceph cluster; cluster: several servers of one tree; bench: `fourfold bench` against other projects' servers; package: our packages, installed and unpacked; console: the page of the server in a browser; domain: users of an Active Directory domain;
    /// adopt: the settings that `fourfold adopt` makes, against smbd; rights: people with roles in a team folder, by all ways; migrate: `fourfold migrate` from other projects' servers; FOURFOLD_WRITE_DOCS=1 writes what survived to docs/migrating.md
    protocol: String,
    /// Only these of smbtorture's suites or tests (`smb2.lock`, `smb2.lock.rw-none`, `smb2.dur*`), of spectest's sets and
    /// versions of AFP (`FPRead 3.4`), of iscsi-test-cu's suites, tests and runs (`Read10`, `Unmap.VPD`, `4k`), of the
    /// other clients (`smbclient`, `gvfs`, `qemu`), ways into a team folder (rights: `smb`, `nfs3`, `nfs4`, `afp`, `local`), patterns of linux's and appletalk's checks (`mounts`, `^smb: git`), or parts of what
    /// clients hold (coherence: `afp denies`), or of the names of ceph's, cluster's and console's checks (cluster: `matrix`, too)
    only: Vec<String>,
    /// Take target/interop/fourfold, and the tests of ours that some suites run, as they are
    #[arg(long)]
    no_build: bool,
    /// Take this program instead, such as target/debug/fourfold
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Keep what is said on the wire, as target/interop-linux/wire0.pcap and wire1.pcap (linux)
    #[arg(long)]
    capture: bool,
    /// Test the peer instead of ours, as far as it goes, and print its outcomes: what does it do there? For smb, as well
    /// as ours, and its outcomes become interop/smb/smbd.toml; for afp, interop/afp/netatalk.toml; for linux,
    /// smbd; for rights, smbd and Ganesha beside ours
    #[arg(long)]
    peer: bool,
    /// Print the list of outcomes in the form of expected.toml
    #[arg(long)]
    list: bool,
    /// Print the whole output of the suites that have failures (smb)
    #[arg(long)]
    keep_going: bool,
    /// As `cargo xtask test` does: without what takes long or needs an idle machine (smb), and what fails unexpectedly is
    /// tried once more
    #[arg(long)]
    ci: bool,
    /// Run smbtorture against a server that is running already
    #[arg(long, value_name = "HOST:PORT/SHARE")]
    against: Option<String>,
    /// Who logs in there
    #[arg(long, value_name = "NAME%PASSWORD", default_value = "ada%secret")]
    login: String,
    /// The folder of that share: it is emptied before each suite, and tests that look at it can
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Netatalk's afpd, for --peer (afp), or to be measured (bench)
    #[arg(long, value_name = "PATH")]
    afpd: Option<PathBuf>,
    /// The folder of another afp_spectest than Debian's (afp)
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Only the soak, for so long (coherence): clients that die at random, and a server that is killed twice
    #[arg(long, value_name = "MINUTES")]
    soak: Option<u64>,
    /// How many servers there are (cluster)
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=4))]
    gateways: u8,
    /// Only what more servers bring, with networks of a fixed rate: the table of docs/cluster.md (cluster)
    #[arg(long)]
    scale: bool,
    /// The matrix and all checks over CephFS instead of a folder of the host, with three members of etcd (cluster)
    #[arg(long)]
    ceph: bool,
    /// Only Linux's own initiator with dm-multipath in a virtual machine, while the server of its LUN is killed (cluster)
    #[arg(long)]
    multipath: bool,
    /// Only smbtorture, with its connections at two servers in turns (cluster)
    #[arg(long)]
    torture: bool,
    /// How many seeds of random operations run over two servers (cluster)
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(..=1000))]
    seeds: u16,
    /// For how many seconds each pair of servers, and each server and etcd, cannot reach each other (cluster); without it one pair of
    /// each kind, for 5 s
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=600))]
    partitions: u16,
    /// How many random files are served (adopt)
    #[arg(long)]
    files: Option<u32>,
    /// Only the random walk, of so many operations (rights)
    #[arg(long, value_name = "OPERATIONS")]
    walk: Option<u32>,
    /// What the soak or the walk does, or the first random file (adopt); a failed run names it
    #[arg(long)]
    seed: Option<u64>,
    /// Write pictures of the console to this folder instead of testing it (console)
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

pub fn run(args: &InteropArgs) -> Result<()> {
    server::use_program(args.program.as_deref().unwrap_or(&process::root().join(PROGRAM)));
    match args.protocol.as_str() {
        "nfs" => run_nfs(args),
        "smb" => smb::run(args),
        "afp" => afp::run(args),
        "appletalk" => appletalk::run(args),
        "iscsi" => iscsi::run(args),
        "linux" => linux::run(args),
        "layouts" => layouts::run(args),
        "coherence" => coherence::run(args),
        "ceph" => ceph::run(args),
        "cluster" => cluster::run(args),
        "bench" => run_bench(args),
        "package" => run_package(args),
        "console" => console::run(args),
        "domain" => domain::run(args),
        "migrate" => migrate::run(args),
        "adopt" => adopt::run(args),
        "rights" => rights::run(args),
        other => bail!("{other} has no interop tests; there are: {}", PROTOCOLS.join(", ")),
    }
}

/// Installs and builds the programs. That needs the outside network, which is left afterwards.
fn prepare(args: &InteropArgs, packages: &[Package], with_qemu: bool) -> Result<()> {
    install_and_build(args, packages, with_qemu)?;
    isolate::enter()
}

fn install_and_build(args: &InteropArgs, packages: &[Package], with_qemu: bool) -> Result<()> {
    if !isolate::is_isolated() {
        std::fs::create_dir_all(summary_file("").as_path())?;
        let _ = std::fs::remove_file(summary_file(&args.protocol)); // there may be none
        for package in debian::ensure(packages, with_qemu)? {
            println!("missing Debian package: {package}");
        }
        if !args.no_build && !args.peer && args.program.is_none() {
            build()?;
        }
    }
    Ok(())
}

/// What cargo is asked for to compile the program that clients are tested with.
pub const BUILD: &[&str] = &["build", "--profile", "interop", "--quiet", "--package", "fourfold"];

/// Compiles the program that clients are tested with.
pub fn build() -> Result<()> {
    process::run("cargo", BUILD)
}

/// Notes where the compiled tests are that some suites run, so that these need no cargo.
pub fn find_tests() -> Result<()> {
    compiled::compile(&[&[cluster::MODEL, appletalk::NODE, appletalk::bridge::PROGRAM], ceph::TESTS].concat())
}

fn run_nfs(args: &InteropArgs) -> Result<()> {
    prepare(args, debian::NFS_CLIENTS, true)?;
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
    let expected = Expectations::read(&process::root().join("interop/nfs/expected.toml"))?;
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn run_bench(args: &InteropArgs) -> Result<()> {
    let packages = [debian::SMB_PEER, debian::NFS_PEER, debian::ISCSI_PEER].concat();
    prepare(args, &packages, false)?;
    let mut outcomes = Outcomes::default();
    bench::run(args.afpd.as_deref(), &mut outcomes)?;
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join("interop/bench/expected.toml"))?;
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn run_package(args: &InteropArgs) -> Result<()> {
    prepare(args, debian::PACKAGING, false)?;
    let mut outcomes = Outcomes::default();
    package::run(&mut outcomes)?;
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join("interop/package/expected.toml"))?;
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn conclude(args: &InteropArgs, verdict: &SuiteVerdict) -> Result<()> {
    for line in &verdict.lines {
        println!("{line}");
    }
    println!("{}", verdict.summary());
    std::fs::write(summary_file(&args.protocol), verdict.record())?;
    if verdict.failed > 0 {
        bail!("{} outcomes differ from interop/{}/expected.toml", verdict.failed, args.protocol);
    }
    Ok(())
}

fn summary_file(protocol: &str) -> PathBuf {
    process::root().join("target/interop-summaries").join(protocol)
}

/// Removes the results of all protocols before a new run.
pub fn forget_summaries() {
    for protocol in PROTOCOLS {
        let _ = std::fs::remove_file(summary_file(protocol));
    }
}

/// The failures of all protocols' last runs, and `N passed, N failed, N skipped`.
pub fn last_summaries() -> String {
    let mut sum = SuiteVerdict::default();
    for protocol in PROTOCOLS {
        let text = std::fs::read_to_string(summary_file(protocol)).unwrap_or_default();
        sum.add(SuiteVerdict::of_record(&text).unwrap_or_else(|| SuiteVerdict::absent(protocol)));
    }
    sum.lines.push(sum.summary());
    sum.lines.join("\n")
}
