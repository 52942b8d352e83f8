//! `fourfold backup-state` and `fourfold restore-state`: the state of a server in a file, and back on another machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use admin::settings::find_file;
use admin::{Arguments, Settings, StateArchive};
use anyhow::{Context as _, ensure};
use auth::durable;
use jiff::Timestamp;

use crate::cli::{BackupState, RestoreState};
use crate::host::here;
use crate::terminal::{exit, out};

/// Where root's settings file is, if there is none yet.
const OF_ROOT: &str = "/etc/fourfold/fourfold.toml";
/// The same for others.
const OF_OTHERS: &str = "fourfold.toml";

/// Writes the state of a server into a file.
pub(crate) fn backup(asked: &BackupState) -> anyhow::Result<ExitCode> {
    let state = match here::state(&asked.place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    ensure!(
        state.join("identity.toml").exists(),
        "there is no state of a server in {}: name its folder with --state DIR",
        state.display()
    );
    let arguments = here::of_server(&asked.place)?;
    let settings = settings_file(&arguments).filter(|file| file.exists());
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let archive = StateArchive::of(&state, settings.as_deref(), env!("CARGO_PKG_VERSION"), &now)?;
    if asked.file.as_os_str() == "-" {
        out::print(archive.encode())?;
        return Ok(ExitCode::SUCCESS);
    }
    archive.write(&asked.file)?;
    let names: Vec<&str> = archive.names().collect();
    out::done(format_args!("{}: {}", asked.file.display(), names.join(", ")))?;
    if settings.is_none() {
        out::error_line("note: there is no settings file, so no shares are in it");
    }
    Ok(ExitCode::SUCCESS)
}

/// The settings file that counts, absolute.
fn settings_file(arguments: &Arguments) -> Option<PathBuf> {
    let found = arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
    found.map(|file| arguments.folder.join(file))
}

/// Puts the state of a file into the place of a server that does not run.
pub(crate) fn restore(asked: &RestoreState) -> anyhow::Result<ExitCode> {
    let archive = StateArchive::open(&asked.file)?;
    let arguments = asked.place.arguments(here::privileged(), here::folder()?);
    let usual = if arguments.privileged { OF_ROOT } else { OF_OTHERS };
    let target = settings_file(&arguments).unwrap_or_else(|| arguments.folder.join(usual));
    let text = archive.settings().filter(|_| !asked.without_settings);
    let staged = text.as_deref().map(|text| StagedSettings::write(&target, text)).transpose()?;
    let read_from = staged.as_ref().map(|staged| staged.path.clone());
    let arguments = Arguments { config: read_from.or(arguments.config.clone()), ..arguments };
    if staged.is_some()
        && let Err(diagnostics) = Settings::load(&Arguments { may_make_folders: true, ..arguments.clone() })
    {
        out::error_line(format_args!(
            "fourfold: this machine refuses the settings of the archive: mend what is missing, or give --without-settings"
        ));
        return Ok(exit::refused(&diagnostics));
    }
    let state = match Settings::state_folder(&arguments) {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let stamp = Timestamp::now().strftime("before-restore-%Y%m%dT%H%M%SZ").to_string();
    let former = beside(&state, &stamp);
    let is_new = !state.join("identity.toml").exists() && (staged.is_none() || !target.exists());
    let what = plan(&archive, &state, staged.is_some().then_some(target.as_path()));
    if (!is_new || asked.caution.dry_run) && !asked.caution.permits(&what)? {
        return Ok(ExitCode::SUCCESS);
    }
    let moved = archive.replace(&state, &former)?;
    if let Some(staged) = staged {
        let kept = staged.put(&target, &beside(&target, &stamp))?;
        if let Some(kept) = kept {
            out::done(format_args!("the former settings are in {}", kept.display()))?;
        }
        out::done(format_args!("the settings are in {}", target.display()))?;
    }
    if let Some(moved) = moved {
        out::done(format_args!("the former state is in {}", moved.display()))?;
    }
    out::done(format_args!(
        "the state is in {}; `fourfold doctor` says what is missing on this machine",
        state.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn plan(archive: &StateArchive, state: &Path, target: Option<&Path>) -> String {
    let (made, program) = archive.origin();
    let settings = target.map(|target| format!(" and {}", target.display())).unwrap_or_default();
    let folder = state.display();
    format!("{folder}{settings} become those of {made} (version {program}); what is there now is kept beside")
}

/// A path in the same folder, with more at the end of its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// The settings of an archive beside the place where they will be, so that paths in them mean the same. They go if they are not put
/// there.
struct StagedSettings {
    path: PathBuf,
}

impl StagedSettings {
    fn write(target: &Path, text: &str) -> anyhow::Result<Self> {
        let path = beside(target, "restoring");
        let cannot = || format!("{} cannot be written", path.display());
        let folder = target.parent().context("the settings file lies in no folder")?;
        std::fs::create_dir_all(folder).with_context(cannot)?;
        durable::replace(&path, text.as_bytes()).with_context(cannot)?;
        Ok(Self { path })
    }

    /// Gives them their place. The file that was there keeps its content, with another name, which is returned.
    fn put(self, target: &Path, former: &Path) -> anyhow::Result<Option<PathBuf>> {
        let kept = match target.exists() {
            true => {
                let cannot = || format!("{} cannot be kept as {}", target.display(), former.display());
                std::fs::rename(target, former).with_context(cannot)?;
                Some(former.to_owned())
            }
            false => None,
        };
        std::fs::rename(&self.path, target)
            .with_context(|| format!("{} cannot be written", target.display()))?;
        Ok(kept)
    }
}

impl Drop for StagedSettings {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // it is gone already where it was put into its place
    }
}
