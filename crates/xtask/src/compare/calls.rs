//! `cargo xtask compare calls`: the system calls of our server per operation. strace counts them on
//! a quiet server, while one client sends one request at a time.
//!
//! Each row runs twice, short and long. The difference between both counts has neither the
//! connection nor the login. A third run without strace tells how often the threads of the server
//! gave up their processor.

use std::collections::BTreeMap;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::folder;
use crate::process::Running;
use crate::samba::{self, SambaUser};
use crate::server::{self, ExportAddress, UID};
use crate::{debian, isolate, loader, ports, process};

pub const PACKAGES: &[&[debian::Package]] = &[debian::NFS_CLIENTS, debian::SMB_LOAD, debian::ISCSI_LOAD];

const ADA: SambaUser = SambaUser { name: "ada", password: "secret" };
const TARGET: &str = "iqn.2026-01.invalid:share.disk";
/// The number of files in the listed folder.
const ENTRIES: usize = 1_000;

/// How often a row above its limit is measured again.
const RETRIES: usize = 3;
/// Lines of strace's report that belong to no operation: the sum, and the watchdog's timer.
const NOT_COUNTED: &[&str] = &["total", "clock_nanosleep"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    Nfs,
    Smb,
    Afp,
    Iscsi,
}

/// One line of the table.
struct CallRow {
    name: &'static str,
    speaks: Speaks,
    args: &'static str,
    /// The most system calls per operation, or per list of [`ENTRIES`] files.
    most: f64,
    /// It is of the team folder, and not of the plain one.
    in_team: bool,
}

impl CallRow {
    /// Whether a second run would miss files, or find them.
    fn makes_or_removes(&self) -> bool {
        ["make ", "create ", "remove "].iter().any(|word| self.args.starts_with(word))
    }
}

const fn row(name: &'static str, speaks: Speaks, args: &'static str, most: f64) -> CallRow {
    CallRow { name, speaks, args, most, in_team: false }
}

/// The same in a team folder, as an editor: no more calls.
const fn in_team(name: &'static str, speaks: Speaks, args: &'static str, most: f64) -> CallRow {
    CallRow { name, speaks, args, most, in_team: true }
}

/// In this order: later rows need the files of earlier ones. The highest numbers are what was
/// measured on 2026-11-23, and less than a call more for the server's timers.
const ROWS: &[CallRow] = &[
    row("NFS GETATTR", Speaks::Nfs, "getattr", 4.5),
    row("NFS READ 64 KiB", Speaks::Nfs, "read --file one --block 65536", 5.5),
    row("NFS WRITE 64 KiB, UNSTABLE", Speaks::Nfs, "write --file one --block 65536", 6.5),
    row("NFS CREATE", Speaks::Nfs, "make --file bare", 8.9),
    row("NFS LOOKUP", Speaks::Nfs, "lookup --file bare", 6.9),
    row("NFS REMOVE", Speaks::Nfs, "remove --file bare", 11.9),
    row("NFS CREATE + WRITE 4 KiB", Speaks::Nfs, "create --file new --block 4096", 14.9),
    row("NFS READDIRPLUS, 1,000 files", Speaks::Nfs, "list --file dir --block 65536", 12.9),
    row("SMB CREATE + WRITE 4 KiB + CLOSE", Speaks::Smb, "create --file smb --block 4096", 18.9),
    row("SMB stat (CREATE, QUERY_INFO, CLOSE)", Speaks::Smb, "stat --file smb", 8.9),
    row("SMB remove", Speaks::Smb, "remove --file smb", 14.9),
    row("SMB READ 4 KiB", Speaks::Smb, "read --file one --block 4096", 4.5),
    row("SMB READ 64 KiB", Speaks::Smb, "read --file one --block 65536", 4.5),
    row("SMB READ 1 MiB", Speaks::Smb, "read --file one --block 1048576", 5.9),
    row("SMB WRITE 64 KiB", Speaks::Smb, "write --file one --block 65536", 4.5),
    row("AFP create + open + write 4 KiB + close", Speaks::Afp, "create --file afp --block 4096", 23.9),
    row("AFP stat", Speaks::Afp, "stat --file afp", 8.9),
    row("AFP delete", Speaks::Afp, "remove --file afp", 15.9),
    row("AFP read 4 KiB", Speaks::Afp, "read --file one --block 4096", 4.5),
    row("AFP write 4 KiB", Speaks::Afp, "write --file one --block 4096", 4.5),
    row("AFP enumerate, 1,000 files", Speaks::Afp, "list --file dir --block 65536", 12.9),
    in_team("NFS CREATE, team folder", Speaks::Nfs, "make --file bare", 8.9),
    in_team("NFS LOOKUP, team folder", Speaks::Nfs, "lookup --file bare", 6.9),
    in_team("NFS REMOVE, team folder", Speaks::Nfs, "remove --file bare", 11.9),
    in_team("NFS CREATE + WRITE 4 KiB, team folder", Speaks::Nfs, "create --file new --block 4096", 14.9),
    in_team(
        "SMB CREATE + WRITE 4 KiB + CLOSE, team folder",
        Speaks::Smb,
        "create --file smb --block 4096",
        18.9,
    ),
    in_team(
        "AFP create + open + write 4 KiB + close, team folder",
        Speaks::Afp,
        "create --file afp --block 4096",
        23.9,
    ),
    row("iSCSI read 4 KiB", Speaks::Iscsi, "random --file one --block 4096", 4.5),
    row("iSCSI read 64 KiB", Speaks::Iscsi, "random --file one --block 65536", 4.5),
    row("iSCSI write 4 KiB", Speaks::Iscsi, "scatter --file one --block 4096", 4.5),
    row("iSCSI write 64 KiB", Speaks::Iscsi, "scatter --file one --block 65536", 5.9),
];

/// System calls by name, and the operations that they were for.
#[derive(Default)]
struct CallCount {
    calls: BTreeMap<String, f64>,
    operations: f64,
}

/// A server of all protocols, and the load programs.
struct CallsBench {
    running: Running,
    options: [(Speaks, Option<PathBuf>, Vec<String>); 4],
}

/// Prints the table. Fails if a row has more calls than its limit.
pub fn run(rows: &[String], libsmb2: Option<&Path>) -> Result<()> {
    if process::find("strace").is_none() || !isolate::is_isolated() {
        println!("skipped: it needs strace, and root with the right to make namespaces");
        return Ok(());
    }
    let bench = CallsBench::start(libsmb2)?;
    let mut above = 0;
    println!("| operation | system calls | task switches | which |\n|---|---|---|---|");
    for row in ROWS.iter().filter(|row| rows.is_empty() || rows.iter().any(|part| row.name.contains(part))) {
        let Some(per_operation) = bench.measure_quietly(row)? else {
            println!("| {} | skipped: its library is missing | | |", row.name);
            continue;
        };
        let switches = bench.switches(row)?.unwrap_or_default();
        let all: f64 = per_operation.iter().map(|(_, calls)| calls).sum();
        let which: Vec<String> =
            per_operation.iter().map(|(name, calls)| format!("{name} {calls:.1}")).collect();
        let is_above = if all > row.most { format!(" (at most {})", row.most) } else { String::new() };
        above += usize::from(all > row.most);
        println!("| {} | {all:.1}{is_above} | {switches:.1} | {} |", row.name, which.join(", "));
    }
    if above > 0 {
        bail!("{above} operations take more system calls than their limit");
    }
    Ok(())
}

impl CallsBench {
    fn start(libsmb2: Option<&Path>) -> Result<Self> {
        samba::unix_users(&process::fresh_folder("compare/users")?, &[(ADA, UID)])?;
        let folder = process::fresh_folder("compare/calls")?;
        chown(&folder, Some(UID), Some(UID))?;
        folder::file(&folder.join("one.0"), 64, UID)?;
        folder::entries(&folder.join("dir"), ENTRIES, UID)?;
        let team = process::fresh_folder("compare/calls-team")?;
        chown(&team, Some(UID), Some(UID))?;
        let state = process::fresh_folder("compare/state-calls")?;
        let settings = state.with_extension("toml");
        let text = format!(
            "[server]\niscsi-name = \"iqn.2026-01.invalid\"\nafp-logins = [\"cleartext\"]\nbonjour = \"off\"\n\
             nfs-clients = \"all\"\n\n\
             [[share]]\nname = \"share\"\npath = \"{}\"\nguests = true\n\n\
             [[share.lun]]\nname = \"disk\"\nsize = \"3 GiB\"\n\n\
             [[share]]\nname = \"team\"\npath = \"{}\"\neditors = [\"{}\"]\n",
            folder.display(),
            team.display(),
            ADA.name
        );
        std::fs::write(&settings, text)?;
        server::add_user_with(&state, ADA.name, ADA.password, UID, &["--legacy-password"])?;
        let mut ports = [0; 4];
        for port in &mut ports {
            *port = ports::free_port()?;
        }
        let [nfs, smb, afp, iscsi] = ports.map(|port| port.to_string());
        let words = ["--nfs-port", &nfs, "--smb-port", &smb, "--afp-port", &afp, "--iscsi-port", &iscsi];
        // How often a loop polls for the next request depends on the machine.
        let start = || server::ours_with_settings(&settings, &state, &words);
        let running = server::with_options(&["--poll", "off"], start)?;
        let account = ["--share", "share", "--user", ADA.name, "--password", ADA.password];
        let words = |port: &str, more: &[&str]| -> Vec<String> {
            ["--port", port].iter().chain(more).map(|&word| word.to_owned()).collect()
        };
        let to = ExportAddress { export: "/share".into(), nfs_port: ports[0], mount_port: ports[0] };
        let options = [
            (Speaks::Nfs, Some(loader::compile("load")?), loader::nfs_options(&to)),
            (Speaks::Smb, loader::compile_smb(libsmb2)?, words(&smb, &account)),
            (Speaks::Afp, Some(loader::compile_afp()?), words(&afp, &account)),
            (
                Speaks::Iscsi,
                Some(loader::compile_iscsi()?),
                words(&iscsi, &["--target", TARGET, "--lun", "0"]),
            ),
        ];
        let bench = Self { running, options };
        // Holes of the disk would take other calls.
        let fill = row("", Speaks::Iscsi, "write --file one --block 1048576 --size 67108864", 0.0);
        bench.load(&fill, &[])?;
        Ok(bench)
    }

    /// As [`CallsBench::measure`]. A row above its limit is measured again: the server closes idle files
    /// and stores its index some seconds after they were used.
    fn measure_quietly(&self, row: &CallRow) -> Result<Option<Vec<(String, f64)>>> {
        let mut measured = self.measure(row)?;
        for _ in 0..RETRIES {
            let all: f64 = measured.iter().flatten().map(|(_, calls)| calls).sum();
            if all <= row.most || row.makes_or_removes() {
                break;
            }
            std::thread::sleep(Duration::from_secs(2));
            measured = self.measure(row)?;
        }
        Ok(measured)
    }

    /// System calls per operation, the most frequent ones first. `None` without a load program.
    fn measure(&self, row: &CallRow) -> Result<Option<Vec<(String, f64)>>> {
        let is_list = row.args.starts_with("list");
        let makes_files = row.speaks != Speaks::Iscsi;
        let is_stream = ["read ", "write ", "random ", "scatter "].iter().any(|w| row.args.starts_with(w));
        let count = |long: bool| -> Result<Option<CallCount>> {
            let times = if long { 5 } else { 1 };
            let more = match (is_list, is_stream) {
                (true, _) => format!("--count {ENTRIES} --passes {times}"),
                (_, true) => format!("--size 16777216 --passes {times}"),
                _ => format!("--count {}", 200 * times),
            };
            let own = if makes_files && !is_list && !is_stream { format!("{long}") } else { String::new() };
            self.count(row, &more, &own)
        };
        let (Some(short), Some(long)) = (count(false)?, count(true)?) else { return Ok(None) };
        let each = if is_list { ENTRIES as f64 } else { 1.0 };
        let operations = (long.operations - short.operations) / each;
        ensure!(operations > 0.0, "{}: no operations", row.name);
        let calls = long.calls.iter().map(|(name, calls)| {
            let before = short.calls.get(name).copied().unwrap_or(0.0);
            (name.clone(), (calls - before) / operations)
        });
        let mut calls: Vec<_> = calls.filter(|(_, calls)| *calls >= 0.05).collect();
        calls.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(Some(calls))
    }

    /// How often the threads of the server gave up their processor for each operation.
    fn switches(&self, row: &CallRow) -> Result<Option<f64>> {
        let is_list = row.args.starts_with("list");
        let more = match (is_list, row.speaks == Speaks::Iscsi || row.args.contains("one ")) {
            (true, _) => format!("--count {ENTRIES} --passes 5"),
            (_, true) => "--size 16777216 --passes 5".to_owned(),
            _ => "--count 1000".to_owned(),
        };
        let is_own = !is_list && !more.contains("passes");
        let before = switches_of(self.running.pid())?;
        let Some(operations) = self.load(row, &own_names(row, &more, if is_own { "s" } else { "" }))? else {
            return Ok(None);
        };
        let each = if is_list { ENTRIES as f64 } else { 1.0 };
        Ok(Some((switches_of(self.running.pid())? - before) / (operations / each)))
    }

    /// One run under strace. `own` makes the names of the row's files its own.
    fn count(&self, row: &CallRow, more: &str, own: &str) -> Result<Option<CallCount>> {
        let report = process::root().join("target/compare/calls.strace");
        let (pid, file) = (self.running.pid().to_string(), report.to_string_lossy().into_owned());
        let args = ["-c", "-f", "-qq", "-o", &file, "-p", &pid];
        let strace = process::find("strace").context("no strace")?;
        let mut strace = Running::start(strace, &args, Stdio::null(), Stdio::inherit())?;
        until_traced(&mut strace, &pid)?;
        let Some(operations) = self.load(row, &own_names(row, more, own))? else { return Ok(None) };
        drop(strace); // SIGTERM makes it write its report
        let text = std::fs::read_to_string(&report).context("strace wrote no report")?;
        Ok(Some(CallCount { calls: parse(&text), operations }))
    }

    /// Runs the load program. Returns the number of operations.
    fn load(&self, row: &CallRow, more: &[String]) -> Result<Option<f64>> {
        let Some((_, Some(program), reach)) = self.options.iter().find(|(speaks, ..)| *speaks == row.speaks)
        else {
            return Ok(None);
        };
        let args: Vec<String> = row.args.split(' ').map(str::to_owned).collect();
        let in_team = |word: &String| match word.as_str() {
            "/share" => "/team".to_owned(),
            "share" => "team".to_owned(),
            other => other.to_owned(),
        };
        let reach = if row.in_team { reach.iter().map(in_team).collect() } else { reach.clone() };
        let measured = loader::load(program, &[&args, more, &reach].concat(), self.running.pid())?;
        Ok(Some(measured.ops as f64))
    }
}

/// The words of a run. `own` makes the names of its files its own.
fn own_names(row: &CallRow, more: &str, own: &str) -> Vec<String> {
    let mut words: Vec<String> = more.split(' ').map(str::to_owned).collect();
    if !own.is_empty() {
        let file = row.args.split(' ').skip_while(|word| *word != "--file").nth(1).unwrap_or("none");
        words.extend(["--file".to_owned(), format!("{file}{own}")]);
    }
    words
}

/// How often the threads of a process gave up their processor because they had to wait.
fn switches_of(pid: u32) -> Result<f64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    let of_task = |task: std::fs::DirEntry| -> Option<f64> {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    Ok(tasks.filter_map(of_task).sum())
}

/// Waits until each thread of the process is traced.
fn until_traced(strace: &mut Running, pid: &str) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
        let status =
            tasks.map(|task| std::fs::read_to_string(task.path().join("status")).unwrap_or_default());
        if status.into_iter().all(|status| !status.contains("TracerPid:\t0\n")) {
            return Ok(());
        }
        strace.still_up()?;
        ensure!(Instant::now() < deadline, "strace does not attach to process {pid}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The calls by name in the report of `strace -c`. Its columns are: % time, seconds, usecs/call,
/// calls, errors (may be empty), syscall.
fn parse(report: &str) -> BTreeMap<String, f64> {
    let lines = report.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (calls, name) = (words.get(3)?.parse().ok()?, *words.last()?);
        (!NOT_COUNTED.contains(&name) && words[0].parse::<f64>().is_ok()).then(|| (name.to_owned(), calls))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_from_straces_report() {
        let report = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.90    0.000130           1       101         2 recvfrom
 38.10    0.000080           0       100           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    0.000210           1       201         2 total
";
        let calls = parse(report);
        assert_eq!(calls.len(), 2);
        assert_eq!((calls["recvfrom"], calls["sendto"]), (101.0, 100.0));
    }
}
