//! The command line of `fourfold serve` as settings. It overrides the settings file.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::diagnostic::{Findings, Place};
use super::kind::{Kind, Raw};
use super::section::Section;
use super::setting::{Setting, Table};
use super::table::SETTINGS;

/// The typed arguments, and their environment.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// `--config`; without it, see [`super::find_file`].
    pub config: Option<PathBuf>,
    /// `[NAME=]DIR...`
    pub shares: Vec<OsString>,
    /// Flags of the table, as (name without dashes, value). A flag without a value has an empty
    /// one.
    pub flags: Vec<(String, String)>,
    /// `--user NAME:PASSWORD`.
    pub users: Vec<String>,
    /// `--user-file`: files with lines `NAME:PASSWORD`.
    pub user_files: Vec<PathBuf>,
    /// The environment variable [`super::USER_VARIABLE`]: `NAME:PASSWORD`.
    pub user_variable: Option<String>,
    /// The server runs as root.
    pub privileged: bool,
    /// A folder of `shares` may be missing if its parent exists: the caller makes it.
    pub may_make_folders: bool,
    /// The server runs, and reads its settings again: a folder of `shares` that is missing costs its share only.
    pub is_running: bool,
    /// The current folder: relative paths of the command line count from here.
    pub folder: PathBuf,
    /// The folder of this user's programs' state, such as `~/.local/state`; `None`: there is no
    /// home folder.
    pub state_home: Option<PathBuf>,
}

impl Arguments {
    /// The typed arguments, without the table.
    #[must_use]
    pub fn new(privileged: bool, folder: PathBuf) -> Self {
        Self { privileged, folder, ..Self::default() }
    }
}

impl Kind {
    /// Whether a flag with such a value can be given several times.
    #[must_use]
    pub fn repeats(self) -> bool {
        matches!(self, Self::Addresses | Self::Texts | Self::SomeOf(_) | Self::ClientsOrAll)
    }
}

/// Applies the flags of a table that stands once to its section, overriding the file.
pub(super) fn single(arguments: &Arguments, section: &mut Section, findings: &mut Findings) {
    let table = section.table;
    for setting in SETTINGS.iter().filter(|s| s.table == table) {
        let Some((name, _)) = setting.flag else { continue };
        let values: Vec<&str> = arguments
            .flags
            .iter()
            .filter(|(flag, _)| flag == name)
            .map(|(_, value)| value.as_str())
            .collect();
        if let Some(last) = values.last() {
            let place = Place::CommandLine(format!("--{name} {last}"));
            let places = vec![place.clone(); values.len()];
            section.set(setting, &raw(setting, &values), (&place, &places), findings);
        }
    }
}

/// `--read-only` and `--guest` apply to every share.
pub(super) fn every_share(arguments: &Arguments, share: &mut Section, findings: &mut Findings) {
    for setting in SETTINGS.iter().filter(|s| s.table == Table::Share) {
        let Some((name, _)) = setting.flag else { continue };
        if setting.kind == Kind::Bool && arguments.flags.iter().any(|(flag, _)| flag == name) {
            let place = Place::CommandLine(format!("--{name}"));
            share.set(setting, &Raw::Bool(true), (&place, &[]), findings);
        }
    }
}

/// `--from` and its account apply to the only folder of the command line.
pub(super) fn only_share(arguments: &Arguments, share: &mut Section, findings: &mut Findings) {
    for setting in SETTINGS.iter().filter(|s| s.table == Table::Share && s.kind != Kind::Bool) {
        let Some((name, _)) = setting.flag else { continue };
        if let Some((_, value)) = arguments.flags.iter().find(|(flag, _)| flag == name) {
            let shown = setting.kind.secret(value).map_or_else(|| value.clone(), |secret| secret.to_string());
            let place = Place::CommandLine(format!("--{name} {shown}"));
            share.set(setting, &Raw::Text(value.clone()), (&place, &[]), findings);
        }
    }
}

/// `--from` needs one folder of the command line.
pub(super) fn check_only_share(arguments: &Arguments, findings: &mut Findings) {
    if arguments.shares.len() != 1 && arguments.flags.iter().any(|(flag, _)| flag == "from") {
        let place = Place::CommandLine("--from".into());
        let instead =
            "write `fourfold serve FOLDER --from URL`, or give shares of the settings file a `from`";
        findings.error(&place, "it is for one folder of the command line", instead);
    }
}

/// A text in the form for its setting's kind.
fn raw(setting: &Setting, values: &[&str]) -> Raw {
    let text = |v: &str| Raw::Text(v.to_owned());
    let last = values.last().copied().unwrap_or_default();
    match setting.kind {
        kind if kind.repeats() => Raw::List(values.iter().map(|v| text(v)).collect()),
        Kind::Port | Kind::Number(..) | Kind::Size => last.parse().map_or_else(|_| text(last), Raw::Integer),
        Kind::Bool => last.parse().map_or_else(|_| text(last), Raw::Bool),
        _ => text(last),
    }
}

/// A `[NAME=]DIR` of the command line.
pub(super) struct ShareFlag {
    pub(super) place: Place,
    pub(super) name: Option<String>,
    pub(super) path: PathBuf,
}

/// Parses `NAME=DIR`. If a `/` comes before the first `=`, it is a path: `./a=b` is the folder
/// `a=b`.
pub(super) fn share(argument: &OsString, findings: &mut Findings) -> Option<ShareFlag> {
    let place = Place::CommandLine(argument.to_string_lossy().into_owned());
    let bytes = argument.as_bytes();
    let split = bytes.iter().position(|b| *b == b'=').filter(|at| !bytes[..*at].contains(&b'/'));
    let (name, path) = match split {
        Some(at) => (Some(String::from_utf8_lossy(&bytes[..at]).into_owned()), &bytes[at + 1..]),
        None => (None, bytes),
    };
    if path.is_empty() || name.as_deref() == Some("") {
        let part = if path.is_empty() { "folder" } else { "name" };
        findings.error(
            &place,
            format!("the {part} is missing"),
            "write `NAME=DIR`, or `./a=b` for a folder named `a=b`",
        );
        return None;
    }
    Some(ShareFlag { place, name, path: OsString::from_vec(path.to_vec()).into() })
}
