//! Errors and notes about the settings, with their places, and corrections.

use std::fmt;
use std::path::PathBuf;

/// One line for the author of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether it refuses the settings.
    pub severity: Severity,
    /// The place of the setting.
    pub place: Place,
    /// The problem.
    pub what: String,
    /// The correction.
    pub instead: String,
}

/// Whether the settings are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The settings are refused.
    Error,
    /// The settings are accepted; the author may want to know this.
    Note,
}

/// The place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a settings file. Lines and columns count from 1; columns count characters.
    File {
        /// The file by its given name.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// On the command line: the flag or argument.
    CommandLine(String),
    /// On the command line: a property with its value, as in `fourfold set`.
    Property(String),
    /// In the environment: the variable.
    Environment(&'static str),
    /// No place: a default.
    Default,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::CommandLine(word) | Self::Property(word) => write!(f, "command line: {word}"),
            Self::Environment(variable) => write!(f, "environment: {variable}"),
            Self::Default => write!(f, "settings"),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Note => "note",
        };
        write!(f, "{}: {severity}: {}", self.place, self.what)?;
        if !self.instead.is_empty() {
            write!(f, "; {}", self.instead)?;
        }
        Ok(())
    }
}

/// All diagnostics: reading continues after an error, so that the author sees all errors at once.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<Diagnostic>);

impl Findings {
    pub(super) fn error(&mut self, place: &Place, what: impl Into<String>, instead: impl Into<String>) {
        self.push(Severity::Error, place, what.into(), instead.into());
    }

    pub(super) fn note(&mut self, place: &Place, what: impl Into<String>, instead: impl Into<String>) {
        self.push(Severity::Note, place, what.into(), instead.into());
    }

    pub(super) fn refused(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    fn push(&mut self, severity: Severity, place: &Place, what: String, instead: String) {
        self.0.push(Diagnostic { severity, place: place.clone(), what, instead });
    }

    /// In the order of the file; diagnostics without a line come last.
    pub(super) fn sorted(mut self) -> Vec<Diagnostic> {
        self.0.sort_by_key(|d| match &d.place {
            Place::File { line, column, .. } => (*line, *column),
            _ => (usize::MAX, 0),
        });
        self.0
    }
}
