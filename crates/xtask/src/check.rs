//! `cargo xtask check`: all steps that a change must pass, each timed.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{process, tidy};

/// One step and its result.
pub struct Step {
    name: &'static str,
    took: Duration,
    result: Result<()>,
}

/// The steps so far. A failure does not stop the steps after it.
#[derive(Default)]
pub struct Steps(Vec<Step>);

impl Steps {
    pub fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<()>) {
        println!("── {name}");
        let start = Instant::now();
        let result = step();
        let took = start.elapsed();
        println!(
            "── {name}: {} in {:.1} s",
            if result.is_ok() { "ok" } else { "FAILED" },
            took.as_secs_f64()
        );
        self.0.push(Step { name, took, result });
    }

    /// Prints the summary. Fails if a step has failed.
    pub fn finish(self) -> Result<()> {
        println!();
        let mut failed = 0;
        for Step { name, took, result } in &self.0 {
            match result {
                Ok(()) => println!("ok      {name} ({:.1} s)", took.as_secs_f64()),
                Err(error) => {
                    failed += 1;
                    println!("FAILED  {name} ({:.1} s): {error:#}", took.as_secs_f64());
                }
            }
        }
        let total: f64 = self.0.iter().map(|step| step.took.as_secs_f64()).sum();
        println!("{} steps, {failed} failed, {total:.0} s", self.0.len());
        if failed > 0 {
            bail!("{failed} of {} steps failed", self.0.len());
        }
        Ok(())
    }
}

pub fn run() -> Result<()> {
    let mut steps = Steps::default();
    add_lints(&mut steps);
    steps.run("tests", || run_tests(SHORT_STRESS));
    steps.run("docs", docs);
    steps.finish()
}

/// How many seconds the test `stress` runs in `check`, and in `test`.
const SHORT_STRESS: &str = "20";
pub const LONG_STRESS: &str = "30";

/// The tests that run at the same time, for each processor. Many tests mostly wait: for a timeout
/// of the server, or for a disk that is made to stall.
const TESTS_PER_PROCESSOR: usize = 2;

/// The first steps, which `check` and `test` have in common.
pub fn add_lints(steps: &mut Steps) {
    steps.run("fmt", || process::run("cargo", &["fmt", "--all", "--check"]));
    steps.run("tidy", tidy::run);
    steps.run("clippy", || {
        process::run("cargo", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
    });
}

const TEST: [&str; 3] = ["test", "--workspace", "--quiet"];

/// Compiles the tests of all crates.
pub fn compile_tests() -> Result<()> {
    process::run("cargo", &[&TEST[..], &["--no-run"]].concat())
}

/// Runs the tests of all crates, the test `stress` for so many seconds. CI runs them in a closed clone, see `.ci/closed`.
pub fn run_tests(stress_seconds: &str) -> Result<()> {
    let processors = std::thread::available_parallelism()?.get();
    let threads = (processors * TESTS_PER_PROCESSOR).to_string();
    let env = [("RUST_TEST_THREADS", threads.as_str()), ("FOURFOLD_STRESS_SECONDS", stress_seconds)];
    let args = [&TEST[..], &["--no-fail-fast"]].concat();
    match process::is_ci() {
        true => process::run_with("bash", &[&[".ci/closed", "cargo"], &args[..]].concat(), &env),
        false => process::run_with("cargo", &args, &env),
    }
}

/// Builds the documentation of all crates: the program, and its words.
pub const DOCS: (&str, &[&str]) =
    ("env", &["RUSTDOCFLAGS=-D warnings", "cargo", "doc", "--workspace", "--no-deps", "--quiet"]);

fn docs() -> Result<()> {
    process::run(DOCS.0, DOCS.1)
}
