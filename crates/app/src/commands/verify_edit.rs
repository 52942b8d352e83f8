//! `fourfold verify-edit`: whether edit applications work on a share.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use bench::editing::{PROGRAMS, Program, check};
use indicatif::{ProgressBar, ProgressStyle};

use super::verify_metadata::file_targets;
use crate::cli::VerifyEdit;
use crate::terminal::{loudness, out};

pub(crate) fn run(asked: &VerifyEdit) -> anyhow::Result<ExitCode> {
    let programs = programs(&asked.programs);
    let targets = file_targets(&asked.urls, asked.user.as_ref(), asked.password_file.as_deref())?;
    let bar = if loudness::is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} [{elapsed}]");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut watch = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        true
    };
    let timeout = Duration::from_secs(asked.timeout);
    let reports: bench::Result<Vec<_>> =
        targets.iter().map(|target| check(target, &programs, timeout, &mut watch)).collect();
    bar.finish_and_clear();
    let reports = reports?;
    if asked.json {
        out::json(&reports)?;
    } else {
        let texts: Vec<String> = reports.iter().map(bench::editing::EditReport::text).collect();
        out::print(texts.join("\n"))?;
    }
    match reports.into_iter().find_map(|report| report.left) {
        Some(left) => bail!("{left}"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The programs that are asked for; all of them without any.
fn programs(words: &[String]) -> Vec<Program> {
    let is_asked = |word: &str| words.is_empty() || words.iter().any(|asked| asked == word);
    PROGRAMS.into_iter().filter(|(word, _)| is_asked(word)).map(|(_, program)| program).collect()
}
