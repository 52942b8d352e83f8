//! `fourfold backups`: the backups of Macs, and other disk images. A running server does the work: it knows who writes. What counts for a Mac is in the
//! settings, so that a change needs no server.

mod browse;
mod copy;
mod local;
mod points;
pub(crate) mod policy;
mod shown;

use std::path::Path;
use std::process::ExitCode;

use admin::Settings;
use admin::control::{
    self, AskError, BackupName, BackupState, BackupStatus, BackupsAnswer, BackupsRequest, Progress,
};
use anyhow::{Context, bail};

use crate::cli::{BackupsCommand, DiscardBackup, RenameBackup, RollBackBackup, Where};
use crate::host::here;
use crate::terminal::asking::patiently;
use crate::terminal::progress::ProgressDisplay;
use crate::terminal::{exit, out};

pub(crate) fn run(command: &BackupsCommand) -> anyhow::Result<ExitCode> {
    let settings = match Settings::load(&here::of_server(place(command))?) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        BackupsCommand::Points(asked) => points::run(&settings, asked),
        BackupsCommand::Browse(asked) => browse::run(&settings, asked),
        BackupsCommand::Cp(asked) => copy::run(&settings, asked),
        _ => by_server(command, &settings),
    }
}

/// What a running server knows or does.
fn by_server(command: &BackupsCommand, settings: &Settings) -> anyhow::Result<ExitCode> {
    let all = match all(&settings.server.state) {
        Ok(all) => all,
        Err(error @ AskError::NoServer(_)) => return Ok(exit::no_server(&error)),
        Err(error) => return Err(error.into()),
    };
    let state = &settings.server.state;
    match command {
        BackupsCommand::List(asked) => {
            match asked.json {
                true => out::json(&all)?,
                false => out::print(shown::list(&all))?,
            }
            Ok(code(all.iter().all(|one| is_safe(one.state))))
        }
        BackupsCommand::Show(asked) => {
            let one = named(&all, &asked.named.mac)?;
            match asked.json {
                true => out::json(one)?,
                false => out::print(shown::one(one))?,
            }
            Ok(code(is_safe(one.state)))
        }
        BackupsCommand::Limit(asked) => {
            policy::set_limit(named(&all, &asked.mac)?, &asked.size, &asked.place)
        }
        BackupsCommand::Alert(asked) => {
            policy::set_alert(named(&all, &asked.mac)?, &asked.after, &asked.place)
        }
        BackupsCommand::Retire(asked) => policy::set_retired(named(&all, &asked.mac)?, true, &asked.place),
        BackupsCommand::Keep(asked) => policy::set_retired(named(&all, &asked.mac)?, false, &asked.place),
        BackupsCommand::Verify(asked) => {
            let name = name_of(named(&all, &asked.named.mac)?);
            verify(state, BackupsRequest::Verify { name, snapshot: asked.point.clone() }, asked.json)
        }
        BackupsCommand::Rollback(asked) => roll_back(state, named(&all, &asked.named.mac)?, asked),
        BackupsCommand::Discard(asked) => discard(state, named(&all, &asked.named.mac)?, asked),
        BackupsCommand::Rename(asked) => rename(settings, named(&all, &asked.mac)?, asked),
        BackupsCommand::Move(asked) => {
            let name = name_of(named(&all, &asked.mac)?);
            let what = format!("{} is moved to the share {}", name.bundle, asked.to);
            if !asked.caution.permits_script(&what)? {
                return Ok(ExitCode::SUCCESS);
            }
            done(state, BackupsRequest::Move { name, to: asked.to.clone() })
        }
        BackupsCommand::Points(_) | BackupsCommand::Browse(_) | BackupsCommand::Cp(_) => {
            bail!("the server is not needed for this")
        }
    }
}

fn roll_back(state: &Path, one: &BackupStatus, asked: &RollBackBackup) -> anyhow::Result<ExitCode> {
    let dry_run = asked.caution.dry_run;
    let request = BackupsRequest::RollBack { name: name_of(one), snapshot: asked.to.clone(), dry_run };
    let to = asked.to.as_deref().unwrap_or("the last restore point that verifies");
    let what = format!("{} is put back to {to}; what is there now is kept by another name", one.bundle);
    if !dry_run && !asked.caution.permits(&what)? {
        return Ok(ExitCode::SUCCESS);
    }
    done(state, request)
}

fn discard(state: &Path, one: &BackupStatus, asked: &DiscardBackup) -> anyhow::Result<ExitCode> {
    if one.kept.is_empty() {
        bail!("nothing is kept of {}", one.bundle);
    }
    if !asked.caution.permits(&format!("{} are removed for good", one.kept.join(", ")))? {
        return Ok(ExitCode::SUCCESS);
    }
    done(state, BackupsRequest::Discard { name: name_of(one) })
}

fn rename(settings: &Settings, one: &BackupStatus, asked: &RenameBackup) -> anyhow::Result<ExitCode> {
    if !asked.caution.permits_script(&format!("{} is renamed after {}", one.bundle, asked.to))? {
        return Ok(ExitCode::SUCCESS);
    }
    let request = BackupsRequest::Rename { name: name_of(one), to: asked.to.clone() };
    done(&settings.server.state, request)?;
    policy::rename(settings, one, &asked.to, &asked.place)
}

fn place(command: &BackupsCommand) -> &Where {
    match command {
        BackupsCommand::List(asked) => &asked.place,
        BackupsCommand::Show(asked) => &asked.named.place,
        BackupsCommand::Limit(asked) => &asked.place,
        BackupsCommand::Alert(asked) => &asked.place,
        BackupsCommand::Retire(asked) | BackupsCommand::Keep(asked) => &asked.place,
        BackupsCommand::Verify(asked) => &asked.named.place,
        BackupsCommand::Rollback(asked) => &asked.named.place,
        BackupsCommand::Discard(asked) => &asked.named.place,
        BackupsCommand::Rename(asked) => &asked.place,
        BackupsCommand::Move(asked) => &asked.place,
        BackupsCommand::Points(asked) => &asked.place,
        BackupsCommand::Browse(asked) => &asked.place,
        BackupsCommand::Cp(asked) => &asked.place,
    }
}

/// The backups of all Macs, as the server knows them.
pub(crate) fn all(state: &Path) -> Result<Vec<BackupStatus>, AskError> {
    match patiently(|_| control::backups(state, BackupsRequest::List, &mut |_| {}))? {
        BackupsAnswer::List(all) => Ok(all),
        BackupsAnswer::Verified(_) | BackupsAnswer::Done(_) => Ok(Vec::new()),
    }
}

/// The backups that `[SHARE/]MAC` names: the bundle with or without its ending.
///
/// # Errors
/// No share has a backup of this name, or several have; the sentence names them.
pub(crate) fn named<'a>(all: &'a [BackupStatus], name: &str) -> anyhow::Result<&'a BackupStatus> {
    let is_named = |one: &&BackupStatus| {
        let [mac, bundle] = [&one.mac, &one.bundle].map(|of| [of.clone(), format!("{}/{of}", one.share)]);
        mac.iter().chain(&bundle).any(|known| known == name)
    };
    let found: Vec<&BackupStatus> = all.iter().filter(is_named).collect();
    let listed = |of: &[&BackupStatus]| -> String {
        of.iter().map(|one| format!("{}/{}", one.share, one.mac)).collect::<Vec<_>>().join(", ")
    };
    match found.as_slice() {
        [one] => Ok(one),
        [] if all.is_empty() => bail!("no Mac has backed up yet"),
        [] => {
            bail!("there are no backups of {name:?}; there are {}", listed(&all.iter().collect::<Vec<_>>()))
        }
        several => bail!("{name:?} is in several shares: write {}", listed(several).replace(", ", " or ")),
    }
}

fn name_of(one: &BackupStatus) -> BackupName {
    BackupName { share: one.share.clone(), bundle: one.bundle.clone() }
}

fn is_safe(state: BackupState) -> bool {
    match state {
        BackupState::Good
        | BackupState::BackingUp
        | BackupState::Interrupted
        | BackupState::Stopped
        | BackupState::Retired => true,
        BackupState::Damaged | BackupState::Incomplete | BackupState::Overdue | BackupState::NotServed => {
            false
        }
    }
}

fn code(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ask(state: &Path, request: BackupsRequest) -> anyhow::Result<BackupsAnswer> {
    let progress = ProgressDisplay::default();
    let answer = patiently(|heard| {
        control::backups(state, request, &mut |now: Progress| {
            heard.something();
            progress.show(now);
        })
    });
    progress.end();
    Ok(answer?)
}

fn done(state: &Path, request: BackupsRequest) -> anyhow::Result<ExitCode> {
    if let BackupsAnswer::Done(lines) = ask(state, request)? {
        lines.into_iter().try_for_each(out::done)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn verify(state: &Path, request: BackupsRequest, json: bool) -> anyhow::Result<ExitCode> {
    let BackupsAnswer::Verified(found) = ask(state, request)? else {
        return Err(anyhow::anyhow!("another answer was expected"))
            .context("the server is of another version");
    };
    match json {
        true => out::json(&found)?,
        false => out::print(shown::verification(&found))?,
    }
    Ok(code(!found.is_damaged()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_is_named_with_its_share_where_two_have_one_name() {
        let all = [
            shown::tests::status("tm", "ada"),
            shown::tests::status("old", "ada"),
            shown::tests::status("tm", "bob"),
        ];
        assert_eq!(named(&all, "bob").unwrap().mac, "bob");
        assert_eq!(named(&all, "bob.sparsebundle").unwrap().mac, "bob");
        assert_eq!(named(&all, "old/ada").unwrap().share, "old");
        assert_eq!(named(&all, "tm/ada.sparsebundle").unwrap().share, "tm");
        let several = named(&all, "ada").unwrap_err().to_string();
        assert_eq!(several, "\"ada\" is in several shares: write tm/ada or old/ada");
        assert!(named(&all, "eve").unwrap_err().to_string().contains("tm/bob"));
        assert_eq!(named(&[], "ada").unwrap_err().to_string(), "no Mac has backed up yet");
    }
}
