//! The destination and the format of log lines.

use std::io::IsTerminal;

use admin::{LogFormat, ServerSettings};
use anyhow::Context;
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error. `FOURFOLD_LOG` overrides the level of the settings.
pub(crate) fn start(settings: &ServerSettings) -> anyhow::Result<()> {
    let words = std::env::var("FOURFOLD_LOG").unwrap_or_else(|_| settings.log_level.clone());
    let filter = EnvFilter::try_new(&words).with_context(|| {
        format!("FOURFOLD_LOG is {words:?}; write a level, or parts and levels: `warn,nfs=debug`")
    })?;
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false); // it would panic if standard error has no reader
    let started = match settings.log_format {
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
        LogFormat::Text => logs.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging was started twice: {error}"))
}
