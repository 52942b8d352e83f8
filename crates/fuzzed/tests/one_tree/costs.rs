//! What the operations of each protocol cost the server: calls of the host, locks, allocations. docs/design/costs.md has the table,
//! and no operation may cost more.
//!
//! ```text
//! the test ─► strace ─► this program again, with `measured` only ─► rounds of operations over a folder of the host
//!                          each request is between two calls of a marked path, which strace sees (`link.rs`)
//! ```
//!
//! Sockets and their loop are not part of it: `cargo xtask compare calls` counts those, too. After a cut write the table anew:
//! `FOURFOLD_WRITE_DOCS=1 cargo test -p fourfold-fuzz --test one_tree costs`.

use std::alloc::System;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use auth::{Grantee, Role, RoleEntry, Roles};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use vfs::backend::host::{Host, HostOptions, as_ourselves};

use crate::op::*;
use crate::world::{self, World};

/// Counts what this program allocates. Only [`measured`] reads it, in a process of its own.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The name of [`measured`], and the variable that says that it runs.
const MEASURED: &str = "costs::measured";
const RUNS: &str = "FOURFOLD_MEASURES_COSTS";
/// How the lines of [`measured`] begin.
const MARK: &str = "cost of";
/// The calls with these paths are the ends of a request.
const BEGIN: &str = "/fourfold-cost/begin/";
const END: &str = "/fourfold-cost/end/";
/// Rounds that are not counted: files and folders become known.
const WARM: usize = 4;
const ROUNDS: usize = 9;
/// How much a request does for others, such as to take the host's notices, depends on the moment. So the page has the usual cost in
/// the dearest of so many runs, and the least of all rounds, of so many runs at most, must not be above it.
const RUNS_AT_MOST: usize = 5;
/// What locks and allocations may differ by: one part in so many, rounded up.
const SLACK: u64 = 10;
const PAGE: &str = "docs/design/costs.md";
const TABLE: [&str; 2] = ["<!-- begin: costs -->", "<!-- end: costs -->"];
/// The file system that the page is about: `f_type` of ext4, statfs(2). On others the host has other calls (a read from memory without
/// waiting takes two on tmpfs).
const FILE_SYSTEM: u64 = 0xEF53;
/// Where the folders are: /tmp is often a tmpfs.
const GROUND: &str = env!("CARGO_TARGET_TMPDIR");
const SLOT: Slot = 0;
/// The row of what is not counted.
const NO_ROW: usize = usize::MAX;
/// The standard library asks in debug builds whether what it closes is open.
const ONLY_DEBUG: &str = "fcntl";

/// What one operation takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cost {
    requests: u64,
    /// `None`: not counted.
    calls: Option<u64>,
    locks: u64,
    allocations: u64,
}

thread_local! {
    static ROW: Cell<usize> = const { Cell::new(NO_ROW) };
    static SPENT: Cell<Cost> = const { Cell::new(Cost { requests: 0, calls: None, locks: 0, allocations: 0 }) };
    static BEGAN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Whether this process is the one that is measured.
pub fn are_measured() -> bool {
    static RUNS_HERE: OnceLock<bool> = OnceLock::new();
    *RUNS_HERE.get_or_init(|| std::env::var_os(RUNS).is_some())
}

/// A server is about to get a request.
pub fn begin() {
    if are_measured() {
        mark(BEGIN);
        BEGAN.set(counters());
    }
}

/// It has answered the request.
pub fn end() {
    if are_measured() {
        let ((locks, allocations), now) = (BEGAN.get(), counters());
        let spent = SPENT.get();
        SPENT.set(Cost {
            requests: spent.requests + 1,
            locks: spent.locks + now.0 - locks,
            allocations: spent.allocations + now.1 - allocations,
            calls: None,
        });
        mark(END);
    }
}

fn counters() -> (u64, u64) {
    let stats = INSTRUMENTED_SYSTEM.stats();
    (lock::taken(), (stats.allocations + stats.reallocations) as u64)
}

fn mark(which: &str) {
    let _ = std::fs::metadata(format!("{which}{}", ROW.get())); // strace sees it
}

/// One line of the table: a name, and the operation with this client.
struct Row {
    name: &'static str,
    step: Step,
    who: Who,
    in_team: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Make,
    Stat,
    GetAttributes,
    Open,
    Write,
    Read,
    Close,
    Rename,
    Remove,
}

const fn row(name: &'static str, who: Who, step: Step) -> Row {
    Row { name, step, who, in_team: false }
}

const fn in_team(name: &'static str, who: Who, step: Step) -> Row {
    Row { name, step, who, in_team: true }
}

/// The rows of one client are a round, in this order.
const ROWS: &[Row] = &[
    row("NFSv3 CREATE", Nfs3A, Step::Make),
    row("NFSv3 LOOKUP", Nfs3A, Step::Open),
    row("NFSv3 GETATTR", Nfs3A, Step::GetAttributes),
    row("NFSv3 WRITE 4 KiB", Nfs3A, Step::Write),
    row("NFSv3 READ 4 KiB", Nfs3A, Step::Read),
    row("NFSv3 RENAME", Nfs3A, Step::Rename),
    row("NFSv3 REMOVE", Nfs3A, Step::Remove),
    row("NFSv4 OPEN that makes a file, CLOSE", Nfs4A, Step::Make),
    row("NFSv4 LOOKUP, GETATTR", Nfs4A, Step::Stat),
    row("NFSv4 OPEN", Nfs4A, Step::Open),
    row("NFSv4 WRITE 4 KiB", Nfs4A, Step::Write),
    row("NFSv4 READ 4 KiB", Nfs4A, Step::Read),
    row("NFSv4 CLOSE", Nfs4A, Step::Close),
    row("NFSv4 RENAME", Nfs4A, Step::Rename),
    row("NFSv4 REMOVE", Nfs4A, Step::Remove),
    row("SMB CREATE of a new file, CLOSE", SmbA, Step::Make),
    row("SMB CREATE, CLOSE", SmbA, Step::Stat),
    row("SMB CREATE to write", SmbA, Step::Open),
    row("SMB WRITE 4 KiB", SmbA, Step::Write),
    row("SMB READ 4 KiB", SmbA, Step::Read),
    row("SMB CLOSE", SmbA, Step::Close),
    row("SMB CREATE, SET_INFO (rename), CLOSE", SmbA, Step::Rename),
    row("SMB CREATE, SET_INFO (delete), CLOSE", SmbA, Step::Remove),
    row("AFP FPCreateFile", AfpA, Step::Make),
    row("AFP FPGetFileDirParms", AfpA, Step::Stat),
    row("AFP FPOpenFork", AfpA, Step::Open),
    row("AFP FPWriteExt 4 KiB", AfpA, Step::Write),
    row("AFP FPReadExt 4 KiB", AfpA, Step::Read),
    row("AFP FPCloseFork", AfpA, Step::Close),
    row("AFP FPMoveAndRename", AfpA, Step::Rename),
    row("AFP FPDelete", AfpA, Step::Remove),
    in_team("team folder: NFSv3 CREATE", Nfs3A, Step::Make),
    in_team("team folder: NFSv3 LOOKUP", Nfs3A, Step::Open),
    in_team("team folder: NFSv3 WRITE 4 KiB", Nfs3A, Step::Write),
    in_team("team folder: NFSv3 REMOVE", Nfs3A, Step::Remove),
    in_team("team folder: SMB CREATE of a new file, CLOSE", SmbA, Step::Make),
    in_team("team folder: SMB CREATE to write", SmbA, Step::Open),
    in_team("team folder: SMB WRITE 4 KiB", SmbA, Step::Write),
    in_team("team folder: SMB CLOSE", SmbA, Step::Close),
    in_team("team folder: SMB CREATE, SET_INFO (delete), CLOSE", SmbA, Step::Remove),
    in_team("team folder: AFP FPCreateFile", AfpA, Step::Make),
    in_team("team folder: AFP FPOpenFork", AfpA, Step::Open),
    in_team("team folder: AFP FPWriteExt 4 KiB", AfpA, Step::Write),
    in_team("team folder: AFP FPCloseFork", AfpA, Step::Close),
    in_team("team folder: AFP FPDelete", AfpA, Step::Remove),
];

impl Row {
    fn op(&self, is_renamed: bool) -> Option<Op> {
        let (who, at, range) = (self.who, if is_renamed { "b" } else { "a" }, At(0, 4096));
        let access = Modes { r: true, w: true, d: false };
        Some(match self.step {
            Step::Make => Op::Make(who, at),
            Step::Stat => Op::Stat(who, at),
            Step::GetAttributes => return None,
            Step::Open => Op::Open { who, at, fork: Fork::Data, access, deny: Modes::default(), slot: SLOT },
            Step::Write => Op::Write(SLOT, range, 65),
            Step::Read => Op::Read(SLOT, range),
            Step::Close => Op::Close(SLOT),
            Step::Rename => Op::Rename { who, from: "a", to: "b", replace: false },
            Step::Remove => Op::Remove(who, at),
        })
    }
}

/// Rounds of all rows over folders of the host. Prints a line for each row and round.
#[test]
#[ignore = "a part of the other test"]
fn measured() {
    let roles = |world: &World| {
        let grantee = Grantee::User { name: world::user().name.clone(), uid: Some(world::user().uid) };
        let entry = RoleEntry { role: Role::Editor, grantee };
        world.set_roles(Arc::new(Roles::new(vec![entry])));
    };
    for is_team in [false, true] {
        let folder = || tempfile::tempdir_in(GROUND);
        let folder = as_ourselves(folder).expect("the server's ids").expect("a folder");
        let uid = world::user().uid;
        let chown = || std::os::unix::fs::chown(folder.path(), Some(uid), Some(100));
        as_ourselves(chown).expect("the server's ids").expect("a folder of the user");
        let open = || Host::open(folder.path(), &HostOptions::default());
        let host = as_ourselves(open).expect("the server's ids").expect("a folder of the host");
        let mut world = World::new(Arc::new(host));
        if is_team {
            roles(&world);
        }
        for who in [Nfs3A, Nfs4A, SmbA, AfpA] {
            let is_of_round = |row: &&Row| row.who == who && row.in_team == is_team;
            for round in 0..WARM + ROUNDS {
                let mut is_renamed = false;
                for row in ROWS.iter().filter(is_of_round) {
                    let index = ROWS.iter().position(|other| std::ptr::eq(other, row)).expect("a row");
                    ROW.set(if round < WARM { NO_ROW } else { index });
                    SPENT.set(Cost::default());
                    match row.op(is_renamed) {
                        Some(op) => _ = world.apply(&op, |_| who).expect(row.name),
                        None => world.nfs3_getattr(),
                    }
                    ROW.set(NO_ROW);
                    is_renamed |= row.step == Step::Rename;
                    let Cost { requests, locks, allocations, .. } = SPENT.get();
                    if round >= WARM {
                        println!("{MARK} {index}: {requests} {locks} {allocations}");
                    }
                }
            }
        }
    }
}

/// The calls of each request between its marks, by row: one number for each round, if a round is one or more requests of the
/// same row one after another.
fn calls_in(trace: &str) -> BTreeMap<usize, Vec<Vec<String>>> {
    let mut all: BTreeMap<usize, Vec<Vec<String>>> = BTreeMap::new();
    let mut open: Option<(&str, usize, Vec<String>)> = None;
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let marked = |mark: &str| -> Option<usize> {
            call.split_once(mark)?.1.split('"').next()?.parse().ok().filter(|row| *row < ROWS.len())
        };
        if let Some(row) = marked(BEGIN) {
            open = Some((thread, row, Vec::new()));
        } else if let Some(row) = marked(END) {
            if let Some((_, begun, calls)) = open.take().filter(|(_, begun, _)| *begun == row) {
                all.entry(begun).or_default().push(calls);
            }
        } else if let Some((own, _, calls)) = &mut open
            && *own == thread
            && !call.starts_with(['<', '+', '-'])
        {
            let name = call.split('(').next().unwrap_or_default();
            if name != ONLY_DEBUG {
                calls.push(name.to_owned());
            }
        }
    }
    all
}

/// What the rounds of a row cost.
#[derive(Debug, Clone, Copy)]
struct RowCost {
    least: Cost,
    usual: Cost,
}

/// The least and the median of some numbers.
#[derive(Clone, Copy)]
struct Spread {
    least: u64,
    usual: u64,
}

impl Spread {
    fn of(mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        Self { least: numbers[0], usual: numbers[numbers.len() / 2] }
    }
}

/// The costs of all rows in one run.
fn costs() -> Vec<RowCost> {
    let trace = tempfile::tempdir().expect("a folder");
    let trace = trace.path().join("trace");
    let program = std::env::current_exe().expect("this program");
    let traces = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let has_strace = traces.is_ok_and(|traced| traced.status.success());
    let mut command = Command::new(if has_strace { Path::new("strace") } else { &program });
    if has_strace {
        command.args(["-f", "-qq", "-s", "64", "-o"]).arg(&trace).arg(&program);
    }
    let arguments = [MEASURED, "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let run = command.args(arguments).env(RUNS, "1").output().expect("this program");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    let trace = std::fs::read_to_string(&trace).unwrap_or_default();
    let called = calls_in(&trace);
    if std::env::var_os("FOURFOLD_SHOW_CALLS").is_some() {
        for (row, requests) in &called {
            let of_round = &requests[requests.len() - requests.len() / ROUNDS..];
            let of_round: Vec<String> = of_round.iter().map(|calls| calls.join(" ")).collect();
            println!("{}: {}", ROWS[*row].name, of_round.join(" | "));
        }
    }
    let of_row = |index: usize| {
        let begins = format!("{MARK} {index}: ");
        let lines: Vec<Vec<u64>> = said
            .lines()
            .filter_map(|line| line.strip_prefix(&begins))
            .map(|numbers| numbers.split(' ').map(|number| number.parse().expect("a number")).collect())
            .collect();
        let column = |at: usize| Spread::of(lines.iter().map(|line| line[at]).collect());
        let requests = column(0);
        let calls = called.get(&index).map(|calls| {
            let lengths: Vec<u64> = calls.iter().map(|calls| calls.len() as u64).collect();
            Spread::of(lengths.chunks(requests.usual as usize).map(|round| round.iter().sum()).collect())
        });
        let (locks, allocations) = (column(1), column(2));
        let cost = |number: fn(Spread) -> u64| Cost {
            requests: number(requests),
            calls: calls.map(number),
            locks: number(locks),
            allocations: number(allocations),
        };
        RowCost { least: cost(|spread| spread.least), usual: cost(|spread| spread.usual) }
    };
    (0..ROWS.len()).map(of_row).collect()
}

impl RowCost {
    /// With another run.
    fn and(self, other: Self) -> Self {
        Self { least: self.least.with(other.least, u64::min), usual: self.usual.with(other.usual, u64::max) }
    }
}

impl Cost {
    fn with(self, other: Self, choose: fn(u64, u64) -> u64) -> Self {
        Self {
            requests: choose(self.requests, other.requests),
            calls: self.calls.zip(other.calls).map(|(own, other)| choose(own, other)),
            locks: choose(self.locks, other.locks),
            allocations: choose(self.allocations, other.allocations),
        }
    }

    /// Whether it is more than the numbers of a row of the page.
    fn is_above(&self, most: &[u64]) -> bool {
        let with_slack = |most: u64| most + most.div_ceil(SLACK);
        let &[requests, calls, locks, allocations] = most else { return true };
        self.requests > requests
            || self.calls.is_some_and(|now| now > calls)
            || self.locks > with_slack(locks)
            || self.allocations > with_slack(allocations)
    }
}

fn table(costs: &[RowCost]) -> String {
    let mut text =
        "| operation | requests | calls of the host | locks | allocations |\n|---|---|---|---|---|\n"
            .to_owned();
    for (row, RowCost { usual: cost, .. }) in ROWS.iter().zip(costs) {
        let calls = cost.calls.map_or_else(|| "-".into(), |calls| calls.to_string());
        let Cost { requests, locks, allocations, .. } = cost;
        let _ = writeln!(text, "| {} | {requests} | {calls} | {locks} | {allocations} |", row.name);
    }
    text
}

/// The numbers of a row of the page, from the requests on.
fn numbers_of(page: &str, name: &str) -> Option<Vec<u64>> {
    let line = page.lines().find_map(|line| line.strip_prefix(&format!("| {name} |")))?;
    line.trim_end_matches('|').split('|').map(|cell| cell.trim().parse().ok()).collect()
}

#[test]
fn no_operation_costs_more_than_the_page_says() {
    if !crate::is_root() || !cfg!(debug_assertions) {
        println!("skipped: root's calls of the host are counted, and locks of debug builds");
        return;
    }
    let file_system = rustix::fs::statfs(GROUND).expect("the folder of tests").f_type.cast_unsigned();
    if file_system != FILE_SYSTEM {
        println!("skipped: {GROUND} is on a file system of type {file_system:#x}, not on ext4");
        return;
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let page = std::fs::read_to_string(&path).expect(PAGE);
    let (before, rest) = page.split_once(TABLE[0]).expect("the beginning of the table");
    let (old, after) = rest.split_once(TABLE[1]).expect("its end");
    let writes = std::env::var_os("FOURFOLD_WRITE_DOCS").is_some();
    let most: Vec<Vec<u64>> = ROWS.iter().map(|row| numbers_of(old, row.name).unwrap_or_default()).collect();
    let mut rows = costs();
    for _ in 1..RUNS_AT_MOST {
        if !writes && rows.iter().zip(&most).all(|(row, most)| !row.least.is_above(most)) {
            break;
        }
        rows = rows.into_iter().zip(costs()).map(|(row, other)| row.and(other)).collect();
    }
    let new = table(&rows);
    if writes {
        assert!(rows.iter().all(|row| row.usual.calls.is_some()), "it needs strace");
        let written = format!("{before}{}\n\n{new}\n{}{after}", TABLE[0], TABLE[1]);
        return std::fs::write(&path, written).expect(PAGE);
    }
    println!("{new}");
    let rows = ROWS.iter().zip(rows.iter().zip(&most));
    let dearer = rows.filter(|(_, (cost, most))| cost.least.is_above(most));
    let dearer: Vec<String> = dearer
        .map(|(row, (cost, most))| format!("{}: {:?}, at most {most:?}", row.name, cost.least))
        .collect();
    assert!(dearer.is_empty(), "dearer than {PAGE} says:\n{}", dearer.join("\n"));
}
