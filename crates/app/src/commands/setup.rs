//! `fourfold setup`: the first settings of a server, by questions. The commands that do the same without questions do the work.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use admin::control;
use anyhow::Context as _;
use auth::{AccountFile, Role};

use super::{dataset, user};
use crate::cli::{AccountArgs, CreateShare, RoleFlags, SetProperties, Setup, User};
use crate::host::here;
use crate::terminal::{exit, out, question};

/// The service of systemd, where packages put it.
const UNITS: [&str; 3] = [
    "/etc/systemd/system/fourfold.service",
    "/usr/lib/systemd/system/fourfold.service",
    "/lib/systemd/system/fourfold.service",
];
/// The settings file of that service.
const SETTINGS_OF_UNIT: &str = "/etc/fourfold/fourfold.toml";
/// Folders that belong to the system: what is shared there is easily too much.
const OF_SYSTEM: [&str; 11] =
    ["/", "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr"];

/// What a share is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Team,
    Reading,
    Backups,
    DropBox,
}

const PURPOSES: [(Purpose, &str); 4] = [
    (Purpose::Team, "all these people change the files, also those of others"),
    (Purpose::Reading, "the first of them changes the files, the others read them"),
    (Purpose::Backups, "backups of their Macs with Time Machine"),
    (Purpose::DropBox, "others put files in and see nothing; these people read and change them"),
];

/// What was answered.
#[derive(Debug)]
struct Answers {
    server: String,
    share: String,
    folder: PathBuf,
    people: Vec<String>,
    purpose: Purpose,
}

/// Asks, and does it.
pub(crate) fn run(asked: &Setup) -> anyhow::Result<ExitCode> {
    if !out::is_asking_possible() {
        return Err(exit::usage_error(
            "setup asks questions, and there is no terminal to ask at; `fourfold user add NAME` and `fourfold create SHARE --path DIR` \
             do the same without questions",
        ));
    }
    let (place, new_file) = asked.place.split_new_file();
    let state = match here::state(&place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let answers = Answers::ask()?;
    let known = AccountFile::read(&state)?;
    let new: Vec<&String> =
        answers.people.iter().filter(|name| known.find_in_any_case(name).is_none()).collect();
    out::error_line(answers.summary(&new));
    if !question::is_wanted("Do this?", true)? {
        anyhow::bail!("nothing was changed");
    }
    let begun = new_file.map(BegunFile::make).transpose()?;
    make_accounts(asked, &new)?;
    let made = dataset::create(&answers.share(asked))?;
    if made != ExitCode::SUCCESS {
        return Ok(made);
    }
    drop(begun);
    if answers.server != host_name() {
        let words = vec![format!("bonjour-name={}", answers.server)];
        dataset::set(&SetProperties { words, place: asked.place.clone() })?;
    }
    service(asked, &state)
}

/// A settings file that was made. It goes if it gets no settings.
struct BegunFile<'a>(&'a Path);

impl<'a> BegunFile<'a> {
    fn make(file: &'a Path) -> anyhow::Result<Self> {
        let cannot = || format!("cannot make the settings file {}", file.display());
        std::fs::File::create_new(file).with_context(cannot)?;
        Ok(Self(file))
    }
}

impl Drop for BegunFile<'_> {
    fn drop(&mut self) {
        if self.0.metadata().is_ok_and(|about| about.len() == 0) {
            let _ = std::fs::remove_file(self.0); // as it was before
        }
    }
}

/// Makes accounts; asks for the password of each.
fn make_accounts(asked: &Setup, new: &[&String]) -> anyhow::Result<()> {
    for name in new {
        let state = asked.place.clone();
        let named = AccountArgs { name: (*name).clone(), state };
        let (uid, gid, groups, password_file) = (None, None, Vec::new(), None);
        let (password_stdin, legacy_password, chap_secret, admin) = (false, false, false, false);
        user::run(&User::Add {
            named,
            uid,
            gid,
            password_stdin,
            password_file,
            legacy_password,
            chap_secret,
            groups,
            admin,
        })?;
    }
    Ok(())
}

fn host_name() -> String {
    here::host_name().split('.').next().unwrap_or_default().to_owned()
}

impl Answers {
    fn ask() -> anyhow::Result<Self> {
        let server = question::ask("Name of this server, as others see it", &host_name(), |name| {
            if name.len() <= 58 { Ok(name.to_owned()) } else { Err("it has more than 58 bytes".into()) }
        })?;
        let folder = question::ask("Folder to share; it is made if it is missing", &usual_folder(), folder)?;
        let usual = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let share =
            question::ask("Name of the share, as others see it", &usual, |name| match name.contains('/') {
                true => Err("it cannot have a slash".into()),
                false => Ok(name.to_owned()),
            })?;
        let people = question::ask("People who use it, with commas between them", "", people)?;
        out::error_line("What is it for?");
        for (number, (_, what)) in PURPOSES.iter().enumerate() {
            out::error_line(format_args!("  {}  {what}", number + 1));
        }
        let purpose = question::ask("Number", "1", purpose)?;
        Ok(Self { server, share, folder, people, purpose })
    }

    /// Everything that will be done.
    fn summary(&self, new: &[&String]) -> String {
        let names = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let mut text = format!("\nThe share {} is the folder {}", self.share, self.folder.display());
        text.push_str(if self.folder.exists() { "." } else { ", which is made." });
        if !new.is_empty() {
            text.push_str(&format!(
                " Accounts are made for {}; their passwords are asked for next.",
                names(new)
            ));
        }
        for (role, people) in self.roles() {
            text.push_str(&format!("\n  {:<12} {}", role.to_string(), people.join(", ")));
        }
        text
    }

    fn roles(&self) -> Vec<(Role, Vec<String>)> {
        let (people, others) = (self.people.clone(), self.people.get(1..).unwrap_or_default().to_vec());
        match self.purpose {
            Purpose::Team => vec![(Role::Editor, people)],
            Purpose::Reading if others.is_empty() => vec![(Role::Owner, people)],
            Purpose::Reading => vec![(Role::Owner, self.people[..1].to_vec()), (Role::Reader, others)],
            // Only root can tell who has made a file.
            Purpose::Backups if here::privileged() => vec![(Role::Contributor, people)],
            Purpose::Backups => vec![(Role::Editor, people)],
            Purpose::DropBox => vec![(Role::Editor, people), (Role::Drop, vec!["everyone".into()])],
        }
    }

    fn share(&self, asked: &Setup) -> CreateShare {
        let mut roles = RoleFlags::default();
        for (role, people) in self.roles() {
            roles.give(role, people);
        }
        let properties = match self.purpose {
            Purpose::Backups => vec!["time-machine=on".to_owned()],
            _ => Vec::new(),
        };
        let (path, place) = (Some(self.folder.clone()), asked.place.clone());
        CreateShare { name: self.share.clone(), path, properties, roles, place }
    }
}

fn usual_folder() -> String {
    match (here::privileged(), std::env::home_dir()) {
        (false, Some(home)) => home.join("Share").display().to_string(),
        _ => "/srv/share".to_owned(),
    }
}

fn folder(answer: &str) -> Result<PathBuf, String> {
    let folder = match answer.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => std::path::absolute(answer).map_err(|error| error.to_string())?,
    };
    let above = folder.parent();
    match folder.to_str() {
        None => Err("its name is not UTF-8".into()),
        Some(name) if OF_SYSTEM.contains(&name.trim_end_matches('/')) || name == "/" => {
            Err("it belongs to the system: choose one below /srv, /home or a disk of its own".into())
        }
        _ if folder.exists() && !folder.is_dir() => Err("it is a file".into()),
        _ if !folder.exists() && !above.is_some_and(Path::is_dir) => {
            Err("the folder above it is missing, too: make it first, or choose another one".into())
        }
        _ => Ok(folder),
    }
}

fn people(answer: &str) -> Result<Vec<String>, String> {
    let names: Vec<&str> = answer.split([',', ' ']).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Err("write at least one name, such as ada, grace".into());
    }
    match names.iter().find(|name| !auth::is_account_name(name)) {
        Some(name) => Err(auth::Error::BadName((*name).to_owned()).to_string()),
        None => Ok(names.into_iter().map(str::to_owned).collect()),
    }
}

fn purpose(answer: &str) -> Result<Purpose, String> {
    let number: Option<usize> = answer.parse().ok();
    let found = number.and_then(|number| PURPOSES.get(number.checked_sub(1)?));
    found.map(|(purpose, _)| *purpose).ok_or_else(|| format!("write a number from 1 to {}", PURPOSES.len()))
}

/// Offers to start the service, or says how the server is started.
fn service(asked: &Setup, state: &Path) -> anyhow::Result<ExitCode> {
    if UnixStream::connect(state.join(control::SOCKET)).is_ok() {
        out::line("the server runs, and serves it; `fourfold status --all` shows how clients connect")?;
        return Ok(ExitCode::SUCCESS);
    }
    let arguments = here::of_server(&asked.place)?;
    let file =
        arguments.config.or_else(|| admin::settings::find_file(arguments.privileged, &arguments.folder));
    let file = file.map(|file| arguments.folder.join(file)).unwrap_or_default();
    let has_unit =
        Path::new("/run/systemd/system").is_dir() && UNITS.iter().any(|unit| Path::new(unit).exists());
    let is_of_unit = arguments.privileged && file == Path::new(SETTINGS_OF_UNIT);
    if has_unit
        && is_of_unit
        && question::is_wanted("Start the service now, and with the machine from now on?", true)?
    {
        let started = Command::new("systemctl").args(["enable", "--now", "fourfold"]).status();
        let status = started.context("systemctl cannot be started")?;
        anyhow::ensure!(status.success(), "the service did not start: `journalctl -u fourfold` says why");
        out::line("the server runs; `fourfold status --all` shows how clients connect")?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = file.display();
    out::line(format_args!(
        "`fourfold serve --config {file}` starts the server, and prints how clients connect"
    ))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_system_are_not_shared() {
        for wrong in ["/", "/etc", "/usr/", "/nowhere/at/all"] {
            assert!(folder(wrong).is_err(), "{wrong}");
        }
        assert!(folder("/tmp/new").is_ok());
    }

    #[test]
    fn people_are_names_with_commas() {
        assert_eq!(people("ada, grace,linus").unwrap(), ["ada", "grace", "linus"]);
        for wrong in ["", " , ", "a:b"] {
            assert!(people(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_purpose_gives_everyone_a_role() {
        for (purpose, _) in PURPOSES {
            let people = vec!["ada".to_owned(), "grace".to_owned()];
            let (server, share, folder) = ("s".into(), "A".into(), "/tmp/a".into());
            let answers = Answers { server, share, folder, people, purpose };
            let all: Vec<String> = answers.roles().into_iter().flat_map(|(_, people)| people).collect();
            assert!(all.contains(&"ada".to_owned()) && all.contains(&"grace".to_owned()), "{purpose:?}");
        }
    }
}
