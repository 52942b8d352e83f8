//! The destination and the format of log lines.

use std::fmt;
use std::sync::OnceLock;

use admin::{LogFormat, Port, ServerSettings};
use anyhow::Context;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt as lines;
use tracing_subscriber::layer::{self, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use web::{LogEvent, LogLines};

use crate::terminal::{color, loudness};

/// The newest lines, for the console. Logging is one for the whole process, and so are they.
static KEPT: OnceLock<LogLines> = OnceLock::new();

/// The newest lines of the log. There are none while the API is off.
pub(crate) fn kept() -> LogLines {
    KEPT.get().cloned().unwrap_or_default()
}

/// Starts logging to standard error. `FOURFOLD_LOG` overrides the command line, and that the level of the settings.
pub(crate) fn start(settings: &ServerSettings) -> anyhow::Result<()> {
    let usual = || loudness::log_level().map_or_else(|| settings.log_level.clone(), str::to_owned);
    let words = std::env::var("FOURFOLD_LOG").unwrap_or_else(|_| usual());
    let filter: Targets = words.parse().with_context(|| {
        format!("FOURFOLD_LOG is {words:?}; write a level, or parts and levels: `warn,nfs=debug`")
    })?;
    let is_api_on = matches!(settings.api.port, Port::Number(_));
    let keeping = is_api_on.then(|| Keeping(KEPT.get_or_init(LogLines::default).clone()));
    let shown = lines::layer().with_writer(std::io::stderr).log_internal_errors(false); // it would panic if standard error has no reader
    let subscriber = tracing_subscriber::registry().with(filter).with(keeping);
    let started = match settings.log_format {
        LogFormat::Json => subscriber.with(shown.json().flatten_event(true)).try_init(),
        LogFormat::Text => subscriber.with(shown.with_ansi(color::is_shown(&std::io::stderr()))).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging was started twice: {error}"))
}

/// Keeps the newest lines of the levels up to info: further ones are as many as the operations of clients.
struct Keeping(LogLines);

impl<S: Subscriber> Layer<S> for Keeping {
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            _ => return,
        };
        let mut line = LineText::default();
        event.record(&mut line);
        self.0.keep(level, event.metadata().target(), line.0);
    }
}

/// The message, and the fields as `name=value` and by themselves.
#[derive(Default)]
struct LineText(LogEvent);

impl LineText {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>, plain: Option<&str>) {
        let line = &mut self.0;
        let space = if line.text.is_empty() { "" } else { " " };
        let value = value.to_string();
        match field.name() {
            "message" => {
                line.text.extend([space, &*value]);
                line.message = value;
            }
            name => {
                line.text.extend([space, name, "=", &*value]);
                line.fields.push((name, plain.map_or(value, str::to_owned)));
            }
        }
    }
}

impl Visit for LineText {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value:?}"), Some(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"), None);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field, format_args!("{value}"), None);
    }
}
