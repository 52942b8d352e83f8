//! Another name for an account: its Unix user, its groups and its roles in shares stay.

use admin::settings::{Property, Source};
use admin::{Settings, ShareSettings};
use auth::{Accounts, FileError, is_same_name, second_factor};
use web::author::{Author, ChangeRefusal};

use super::{applied, edit};
use crate::people::accounts;
use crate::serve::console::change::{Changes, edited, refusal};
use crate::serve::current::Current;
use crate::serve::running::Running;

/// The settings of a share that list accounts.
const LISTS: [&str; 6] = ["users", "owners", "editors", "contributors", "readers", "drop"];

/// What lists of roles have beside names.
const WORDS: [&str; 2] = ["everyone", "guests"];

/// Gives the account the new name in `accounts.toml`. It goes on to act as the Unix user that it acts as now: the user of the new
/// name may be another one.
pub(super) fn rename(current: &Current, name: &str, new: &str, password: &str) -> Result<(), Vec<String>> {
    if current.settings.users.iter().any(|user| user.name == name || is_same_name(&user.name, new)) {
        return Err(vec![format!(
            "the settings file has a [[user]] {name:?} or {new:?}: change the name there"
        )]);
    }
    // In a list of roles such a name would be something else: a group, or everyone.
    if new.starts_with('@') || new.contains(',') || WORDS.iter().any(|word| is_same_name(word, new)) {
        return Err(vec![format!(
            "{new:?} has another meaning in the roles of a share: choose another name"
        )]);
    }
    if current.accounts.find_in_any_case(new).is_some_and(|known| known.name != name) {
        return Err(vec![format!("there is an account {new:?} already")]);
    }
    // The account would get what a share gives to the new name: nothing grows wider by a rename.
    if !is_same_name(name, new)
        && let Some(given) = accounts::given_to(&current.settings, new).next()
    {
        return Err(vec![format!("{given}, so {name} would get it: take the name out first")]);
    }
    let now = current.accounts.find(name).ok_or_else(|| vec![format!("there is no account {name:?}")])?;
    let (uid, gid) = (now.identity.uid, now.identity.gid);
    let is_root = accounts::host(current.settings.server.default_user.clone()).own.is_root();
    let state = &current.settings.server.state;
    let failed = |error: FileError| vec![error.to_string()];
    second_factor::copy(state, name, new).map_err(failed)?;
    let renamed = edit(state, |file| {
        file.rename(name, new, password)?;
        if is_root {
            let account = file.change(new)?;
            account.ids.uid.get_or_insert(uid);
            account.ids.gid.get_or_insert(gid);
        }
        Ok(())
    });
    if !is_same_name(name, new) {
        second_factor::remove(state, if renamed.is_ok() { name } else { new }).map_err(failed)?;
    }
    renamed
}

/// Gives the roles of the old name to the new one, and has the server apply both. The change of the settings can be taken back.
pub(super) fn follow(
    running: &Running,
    changes: &Changes,
    (name, new): (&str, &str),
    by: &str,
) -> Result<Vec<String>, Vec<String>> {
    let lists = Settings::load_explained(running.arguments()).map(|(settings, explained)| {
        let shares = settings.shares.iter().chain(&settings.absent);
        let of = |share: &ShareSettings| {
            let all = explained.properties.iter().find(|(known, _)| *known == share.name);
            all.map(|(_, all)| lists_with(all, name, new)).unwrap_or_default()
        };
        shares
            .map(|share| (share.name.clone(), of(share)))
            .filter(|(_, lists)| !lists.is_empty())
            .collect::<Vec<_>>()
    });
    let lists = lists.unwrap_or_default();
    let told = format!("renamed to {new}");
    if lists.is_empty() {
        return applied(running, name, &told);
    }
    let author = Author { name: by.to_owned(), is_verified: true };
    let result = edited(running, changes, (&author, &format!("{name}: {told}")), |file| {
        for (share, lists) in &lists {
            for (key, entries) in lists {
                file.set_list(share, key, entries).map_err(refusal)?;
            }
        }
        Ok(())
    });
    let lost = |lines: Vec<String>| {
        let hint = format!(
            "{name} is {told}, and the shares still name {name}: give {new} the roles on the page of rights"
        );
        [vec![hint], lines].concat()
    };
    match result {
        Ok(lines) => Ok([vec![format!("{name}: {told}")], lines].concat()),
        Err(ChangeRefusal::Refused(lines)) => Err(lost(lines)),
        Err(ChangeRefusal::NeedsPassword(what)) => Err(lost(vec![what])),
    }
}

/// The lists of a share that have the account, with its new name in them.
fn lists_with(properties: &[Property], name: &str, new: &str) -> Vec<(&'static str, Vec<String>)> {
    let of = |key: &'static str| {
        let property = properties.iter().find(|property| property.name == key)?;
        let mut entries = property.texts().filter(|_| matches!(property.source, Source::Local(_)))?;
        let mut has = false;
        for entry in entries.iter_mut().filter(|entry| is_same_name(entry, name)) {
            *entry = new.to_owned();
            has = true;
        }
        has.then_some((key, entries))
    };
    LISTS.into_iter().filter_map(of).collect()
}
