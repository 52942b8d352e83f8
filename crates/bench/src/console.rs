//! Progress at the terminal, and the records in a file.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::record::Record;
use crate::{Error, Result, Watcher};

/// Shows a bar on standard error if that is a terminal, and keeps the records.
pub struct Console {
    bar: ProgressBar,
    file: Option<File>,
    /// The records so far.
    pub records: Vec<Record>,
}

impl Console {
    /// The bar of so many repeats. The records are also written to a new file.
    ///
    /// # Errors
    /// The file cannot be made, or exists.
    pub fn new(repeats: usize, file: Option<&Path>) -> Result<Self> {
        let make = |path: &Path| {
            let said = |error| Error::Other(format!("{} cannot be made: {error}", path.display()));
            File::create_new(path).map_err(said)
        };
        let file = file.map(make).transpose()?;
        let bar = ProgressBar::new(repeats as u64);
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} [{elapsed}, {eta} left]");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(250));
        Ok(Self { bar, file, records: Vec::new() })
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for Console {
    fn record(&mut self, record: Record) -> Result<()> {
        if let Some(file) = &mut self.file {
            let said = |error: std::io::Error| Error::Other(format!("the record cannot be written: {error}"));
            let line = serde_json::to_string(&record).map_err(|error| said(error.into()))?;
            writeln!(file, "{line}").map_err(said)?;
        }
        if let Record::Failure(failure) = &record {
            let cell = failure.cell.as_deref().unwrap_or("all");
            self.bar.println(format!("{}, {cell}: {}", failure.target, failure.message));
        }
        self.records.push(record);
        Ok(())
    }

    fn doing(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn advance(&mut self, repeats: usize) {
        self.bar.inc(repeats as u64);
    }
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Console({} records)", self.records.len())
    }
}
