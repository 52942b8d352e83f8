//! `cargo xtask interop console`: the page of the server in a real browser.

mod accounts;
mod adopt;
mod axe;
mod browser;
mod checks;
mod cost;
mod daily;
mod guarded;
mod images;
mod jobs;
mod pages;
mod pictures;
mod place;
mod studio;
mod webhook;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::expected::Expectations;
use super::outcome::Outcomes;
use super::{InteropArgs, conclude, prepare};
use crate::{debian, isolate, process};

/// Runs all checks, or takes the pictures of the documentation.
pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = axe::fetch()
    {
        println!("no axe-core: {error:#}");
    }
    prepare(args, debian::BROWSER, false)?;
    let mut outcomes = Outcomes::default();
    if process::find("chromium").is_none() {
        checks::skip(&mut outcomes, "chromium is not installed");
        return conclude(args, &expected()?.compare(&outcomes, process::is_ci()));
    }
    let limit = getrlimit(Resource::Nofile); // a thousand connections
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    if let Some(folder) = &args.pictures {
        return pictures::take(folder);
    }
    checks::run(&mut outcomes, &args.only)?;
    if !args.only.is_empty() {
        let expected = expected()?;
        print!("{}", outcomes.as_toml());
        let met = outcomes.0.iter().all(|(name, outcome)| expected.is_met(name, outcome));
        return met.then_some(()).context("some outcomes differ from interop/console/expected.toml");
    }
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    conclude(args, &expected()?.compare(&outcomes, process::is_ci()))
}

fn expected() -> Result<Expectations> {
    Expectations::read(&process::root().join("interop/console/expected.toml"))
}
