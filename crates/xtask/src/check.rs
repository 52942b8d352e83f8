//! `cargo xtask check`: all steps that a change must pass, each timed.

use std::num::NonZero;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{compiler, process, tidy};

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

    /// Runs a step, and answers whether it has succeeded.
    pub fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<()>) -> bool {
        println!("── {name}");
        let step = CheckStep::of(name, step);
        let is_ok = step.result.is_ok();
        self.add(step);
        is_ok
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
    steps.run("tests, compiled", || cargo(COMPILE_TESTS));
    steps.run("examples", || cargo(EXAMPLES));
    steps.run("tests", run_tests);
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

/// Without doc tests, of which there are none (`tidy`).
pub const TEST: [&str; 4] = ["test", "--workspace", "--tests", "--quiet"];

/// Compiles the tests of all crates, and the crates and programs that they are of.
pub const COMPILE_TESTS: &[&str] = &[TEST[0], TEST[1], TEST[2], TEST[3], "--no-run"];

/// Compiles what no test needs: all but xtask, whose file cargo would replace while it runs.
pub const EXAMPLES: &[&str] = &["build", "--workspace", "--examples", "--quiet"];

/// Runs cargo with clippy's compiler, which documents the crates, too.
pub fn cargo(words: &[&str]) -> Result<()> {
    process::run_with("cargo", words, &pairs(&compiler::env()?))
}

/// Runs the tests of all crates.
fn run_tests() -> Result<()> {
    let (settings, compiler) = (test_settings(), compiler::env()?);
    let env = [pairs(&settings), pairs(&compiler)].concat();
    process::run_with("cargo", &[&TEST[..], &["--no-fail-fast"]].concat(), &env)
}

fn pairs<'a>(variables: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    variables.iter().map(|(name, value)| (*name, &**value)).collect()
}

/// Variables for programs of tests: how many tests run at the same time, and the seconds that the test `stress` takes.
pub fn test_settings() -> [(&'static str, String); 2] {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = (processors * TESTS_PER_PROCESSOR).to_string();
    [("RUST_TEST_THREADS", threads), ("FOURFOLD_STRESS_SECONDS", STRESS_SECONDS.to_owned())]
}
