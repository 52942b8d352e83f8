//! What an index costs those who use its share: the processor time that the server needs for an operation, and how long the client
//! waits, with `search = "names"` and with `"off"`.
//!
//! ```text
//! round:  off ─ all rows ─► names ─ all rows ─► off ─ all rows ─►      names, with an empty state folder ─ the rows beside a build
//! ```
//!
//! One server has one folder, and reads its settings anew between the runs: so both have the same files, caches and memory. The
//! index's own threads are counted apart. The difference between both runs without an index is the noise of the machine.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::ADA;
use crate::compare::folder;
use crate::compare::median;
use crate::process::Running;
use crate::server::{self, ExportAddress, UID};
use crate::{loader, ports, process};

/// The names of the threads that only an index needs. `changes` hears of what local programs do.
const INDEX_THREADS: [&str; 3] = ["search", "search events", "changes"];
/// What the threads that answer requests may need more for an operation, in percent: beside an index that is built, and while it
/// is built.
const BARS: [f64; 2] = [1.0, 5.0];
/// Creations and removals may need more: both are told to the index, by the server and by the host.
const BAR_OF_NAMES: f64 = 10.0;
/// The index is at rest if its threads have used less than `REST` in this time.
const LOOK_EVERY: Duration = Duration::from_millis(600);
const REST: f64 = 0.002;
/// The longest time until a reload is done, or the index is built.
const LIMIT: Duration = Duration::from_secs(900);
/// Files that are written and read, of 16 MiB each.
const FILES: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaks {
    Nfs,
    Smb,
    Afp,
}

/// An operation, and the words of the load program.
struct ServiceRow {
    name: &'static str,
    speaks: Speaks,
    words: &'static str,
    /// Files, or how often 16 MiB are passed.
    times: usize,
}

const fn row(name: &'static str, speaks: Speaks, words: &'static str, times: usize) -> ServiceRow {
    ServiceRow { name, speaks, words, times }
}

const BLOCKS: &str = "--size 16777216 --file one --block";

/// Rows that remove files come after those that make them.
const ROWS: &[ServiceRow] = &[
    row("NFS write 4 KiB", Speaks::Nfs, "write 4096", 4),
    row("NFS write 4 KiB, 16 clients", Speaks::Nfs, "write 4096 --clients 16", 1),
    row("NFS write 1 MiB", Speaks::Nfs, "write 1048576 --depth 4", 40),
    row("NFS read 4 KiB", Speaks::Nfs, "read 4096", 4),
    row("NFS CREATE + WRITE 4 KiB", Speaks::Nfs, "create", 4_000),
    row("NFS LOOKUP + GETATTR", Speaks::Nfs, "stat", 4_000),
    row("NFS REMOVE", Speaks::Nfs, "remove", 4_000),
    row("SMB write 4 KiB", Speaks::Smb, "write 4096", 4),
    row("SMB write 4 KiB, 16 clients", Speaks::Smb, "write 4096 --clients 16", 1),
    row("SMB write 1 MiB", Speaks::Smb, "write 1048576 --depth 4", 40),
    row("SMB read 4 KiB", Speaks::Smb, "read 4096", 4),
    row("SMB CREATE + WRITE 4 KiB + CLOSE", Speaks::Smb, "create", 4_000),
    row("SMB stat", Speaks::Smb, "stat", 4_000),
    row("SMB remove", Speaks::Smb, "remove", 4_000),
    row("AFP write 4 KiB", Speaks::Afp, "write 4096", 4),
    row("AFP create + write 4 KiB + close", Speaks::Afp, "create", 4_000),
    row("AFP stat", Speaks::Afp, "stat", 4_000),
    row("AFP delete", Speaks::Afp, "remove", 4_000),
];

impl ServiceRow {
    fn changes_names(&self) -> bool {
        ["create", "remove"].contains(&self.words)
    }

    /// Whether it is measured while the index is built. Such a row is short.
    fn is_beside_a_build(&self) -> bool {
        self.words == "write 4096" || self.words == "read 4096"
    }

    fn bar(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Building => BARS[1],
            _ if self.changes_names() => BAR_OF_NAMES,
            _ => BARS[0],
        }
    }

    /// `own` makes the names of new files those of this run.
    fn args(&self, own: &str) -> Vec<String> {
        let words = match self.words.split_once(' ') {
            Some((workload, block)) => format!("{workload} {BLOCKS} {block} --passes {}", self.times),
            None => format!("{} --block 4096 --count {} --file new-{own}-", self.words, self.times),
        };
        words.split(' ').map(str::to_owned).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Off,
    Indexed,
    OffAgain,
    Building,
}

/// What an operation took in one run, in microseconds.
#[derive(Clone, Copy)]
struct ServiceSample {
    /// The processor time of all threads but the index's.
    requests: f64,
    /// That of the index's threads while the clients worked.
    index: f64,
    /// From one operation to the next, as the clients see it.
    clients: f64,
}

/// The server, and how the load programs reach it.
struct ServiceBench {
    running: Running,
    settings: PathBuf,
    state: PathBuf,
    /// The settings but for `search`.
    text: String,
    loads: Vec<(Speaks, PathBuf, Vec<String>)>,
}

/// Measures all rows, and prints the table. `folder` has the files that are indexed.
pub fn run(folder: &Path, rounds: usize, libsmb2: Option<&Path>) -> Result<()> {
    let bench = ServiceBench::start(folder, libsmb2)?;
    let rows: Vec<&ServiceRow> = ROWS.iter().filter(|row| bench.load_of(row).is_some()).collect();
    bench.search("names")?;
    for row in &rows {
        bench.measure(row, "warm")?;
    }
    let mut rounds_of: Vec<Vec<[ServiceSample; 3]>> = vec![Vec::new(); rows.len()];
    let mut building: Vec<Vec<[ServiceSample; 2]>> = vec![Vec::new(); rows.len()];
    for round in 0..rounds.max(1) {
        let off = bench.phase(&rows, Phase::Off, round)?;
        let names = bench.phase(&rows, Phase::Indexed, round)?;
        let again = bench.phase(&rows, Phase::OffAgain, round)?;
        for (at, row) in rows.iter().enumerate() {
            rounds_of[at].push([off[at], names[at], again[at]]);
            if row.is_beside_a_build() {
                bench.build_anew()?;
                building[at].push([off[at], bench.measure(row, "building")?]);
            }
        }
    }
    println!(
        "\n| operation | µs of the processor without | with | more | noise | clients wait | threads of the index, µs |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut above = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        above.extend(print_row(row, Phase::Indexed, &rounds_of[at]));
    }
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.is_beside_a_build()) {
        // The noise is that of the runs beside a finished index.
        let with = building[at].iter().zip(&rounds_of[at]);
        let runs: Vec<_> = with.map(|([off, built], [.., again])| [*off, *built, *again]).collect();
        above.extend(print_row(row, Phase::Building, &runs));
    }
    ensure!(above.is_empty(), "an index costs more than the bar: {}", above.join(", "));
    Ok(())
}

/// Prints the line of a row. Returns its name if it is above its bar by more than the noise.
fn print_row(row: &ServiceRow, phase: Phase, rounds: &[[ServiceSample; 3]]) -> Option<String> {
    let median_of = |of: &dyn Fn(&[ServiceSample; 3]) -> f64| median(rounds.iter().map(of));
    let without = |[off, _, again]: &[ServiceSample; 3]| (off.requests + again.requests) / 2.0;
    let more = median_of(&|round| round[1].requests / without(round) * 100.0 - 100.0);
    let noise = median_of(&|[off, _, again]| (again.requests / off.requests * 100.0 - 100.0).abs());
    let waits =
        median_of(&|[off, with, again]| with.clients / ((off.clients + again.clients) / 2.0) * 100.0 - 100.0);
    let name = match phase {
        Phase::Building => format!("{}, while the index is built", row.name),
        _ => row.name.to_owned(),
    };
    println!(
        "| {name} | {:.2} | {:.2} | {more:+.1} % | {noise:.1} % | {waits:+.1} % | {:.2} |",
        median_of(&without),
        median_of(&|round| round[1].requests),
        median_of(&|round| round[1].index),
    );
    (more > row.bar(phase) + noise).then_some(name)
}

impl ServiceBench {
    fn start(folder: &Path, libsmb2: Option<&Path>) -> Result<Self> {
        chown(folder, Some(UID), Some(UID))?;
        for number in 0..FILES {
            folder::file(&folder.join(format!("one.{number}")), 16, UID)?;
        }
        let state = process::fresh_folder("compare/state-search")?;
        let settings = state.with_extension("toml");
        let text = format!(
            "[server]\nafp-logins = [\"cleartext\"]\nbonjour = \"off\"\n\n\
             [[share]]\nname = \"share\"\npath = \"{}\"\nguests = true\n",
            folder.display()
        );
        fs::write(&settings, &text)?;
        server::add_user_with(&state, ADA.name, ADA.password, UID, &["--legacy-password"])?;
        let ports = [ports::free_port()?, ports::free_port()?, ports::free_port()?];
        let [nfs, smb, afp] = ports.map(|port| port.to_string());
        // How often a loop polls for the next request depends on the machine.
        let start = || {
            let words = ["--nfs-port", &nfs, "--smb-port", &smb, "--afp-port", &afp];
            server::ours_with_settings(&settings, &state, &words)
        };
        let running = server::with_options(&["--poll", "off"], start)?;
        let account = |port: &str| {
            ["--port", port, "--share", "share", "--user", ADA.name, "--password", ADA.password]
                .map(str::to_owned)
                .to_vec()
        };
        let to = ExportAddress { export: "/share".into(), nfs_port: ports[0], mount_port: ports[0] };
        let mut loads = vec![
            (Speaks::Nfs, loader::compile("load")?, loader::nfs_options(&to)),
            (Speaks::Afp, loader::compile_afp()?, account(&afp)),
        ];
        match loader::compile_smb(libsmb2)? {
            Some(program) => loads.push((Speaks::Smb, program, account(&smb))),
            None => println!("without SMB: {}", loader::NO_LIBSMB2),
        }
        Ok(Self { running, settings, state, text, loads })
    }

    fn load_of(&self, row: &ServiceRow) -> Option<&(Speaks, PathBuf, Vec<String>)> {
        self.loads.iter().find(|(speaks, ..)| *speaks == row.speaks)
    }

    fn phase(&self, rows: &[&ServiceRow], phase: Phase, round: usize) -> Result<Vec<ServiceSample>> {
        self.search(if phase == Phase::Indexed { "names" } else { "off" })?;
        rows.iter().map(|row| self.measure(row, &format!("{round}{}", phase as u8))).collect()
    }

    fn measure(&self, row: &ServiceRow, own: &str) -> Result<ServiceSample> {
        let (_, program, reach) = self.load_of(row).context("a row without its load program")?;
        rustix::fs::sync(); // no run pays for the dirty data of another
        let before = self.index_seconds()?.unwrap_or_default();
        let run = loader::load(program, &[row.args(own), reach.clone()].concat(), self.running.pid())?;
        let index = self.index_seconds()?.unwrap_or_default() - before;
        let each = |seconds: f64| seconds * 1e6 / run.ops.max(1) as f64;
        Ok(ServiceSample { requests: each(run.cpu - index), index: each(index), clients: each(run.seconds) })
    }

    /// Has the server read its settings anew, and waits until the index is there and at rest, or gone.
    fn search(&self, search: &str) -> Result<()> {
        self.reload(search)?;
        let begun = Instant::now();
        let mut before = f64::NEG_INFINITY;
        while let Some(now) = self.index_seconds()?
            && now - before > REST
        {
            ensure!(begun.elapsed() < LIMIT, "the index is not at rest after {LIMIT:?}");
            before = now;
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Has the index built again from nothing. Returns when it has begun.
    fn build_anew(&self) -> Result<()> {
        self.reload("off")?;
        fs::remove_dir_all(self.state.join("search")).context("no index in the state folder")?;
        self.reload("names")
    }

    fn reload(&self, search: &str) -> Result<()> {
        fs::write(&self.settings, format!("{}search = \"{search}\"\n", self.text))?;
        let pid = Pid::from_raw(self.running.pid().cast_signed()).context("no process")?;
        kill_process(pid, Signal::HUP)?;
        let begun = Instant::now();
        while self.index_seconds()?.is_some() != (search != "off") {
            ensure!(begun.elapsed() < LIMIT, "a reload to search = \"{search}\" has no effect");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The processor time that the threads of the index have used, in seconds. `None` if there is no index.
    fn index_seconds(&self) -> Result<Option<f64>> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.running.pid()))?.flatten();
        let used = tasks.filter_map(|task| {
            let name = fs::read_to_string(task.path().join("comm")).ok()?;
            let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let nanoseconds: f64 = times.split(' ').next()?.parse().ok()?;
            INDEX_THREADS.contains(&name.trim_end()).then_some(nanoseconds / 1e9)
        });
        Ok(used.reduce(|all, one| all + one))
    }
}
