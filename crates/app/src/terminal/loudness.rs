//! How much commands say: `--quiet` and `--verbose`.

use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::Context as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt as lines;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// 0 is quiet, 1 usual, each --verbose one more. It is set once, before a command begins.
static LEVEL: AtomicU8 = AtomicU8::new(USUAL);
const USUAL: u8 = 1;

/// Keeps what the command line says.
pub(crate) fn set(quiet: bool, verbose: u8) {
    let level = if quiet { 0 } else { USUAL.saturating_add(verbose) };
    LEVEL.store(level, Ordering::Relaxed);
}

/// Whether only what was asked for, and what went wrong, is said.
pub(crate) fn is_quiet() -> bool {
    LEVEL.load(Ordering::Relaxed) < USUAL
}

/// The level of a server's log, if the command line says one.
pub(crate) fn log_level() -> Option<&'static str> {
    match LEVEL.load(Ordering::Relaxed) {
        0 => Some("warn"),
        USUAL => None,
        2 => Some("debug"),
        _ => Some("trace"),
    }
}

/// With --verbose, shows on standard error what a command does; `FOURFOLD_LOG` names other levels.
pub(crate) fn show_steps() -> anyhow::Result<()> {
    let words = match LEVEL.load(Ordering::Relaxed) {
        0 | USUAL => return Ok(()),
        2 => "info",
        3 => "debug",
        _ => "trace",
    };
    let words = std::env::var("FOURFOLD_LOG").unwrap_or_else(|_| words.to_owned());
    let filter: Targets =
        words.parse().with_context(|| format!("FOURFOLD_LOG is {words:?}, which is no level"))?;
    let lines = lines::layer().with_writer(std::io::stderr).with_ansi(false);
    let lines = lines.without_time().with_target(false).with_level(false);
    // A program that is started twice in one process, as in tests, goes on with the first one.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    Ok(())
}
