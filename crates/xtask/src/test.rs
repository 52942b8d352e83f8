//! `cargo xtask test`: all tests. CI runs this command.
//!
//! ```text
//! program ─► nfs, afp ─► linux ─► console, coherence, ceph, rights, … ──► tests of app ─► verdict
//!        ├─► iscsi ───┘         │                                      │
//!        ├─► smb ───────────────┼──────────────────────────────────────┤
//!        └─► tests are compiled ┴─► other tests, layouts, cluster, … ──┘
//! ```
//!
//! Compilers keep all processors busy, and the suites of `interop` mostly wait. So the program that the suites need is compiled first,
//! and all else beside them, with what they leave of the processors. What is compiled is documented and seen by clippy at once, see
//! [`crate::compiler`]. Tests of app measure the server, so nothing runs beside them.
//! One of them needs the whole machine and runs last, by itself.
//! The program is the one of the tests: it is compiled once, and the
//! suites find what an assertion of a debug build finds.

mod programs;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::check::{self, CheckStep, CheckSteps};
use crate::process::Running;
use crate::{compiler, debian, docs, interop, process};

/// How long programs that run beside others may take after these.
const LIMIT: Duration = Duration::from_secs(900);

/// The program that the suites drive.
const PROGRAM: &str = "target/debug/fourfold";
/// Compiles it as [`check::COMPILE_TESTS`] does.
const BUILD: &[&str] = &["build", "--workspace", "--bin", "fourfold", "--quiet"];

/// How long the tests may take beside other steps.
const TESTS_LIMIT: Duration = Duration::from_secs(1500);

/// How long compilers may take that run beside the suites, and get only what these leave of the processors.
const COMPILER_LIMIT: Duration = Duration::from_secs(2400);

/// Tests that run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TestPart {
    /// Those of the crate `app`, which take longer than all others.
    App,
    /// Those of all other crates.
    Others,
    /// Those of the crate `app` that need the whole machine.
    Alone,
}

#[derive(clap::Args)]
pub struct TestArgs {
    /// Only these of the tests, which are compiled already
    #[arg(long, hide = true)]
    compiled: Option<TestPart>,
}

pub fn run(args: &TestArgs) -> Result<()> {
    args.compiled.map_or_else(everything, programs::run)
}

fn everything() -> Result<()> {
    std::env::set_current_dir(process::root())?; // of programs that run beside others, too
    let missing = install()?;
    let mut steps = CheckSteps::begin();
    steps.run("clients", || clients(&missing));
    check::add_quick(&mut steps);
    if !steps.run("program", || check::cargo(BUILD)) {
        return steps.finish(); // soon, and with few lines
    }
    let compilers = Compilers::start();
    interop::forget_summaries();
    // smbtorture mostly waits, as the clients of iSCSI do, each in a network of its own.
    let (smb, iscsi) = (beside("smb", &["--ci"]), beside("iscsi", &["--ci"]));
    steps.run("interop nfs", || interop("nfs", &[]));
    steps.run("interop afp", || interop("afp", &["--ci"]));
    // Both have a virtual machine, which needs a processor of its own.
    steps.run("interop iscsi, the rest of it", || iscsi?.finish());
    steps.run("interop linux", || interop("linux", &["--ci"]));
    // Some of the next suites run tests of our own.
    compilers.finish_one(&mut steps);
    let tests = tests(TestPart::Others);
    // Its servers wait for each other.
    let layouts = beside("layouts", &[]);
    // It measures a share, so only these run beside it.
    steps.run("interop console", || interop("console", &[]));
    // Servers of a cluster mostly wait for the end of leases. What runs beside them measures nothing.
    let cluster = beside("cluster", &["--ci"]);
    // Its virtual machine waits for timers of protocols.
    let appletalk = beside("appletalk", &[]);
    steps.run("interop coherence", || interop("coherence", &[]));
    steps.run("interop ceph", || interop("ceph", &[]));
    steps.run("interop rights", || interop("rights", &[]));
    steps.run("interop package", || interop("package", &[]));
    steps.run("interop domain", || interop("domain", &[]));
    steps.run("guides", guides);
    steps.run("interop migrate", || interop("migrate", &[]));
    steps.run("interop adopt", || interop("adopt", &[]));
    steps.run("interop layouts, the rest of it", || layouts?.finish());
    steps.run("interop bench", || interop("bench", &[]));
    steps.run("interop appletalk, the rest of it", || appletalk?.finish());
    steps.run("interop cluster, the rest of it", || cluster?.finish());
    steps.run("interop smb, the rest of it", || smb?.finish());
    steps.run("tests, the rest of them", || tests?.finish_within(TESTS_LIMIT));
    compilers.finish(&mut steps);
    steps.run("tests of app", || self::tests(TestPart::App)?.finish_within(TESTS_LIMIT));
    steps.run("tests that need the whole machine", || {
        self::tests(TestPart::Alone)?.finish_within(TESTS_LIMIT)
    });
    let outcome = steps.finish();
    println!("{}", interop::last_summaries());
    outcome
}

/// Installs what all steps need, and returns the clients that are missing. Nothing is installed later: a package that makes a user
/// replaces /etc/passwd, and the steps that run at that time lose the accounts that they have mounted over it.
fn install() -> Result<Vec<&'static str>> {
    let mut missing = debian::ensure(debian::NFS_CLIENTS, true)?;
    let clients = [
        debian::SMB_CLIENTS,
        debian::AFP_CLIENTS,
        debian::ISCSI_CLIENTS,
        debian::LINUX_FILES,
        debian::APPLETALK,
        debian::RIGHTS,
        debian::PACKAGING,
        debian::BROWSER,
        debian::DOMAIN,
        docs::PACKAGES,
        &[debian::SMB_PEER, debian::NFS_PEER, debian::ISCSI_PEER].concat(),
    ];
    for packages in clients {
        missing.extend(debian::ensure(packages, false)?);
    }
    // The steps themselves say which of these are missing.
    let others = [
        debian::AFP_PEER,
        debian::IMAGES,
        debian::DISK_IMAGES,
        debian::LINUX_GUEST,
        debian::NETWORKS,
        debian::CLUSTER,
        debian::CEPH,
    ];
    for packages in others {
        debian::ensure(packages, false)?;
    }
    Ok(missing)
}

/// Runs in a process of its own, since it may move itself to a network of its own.
fn interop(protocol: &str, more: &[&str]) -> Result<()> {
    let xtask = std::env::current_exe()?;
    let args = [&["interop", protocol, "--no-build", "--program", PROGRAM], more].concat();
    process::run(&xtask.to_string_lossy(), &args)
}

/// What the guides of the manual say is done, each on a machine of its own.
fn guides() -> Result<()> {
    let xtask = std::env::current_exe()?;
    process::run(&xtask.to_string_lossy(), &["docs", "guides", "--program", PROGRAM])
}

/// The same as [`interop()`] without waiting.
fn beside(protocol: &str, more: &[&str]) -> Result<BackgroundStep> {
    let xtask = std::env::current_exe()?;
    let args = [&["interop", protocol, "--no-build", "--program", PROGRAM], more].concat();
    BackgroundStep::start(&format!("interop-{protocol}"), &xtask.to_string_lossy(), &args)
}

/// A part of the tests, without waiting. CI runs them in a closed clone, see `.ci/closed`.
fn tests(part: TestPart) -> Result<BackgroundStep> {
    let xtask = std::env::current_exe()?;
    let (name, log) = match part {
        TestPart::App => ("app", "tests-app"),
        TestPart::Others => ("others", "tests-others"),
        TestPart::Alone => ("alone", "tests-alone"),
    };
    let line = [&xtask.to_string_lossy(), "test", "--compiled", name];
    match process::is_ci() {
        true => BackgroundStep::start(log, "bash", &[&[".ci/closed"], &line[..]].concat()),
        false => BackgroundStep::start(log, line[0], &line[1..]),
    }
}

/// A program that runs beside the following steps.
struct BackgroundStep {
    running: Running,
    log: PathBuf,
}

impl BackgroundStep {
    /// The output goes to a file of this name.
    fn start(name: &str, program: &str, args: &[&str]) -> Result<Self> {
        let log = process::root().join(format!("target/{name}.log"));
        let file = File::create(&log)?;
        let running = Running::start(program, args, file.try_clone()?.into(), file.into())?;
        Ok(Self { running, log })
    }

    /// Waits for the end, and prints the output.
    fn finish(self) -> Result<()> {
        self.finish_within(LIMIT)
    }

    fn finish_within(self, limit: Duration) -> Result<()> {
        let ended = self.running.finish(limit);
        print!("{}", std::fs::read_to_string(&self.log)?);
        ended
    }
}

/// What is compiled beside the suites, one after another, since cargo does no two of these at once.
struct Compilers(Receiver<(CheckStep, PathBuf)>);

impl Compilers {
    fn start() -> Self {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = [("tests, compiled", check::COMPILE_TESTS), ("examples", check::EXAMPLES)];
            for (number, (name, line)) in lines.into_iter().enumerate() {
                let log = process::root().join(format!("target/compiler-{number}.log"));
                let step = CheckStep::of(name, || {
                    compiled_beside(line, &log)?;
                    // Before the next begins: cargo would wait for its end.
                    if line == check::COMPILE_TESTS {
                        interop::find_tests().and_then(|()| programs::find())
                    } else {
                        Ok(())
                    }
                });
                if sender.send((step, log)).is_err() {
                    return; // the steps have ended early
                }
            }
        });
        Self(receiver)
    }

    /// Waits for the next of them, and prints its output.
    fn finish_one(&self, steps: &mut CheckSteps) -> bool {
        let Ok((step, log)) = self.0.recv() else { return false };
        print!("{}", std::fs::read_to_string(log).unwrap_or_default());
        steps.add(step);
        true
    }

    fn finish(self, steps: &mut CheckSteps) {
        while self.finish_one(steps) {}
    }
}

/// Runs a compiler that gets what others leave of the processors. Its output goes to this file.
fn compiled_beside(line: &[&str], log: &Path) -> Result<()> {
    let file = File::create(log)?;
    let variables = compiler::env()?.map(|(name, value)| format!("{name}={value}"));
    let before = ["-n", "19", "env", &*variables[0], &*variables[1], "cargo"];
    let args = [&before[..], line].concat();
    Running::start("nice", &args, file.try_clone()?.into(), file.into())?.finish(COMPILER_LIMIT)
}

/// Under CI other projects' clients must be installed. Elsewhere their tests are skipped, and that
/// is printed.
fn clients(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("missing Debian packages: {}", missing.join(" "));
    if process::is_ci() {
        bail!("{what}");
    }
    println!("{what}; the tests that need them are skipped (as root, `cargo xtask test` installs them)");
    Ok(())
}
