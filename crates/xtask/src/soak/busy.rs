//! The doctor on a busy loopback: nothing is wrong there, so whatever it names is a false alarm.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::server::{SoakProtocol, SoakServer, runs};
use crate::process::{self, Running};

/// How often the server is asked.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// The doctor looks more often than usual: what it could see falsely in an hour, it sees here in twelve minutes.
const SETTINGS: &str = "doctor-interval = \"1 s\"\n";
/// What the clients do, one after the other: streams, small requests, listings, many files, and both directions at once.
const OF_FILES: &str = "seq-read,small-read-1K,seq-write,small-write-1K,enumerate,create-stat-delete,copy-tree,open-155-images,\
                        random-read-4K,block-mix,lock-unlock,tar-tree,read-write-25-1";
const OF_DISKS: &str = "seq-read,seq-write,disk-image,block-mix,random-read-4K,read-write-25-1";
const SMALL: [&str; 10] =
    ["--scale", "0.05", "--repeats", "2", "--clients", "1,4", "--time", "10", "--timeout", "120"];
/// Size of the LUN in GiB.
const LUN: u64 = 1;

#[derive(clap::Args)]
pub struct BusyArgs {
    /// How long
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u64).range(10..=86_400))]
    seconds: u64,
}

/// A trouble that was named: when first, how often, and the sentence.
struct NamedTrouble {
    first: Duration,
    times: u64,
    text: String,
}

pub fn run(args: &BusyArgs) -> Result<()> {
    let place = process::fresh_folder("soak-busy")?;
    let folder = place.join("share");
    std::fs::create_dir(&folder)?;
    let server = SoakServer::start(&place, folder, LUN, SETTINGS)?;
    let (begun, length) = (Instant::now(), Duration::from_secs(args.seconds));
    let mut clients: Vec<ClientLoop> =
        SoakProtocol::ALL.into_iter().map(|protocol| ClientLoop::new(protocol, &place)).collect();
    let (mut named, mut asked) = (BTreeMap::<String, NamedTrouble>::new(), 0_u64);
    while begun.elapsed() < length {
        for client in &mut clients {
            client.keep_busy(&server)?;
        }
        note(&mut named, &server.status()?, begun.elapsed());
        asked += 1;
        std::thread::sleep(ASK_EVERY);
    }
    for client in &mut clients {
        client.count();
        println!(
            "{:<6} {} measurements, {} MB",
            client.protocol.name(),
            client.measurements,
            client.bytes / 1_000_000
        );
    }
    println!("{} s, asked {asked} times: {} troubles", begun.elapsed().as_secs(), named.len());
    for (what, NamedTrouble { first, times, text }) in &named {
        println!("{what}: first after {} s, seen {times} times\n    {text}", first.as_secs());
    }
    let idle: Vec<&str> =
        clients.iter().filter(|one| one.bytes == 0).map(|one| one.protocol.name()).collect();
    ensure!(idle.is_empty(), "these clients moved nothing: {}", idle.join(", "));
    ensure!(named.is_empty(), "the doctor named {} troubles where there are none", named.len());
    Ok(())
}

/// Notes the troubles of a status.
fn note(named: &mut BTreeMap<String, NamedTrouble>, status: &Value, after: Duration) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of_clients =
        list(&status["doctor"]["clients"]).into_iter().flat_map(|client| list(&client["troubles"]));
    for trouble in of_clients.chain(list(&status["doctor"]["machine"])) {
        let word = |key: &str| trouble[key].as_str().unwrap_or_default().to_owned();
        let new = NamedTrouble { first: after, times: 0, text: word("text") };
        // The same trouble of many connections is one.
        let what = format!("{} ({})", word("name"), word("about"));
        named.entry(what).or_insert(new).times += 1;
    }
}

/// Clients of one protocol that measure again and again.
struct ClientLoop {
    protocol: SoakProtocol,
    place: PathBuf,
    running: Option<Running>,
    measurements: usize,
    bytes: u64,
}

impl ClientLoop {
    fn new(protocol: SoakProtocol, place: &Path) -> Self {
        let place = place.join(format!("clients-{}", protocol.name()));
        Self { protocol, place, running: None, measurements: 0, bytes: 0 }
    }

    /// Starts the next measurement if the last one is over.
    fn keep_busy(&mut self, server: &SoakServer) -> Result<()> {
        if self.running.as_mut().is_some_and(|running| running.still_up().is_ok()) {
            return Ok(());
        }
        self.count();
        let workloads = if self.protocol == SoakProtocol::Iscsi { OF_DISKS } else { OF_FILES };
        let words = [&["--workload", workloads][..], &SMALL].concat();
        self.running = Some(server.bench(&self.place, &[server.url(self.protocol, "edit")], &words)?);
        Ok(())
    }

    /// Adds what the last measurement has done.
    fn count(&mut self) {
        self.running = None;
        let done = runs(&self.place);
        self.measurements += done.len();
        self.bytes += done.iter().filter_map(|run| run["bytes"].as_u64()).sum::<u64>();
        let _ = std::fs::remove_file(self.place.with_extension("jsonl")); // there may be none
    }
}
