//! The flags of `fourfold serve`.

use std::ffi::OsString;
use std::path::PathBuf;

use admin::Arguments;
use admin::settings::{Kind, SETTINGS, Setting, Table, USER_VARIABLE};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::host::here;

pub(super) const EXAMPLES: &str = "Examples:
  fourfold serve ~/Share                                  one folder, named like its last component
  fourfold serve Music=/srv/music Films=/srv/films        two, with names
  fourfold serve ./share --listen 127.0.0.1 --nfs-port 0  for this machine only, on any free port
  fourfold serve ./share --user ada:secret                with an account that lasts as long as the server
  fourfold serve ./share --nfs-clients 192.168.1.0/24     and NFS for these hosts, which the server believes who their users are
  sudo fourfold serve ./share --user ada:secret --as bob  what ada makes belongs to the host user bob
  fourfold serve ./share --user-file accounts             the same, with the password out of others' sight
  fourfold serve /srv/studio --from smb://ada@old/studio --from-credentials old.account
                                                          the files of another server, which arrive while they are used
  fourfold serve ./share --guest --appletalk ltoudp       for Macs without TCP, and emulators of them (docs/appletalk.md)
  fourfold serve --config /etc/fourfold/fourfold.toml     everything from a file

A folder that is named here is made if only its last component is missing.
It prints how clients reach each share, then `ready`. SIGTERM stops it, SIGHUP makes it read its settings again.
All settings are explained in docs/settings.md.

Exit codes:
  0  stopped as asked
  1  it could not start or go on; the message says why and what to do
  2  the settings or the command line were refused";

/// `fourfold serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Serve {
    /// Folders to share, each as DIR or NAME=DIR; NAME is by default the folder's last component
    #[arg(value_name = "[NAME=]DIR")]
    pub(crate) shares: Vec<OsString>,
    /// Settings file; by default ./fourfold.toml, else, for root, /etc/fourfold/fourfold.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingFlags,
    /// Account for this run. The history of the shell keeps the password, and `ps` shows it for a moment: see
    /// --user-file
    #[arg(long = "user", value_name = "NAME:PASSWORD")]
    users: Vec<String>,
    /// File with accounts for this run: lines NAME:PASSWORD. The environment variable FOURFOLD_USER takes one, too
    #[arg(long = "user-file", value_name = "FILE")]
    user_files: Vec<PathBuf>,
}

impl Serve {
    /// What was typed, for [`admin::Settings::load`].
    pub(crate) fn arguments(&self, privileged: bool, folder: PathBuf) -> Arguments {
        Arguments {
            config: self.config.clone(),
            shares: self.shares.clone(),
            flags: self.settings.0.clone(),
            users: self.users.clone(),
            user_files: self.user_files.clone(),
            user_variable: std::env::var(USER_VARIABLE).ok().filter(|text| !text.is_empty()),
            state_home: here::state_home(),
            ..Arguments::new(privileged, folder)
        }
    }
}

/// The flags that are settings, as (name without dashes, value). A switch has an empty value.
#[derive(Debug, Clone, Default)]
struct SettingFlags(Vec<(String, String)>);

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().fold(command, |command, setting| match setting.flag {
            Some((name, value)) => command.arg(argument(setting, name, value)),
            None => command,
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Vec::new();
        for setting in SETTINGS {
            let Some((name, value)) = setting.flag else { continue };
            if !value.is_empty() {
                let values = matches.get_many::<String>(name).into_iter().flatten();
                typed.extend(values.map(|value| (name.to_owned(), as_given(setting, value))));
            } else if matches.get_flag(name) {
                typed.push((name.to_owned(), String::new()));
            }
        }
        Ok(Self(typed))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag of a setting, with the help of the table.
fn argument(setting: &'static Setting, name: &'static str, value: &'static str) -> Arg {
    let mut long = format!("{} {}", setting.brief, setting.detail).trim_end().to_owned();
    if matches!(setting.table, Table::Server | Table::AppleTalk) {
        let default = setting.default.unwrap_or(setting.unset);
        long.push_str(&format!("\n\nDefault: {default}"));
    }
    let argument = Arg::new(name).long(name).help(setting.brief.trim_end_matches('.')).long_help(long);
    match setting.kind {
        _ if value.is_empty() => argument.action(ArgAction::SetTrue),
        Kind::ClientsOrAll => argument.value_name(value).action(ArgAction::Append).value_delimiter(','),
        kind if kind.repeats() => argument.value_name(value).action(ArgAction::Append),
        _ => argument.value_name(value),
    }
}

/// What was typed for a setting. A folder that is typed where URLs of files can be is one.
fn as_given(setting: &Setting, value: &str) -> String {
    match setting.kind {
        Kind::Url(schemes) if schemes.contains(&"file") => as_url(value),
        _ => value.to_owned(),
    }
}

/// The URL of a folder that was typed as a path.
fn as_url(from: &str) -> String {
    match std::path::absolute(from) {
        Ok(folder) if !from.contains("://") => format!("file://{}", folder.display()),
        _ => from.to_owned(),
    }
}
