//! `cargo xtask check`: all steps that a change must pass, each timed.

use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{process, tidy};

/// One step and its result.
pub struct CheckStep {
    name: &'static str,
    took: Duration,
    result: Result<()>,
}

impl CheckStep {
    pub fn of(name: &'static str, step: impl FnOnce() -> Result<()>) -> Self {
        let start = Instant::now();
        let result = step();
        Self { name, took: start.elapsed(), result }
    }
}

/// The steps so far. A failure does not stop the steps after it.
pub struct CheckSteps {
    start: Instant,
    done: Vec<CheckStep>,
}

impl CheckSteps {
    pub fn begin() -> Self {
        Self { start: Instant::now(), done: Vec::new() }
    }

    pub fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<()>) {
        println!("── {name}");
        self.add(CheckStep::of(name, step));
    }

    /// A step that has run, perhaps beside others.
    pub fn add(&mut self, step: CheckStep) {
        println!(
            "── {}: {} in {:.1} s",
            step.name,
            if step.result.is_ok() { "ok" } else { "FAILED" },
            step.took.as_secs_f64()
        );
        self.done.push(step);
    }

    /// Prints the summary. Fails if a step has failed.
    pub fn finish(self) -> Result<()> {
        println!();
        let mut failed = 0;
        for CheckStep { name, took, result } in &self.done {
            match result {
                Ok(()) => println!("ok      {name} ({:.1} s)", took.as_secs_f64()),
                Err(error) => {
                    failed += 1;
                    println!("FAILED  {name} ({:.1} s): {error:#}", took.as_secs_f64());
                }
            }
        }
        let (count, total) = (self.done.len(), self.start.elapsed().as_secs_f64());
        println!("{count} steps, {failed} failed, {total:.0} s");
        if failed > 0 {
            bail!("{failed} of {count} steps failed");
        }
        Ok(())
    }
}

pub fn run() -> Result<()> {
    let mut steps = CheckSteps::begin();
    add_quick(&mut steps);
    steps.run("clippy", || run_line(CLIPPY));
    steps.run("tests", run_tests);
    steps.run("docs", || run_line(&words(&docs())));
    steps.finish()
}

/// How many seconds the test `stress` runs.
const STRESS_SECONDS: &str = "20";

/// The tests that run at the same time, for each processor. Many tests mostly wait: for a timeout
/// of the server, or for a disk that is made to stall.
const TESTS_PER_PROCESSOR: usize = 2;

/// The first steps, which `check` and `test` have in common.
pub fn add_quick(steps: &mut CheckSteps) {
    steps.run("fmt", || process::run("cargo", &["fmt", "--all", "--check"]));
    steps.run("tidy", tidy::run);
}

/// The line that finds what is compiled but not written well.
pub const CLIPPY: &[&str] =
    &["cargo", "clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];

/// The line that builds the documentation of all crates: the program, and its words. Rustdoc needs all crates checked. With clippy's
/// compiler and its words, which it passes on in this form, these are the crates that [`CLIPPY`] has checked just before. If
/// the form is another one some day, the crates are checked once more.
pub fn docs() -> Vec<String> {
    let mut line = vec!["env".to_owned(), "RUSTDOCFLAGS=-D warnings".to_owned()];
    let driver = std::env::var_os("CARGO").map(|cargo| Path::new(&cargo).with_file_name("clippy-driver"));
    if let Some(driver) = driver.filter(|driver| driver.exists()) {
        let hackery = "__CLIPPY_HACKERY__";
        line.push(format!("RUSTC_WORKSPACE_WRAPPER={}", driver.display()));
        line.push(format!("CLIPPY_ARGS=-D{hackery}warnings{hackery}"));
    }
    line.extend(["cargo", "doc", "--workspace", "--no-deps", "--quiet"].map(str::to_owned));
    line
}

/// The words of a line.
pub fn words(line: &[String]) -> Vec<&str> {
    line.iter().map(String::as_str).collect()
}

/// Without examples, which clippy compiles, and without doc tests, of which there are none (`tidy`).
pub const TEST: [&str; 4] = ["test", "--workspace", "--tests", "--quiet"];

/// The line that compiles the tests of all crates.
pub const COMPILE_TESTS: &[&str] = &["cargo", TEST[0], TEST[1], TEST[2], TEST[3], "--no-run"];

fn run_line(line: &[&str]) -> Result<()> {
    process::run(line[0], &line[1..])
}

/// Runs the tests of all crates.
fn run_tests() -> Result<()> {
    let settings = test_settings();
    let env: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, &**value)).collect();
    process::run_with("cargo", &[&TEST[..], &["--no-fail-fast"]].concat(), &env)
}

/// Variables for programs of tests: how many tests run at the same time, and the seconds that the test `stress` takes.
pub fn test_settings() -> [(&'static str, String); 2] {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = (processors * TESTS_PER_PROCESSOR).to_string();
    [("RUST_TEST_THREADS", threads), ("FOURFOLD_STRESS_SECONDS", STRESS_SECONDS.to_owned())]
}
