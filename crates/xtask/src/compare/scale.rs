//! `cargo xtask compare scale`: what an operation of ten busy clients costs beside 10, 100, 1,000 and 10,000 others that do one small
//! operation a second each, and what these others take. Then the start and the logins of a server with 1,000 shares and 10,000 accounts.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::rows::{Bar, ComparisonRow, RowUnit};
use super::{ComparedProtocol, ComparisonPlace, Contestant, MeasuredServer, folder, median};
use crate::loader::{self, LoadResult};
use crate::server::{self, UID};
use crate::{debian, isolate, ports, process};

pub const PACKAGES: &[&[debian::Package]] = &[debian::NFS_CLIENTS, debian::SMB_LOAD, debian::ISCSI_LOAD];

/// The clients with one operation a second.
const CROWDS: [u32; 4] = [10, 100, 1_000, 10_000];
/// What an operation may cost beside the largest crowd, as a multiple of its cost beside the smallest one.
const BAR: f64 = 1.1;
/// How soon a server is ready, and the median of its logins.
const START_BAR: Duration = Duration::from_secs(2);
const LOGIN_BAR_US: f64 = 5_000.0;
/// The shares and accounts of the large server.
const SHARES: usize = 1_000;
const ACCOUNTS: usize = 10_000;
/// Logins that are measured.
const LOGINS: &str = "200";

const fn busy(file: &'static str, args: &'static str) -> ComparisonRow {
    ComparisonRow { name: "busy", unit: RowUnit::Ops, file, args, peers: &[], bar: None::<Bar> }
}

/// Ten clients that read 4 KiB, one after another.
const FILES: ComparisonRow = busy("crowd", "random --block 4096 --size 50331648 --clients 10 --seconds 3");
const DISK: ComparisonRow = busy("one", "random --block 4096 --size 1073741824 --clients 10 --seconds 3");

/// Measures the protocols whose titles are among `wanted`, all if there are none.
pub fn run(rounds: usize, wanted: &[String], libsmb2: Option<&Path>) -> Result<()> {
    ensure!(isolate::is_isolated(), "as root only, and where namespaces may be made");
    let is_wanted =
        |title: &str| wanted.is_empty() || wanted.iter().any(|one| one.eq_ignore_ascii_case(title));
    let mut short = Vec::new();
    println!(
        "| 10 busy clients beside others | busy operations | of those without others | CPU of any operation | times | p99 | memory of another |"
    );
    println!("|---|---|---|---|---|---|---|");
    for protocol in
        [ComparedProtocol::Nfs, ComparedProtocol::Smb, ComparedProtocol::Afp, ComparedProtocol::Iscsi]
    {
        if !is_wanted(protocol.title()) {
            continue;
        }
        let Some(place) = protocol.own_place(libsmb2)? else {
            println!("| SMB: no libsmb2 | | | | | | |");
            continue;
        };
        short.extend(crowds(protocol, &place, rounds)?);
    }
    if is_wanted("start") {
        short.extend(large_server(libsmb2)?);
    }
    ensure!(short.is_empty(), "{}", short.join("; "));
    Ok(())
}

/// Measures a protocol beside each crowd, and says what is beyond its bar.
fn crowds(protocol: ComparedProtocol, place: &ComparisonPlace, rounds: usize) -> Result<Option<String>> {
    let row = if protocol.has_files() { &FILES } else { &DISK };
    if protocol.has_files() {
        folder::fill(&place.folder, [row])?;
    }
    let server = protocol.start(place, MeasuredServer::Ours, "")?;
    protocol.warm(place, row, MeasuredServer::Ours)?;
    measured(place, &server, row, CROWDS[0])?; // warms up
    // The crowds take turns, so that a slow minute of the machine meets all of them.
    let mut figures: [Vec<CrowdFigure>; CROWDS.len()] = Default::default();
    for _ in 0..rounds {
        for (of, crowd) in figures.iter_mut().zip(CROWDS) {
            of.push(CrowdFigure::new(&measured(place, &server, row, crowd)?, crowd));
        }
    }
    let figures = figures.map(|of| CrowdFigure::median(&of));
    let least = figures[0].cost_us;
    for (crowd, figure) in CROWDS.iter().zip(&figures) {
        println!("{}", figure.line(protocol.title(), *crowd, least));
    }
    let times = figures[CROWDS.len() - 1].cost_us / least.max(f64::MIN_POSITIVE);
    Ok((times > BAR).then(|| format!("{}: an operation costs {times:.2} times as much", protocol.title())))
}

fn measured(
    place: &ComparisonPlace,
    server: &Contestant,
    row: &ComparisonRow,
    crowd: u32,
) -> Result<LoadResult> {
    let mut args = row.arguments(row.file, false);
    args.extend(["--idle", &crowd.to_string(), "--each", "1"].map(str::to_owned));
    args.extend_from_slice(&server.reach);
    loader::load(&place.load, &args, server.running.pid())
}

/// What a run beside a crowd shows.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CrowdFigure {
    /// Operations per second of the busy clients.
    speed: f64,
    /// The part of the speed without a crowd.
    kept: f64,
    /// Processor time of the server for each operation, of the crowd or not.
    cost_us: f64,
    p99_us: f64,
    /// Memory of the server for each client of the crowd, in KiB.
    memory_kib: f64,
}

impl CrowdFigure {
    fn new(of: &LoadResult, crowd: u32) -> Self {
        Self {
            speed: of.ops as f64 / of.seconds,
            kept: of.kept,
            cost_us: of.cpu * 1e6 / (of.ops + of.beside_ops).max(1) as f64,
            p99_us: of.p99_us,
            memory_kib: of.held_kib as f64 / f64::from(crowd),
        }
    }

    fn median(of: &[Self]) -> Self {
        let of = |value: fn(&Self) -> f64| median(of.iter().map(value));
        Self {
            speed: of(|one| one.speed),
            kept: of(|one| one.kept),
            cost_us: of(|one| one.cost_us),
            p99_us: of(|one| one.p99_us),
            memory_kib: of(|one| one.memory_kib),
        }
    }

    fn line(&self, title: &str, crowd: u32, least_us: f64) -> String {
        let Self { speed, kept, cost_us, p99_us, memory_kib } = self;
        let times = cost_us / least_us.max(f64::MIN_POSITIVE);
        format!(
            "| {title}, {crowd} | {speed:.0}/s | {:.0} % | {cost_us:.1} us | {times:.2} | {:.2} ms | {memory_kib:.1} KiB |",
            kept * 100.0,
            p99_us / 1e3
        )
    }
}

/// Starts a server with many shares and accounts, and logs in.
fn large_server(libsmb2: Option<&Path>) -> Result<Vec<String>> {
    let state = process::fresh_folder("compare/state-scale")?;
    let folder = folder::prepare_empty()?;
    let text = settings(&folder)?;
    let settings = state.with_extension("toml");
    std::fs::write(&settings, text)?;
    server::add_user_with(&state, "ada", "secret", UID, &["--legacy-password"])?;
    let accounts = state.join("accounts.toml");
    let one =
        std::fs::read_to_string(&accounts).with_context(|| format!("cannot read {}", accounts.display()))?;
    std::fs::write(&accounts, many_accounts(&one)?)?;
    let (smb_port, afp_port) = (ports::free_port()?.to_string(), ports::free_port()?.to_string());
    let begun = Instant::now();
    let running =
        server::ours_with_settings(&settings, &state, &["--smb-port", &smb_port, "--afp-port", &afp_port])?;
    let took = begun.elapsed();
    println!("\n{SHARES} shares and {ACCOUNTS} accounts: ready after {:.2} s", took.as_secs_f64());
    let mut short = Vec::new();
    if took > START_BAR {
        short.push(format!("the server is ready after {took:.1?}"));
    }
    let mut logs_in = |title: &str, program: PathBuf, port: &str| -> Result<()> {
        let words =
            ["idle", "--count", LOGINS, "--port", port, "--share", "share-0500", "--user", "user-05000"];
        let args: Vec<String> =
            words.into_iter().chain(["--password", "secret"]).map(str::to_owned).collect();
        let LoadResult { p50_us, p99_us, .. } = loader::load(&program, &args, running.pid())?;
        println!(
            "{title}: connected, logged in and at the share within {p50_us:.0} us in the median, 99th percentile {p99_us:.0}"
        );
        if p50_us > LOGIN_BAR_US {
            short.push(format!("{title}: a login takes {p50_us:.0} us"));
        }
        Ok(())
    };
    logs_in("AFP", loader::compile_afp()?, &afp_port)?;
    if let Some(program) = loader::compile_smb(libsmb2)? {
        logs_in("SMB", program, &smb_port)?;
    }
    Ok(short)
}

/// The settings of a server with many shares.
fn settings(folder: &Path) -> Result<String> {
    let mut text = "[server]\nafp-logins = [\"cleartext\"]\nbonjour = \"off\"\n".to_owned();
    for number in 0..SHARES {
        let name = format!("share-{number:04}");
        let path = folder.join(&name);
        std::fs::create_dir_all(&path)?;
        write!(text, "\n[[share]]\nname = \"{name}\"\npath = \"{}\"\n", path.display())?;
    }
    Ok(text)
}

/// A file of accounts with copies of its only one, each with a name and a number of its own.
fn many_accounts(one: &str) -> Result<String> {
    let (head, account) = one.split_once("[[account]]").context("it has no account")?;
    let mut text = head.to_owned();
    for number in 0..ACCOUNTS {
        text += "[[account]]";
        text += &account
            .replace("\"ada\"", &format!("\"user-{number:05}\""))
            .replace(&format!("uid = {UID}"), &format!("uid = {}", UID as usize + number));
        text += "\n";
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_of_the_crowd_count_for_the_cost() {
        let said = r#"{"workload":"random","ops":900,"bytes":0,"errors":0,"seconds":3.0,"cpu":0.02,"client_cpu":0,"others_cpu":0,
            "p50_us":0,"p99_us":1500.0,"beside_ops":100,"held_kib":1000,"kept":0.99,"pss_kib":5000}"#;
        let figure = CrowdFigure::new(&serde_json::from_str(said).unwrap(), 100);
        assert_eq!(
            figure.line("NFS", 100, 10.0),
            "| NFS, 100 | 300/s | 99 % | 20.0 us | 2.00 | 1.50 ms | 10.0 KiB |"
        );
    }

    #[test]
    fn each_account_has_a_name_and_a_number() {
        let one = format!("format = 1\n\n[[account]]\nname = \"ada\"\nuid = {UID}\ndisabled = false\n");
        let many = many_accounts(&one).unwrap();
        assert!(many.starts_with("format = 1\n\n[[account]]\nname = \"user-00000\"\n"));
        assert!(many.contains(&format!("name = \"user-09999\"\nuid = {}\n", UID as usize + 9_999)));
        assert_eq!(many.matches("[[account]]").count(), ACCOUNTS);
    }
}
