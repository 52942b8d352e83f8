//! `fourfold doctor`: what on this host will hurt, and what mends it.

mod api;
mod appletalk;
mod cluster;
mod domain;
mod firewall;
mod homes;
mod host;
mod kerberos;
mod network;
mod pam;
mod rights;
mod shares;

use std::process::ExitCode;

use admin::settings::{find_file, is_open_to_others};
use admin::{Arguments, Settings};
use serde::Serialize;

use crate::cli::Doctor;
use crate::host::here;
use crate::terminal::color::{self, Tone};
use crate::terminal::out;

/// How much something hurts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Something does not work.
    Problem,
    /// It works, but worse than it could, or not for long.
    Warning,
    /// Nothing is wrong.
    Fine,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::Fine => "fine",
        }
    }
}

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorFinding {
    level: Level,
    /// The thing: `clock`, `share Music`.
    about: String,
    /// What was found.
    found: String,
    /// The command or the setting that mends it; empty if nothing is wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    mend: String,
}

impl DoctorFinding {
    fn new(
        level: Level,
        about: impl Into<String>,
        found: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { level, about: about.into(), found: found.into(), mend: mend.into() }
    }

    fn fine(about: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Level::Fine, about, found, "")
    }

    fn warning(about: impl Into<String>, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(Level::Warning, about, found, mend)
    }

    fn problem(about: impl Into<String>, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(Level::Problem, about, found, mend)
    }
}

/// Looks at the host, and at what the settings name if there are any. Changes nothing.
pub(crate) fn run(doctor: &Doctor) -> anyhow::Result<ExitCode> {
    let said = doctor.serve.arguments(here::privileged(), here::folder()?);
    // Where nothing is said, a server that runs without a settings file is meant.
    let is_said = !said.shares.is_empty() || find_file(said.privileged, &said.folder).is_some();
    let arguments = if is_said { said } else { here::of_running(said) };
    let mut findings = Vec::new();
    let settings = settings(&arguments, &mut findings);
    let shares = settings.as_ref().map_or(0, |settings| settings.shares.len() + settings.absent.len());
    findings.extend(host::look(shares));
    findings.extend(network::look(settings.as_ref()));
    findings.extend(settings.iter().flat_map(shares::look));
    findings.extend(settings.iter().flat_map(rights::look));
    findings.extend(settings.iter().flat_map(homes::look));
    findings.extend(settings.iter().flat_map(kerberos::look));
    findings.extend(settings.iter().flat_map(domain::look));
    findings.extend(settings.iter().flat_map(appletalk::look));
    findings.extend(settings.iter().filter_map(api::look));
    findings.extend(settings.iter().filter_map(cluster::look));
    findings.extend(settings.iter().filter_map(pam::look));
    findings.sort_by_key(|finding| finding.level); // stable: the order within a level stays
    let has_problem = findings.iter().any(|finding| finding.level == Level::Problem);
    if doctor.json {
        out::json(&findings)?;
    } else {
        out::print(in_color(&text(&findings, doctor.all)))?;
    }
    Ok(if has_problem { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The settings that `fourfold serve` would have; what is wrong with them is a finding.
fn settings(arguments: &Arguments, findings: &mut Vec<DoctorFinding>) -> Option<Settings> {
    match Settings::load(&Arguments { may_make_folders: true, is_running: true, ..arguments.clone() }) {
        Ok(settings) => {
            let count = settings.shares.len() + settings.absent.len();
            findings.push(match count {
                0 => DoctorFinding::warning(
                    "settings",
                    "nothing is shared",
                    "`fourfold create NAME --path DIR`",
                ),
                _ => DoctorFinding::fine("settings", format!("accepted, {}", counted(count, "share"))),
            });
            findings.extend(open_secrets(arguments, &settings));
            Some(settings)
        }
        Err(diagnostics) => {
            let file =
                arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
            if file.is_none() && arguments.shares.is_empty() {
                let found = "there are none here: only the machine and the default ports were examined";
                let mend = "`fourfold doctor DIR`, or `fourfold doctor --config FILE`";
                findings.push(DoctorFinding::warning("settings", found, mend));
                return None;
            }
            findings.extend(diagnostics.iter().map(|diagnostic| {
                let mend = "correct it; `fourfold check` lists every error of the settings";
                DoctorFinding::problem("settings", diagnostic.to_string(), mend)
            }));
            None
        }
    }
}

/// A settings file with passwords that others may read.
fn open_secrets(arguments: &Arguments, settings: &Settings) -> Option<DoctorFinding> {
    let file = settings.file.as_ref().filter(|_| settings.has_secrets)?;
    let path = arguments.folder.join(file);
    is_open_to_others(&path).then(|| {
        let found = format!(
            "{} has passwords or other secrets, and others than its owner may read it",
            file.display()
        );
        DoctorFinding::warning("settings", found, format!("`chmod 600 {}`", file.display()))
    })
}

fn text(findings: &[DoctorFinding], all: bool) -> String {
    let shown: Vec<&DoctorFinding> =
        findings.iter().filter(|finding| all || finding.level != Level::Fine).collect();
    let width = shown.iter().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in &shown {
        let DoctorFinding { level, about, found, mend } = finding;
        text.push_str(&format!("{:<7}  {about:<width$}  {found}\n", level.word()));
        if !mend.is_empty() {
            text.push_str(&format!("{:<7}  {:<width$}  → {mend}\n", "", ""));
        }
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (problems, warnings, fine) = (count(Level::Problem), count(Level::Warning), count(Level::Fine));
    let rest = if all || fine == 0 { "" } else { "; --all shows them" };
    text.push_str(&format!(
        "{}, {}, {} without findings{rest}\n",
        counted(problems, "problem"),
        counted(warnings, "warning"),
        counted(fine, "check")
    ));
    text
}

/// The text with the level of each finding in colour, at a terminal.
fn in_color(text: &str) -> String {
    let stdout = std::io::stdout();
    let tone = |level: Level| match level {
        Level::Problem => Tone::Bad,
        Level::Warning => Tone::Doubtful,
        Level::Fine => Tone::Good,
    };
    let line = |line: &str| {
        let levels = [Level::Problem, Level::Warning, Level::Fine];
        let begun = levels.into_iter().find_map(|level| {
            let rest = line.strip_prefix(level.word())?.strip_prefix(' ')?;
            Some(format!("{} {rest}\n", color::painted(level.word(), tone(level), &stdout)))
        });
        begun.unwrap_or_else(|| format!("{line}\n"))
    };
    text.lines().map(line).collect()
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_shown_first_with_what_mends_it() {
        let findings = [
            DoctorFinding::problem("SMB port 445", "smbd (process 7) listens there", "stop it"),
            DoctorFinding::warning("clock", "not synchronized", "timedatectl set-ntp true"),
            DoctorFinding::fine("kernel", "6.1"),
        ];
        assert_eq!(
            text(&findings, false),
            "problem  SMB port 445  smbd (process 7) listens there\n\
             \u{20}                      → stop it\n\
             warning  clock         not synchronized\n\
             \u{20}                      → timedatectl set-ntp true\n\
             1 problem, 1 warning, 1 check without findings; --all shows them\n"
        );
        assert!(text(&findings, true).contains("fine     kernel        6.1\n"));
    }
}
