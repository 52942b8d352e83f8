//! Questions with an answer of a line, at the terminal.

use std::io::{self, BufRead as _};

use crate::terminal::out;

/// The longest answer in bytes.
const LONGEST: u64 = 4096;

/// Asks until `check` takes the answer: it returns what is meant, or says what is wrong. An empty line means `usual`.
///
/// # Errors
/// The terminal is at its end.
pub(crate) fn ask<T>(
    question: &str,
    usual: &str,
    check: impl Fn(&str) -> Result<T, String>,
) -> anyhow::Result<T> {
    loop {
        let shown = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
        out::error(format_args!("{question}{shown}: "));
        match check(answer()?.as_deref().unwrap_or(usual)) {
            Ok(meant) => return Ok(meant),
            Err(wrong) => out::error_line(format_args!("  {wrong}")),
        }
    }
}

/// Asks a question that has the answers yes and no.
///
/// # Errors
/// The terminal is at its end.
pub(crate) fn is_wanted(question: &str, usual: bool) -> anyhow::Result<bool> {
    ask(question, if usual { "yes" } else { "no" }, |answer| match answer.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("write yes or no".into()),
    })
}

/// A line that is not empty.
fn answer() -> anyhow::Result<Option<String>> {
    let mut line = String::new();
    let read = io::Read::take(io::stdin().lock(), LONGEST).read_line(&mut line)?;
    anyhow::ensure!(read > 0, "the answers have ended; nothing was changed");
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}
