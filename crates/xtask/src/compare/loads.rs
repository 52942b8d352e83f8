//! `cargo xtask compare bench`: the clients of `fourfold bench` beside the C load programs, on the same rows
//! of our server, in alternating runs. A measurement must not measure its own client: it reaches 90 % of what
//! the C program reaches, or its verdict says that the processors of the clients are the limit.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{ComparedProtocol, ComparisonPlace, Contestant, MeasuredServer, folder};
use crate::{debian, isolate, loader, process, server};

pub const PACKAGES: &[&[debian::Package]] = &[debian::NFS_CLIENTS, debian::SMB_LOAD, debian::ISCSI_LOAD];

/// The part of the C program's speed that our client must reach.
const BAR: f64 = 0.9;
/// How often a run of ours repeats the work. Memory that was free for seconds is slow on virtual machines,
/// because the host has to give it again. The load program writes into what it has just freed; a second
/// run of ours does that, too.
const REPEATS: &str = "3";
/// What a run of ours may take.
const LIMIT: Duration = Duration::from_secs(60);
/// What verdicts say if the client is the limit, or shares the processors with the server.
const OWN_LIMIT: [&str; 2] = ["Limited by the clients' processors", "which clients and server share here"];

/// What the verdict says if other programs used the processors.
const DISTURBED: &str = "Limited by other programs";

/// The same work for both.
struct LoadPair {
    name: &'static str,
    /// The load program's file and words.
    load: (&'static str, &'static str),
    /// The words of `fourfold bench`.
    bench: &'static str,
}

const PAIRS: &[LoadPair] = &[
    LoadPair {
        name: "write 256 MiB q4",
        load: ("fresh", "new --size 268435456 --depth 4"),
        bench: "--workload seq-write --scale 0.5",
    },
    LoadPair {
        name: "read 1 GiB q4",
        load: ("fresh", "read --size 268435456 --depth 4 --passes 4"),
        bench: "--workload seq-read --scale 2",
    },
    LoadPair {
        name: "read 1 KiB q1",
        load: ("fresh", "small --block 1024 --size 104857600 --seconds 1.5"),
        bench: "--workload small-read-1K --time 2",
    },
];

/// Measures the pairs of all protocols whose load program can be built.
pub fn run(rounds: usize, libsmb2: Option<&Path>) -> Result<()> {
    ensure!(isolate::is_isolated(), "as root only, and where namespaces may be made");
    let (mut too_slow, mut disturbed) = (Vec::new(), Vec::new());
    println!("| row | C program | fourfold bench | ratio | |\n|---|---|---|---|---|");
    for protocol in
        [ComparedProtocol::Nfs, ComparedProtocol::Smb, ComparedProtocol::Afp, ComparedProtocol::Iscsi]
    {
        let Some(place) = protocol.own_place(libsmb2)? else {
            println!("| {} | no libsmb2 | | | not measured |", protocol.title());
            continue;
        };
        // A disk that the load program has filled is not empty: each has its own.
        let servers = [
            protocol.start(&place, MeasuredServer::Ours, "-load")?,
            protocol.start(&place, MeasuredServer::Ours, "-own")?,
        ];
        // The load program writes a disk in place, and ours writes a new one: only reads are the same.
        if !protocol.has_files() {
            load(protocol, &place, &servers[0], &PAIRS[0])?;
        }
        let is_same = |pair: &&LoadPair| protocol.has_files() || !pair.load.1.starts_with("new ");
        for pair in PAIRS.iter().filter(is_same) {
            let line = measured(protocol, &place, &servers, pair, rounds.min(5))?;
            println!("{}", line.text);
            match line.judged {
                PairVerdict::Ok | PairVerdict::ClientIsTheLimit => {}
                PairVerdict::Disturbed => disturbed.push(format!("{} {}", protocol.title(), pair.name)),
                PairVerdict::FallsShort => too_slow.push(format!("{} {}", protocol.title(), pair.name)),
            }
        }
        if protocol.has_files() {
            folder::remove(&place.folder, "fresh")?;
        }
    }
    ensure!(too_slow.is_empty(), "fourfold bench is too slow a client: {}", too_slow.join(", "));
    ensure!(
        disturbed.is_empty(),
        "other programs used the processors during {}: measure these rows again on an idle machine",
        disturbed.join(", ")
    );
    Ok(())
}

struct LoadLine {
    text: String,
    judged: PairVerdict,
}

/// What a pair of runs shows.
#[derive(Clone, Copy)]
enum PairVerdict {
    Ok,
    /// The report of `fourfold bench` says so itself.
    ClientIsTheLimit,
    /// The figures say nothing.
    Disturbed,
    FallsShort,
}

impl PairVerdict {
    fn new(ratio: f64, verdict: &str) -> Self {
        if ratio >= BAR {
            Self::Ok
        } else if OWN_LIMIT.iter().any(|text| verdict.contains(text)) {
            Self::ClientIsTheLimit
        } else if verdict.contains(DISTURBED) {
            Self::Disturbed
        } else {
            Self::FallsShort
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ClientIsTheLimit => "the report says that the client is the limit",
            Self::Disturbed => "disturbed by other programs: measure again",
            Self::FallsShort => "falls short",
        }
    }
}

fn measured(
    protocol: ComparedProtocol,
    place: &ComparisonPlace,
    [theirs, own]: &[Contestant; 2],
    pair: &LoadPair,
    rounds: usize,
) -> Result<LoadLine> {
    let (mut loads, mut benches, mut verdict) = (Vec::new(), Vec::new(), String::new());
    // Round 0 warms up.
    for round in 0..=rounds {
        let load = load(protocol, place, theirs, pair)?;
        let (bench, said) = bench(protocol, own, pair)?;
        if round > 0 {
            loads.push(load);
            benches.push(bench);
            verdict = said;
        }
    }
    let (load, bench) = (best(&loads), best(&benches));
    let ratio = bench / load.max(1.0);
    let judged = PairVerdict::new(ratio, &verdict);
    let (load, bench) = (load / 1e6, bench / 1e6);
    let name = format!("{} {}", protocol.title(), pair.name);
    let text = format!("| {name} | {load:.1} MB/s | {bench:.1} MB/s | {ratio:.2} | {} |", judged.text());
    Ok(LoadLine { text, judged })
}

/// The best run: other programs only make runs slower.
pub(super) fn best(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The load program's bytes per second.
fn load(
    protocol: ComparedProtocol,
    place: &ComparisonPlace,
    server: &Contestant,
    pair: &LoadPair,
) -> Result<f64> {
    let (file, words) = pair.load;
    // The file is new in each round; a disk has no names, and is written in place.
    let words = if protocol.has_files() { words.to_owned() } else { words.replace("new ", "write ") };
    if words.starts_with("new ") {
        folder::remove(&place.folder, file)?;
    }
    let mut args: Vec<String> = words.split(' ').map(str::to_owned).collect();
    args.extend(["--file".to_owned(), if protocol.has_files() { file } else { "one" }.to_owned()]);
    args.extend_from_slice(&server.reach);
    rustix::fs::sync(); // no run pays for the dirty data of another
    let measured = loader::load(&place.load, &args, server.running.pid())?;
    Ok(measured.bytes as f64 / measured.seconds)
}

/// Our bytes per second, and the report.
fn bench(protocol: ComparedProtocol, server: &Contestant, pair: &LoadPair) -> Result<(f64, String)> {
    let option = |name: &str| server.option(name);
    let host = |port: &String| format!("127.0.0.1:{port}");
    let user = || Ok::<_, anyhow::Error>(option("--user")?.clone());
    let url = match protocol {
        ComparedProtocol::Nfs => {
            let (port, uid) = (option("--nfs-port")?, server::UID_TEXT);
            format!("nfs://{}/share?uid={uid}&gid={uid}", host(port))
        }
        ComparedProtocol::Smb => format!("smb://{}@{}/share", user()?, host(option("--port")?)),
        ComparedProtocol::Afp => {
            format!("afp://{}@{}/share?login=cleartext", user()?, host(option("--port")?))
        }
        _ => format!("iscsi://{}/{}/0", host(option("--port")?), option("--target")?),
    };
    let password = option("--password").map_or("", String::as_str);
    let (runs, said) = runs(&url, password, pair.bench)?;
    let mut speeds = Vec::new();
    for run in runs {
        speeds.push(number(&run, "bytes")? / number(&run, "seconds")?);
    }
    Ok((best(&speeds), said))
}

/// A number in a record of `fourfold bench`.
pub(super) fn number(record: &serde_json::Value, key: &str) -> Result<f64> {
    record[key].as_f64().with_context(|| format!("no {key}"))
}

/// Runs `fourfold bench` with these words: its runs, and the report.
pub(super) fn runs(url: &str, password: &str, words: &str) -> Result<(Vec<serde_json::Value>, String)> {
    let folder = process::fresh_folder("compare/bench")?;
    let (output, file) = (folder.join("raw").display().to_string(), folder.join("password"));
    std::fs::write(&file, password)?;
    let file = file.display().to_string();
    let mut args = vec!["bench", url, "--repeats", REPEATS, "--output", &output];
    args.extend(words.split(' '));
    if url.contains('@') {
        args.extend(["--password-file", &file]);
    }
    rustix::fs::sync(); // no run pays for the dirty data of another
    let output_of = process::output(server::binary(), &args, LIMIT)?;
    let said = String::from_utf8_lossy(&output_of.stdout).into_owned();
    ensure!(output_of.status.success(), "fourfold bench {url}: {said}");
    let text = std::fs::read_to_string(format!("{output}.jsonl"))?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let runs: Vec<_> = lines.filter(|line| line["kind"] == "run").collect();
    ensure!(!runs.is_empty(), "fourfold bench {url}: no result");
    Ok((runs, said))
}
