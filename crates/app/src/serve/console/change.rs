//! Changes of settings by the console, each of which can be taken back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use admin::control::Report;
use admin::settings::{
    Authority, ChangeDemand, Demand, Edit, EditError, HIDDEN, Kind, Live, Place, Property, SUBJECTS, Setting,
    Source, Table, setting, subject_of,
};
use admin::{Diagnostic, Settings, ShareSettings};
use lock::Mutex;
use web::author::{Author, ChangeRefusal, ChangeResult};
use web::manage::{ChangeStatus, SettingChange, SettingStatus, SettingsStatus};

use crate::commands::dataset;
use crate::ranks;
use crate::serve::running::Running;

/// Changes that can be taken back.
const MOST_CHANGES: usize = 20;
/// The longest settings file in bytes whose changes can be taken back.
const LONGEST_TEXT: usize = 64 * 1024;

/// The newest changes. It is locked while a change is made: one at a time.
#[derive(Default)]
pub(super) struct Changes {
    made: Mutex<VecDeque<Change>, ranks::SettingChanges>,
}

/// A change, with the whole text of the settings file before and after it.
struct Change {
    status: ChangeStatus,
    before: Arc<str>,
    after: Arc<str>,
}

/// The settings with their sources.
pub(super) fn status(running: &Running, changes: &Changes) -> Result<SettingsStatus, Vec<String>> {
    let (settings, explained) = Settings::load_explained(running.arguments()).map_err(lines_of)?;
    let server = explained.server.iter().filter_map(|property| shown(None, property, Table::Server));
    let of_shares = explained.properties.iter().flat_map(|(share, properties)| {
        properties.iter().filter_map(move |property| shown(Some(share), property, Table::Share))
    });
    let changes = changes.made.lock();
    Ok(SettingsStatus {
        file: settings.file.as_ref().map(|file| running.arguments().folder.join(file)),
        settings: server.chain(of_shares).collect(),
        subjects: SUBJECTS.iter().map(|subject| subject.title).collect(),
        changes: changes.iter().rev().map(|change| change.status.clone()).collect(),
    })
}

fn shown(share: Option<&String>, property: &Property, table: Table) -> Option<SettingStatus> {
    let setting = setting(table, property.name)?;
    let (source, inherited_from, place) = match &property.source {
        Source::Local(place @ (Place::CommandLine(_) | Place::Environment(_))) => ("run", None, Some(place)),
        Source::Local(place) => ("local", None, Some(place)),
        Source::Inherited(from, place) => ("inherited", Some(from.clone()), Some(place)),
        Source::Preset(_, place) => ("preset", None, Some(place)),
        Source::Default => ("default", None, None),
    };
    Some(SettingStatus {
        share: share.cloned(),
        key: setting.key.into(),
        value: property.shown(),
        source,
        inherited_from,
        place: place.map(ToString::to_string),
        live: setting.live == Live::Reload,
        authority: authority(setting),
        limit: if let Authority::Limit(limit) = setting.authority { Some(limit) } else { None },
        subject: subject_of(&setting.path()).map_or("", |subject| subject.title),
        brief: setting.brief,
        expects: setting.kind.expects(),
        otherwise: setting.default.unwrap_or(setting.unset).to_owned(),
        words: words(setting),
    })
}

fn authority(setting: &Setting) -> &'static str {
    match setting.authority {
        Authority::Operator => "operator",
        Authority::Limit(_) => "limit",
        Authority::Administrator => "administrator",
        Authority::Host => "host",
    }
}

fn words(setting: &Setting) -> Vec<&'static str> {
    match setting.kind {
        Kind::Bool => vec!["true", "false"],
        Kind::OneOf(words) => words.to_vec(),
        _ => Vec::new(),
    }
}

/// Changes a setting in the file, and has the server apply it.
pub(super) fn make(running: &Running, changes: &Changes, change: &SettingChange) -> ChangeResult {
    edited(running, changes, (&change.by, &in_words(change)), |edit| apply(running, edit, change))
}

/// Changes the settings file, and has the server apply it. The change can be taken back.
pub(super) fn edited(
    running: &Running,
    changes: &Changes,
    (by, what): (&Author, &str),
    change: impl FnOnce(&mut Edit) -> Result<(), Vec<String>>,
) -> ChangeResult {
    let mut made = changes.made.lock();
    let mut edit = Edit::open(running.arguments()).map_err(refusal)?;
    change(&mut edit)?;
    let (before, after) = edit.texts();
    if before == after {
        return Ok(vec!["it is so already".into()]);
    }
    check_permitted(running, &edit, by)?;
    edit.save(running.arguments()).map_err(refusal)?;
    tracing::info!(by = by.name, change = what, "setting changed");
    if before.len().max(after.len()) <= LONGEST_TEXT {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let status = ChangeStatus { at, by: by.name.clone(), what: what.to_owned() };
        if made.len() >= MOST_CHANGES {
            made.pop_front();
        }
        // The text before this change is the one after the change before.
        let before = match made.back() {
            Some(last) if *last.after == *before => last.after.clone(),
            _ => before.into(),
        };
        made.push_back(Change { status, before, after: after.into() });
    } else {
        made.clear();
    }
    Ok(running.reload()?)
}

/// Refuses a change that demands more than its author has shown. The refusal tells what this host has only to an author who has
/// shown enough.
fn check_permitted(running: &Running, edit: &Edit, by: &Author) -> Result<(), ChangeRefusal> {
    let ChangeDemand { most, settings } = edit.demanded(running.arguments());
    let settings = settings.join("`, `");
    match most {
        Demand::Operator => Ok(()),
        Demand::Password if by.is_verified => {
            Ok(edit.check_over_network(running.arguments()).map_err(refusal)?)
        }
        Demand::Password => Err(ChangeRefusal::NeedsPassword(format!("`{settings}`"))),
        Demand::Host => {
            let hint = "change it in the settings file on the server, with `fourfold set` or an editor";
            Err(vec![format!("`{settings}` is not changed over the network: {hint}")].into())
        }
    }
}

/// Takes the newest change back: the file is, byte for byte, as it was.
pub(super) fn undo(running: &Running, changes: &Changes, by: &Author) -> ChangeResult {
    let mut made = changes.made.lock();
    let Some(last) = made.back() else {
        return Err(vec![
            "there is no change to take back; changes are forgotten when the server stops".into(),
        ]
        .into());
    };
    let mut edit = Edit::open(running.arguments()).map_err(refusal)?;
    if *edit.texts().0 != *last.after {
        return Err(vec![
            "the settings file was changed meanwhile by another program; change the setting itself".into(),
        ]
        .into());
    }
    edit.replace_all(&last.before).map_err(refusal)?;
    check_permitted(running, &edit, by)?;
    edit.save(running.arguments()).map_err(refusal)?;
    tracing::info!(by = by.name, change = last.status.what, "change of a setting taken back");
    made.pop_back();
    Ok(running.reload()?)
}

fn apply(running: &Running, edit: &mut Edit, change: &SettingChange) -> Result<(), Vec<String>> {
    let SettingChange { share, key, value, .. } = change;
    if let Some(share) = share {
        return assign(running, edit, (share, key), value.as_deref());
    }
    check_not_of_run(running, None, key)?;
    match value {
        Some(value) => edit.set_server(key, value),
        None => edit.unset_server(key).map(drop),
    }
    .map_err(refusal)
}

/// Sets a setting of a share, or removes it.
pub(super) fn assign(
    running: &Running,
    edit: &mut Edit,
    (name, key): (&str, &str),
    value: Option<&str>,
) -> Result<(), Vec<String>> {
    check_not_of_run(running, Some(name), key)?;
    let Some(value) = value else { return edit.unset(name, key).map(drop).map_err(refusal) };
    let current = running.current();
    let mut shares = current.settings.shares.iter().chain(&current.settings.absent);
    let share: &ShareSettings =
        shares.find(|share| share.name == name).ok_or_else(|| vec![format!("there is no share {name:?}")])?;
    dataset::assign(edit, share, (key, value)).map_err(refusal)
}

/// A setting that the server's command line sets does not change with the file.
fn check_not_of_run(running: &Running, share: Option<&str>, key: &str) -> Result<(), Vec<String>> {
    let (_, explained) = Settings::load_explained(running.arguments()).map_err(lines_of)?;
    let properties = match share {
        None => Some(&explained.server),
        Some(share) => explained.properties.iter().find(|(name, _)| name == share).map(|(_, all)| all),
    };
    let found = properties.and_then(|all| all.iter().find(|property| property.name == key));
    match found.map(|property| &property.source) {
        Some(Source::Local(place @ (Place::CommandLine(_) | Place::Environment(_)))) => {
            Err(vec![format!("the server was started with `{key}` ({place}): change it there")])
        }
        _ => Ok(()),
    }
}

/// The change for the list of changes.
fn in_words(change: &SettingChange) -> String {
    let of = change.share.as_deref().unwrap_or("server");
    let table = if change.share.is_some() { Table::Share } else { Table::Server };
    match &change.value {
        Some(value) => format!("{of}: {}", assignment(table, &change.key, value)),
        None => format!("{of}: {} removed", change.key),
    }
}

/// A setting with its value. Passwords are not shown.
pub(super) fn assignment(table: Table, key: &str, value: &str) -> String {
    let is_secret = setting(table, key).is_some_and(|setting| setting.kind.is_secret());
    match is_secret {
        true => format!("{key} = {HIDDEN}"),
        false => format!("{key} = {value}"),
    }
}

pub(super) fn refusal(error: EditError) -> Vec<String> {
    match error {
        EditError::Refused(diagnostics) => lines_of(diagnostics),
        EditError::Failed(text) => vec![text],
    }
}

pub(super) fn lines_of(diagnostics: Vec<Diagnostic>) -> Vec<String> {
    diagnostics.iter().map(ToString::to_string).collect()
}
