//! The flags of `fourfold serve`.

use std::ffi::OsString;
use std::path::PathBuf;

use admin::Arguments;
use admin::settings::{SETTINGS, Table, USER_VARIABLE};
use clap::Args;

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

/// `fourfold serve`. Flags without a comment are settings: their help comes from the table.
#[derive(Debug, Clone, Args)]
pub(crate) struct Serve {
    /// Folders to share, each as DIR or NAME=DIR; NAME is by default the folder's last component
    #[arg(value_name = "[NAME=]DIR")]
    pub(crate) shares: Vec<OsString>,
    /// Settings file; by default ./fourfold.toml, else, for root, /etc/fourfold/fourfold.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[arg(long)]
    state: Option<String>,
    #[arg(long)]
    listen: Vec<String>,
    #[arg(long)]
    nfs_port: Option<String>,
    #[arg(long, value_delimiter = ',')]
    nfs_clients: Vec<String>,
    #[arg(long)]
    smb_port: Option<String>,
    #[arg(long)]
    afp_port: Option<String>,
    #[arg(long)]
    iscsi_port: Option<String>,
    #[arg(long)]
    portmap_port: Option<String>,
    #[arg(long)]
    admin_port: Option<String>,
    #[arg(long)]
    bonjour: Option<String>,
    #[arg(long)]
    log_format: Option<String>,
    #[arg(long)]
    poll: Option<String>,
    #[arg(long)]
    appletalk: Vec<String>,
    /// Account for this run. The history of the shell keeps the password, and `ps` shows it for a moment: see
    /// --user-file
    #[arg(long = "user", value_name = "NAME:PASSWORD")]
    users: Vec<String>,
    #[arg(long = "as", id = "as")]
    default_user: Option<String>,
    /// File with accounts for this run: lines NAME:PASSWORD. The environment variable FOURFOLD_USER takes one, too
    #[arg(long = "user-file", value_name = "FILE")]
    user_files: Vec<PathBuf>,
    #[arg(long)]
    from: Option<String>,
    #[arg(long)]
    from_credentials: Option<String>,
    #[arg(long)]
    guest: bool,
    #[arg(long)]
    read_only: bool,
}

impl Serve {
    /// What was typed, for [`admin::Settings::load`].
    pub(crate) fn arguments(&self, privileged: bool, folder: PathBuf) -> Arguments {
        let single = [
            ("state", &self.state),
            ("nfs-port", &self.nfs_port),
            ("smb-port", &self.smb_port),
            ("afp-port", &self.afp_port),
            ("iscsi-port", &self.iscsi_port),
            ("portmap-port", &self.portmap_port),
            ("admin-port", &self.admin_port),
            ("bonjour", &self.bonjour),
            ("log-format", &self.log_format),
            ("poll", &self.poll),
            ("as", &self.default_user),
            ("from", &self.from.as_deref().map(as_url)),
            ("from-credentials", &self.from_credentials),
        ];
        let switches = [("read-only", self.read_only), ("guest", self.guest)];
        let listen = self.listen.iter().map(|address| ("listen", address.clone()));
        let appletalk = self.appletalk.iter().map(|link| ("appletalk", link.clone()));
        let nfs_clients = self.nfs_clients.iter().map(|hosts| ("nfs-clients", hosts.clone()));
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let switches = switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name, String::new()));
        Arguments {
            config: self.config.clone(),
            shares: self.shares.clone(),
            flags: listen
                .chain(appletalk)
                .chain(single)
                .chain(nfs_clients)
                .chain(switches)
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            users: self.users.clone(),
            user_files: self.user_files.clone(),
            user_variable: std::env::var(USER_VARIABLE).ok().filter(|text| !text.is_empty()),
            state_home: here::state_home(),
            ..Arguments::new(privileged, folder)
        }
    }
}

/// The URL of a folder that was typed as a path.
fn as_url(from: &str) -> String {
    match std::path::absolute(from) {
        Ok(folder) if !from.contains("://") => format!("file://{}", folder.display()),
        _ => from.to_owned(),
    }
}

/// Gives each flag that is a setting the help and value name of the table.
pub(super) fn with_help_from_table(mut command: clap::Command) -> clap::Command {
    for setting in SETTINGS {
        let Some((flag, value)) = setting.flag else { continue };
        let brief = setting.brief.trim_end_matches('.').to_owned();
        let mut long = format!("{} {}", setting.brief, setting.detail).trim_end().to_owned();
        if matches!(setting.table, Table::Server | Table::AppleTalk) {
            let default = setting.default.unwrap_or(setting.unset);
            long.push_str(&format!("\n\nDefault: {default}"));
        }
        command = command.mut_arg(flag.replace('-', "_"), |argument| {
            let argument = argument.help(brief).long_help(long);
            if value.is_empty() { argument } else { argument.value_name(value) }
        });
    }
    command
}
