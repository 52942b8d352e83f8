//! `fourfold verify-metadata`: which metadata a server keeps between its protocols.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use bench::Target;
use bench::metadata::verify;
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::VerifyMetadata;
use crate::terminal::{loudness, out, password};

pub(crate) fn run(asked: &VerifyMetadata) -> anyhow::Result<ExitCode> {
    let targets = file_targets(&asked.urls, asked.user.as_ref(), asked.password_file.as_deref())?;
    let bar = if loudness::is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} [{elapsed}, {eta} left]");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut watch = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        true
    };
    let grid = verify(&targets, command(), Duration::from_secs(asked.timeout), &mut watch);
    bar.finish_and_clear();
    let grid = grid?;
    if let Some(file) = &asked.output {
        let is_page = file.extension().is_some_and(|end| end.eq_ignore_ascii_case("html"));
        let text = if is_page { grid.html() } else { grid.markdown() };
        std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    if asked.json {
        out::json(&grid)?
    } else {
        out::print(grid.text())?
    }
    match &grid.left {
        Some(left) => bail!("{left}"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The targets of URLs of files, with the account and the password for those that name none. A password that is still missing
/// is asked for.
pub(crate) fn file_targets(
    urls: &[String],
    user: Option<&String>,
    password_file: Option<&Path>,
) -> anyhow::Result<Vec<Target>> {
    let mut targets = urls.iter().map(|url| Target::parse(url)).collect::<bench::Result<Vec<_>>>()?;
    let secret = match password_file {
        Some(file) => Some(password::read("the server", password::Source::File(file))?),
        None => None,
    };
    for (url, target) in urls.iter().zip(&mut targets) {
        if !target.protocol.is_of_files() {
            bail!("{url}: write a URL of smb, afp or nfs");
        }
        if !target.protocol.users_log_in() {
            continue;
        }
        if let (true, Some(user)) = (target.user.is_empty(), user) {
            target.user.clone_from(user);
        }
        if let (true, false, Some(secret)) = (target.password.is_empty(), target.user.is_empty(), &secret) {
            target.password.clone_from(secret);
        }
    }
    password::complete(&mut targets)?;
    Ok(targets)
}

/// The command line without passwords.
fn command() -> String {
    let words = std::env::args().skip(1).map(|word| match Target::parse(&word) {
        Ok(target) if !target.password.is_empty() => target.to_string(),
        _ => word,
    });
    format!("fourfold {}", words.collect::<Vec<_>>().join(" "))
}
