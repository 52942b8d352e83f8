//! What is wrong with the settings, where, and what to write instead.

use std::fmt;
use std::path::PathBuf;

/// One line for the person who wrote the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the settings are refused for it.
    pub severity: Severity,
    /// Where it stands.
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub instead: String,
}

/// Whether the settings are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// They are.
    Error,
    /// They are accepted, but the writer may want to know.
    Note,
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a settings file. Lines and columns count from 1; columns count characters.
    File {
        /// The file as it was named.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// On the command line: the flag or argument.
    CommandLine(String),
    /// In the environment: the variable.
    Environment(&'static str),
    /// Nowhere: a default.
    Default,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::CommandLine(word) => write!(f, "command line: {word}"),
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

/// All that was found: reading goes on after an error, so that the writer sees every one at once.
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

    /// In the order of the file; what has no line comes last.
    pub(super) fn sorted(mut self) -> Vec<Diagnostic> {
        self.0.sort_by_key(|d| match &d.place {
            Place::File { line, column, .. } => (*line, *column),
            _ => (usize::MAX, 0),
        });
        self.0
    }
}
