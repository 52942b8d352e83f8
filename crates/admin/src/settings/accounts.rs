//! The accounts in the settings: `[[user]]`, and those of the command line for one run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::diagnostic::{Findings, Place};
use super::flags::Arguments;
use super::kind::Kind;
use super::model::UserSettings;
use super::section::Section;

/// The environment variable with one account for this run, as `NAME:PASSWORD`.
pub const USER_VARIABLE: &str = "FOURFOLD_USER";
/// The longest file of `--user-file` in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// All accounts; the command line overrides the file.
pub(super) fn all(arguments: &Arguments, sections: &[Section], findings: &mut Findings) -> Vec<UserSettings> {
    let mut users: Vec<UserSettings> = Vec::new();
    // By what all spellings of a name share: the first one.
    let mut places: HashMap<String, usize> = HashMap::new();
    for section in sections {
        let Some(name) = section.text("name") else { continue };
        if places.contains_key(&auth::account_key(&name)) {
            let what = format!("there are two accounts {name:?}");
            findings.error(section.place_of("name"), what, "remove one, or give it another name");
        }
        let id = |key| section.number(key).and_then(|n| u32::try_from(n).ok());
        let ids = auth::Ids { uid: id("uid"), gid: id("gid") };
        let (disabled, admin) = (section.bool("disabled"), section.bool("admin"));
        places.entry(auth::account_key(&name)).or_insert(users.len());
        users.push(UserSettings { name, ids, disabled, admin, password: None });
    }
    for typed in for_this_run(arguments, findings) {
        match places.get(&auth::account_key(&typed.name)).and_then(|&place| users.get_mut(place)) {
            Some(user) => *user = UserSettings { ids: user.ids, admin: user.admin, ..typed },
            None => users.push(typed),
        }
    }
    users
}

/// The accounts of `--user`, `--user-file` and the environment. Each account may occur once.
fn for_this_run(arguments: &Arguments, findings: &mut Findings) -> Vec<UserSettings> {
    let mut users: Vec<UserSettings> = Vec::new();
    let mut places: HashMap<String, Place> = HashMap::new();
    let mut add = |one: Option<(Place, UserSettings)>, findings: &mut Findings| {
        let Some((place, user)) = one else { return };
        match places.entry(auth::account_key(&user.name)) {
            Entry::Occupied(other) => {
                let what = format!("the account {:?} has a password already, at {}", user.name, other.get());
                findings.error(&place, what, "name each account once");
            }
            Entry::Vacant(free) => {
                free.insert(place);
                users.push(user);
            }
        }
    };
    for argument in &arguments.users {
        let name = argument.split_once(':').map_or("", |(name, _)| name);
        let place =
            Place::CommandLine(if name.is_empty() { "--user".into() } else { format!("--user {name}:…") });
        let one = user(argument, &place, "--user ", findings);
        if let Some((place, _)) = &one {
            findings.note(
                place,
                "other users of this machine can see the password in the list of processes (`ps`)",
                format!(
                    "use --user-file FILE or {USER_VARIABLE}, or keep the account with `fourfold user add`"
                ),
            );
        }
        add(one, findings);
    }
    if let Some(text) = &arguments.user_variable {
        add(user(text, &Place::Environment(USER_VARIABLE), "", findings), findings);
    }
    for path in &arguments.user_files {
        for (line, text) in lines(&arguments.folder, path, findings) {
            let place = Place::File { path: path.clone(), line, column: 1 };
            add(user(&text, &place, "", findings), findings);
        }
    }
    users
}

/// Parses `NAME:PASSWORD`. A diagnostic never contains the password.
fn user(text: &str, place: &Place, before: &str, findings: &mut Findings) -> Option<(Place, UserSettings)> {
    let instead = format!("write `{before}ada:secret`");
    let Some((name, password)) = text.split_once(':') else {
        findings.error(place, "an account must be a name, a colon and a password", instead);
        return None;
    };
    if !auth::is_account_name(name) {
        let what = format!("the name must be {}, not {name:?}", Kind::AccountName.expects());
        findings.error(place, what, instead);
        return None;
    }
    if password.is_empty() {
        findings.error(place, "the password is empty", "write one behind the colon, or use `--guest`");
        return None;
    }
    let (name, password) = (name.into(), Some(password.into()));
    Some((
        place.clone(),
        UserSettings { name, ids: auth::Ids::default(), disabled: false, admin: false, password },
    ))
}

/// The lines of a file of accounts with their numbers, without empty lines and comments.
fn lines(folder: &Path, path: &Path, findings: &mut Findings) -> Vec<(usize, String)> {
    let place = Place::File { path: path.into(), line: 1, column: 1 };
    let text = match read(&folder.join(path)) {
        Ok((text, private)) => {
            if !private {
                let what = "other users of this machine may read the passwords in the file";
                findings.note(&place, what, "`chmod 600` it");
            }
            text
        }
        Err(error) => {
            let what = format!("the accounts cannot be read: {error}");
            findings.error(&place, what, "name a file with lines `NAME:PASSWORD`");
            return Vec::new();
        }
    };
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.to_owned()));
    numbered.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')).collect()
}

/// The text of a file, and whether only its owner may read it. A pipe could not be read again at a
/// reload.
fn read(path: &Path) -> io::Result<(String, bool)> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST_FILE {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok((text, metadata.permissions().mode() & 0o044 == 0))
}

/// If no host user has the name, accounts would silently be anonymous.
pub(super) fn check_default_user(arguments: &Arguments, server: &Section, findings: &mut Findings) {
    let (Some(name), place) = (server.text("default-user"), server.place_of("default-user")) else { return };
    if !arguments.privileged {
        let what = "`default-user` has no effect, as the server does not run as root";
        findings.note(place, what, "it does everything as its own user");
    } else if auth::UnixAccounts::NameService.user(&name).is_none() {
        let what = format!("this machine has no user {name:?}");
        findings.error(place, what, "write a user of this machine, or give each account a `uid`");
    }
}
