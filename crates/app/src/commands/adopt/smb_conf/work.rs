//! A share in the making: what its section and the defaults say, and what became of it so far.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::conf::{self, ConfSection, Entry};
use super::rows::Handling;
use super::server::Server;
use super::values::{self, Kind};
use super::{Outcome, said};
use crate::commands::adopt::share::Share;
use crate::commands::adopt::source::SourceSetting;

/// What counts for a share: the last entry of each setting.
#[derive(Debug)]
pub(super) struct Effective<'a> {
    pub(super) server: &'a Server,
    entries: BTreeMap<String, &'a Entry>,
}

impl<'a> Effective<'a> {
    pub(super) fn of(section: &'a ConfSection, server: &'a Server) -> Self {
        let entries = section.entries.iter().map(|entry| (entry.name(), entry)).collect();
        Self { server, entries }
    }

    /// The value of a setting, without quotes; `None`: it is not set, or empty.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        let value = self.entries.get(name).map(|entry| conf::unquoted(&entry.value))?;
        Some(value).filter(|value| !value.is_empty())
    }

    /// A list as it stands: words may have quotes.
    pub(super) fn list(&self, name: &str) -> Option<&'a str> {
        self.entries.get(name).map(|entry| &*entry.value).filter(|value| !value.is_empty())
    }

    /// A truth value; a wrong one is the default, and is reported elsewhere.
    pub(super) fn says(&self, name: &str, default: bool) -> bool {
        let Some(entry) = self.entries.get(name) else { return default };
        values::truth(conf::unquoted(&entry.value)).map_or(default, |value| value != entry.is_inverse)
    }
}

/// A share in the making.
#[derive(Debug)]
pub(super) struct Work<'a> {
    section: &'a ConfSection,
    pub(super) of: &'a Effective<'a>,
    pub(super) share: Share,
    outcomes: BTreeMap<&'static str, Outcome>,
    /// Names that must not enter, and stand in no list of those who may.
    pub(super) invalid: Vec<String>,
    pub(super) is_homes: bool,
}

impl<'a> Work<'a> {
    /// A share with the folder of the section; `None`: it has none that all clients have.
    pub(super) fn begin(section: &'a ConfSection, of: &'a Effective<'a>) -> Option<Self> {
        let is_homes = section.name.eq_ignore_ascii_case("homes");
        let said = of.value("path");
        let path = if is_homes {
            homes(said)?
        } else {
            user_folder(said?).or_else(|| conf::path(said?, &section.name))?
        };
        let share = Share::new(&section.name, &path, "smb");
        let (outcomes, invalid) = (BTreeMap::new(), Vec::new());
        let mut work = Self { section, of, share, outcomes, invalid, is_homes };
        work.to("path", format!("path = {:?}", path.display().to_string()));
        Some(work)
    }

    /// Whether clients can write to the share that is made.
    pub(super) fn is_written(&self) -> bool {
        !self.share.settings.iter().any(|(name, value)| *name == "read-only" && value == "true")
    }

    pub(super) fn to(&mut self, name: &'static str, to: impl Into<String>) {
        self.outcomes.insert(name, Outcome::Translated { to: to.into() });
    }

    pub(super) fn kept(&mut self, name: &'static str, how: impl Into<String>) {
        self.outcomes.insert(name, Outcome::Kept { how: how.into() });
    }

    pub(super) fn no_effect(&mut self, name: &'static str, why: impl Into<String>) {
        self.outcomes.insert(name, Outcome::NoEffect { why: why.into() });
    }

    pub(super) fn lost(&mut self, name: &'static str, limit: &'static str, why: impl Into<String>) {
        self.outcomes.insert(name, Outcome::Lost { limit, why: why.into() });
    }

    /// The share with its report, and the names that must not enter.
    pub(super) fn end(mut self) -> (Share, Option<(String, Vec<String>)>) {
        let mut source: Vec<SourceSetting> = Vec::new();
        for (at, entry) in self.section.entries.iter().enumerate() {
            let counts =
                self.of.entries.get(&entry.name()).copied().filter(|counts| !std::ptr::eq(*counts, entry));
            let outcome = match counts {
                // What is overridden in [global] is reported there.
                Some(_) if at < self.section.inherited => continue,
                Some(counts) => Outcome::NoEffect { why: format!("line {} counts instead", counts.line) },
                None => self.outcome(entry),
            };
            source.push(said(entry, Some(&self.section.name), outcome));
        }
        self.share.source = source;
        let name = self.share.name.clone();
        let invalid = (!self.invalid.is_empty()).then(|| (name, std::mem::take(&mut self.invalid)));
        (self.share, invalid)
    }

    fn outcome(&self, entry: &Entry) -> Outcome {
        let Some(row) = &entry.row else { return unknown(entry) };
        let value = conf::unquoted(&entry.value);
        let is_wrong = match row.kind {
            Kind::Bool => values::truth(value).is_none(),
            Kind::Mode => values::mode(value).is_none(),
            Kind::Text | Kind::List => false,
        };
        if is_wrong {
            return Outcome::Lost {
                limit: "invalid-value",
                why: "smbd does not start with this value".into(),
            };
        }
        if let Some(outcome) = self.outcomes.get(row.name) {
            return outcome.clone();
        }
        by_row(row.handling, row.kind, value)
    }
}

/// The outcome that the table says.
pub(super) fn by_row(handling: Handling, kind: Kind, value: &str) -> Outcome {
    match handling {
        Handling::NoEffect(why) => Outcome::NoEffect { why: why.into() },
        Handling::Translated => Outcome::NoEffect { why: "this value is what is done here anyway".into() },
        Handling::Lost { limit, unless, why } => {
            let is_same = |one: &&str| match kind {
                Kind::Bool => values::truth(one) == values::truth(value),
                _ => one.eq_ignore_ascii_case(value),
            };
            match unless.iter().any(is_same) {
                true => Outcome::NoEffect { why: "with this value it is no limit".into() },
                false => Outcome::Lost { limit, why: why.into() },
            }
        }
    }
}

/// A setting that smbd does not know, either.
pub(super) fn unknown(entry: &Entry) -> Outcome {
    let why = match entry.shown.contains(':') {
        true => {
            "unknown setting of a module: the outcome of `vfs objects` says whether the module limits access"
        }
        false => "unknown setting: smbd of Samba 4.17 does not know it, either, and ignores it",
    };
    Outcome::NoEffect { why: why.into() }
}

/// The folder of the homes: that of `/home` by default.
fn homes(path: Option<&str>) -> Option<PathBuf> {
    match path {
        Some(path) => user_folder(&path.replace("%S", "%U")),
        None => Some("/home/%U".into()),
    }
}

/// A path that ends with the user's name: `%U` here.
fn user_folder(path: &str) -> Option<PathBuf> {
    let before = path.strip_suffix("/%U").or_else(|| path.strip_suffix("/%u"))?;
    (!before.contains('%') && !before.is_empty()).then(|| PathBuf::from(format!("{before}/%U")))
}
