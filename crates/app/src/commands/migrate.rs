//! `fourfold migrate`: moves in from another server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ::migrate::{Accounts, Loss, Mode, Plan, Progress, Report, RightsReport};
use anyhow::Context as _;
use client::Target;
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{Caution, Login, Migrate};
use crate::terminal::{exit, loudness, out, password};

/// Paths that are printed for each loss.
const SHOWN: usize = 3;
/// What is said at the first Ctrl-C, and at the second.
const STOPPING: [&str; 2] =
    ["stopping; Ctrl-C again ends it at once", "ended; the same command goes on where it stopped"];
/// Failures that are printed.
const FAILURES: usize = 20;

pub(crate) fn run(asked: &Migrate) -> anyhow::Result<ExitCode> {
    let plan = Plan {
        from: target(&asked.from, &asked.login)?,
        to: destination(&asked.to, &asked.login, asked.to_password_file.as_deref())?,
        only: Vec::new(),
        as_name: None,
        mode: match (asked.verify_only, asked.dry_run) {
            (true, _) => Mode::Compare,
            (false, true) => Mode::Plan { delete: asked.delete },
            (false, false) => Mode::Copy { verify: !asked.no_verify, delete: asked.delete },
        },
        streams: asked.streams.into(),
        limits: asked.limit.clone(),
        accounts: accounts(asked.accounts.as_deref())?,
        journal: asked.journal.clone(),
        timeout: Duration::from_secs(asked.login.timeout),
    };
    let caution = Caution { dry_run: false, yes: asked.yes };
    let what = format!("what {} has and {} does not is removed", plan.to, plan.from);
    if matches!(plan.mode, Mode::Copy { delete: true, .. }) && !caution.permits_script(&what)? {
        return Ok(ExitCode::SUCCESS);
    }
    let report = with_progress(&plan)?;
    if let Some(file) = &asked.report {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    match asked.json {
        true => out::json(&report)?,
        false if report.is_whole() && loudness::is_quiet() && !asked.dry_run => {}
        false => out::print(text(&report, plan.mode))?,
    }
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The file of `--accounts`.
fn accounts(file: Option<&Path>) -> anyhow::Result<Accounts> {
    let Some(file) = file else { return Ok(Accounts::default()) };
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Accounts::parse(&text).map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))
}

/// A URL, or a folder of this machine.
pub(crate) fn target(text: &str, login: &Login) -> anyhow::Result<Target> {
    destination(text, login, None)
}

/// The same with a password of its own.
pub(crate) fn destination(text: &str, login: &Login, password_file: Option<&Path>) -> anyhow::Result<Target> {
    if !text.contains("://") {
        let folder = std::path::absolute(text).with_context(|| format!("{text} is no path"))?;
        let share = folder.to_str().with_context(|| format!("{} is not UTF-8", folder.display()))?.to_owned();
        return Ok(Target { share, ..Target::parse("file:///folder")? });
    }
    let mut target = Target::parse(text).map_err(|error| exit::usage_error(error.to_string()))?;
    if !target.protocol.users_log_in() {
        return Ok(target);
    }
    if let (true, Some(user)) = (target.user.is_empty(), &login.user) {
        target.user.clone_from(user);
    }
    let file = password_file.or(login.password_file.as_deref());
    if let (Some(file), true, false) = (file, target.password.is_empty(), target.user.is_empty()) {
        target.password = password::read("the server", password::Source::File(file))?;
    }
    password::complete([&mut target])?;
    Ok(target)
}

/// Copies, with a progress bar. Ctrl-C ends it after the pieces in flight.
pub(crate) fn with_progress(plan: &Plan) -> anyhow::Result<Report> {
    let stop = crate::commands::bench::stop_at_ctrl_c(STOPPING)?;
    let bar = if loudness::is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let template = match plan.mode {
        Mode::Compare | Mode::Plan { .. } => "{bar:24} {msg} [{elapsed}, {per_sec}, {eta} left]",
        Mode::Copy { .. } => "{bar:24} {bytes}/{total_bytes} {msg} [{elapsed}, {bytes_per_sec}, {eta} left]",
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut watch = |now: &Progress| {
        let more = if now.walked { "" } else { "+" };
        let (position, length) = match plan.mode {
            Mode::Compare => (now.done, now.found),
            Mode::Plan { .. } => (now.found, now.found),
            Mode::Copy { .. } => (now.bytes, now.bytes_found),
        };
        bar.set_length(length);
        bar.set_position(position);
        bar.set_message(format!("{} of {}{more} files", now.done, now.found));
    };
    let report = ::migrate::run(plan, &stop, &mut watch);
    bar.finish_and_clear();
    Ok(report?)
}

/// What did not survive, each with its reason and examples.
fn losses(losses: &BTreeMap<String, Loss>, line: &mut dyn FnMut(std::fmt::Arguments<'_>)) {
    for (what, loss) in losses {
        let examples = loss.examples.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if loss.files > SHOWN as u64 { ", …" } else { "" };
        line(format_args!("  {what}, of {} files ({}): {examples}{more}", loss.files, loss.why));
    }
}

/// The report in words.
pub(crate) fn text(report: &Report, mode: Mode) -> String {
    use std::fmt::Write as _;

    use admin::settings::units::format_size;
    let mut text = String::new();
    let mut line = |words: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{words}"); // a String takes everything
    };
    let Report { files, folders, links, unchanged, overwritten, removed, .. } = report;
    match mode {
        Mode::Compare => line(format_args!("{files} files compared in {folders} folders, {links} links")),
        Mode::Plan { .. } => {
            let size = format_size(report.bytes);
            line(format_args!(
                "dry run: {files} files would be copied, {size}; {unchanged} are there already"
            ));
            line(format_args!("{overwritten} of the destination would be overwritten, {removed} removed"));
        }
        Mode::Copy { verify, .. } => {
            let speed = (report.bytes as f64 / report.seconds.max(0.001)) as u64;
            line(format_args!(
                "{files} files copied{}, {} ({}/s); {unchanged} were there already; {folders} folders, {links} links",
                if verify { " and compared" } else { "" },
                format_size(report.bytes),
                format_size(speed),
            ));
        }
    }
    if report.removed > 0 && !matches!(mode, Mode::Plan { .. }) {
        line(format_args!("{} removed from the destination", report.removed));
    }
    let RightsReport { carried, mapped, replaced, unseen } = &report.rights;
    for (how, counts) in [("as in the source", carried), ("in another form", mapped)] {
        let counts: Vec<String> = counts.iter().map(|(what, files)| format!("{what} of {files}")).collect();
        if !counts.is_empty() {
            line(format_args!("rights {how}: {}", counts.join(", ")));
        }
    }
    if !replaced.is_empty() {
        line(format_args!(
            "{}",
            if mode == Mode::Compare { "rights that differ:" } else { "rights that were replaced:" }
        ));
        losses(replaced, &mut line);
    }
    if let Some(unseen) = unseen {
        line(format_args!("rights that may be wider than in the source: {unseen}"));
    }
    if !report.lost.is_empty() {
        line(format_args!("did not survive:"));
        losses(&report.lost, &mut line);
    } else if replaced.is_empty() && unseen.is_none() && !matches!(mode, Mode::Plan { .. }) {
        line(format_args!("nothing was lost"));
    }
    for failure in report.failed.iter().take(FAILURES) {
        line(format_args!("  FAILED {}: {}", failure.path, failure.why));
    }
    if report.failures > FAILURES as u64 {
        let rest = report.failures - FAILURES as u64;
        line(format_args!("  and {rest} more failures; --report FILE has up to 10,000, --json too"));
    }
    text
}
