//! Samba's `smbtorture`. Each of its tests is an outcome of its own.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::place::{ADA, BOB};
use super::suites::{Kind, Suite};
use crate::interop::outcome::Outcome;
use crate::process;

/// The tests of the suite that needs a snapshot.
const TWRP: &[&str] = &["smb2.twrp.write", "smb2.twrp.stream", "smb2.twrp.openroot", "smb2.twrp.listdir"];

/// A server as smbtorture uses it.
#[derive(Clone, Debug)]
pub struct Target {
    pub host: String,
    pub port: u16,
    /// One slot for each suite that may run in parallel: suites use the same names for their files.
    pub slots: Vec<TortureSlot>,
    /// The options for the share of [`Kind::Past`]. Empty: there is no such share.
    pub past: Vec<String>,
    pub login: String,
    /// smb.conf for the client.
    pub configuration: PathBuf,
}

/// Shares over one folder.
#[derive(Clone, Debug)]
pub struct TortureSlot {
    /// The share of a suite without special needs.
    pub main: String,
    /// The same folder without Mac metadata.
    pub plain: String,
    /// The shares of suites with special needs.
    pub shares: Vec<(Kind, String)>,
    /// The folder of the shares' files, if it is on this machine. It is emptied before each suite.
    pub folder: Option<PathBuf>,
    /// Tests of lost connections drop packets with this program instead of iptables.
    pub iptables: Option<PathBuf>,
}

impl TortureSlot {
    /// The first share and the second.
    fn shares(&self, kind: Kind) -> (&str, &str) {
        let found = self.shares.iter().find(|(of, _)| *of == kind);
        let share = found.map_or(self.main.as_str(), |(_, share)| share);
        if kind == Kind::Conversion { (&self.plain, share) } else { (share, &self.plain) }
    }
}

/// A suite, and the chosen tests of it. Empty: all.
#[derive(Debug)]
pub struct SuiteSelection {
    pub suite: &'static Suite,
    pub tests: Vec<String>,
}

/// The results of one suite.
#[derive(Debug)]
pub struct SuiteResult {
    pub suite: &'static Suite,
    pub tests: Vec<(String, Outcome)>,
    pub seconds: f64,
    /// The file with the whole output.
    pub log: PathBuf,
}

/// Runs the suites in parallel, one in each slot. Prints the results of each as soon as it ends.
pub fn run(
    target: &Target,
    wanted: Vec<SuiteSelection>,
    logs: &Path,
    tell: impl Fn(&SuiteResult) + Sync,
) -> Result<Vec<SuiteResult>> {
    fs::create_dir_all(logs)?;
    let (queue, said) = (Mutex::new(VecDeque::from(wanted)), Mutex::new(Vec::new()));
    let next = || queue.lock().map(|mut queue| queue.pop_front()).unwrap_or_default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = target
            .slots
            .iter()
            .map(|slot| {
                scope.spawn(|| {
                    while let Some(wanted) = next() {
                        let one = run_suite(target, slot, &wanted, logs)?;
                        tell(&one);
                        said.lock().map(|mut said| said.push(one)).unwrap_or_default();
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    let mut said = said.into_inner().unwrap_or_default();
    said.sort_by_key(|said: &SuiteResult| said.suite.name);
    Ok(said)
}

fn run_suite(
    target: &Target,
    slot: &TortureSlot,
    wanted: &SuiteSelection,
    logs: &Path,
) -> Result<SuiteResult> {
    if let Some(folder) = &slot.folder {
        empty(folder)?;
        if wanted.suite.options.contains(&"filename=testfile") {
            let (file, owner) = (folder.join("testfile"), folder.metadata()?);
            fs::write(&file, vec![1; 65536])?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o744))?;
            chown(&file, Some(owner.uid()), Some(owner.gid()))?;
        }
    }
    let (suite, start) = (wanted.suite, Instant::now());
    if suite.kind == Kind::Past && target.past.is_empty() {
        let skip = |name: &&str| ((*name).to_owned(), Outcome::Skip("no btrfs can be mounted".into()));
        return Ok(SuiteResult {
            suite,
            tests: TWRP.iter().map(skip).collect(),
            seconds: 0.0,
            log: logs.into(),
        });
    }
    let (first, second) = slot.shares(suite.kind);
    let unc = format!("//{}/{first}", target.host);
    let (port, configuration) = (target.port.to_string(), target.configuration.to_string_lossy());
    let mut args = vec!["-s", &*configuration, &unc, "-p", &port, "-U", &target.login, "--fullname"];
    let options = options(slot, second, suite.options);
    let past = target.past.iter().filter(|_| suite.kind == Kind::Past);
    let past: Vec<String> = past.map(|option| format!("--option=torture:{option}")).collect();
    args.extend(options.iter().chain(&past).map(String::as_str));
    match wanted.tests.as_slice() {
        [] => args.push(suite.name),
        tests => args.extend(tests.iter().map(String::as_str)),
    }
    let text = until(&args, Duration::from_secs(suite.seconds))?;
    let log = logs.join(format!("{}.log", suite.name));
    fs::write(&log, &text)?;
    let tests = parse(&text);
    Ok(SuiteResult { suite, tests, seconds: start.elapsed().as_secs_f64(), log })
}

fn options(slot: &TortureSlot, second_share: &str, more: &[&str]) -> Vec<String> {
    let mut options = vec![
        format!("--option=torture:share2={second_share}"),
        format!("--option=torture:user2name={}", BOB.name),
        format!("--option=torture:user2password={}", BOB.password),
    ];
    if let Some(folder) = &slot.folder {
        options.push(format!("--option=torture:localdir={}", folder.display()));
    }
    if let Some(iptables) = &slot.iptables {
        options.push("--option=torture:use_iptables=yes".into());
        options.push(format!("--option=torture:iptables_command=sh {}", iptables.display()));
    }
    options.extend(more.iter().map(|option| format!("--option=torture:{option}")));
    options
}

/// `ada%secret`.
pub fn login() -> String {
    format!("{}%{}", ADA.name, ADA.password)
}

/// The output of smbtorture until it ends or its time limit is over. (It flushes each line.)
fn until(args: &[&str], limit: Duration) -> Result<String> {
    let smbtorture = process::find("smbtorture").context("smbtorture is not installed")?;
    let seconds = limit.as_secs().to_string();
    let output = std::process::Command::new("timeout")
        .args(["-k", "5", &seconds])
        .arg(smbtorture)
        .args(args)
        .stdin(std::process::Stdio::null())
        .output()
        .context("cannot start smbtorture")?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(124) {
        text.push_str(&format!("\nended after {seconds} s\n"));
    }
    Ok(text)
}

fn empty(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_symlink() || !path.is_dir() { fs::remove_file(path)? } else { fs::remove_dir_all(path)? }
    }
    Ok(())
}

/// The results in smbtorture's output: `success: NAME`, or `failure: NAME [`, lines with the cause,
/// and `]`. A test that was begun and has no result failed: the program ended in it.
fn parse(text: &str) -> Vec<(String, Outcome)> {
    let (mut tests, mut lines, mut begun) = (Vec::new(), text.lines(), None);
    while let Some(line) = lines.next() {
        let Some((word, name)) = line.split_once(": ") else { continue };
        let name = name.trim_end_matches(" [").to_owned();
        let why = || -> String {
            let open = line.ends_with(" [");
            let lines: Vec<&str> = lines.by_ref().take_while(|line| open && *line != "]").collect();
            lines.join(" ").trim().to_owned()
        };
        let outcome = match word {
            "test" => {
                begun = Some(name);
                continue;
            }
            "success" => Outcome::Pass,
            "failure" | "error" => Outcome::Fail(why_of(why)),
            "skip" => Outcome::Skip(why_of(why)),
            _ => continue,
        };
        if begun.as_ref() == Some(&name) {
            begun = None;
        }
        tests.push((name, outcome));
    }
    tests.extend(begun.map(|name| (name, Outcome::Fail("smbtorture ended in it".into()))));
    tests
}

fn why_of(why: impl FnOnce() -> String) -> String {
    let why = why();
    if why.is_empty() { "it does not say why".into() } else { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From smbtorture 4.17.12 against its own server.
    const SAID: &str = "smbtorture 4.17.12-Debian
Using seed 1795227974
time: 2026-11-21 02:26:14.240033
progress: 5
test: smb2.read.eof
time: 2026-11-21 02:26:14.240285
success: smb2.read.eof
test: smb2.read.access
failure: smb2.read.access [
../../source4/torture/smb2/read.c:258: status was NT_STATUS_ACCESS_DENIED, expected NT_STATUS_OK: x
]
test: smb2.read.bug14607
skip: smb2.read.bug14607 [
Server does not support
]
test: rpc.srvsvc.srvsvc (admin access).NetCharDevEnum
";

    #[test]
    fn results_are_found_with_their_reasons_and_a_test_without_one_failed() {
        let tests = parse(SAID);
        let names: Vec<&str> = tests.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "smb2.read.eof",
                "smb2.read.access",
                "smb2.read.bug14607",
                "rpc.srvsvc.srvsvc (admin access).NetCharDevEnum"
            ]
        );
        assert_eq!(tests[0].1, Outcome::Pass);
        let Outcome::Fail(why) = &tests[1].1 else { panic!("{:?}", tests[1]) };
        assert!(why.contains("expected NT_STATUS_OK"));
        assert_eq!(tests[2].1, Outcome::Skip("Server does not support".into()));
        assert_eq!(tests[3].1, Outcome::Fail("smbtorture ended in it".into()));
    }
}
