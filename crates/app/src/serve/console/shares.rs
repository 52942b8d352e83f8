//! Shares that the console makes, changes and ends, by changes of the settings file that can be taken back.

use std::collections::BTreeSet;
use std::path::Path;

use admin::Settings;
use admin::settings::{Edit, Source, Table};
use web::author::{Author, ChangeRefusal, ChangeResult};
use web::shares::{NewShare, ShareChange};

use super::change::{Changes, assign, assignment, edited, lines_of, refusal};
use super::folders::{self, NewFolder};
use crate::serve::running::Running;

/// In the place of the last part of the path: each user has a folder of its own.
const USER: &str = "%U";

/// Shares a folder, which is made if that is asked for.
pub(super) fn share(running: &Running, changes: &Changes, new: &NewShare, by: &Author) -> ChangeResult {
    // The answers below tell whether a folder exists.
    if !by.is_verified {
        return Err(ChangeRefusal::NeedsPassword("sharing a folder".into()));
    }
    let NewShare { name, path, properties, .. } = new;
    let made = prepare(running, new)?;
    let shared = edited(running, changes, (by, &format!("{name}: shared from {path}")), |edit| {
        edit.add(name, Some(Path::new(path))).map_err(refusal)?;
        properties.iter().try_for_each(|(key, value)| edit.set(name, key, value)).map_err(refusal)
    });
    if let (Err(_), Some(made)) = (&shared, made) {
        // A server that could not apply the change has the share in its file all the same.
        let is_kept = Edit::open(running.arguments()).and_then(|mut edit| edit.has(name)).unwrap_or(true);
        if !is_kept {
            made.undo();
        }
    }
    shared
}

/// Refuses what is no new share, and makes its folder.
fn prepare(running: &Running, new: &NewShare) -> Result<Option<NewFolder>, Vec<String>> {
    let NewShare { name, path, make_folder, .. } = new;
    let whole = Path::new(path);
    if !whole.is_absolute() {
        return Err(vec![format!("{path:?}: write the whole path of the folder, with / at its beginning")]);
    }
    let current = running.current();
    if current.settings.shares.iter().chain(&current.settings.absent).any(|share| share.name == *name) {
        return Err(vec![format!("there is a share {name:?} already: choose another name")]);
    }
    let is_homes = whole.file_name().is_some_and(|last| last == USER);
    let folder = whole.parent().filter(|_| is_homes).unwrap_or(whole);
    let made = if *make_folder { folders::make(&current.settings, folder)? } else { None };
    let cannot = |why: String| {
        vec![format!("{}: {why}; make the folder on the server, or choose another one", folder.display())]
    };
    match folder.metadata() {
        Ok(found) if found.is_dir() => Ok(made),
        Ok(_) => Err(cannot("it is no folder".into())),
        Err(error) => Err(cannot(error.to_string())),
    }
}

/// Changes settings of a share in one step.
pub(super) fn change(
    running: &Running,
    changes: &Changes,
    change: &ShareChange,
    by: &Author,
) -> ChangeResult {
    let ShareChange { name, properties } = change;
    let in_words = |(key, value): (&String, &Option<String>)| match value {
        Some(value) => assignment(Table::Share, key, value),
        None => format!("{key} removed"),
    };
    let what = properties.iter().map(in_words).collect::<Vec<_>>().join(", ");
    edited(running, changes, (by, &format!("{name}: {what}")), |edit| {
        properties.iter().try_for_each(|(key, value)| assign(running, edit, (name, key), value.as_deref()))
    })
}

/// Ends the sharing of a folder, and with `recursive` that of the shares below. The files stay.
pub(super) fn unshare(
    running: &Running,
    changes: &Changes,
    (name, recursive): (&str, bool),
    by: &Author,
) -> ChangeResult {
    let current = running.current();
    let below = format!("{name}/");
    let all = current.settings.shares.iter().chain(&current.settings.absent).map(|share| &share.name);
    let below: BTreeSet<&String> = all.filter(|other| other.starts_with(&below)).collect();
    if !below.is_empty() && !recursive {
        let names = below.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(vec![format!("below {name:?} are the shares {names}: they must go, too")].into());
    }
    edited(running, changes, (by, &format!("{name}: no longer shared")), |edit| {
        below
            .into_iter()
            .map(String::as_str)
            .chain([name])
            .try_for_each(|one| edit.remove(one))
            .map_err(refusal)
    })
}

/// Gives a share, and those below it, another name. Its folder stays where it is.
pub(super) fn rename(
    running: &Running,
    changes: &Changes,
    (name, new): (&str, &str),
    by: &Author,
) -> ChangeResult {
    let (settings, explained) = Settings::load_explained(running.arguments()).map_err(lines_of)?;
    if settings.shares.iter().chain(&settings.absent).any(|share| share.name == new) {
        return Err(vec![format!("there is a share {new:?} already: choose another name")].into());
    }
    let properties = explained.properties.iter().find(|(share, _)| share == name).map(|(_, all)| all);
    let path = properties.and_then(|all| all.iter().find(|property| property.name == "path"));
    if path.is_some_and(|path| matches!(path.source, Source::Inherited(..))) || new.contains('/') {
        let hint = format!("`fourfold rename {name} {new}` on the server does that");
        return Err(vec![format!("the folder of a share below another one must be moved: {hint}")].into());
    }
    edited(running, changes, (by, &format!("{name}: renamed to {new}")), |edit| {
        edit.rename(name, new).map_err(refusal)
    })
}
