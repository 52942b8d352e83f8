//! What counts for the backups of one Mac, in the settings: its limit, its alert, whether it is retired.

use std::process::ExitCode;
use std::time::Duration;

use admin::control::BackupStatus;
use admin::settings::units::{parse_duration, parse_size};
use admin::settings::{MacAlert, MacPolicy, is_mac_name};
use admin::{Settings, ShareSettings};
use anyhow::bail;
use vfs::backup_stem;

use crate::cli::Where;
use crate::commands::dataset;
use crate::terminal::exit;

/// The setting.
pub(crate) const KEY: &str = "time-machine-macs";

/// A limit as it is typed: `800G`, or `none`.
pub(crate) fn limit(text: &str) -> anyhow::Result<Option<u64>> {
    if text == "none" {
        return Ok(None);
    }
    match parse_size(text).filter(|size| *size > 0) {
        Some(size) => Ok(Some(size)),
        None => Err(exit::usage_error(format!("{text:?} is no size: write one such as 800G, or none"))),
    }
}

/// An alert as it is typed: `14d`, `never` or `usual`.
pub(crate) fn alert(text: &str) -> anyhow::Result<MacAlert> {
    let age = || parse_duration(text).filter(|milliseconds| *milliseconds > 0).map(Duration::from_millis);
    match text {
        "never" => Ok(MacAlert::Never),
        "usual" => Ok(MacAlert::Usual),
        _ => match age() {
            Some(age) => Ok(MacAlert::After(age)),
            None => {
                Err(exit::usage_error(format!("{text:?} is no time: write one such as 14d, never, or usual")))
            }
        },
    }
}

/// Refuses what cannot be written into the settings.
pub(crate) fn check(share: &ShareSettings, mac: &str) -> anyhow::Result<()> {
    if !share.time_machine {
        bail!(
            "the share {} is not for Time Machine; `fourfold set time-machine=on {0}` changes that",
            share.name
        );
    }
    if !is_mac_name(mac) {
        bail!("the settings cannot name {mac:?}: a name has up to 128 characters, and no comma");
    }
    Ok(())
}

pub(super) fn set_limit(one: &BackupStatus, size: &str, place: &Where) -> anyhow::Result<ExitCode> {
    let limit = limit(size)?;
    set(one, place, |policy| policy.limit = limit)
}

pub(super) fn set_alert(one: &BackupStatus, after: &str, place: &Where) -> anyhow::Result<ExitCode> {
    let alert = alert(after)?;
    set(one, place, |policy| policy.alert = alert)
}

pub(super) fn set_retired(one: &BackupStatus, retired: bool, place: &Where) -> anyhow::Result<ExitCode> {
    set(one, place, |policy| policy.retired = retired)
}

/// What counted for a Mac counts for the one that its backups are named after now, unless something counts for that one already.
pub(super) fn rename(
    settings: &Settings,
    one: &BackupStatus,
    to: &str,
    place: &Where,
) -> anyhow::Result<ExitCode> {
    let to = backup_stem(to.as_bytes()).map_or(to, |stem| &to[..stem.len()]);
    let share = settings.shares.iter().find(|share| share.name == one.share);
    if share.is_none_or(|share| share.mac_policy(&one.mac).is_none()) {
        return Ok(ExitCode::SUCCESS);
    }
    dataset::change_share(place, &one.share, KEY, |share| {
        check(share, to)?;
        Ok(share.with_mac_policy(&one.mac, |policy| match share.mac_policy(to) {
            None => to.clone_into(&mut policy.mac),
            Some(_) => *policy = MacPolicy { mac: policy.mac.clone(), ..MacPolicy::default() },
        }))
    })
}

fn set(one: &BackupStatus, place: &Where, change: impl FnOnce(&mut MacPolicy)) -> anyhow::Result<ExitCode> {
    dataset::change_share(place, &one.share, KEY, |share| {
        check(share, &one.mac)?;
        Ok(share.with_mac_policy(&one.mac, change))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_as_they_are_typed() {
        assert_eq!(limit("800G").unwrap(), Some(800 << 30));
        assert_eq!(limit("none").unwrap(), None);
        assert!(limit("much").is_err() && limit("0").is_err());
        assert_eq!(alert("14d").unwrap(), MacAlert::After(Duration::from_secs(14 * 86_400)));
        assert_eq!([alert("never").unwrap(), alert("usual").unwrap()], [MacAlert::Never, MacAlert::Usual]);
        assert!(alert("soon").is_err() && alert("off").is_err());
    }
}
