//! Who may do what in a team folder, in words.

use admin::ShareSettings;
use admin::settings::{TeamFolder, Who};
use auth::{Accounts as _, Directory, Role};

use crate::people::roles;

/// What a role in a share is for, after "may".
pub(crate) fn may(role: Role, share: &ShareSettings) -> &'static str {
    match role {
        Role::Contributor if share.time_machine => "back up to it, and see only what is their own",
        Role::Owner => "do everything, and say who may do what",
        Role::Editor => "change all files, also those of others",
        Role::Contributor => "read everything, add to it, and change what is their own",
        Role::Reader => "read everything",
        Role::Drop => "put files in, and see nothing",
    }
}

/// The users that an entry means, in words.
pub(crate) fn people(who: &Who) -> String {
    match who {
        Who::Account(name) => name.clone(),
        Who::Group(name) => format!("members of {name}"),
        Who::Everyone => "everyone with an account".into(),
        Who::Guests => "everyone, guests too".into(),
    }
}

/// Why an entry gives its role to no one now, and the command that changes that.
pub(crate) fn missing(who: &Who, accounts: &Directory) -> Option<String> {
    match who {
        Who::Account(name) if accounts.find(name).is_none() && accounts.unix().user(name).is_none() => {
            Some(format!("there is no such account yet: `fourfold user add {name}`"))
        }
        Who::Group(name) if roles::group_number(name, accounts).is_none() => {
            Some(format!("there is no such group yet: `fourfold group add {name} ACCOUNT…`"))
        }
        _ => None,
    }
}

/// One line for each who has a role in a share.
pub(crate) fn lines(share: &ShareSettings, team: &TeamFolder, accounts: &Directory) -> Vec<String> {
    let name = &share.name;
    let line = |entry: &admin::settings::TeamEntry| {
        let note = missing(&entry.who, accounts).map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{name}: {} may {}{note}", people(&entry.who), may(entry.role, share))
    };
    team.entries.iter().map(line).collect()
}
