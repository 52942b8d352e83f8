//! The command line. The flags of `serve` that are settings take their help from the table of settings.

mod adopt;
mod advise;
mod bench;
mod caches;
mod cluster;
mod dataset;
mod doctor;
mod domain;
mod explain;
mod files;
mod fork;
mod group;
mod lun;
mod migrate;
mod mount;
mod names;
mod namespace;
mod pool;
mod replicate;
mod rights;
mod scrub;
mod serve;
mod share;
mod snapshot;
mod token;
mod user;
mod verify_metadata;

use std::path::PathBuf;

use admin::Arguments;
use clap::{Args, CommandFactory, Parser, Subcommand};
use wire::{ClientAddress, ClientIp};

use crate::host::here;

pub(crate) use adopt::Adopt;
pub(crate) use advise::Advise;
pub(crate) use bench::{BenchArguments, BenchCommand, CacheFlag, DurabilityFlag, LinkFlag, SweepFlag};
pub(crate) use caches::{Caches, CachesCommand, SetCaches};
pub(crate) use cluster::{
    ClusterAdd, ClusterCommand, ClusterDrain, ClusterRemove, ClusterSettingsCommand, ClusterStatus,
};
pub(crate) use dataset::{
    CreateShare, DestroyShare, GetProperties, InheritProperty, ListShares, RenameShare, SetProperties,
};
pub(crate) use doctor::Doctor;
pub(crate) use domain::{DomainCommand, Password as DomainPassword};
pub(crate) use explain::Explain;
pub(crate) use files::{Cat, Copy, ListFolder, RemoveFiles};
pub(crate) use fork::{ForkCommand, Pack, PortableForm, Unpack};
pub(crate) use group::{GroupArgs, GroupCommand};
pub(crate) use lun::{Create, LunCommand, LunSnapshot};
pub(crate) use migrate::{Login, Migrate};
pub(crate) use mount::MountCommand;
pub(crate) use names::Names;
pub(crate) use namespace::{ExplainLink, ListLinks, MapLinks, Namespace, TestLinks};
pub(crate) use pool::PoolCommand;
pub(crate) use replicate::Replicate;
pub(crate) use rights::{CheckRights, ResetRights, RightsCommand};
pub(crate) use scrub::Scrub;
pub(crate) use serve::Serve;
pub(crate) use share::{ShareAccess, ShareCommand};
pub(crate) use snapshot::{ListSnapshots as SnapshotList, Restore as SnapshotRestore, SnapshotCommand};
pub(crate) use token::TokenCommand;
pub(crate) use user::{AccountArgs, User, UserRights};
pub(crate) use verify_metadata::VerifyMetadata;

const EXAMPLES: &str = "Examples:
  fourfold serve ~/Share                     share one folder with every client of every protocol
  fourfold serve Music=/srv/music --read-only
  fourfold check --config fourfold.toml      are the settings right?
  fourfold doctor                            what on this machine will hurt?
  fourfold adopt /srv/old --smb-conf FILE    which settings serve what Samba serves?
  fourfold create studio --path DIR --editor ada,grace    a folder that both of them change
  fourfold share access studio --reader bob  who may do what in a share?
  fourfold set read-only=on studio           change a property of a share
  fourfold snapshot create studio@monday     keep a share as it is now
  fourfold user add ada                      make an account; asks for the password
  fourfold lun create Share/disk 100G        make a disk for iSCSI
  fourfold status                            what is the running server doing?
  fourfold migrate smb://ada@old/share DIR   move in from another server
  fourfold bench smb://ada@server/share      how fast is a server, and what limits it?
  fourfold advise                            what would make the running server faster?

Exit codes:
  0  done
  1  it could not be done; the message says why and what to do
  2  the settings or the command line were refused
  3  no running server was found (status, say, caches, advise)";

/// One file tree, served over AFP, SMB, NFS and iSCSI.
#[derive(Debug, Parser)]
#[command(name = "fourfold", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Share folders until told to stop
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<Serve>),
    /// Accept or refuse the settings, and say everything that is wrong with them
    #[command(after_help = "Examples:
  fourfold check                             ./fourfold.toml
  fourfold check --config /etc/fourfold/fourfold.toml
  fourfold check --json                      for scripts and editors
  fourfold check --print                     every setting, and where it comes from
  fourfold check --print ~/Share --read-only as `fourfold serve` would have it with these flags

Exit codes:
  0  the settings are accepted
  2  they are refused; every line says where, what is wrong, and what to write instead")]
    Check(Box<Check>),
    /// Find what on this machine will hurt, and say what mends it
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(Box<Doctor>),
    /// Look at a folder that another server has served, and say how to serve it as it is
    #[command(after_help = adopt::EXAMPLES)]
    Adopt(Adopt),
    /// Say what a user may do to a file, by which rule, and who uses it now
    #[command(after_help = explain::EXAMPLES)]
    Explain(Explain),
    /// Find names that will hurt some client, and fix them
    #[command(after_help = names::EXAMPLES)]
    Names(Names),
    /// Show who may do what with a file or folder, change it, and look whether the disk says the same
    #[command(subcommand, after_help = rights::EXAMPLES)]
    Rights(RightsCommand),
    /// Look for damage in shares and in what the server keeps beside them, and mend it
    #[command(after_help = scrub::EXAMPLES)]
    Scrub(Scrub),
    /// Pack and unpack files with resource forks: AppleSingle, AppleDouble, MacBinary, BinHex
    #[command(subcommand)]
    Fork(ForkCommand),
    /// Make a share, by itself or below another one, and say who may do what in it
    #[command(after_help = dataset::CREATE)]
    Create(CreateShare),
    /// Remove a share
    #[command(after_help = dataset::DESTROY)]
    Destroy(DestroyShare),
    /// Give a share another name
    #[command(after_help = dataset::RENAME)]
    Rename(RenameShare),
    /// Set properties of a share
    #[command(after_help = dataset::SET)]
    Set(SetProperties),
    /// Show properties of shares, and where they come from
    #[command(after_help = dataset::GET)]
    Get(GetProperties),
    /// Let a share have a property from the share above it
    #[command(after_help = dataset::INHERIT)]
    Inherit(InheritProperty),
    /// List the shares
    #[command(after_help = dataset::LIST)]
    List(ListShares),
    /// Show and change who may do what in a share
    #[command(subcommand)]
    Share(ShareCommand),
    /// Make, list, mount and destroy pools: file systems with snapshots, in files
    #[command(subcommand)]
    Pool(PoolCommand),
    /// Take, list, compare, restore, rename, hold and remove snapshots of shares
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Have a share follow another one, with its snapshots, here or on another host
    #[command(after_help = replicate::EXAMPLES)]
    Replicate(Box<Replicate>),
    /// Make, change, remove and list accounts
    #[command(subcommand)]
    User(User),
    /// Make, change, remove and list groups of accounts
    #[command(subcommand)]
    Group(GroupCommand),
    /// Join an Active Directory domain, leave it, and show whether that works
    #[command(subcommand)]
    Domain(DomainCommand),
    /// Make, remove and list tokens for programs that use the API
    #[command(subcommand)]
    Token(TokenCommand),
    /// Make, change, remove, clone and list LUNs: disks for iSCSI
    #[command(subcommand)]
    Lun(LunCommand),
    /// List, test and explain links to other servers
    #[command(subcommand)]
    Namespace(Namespace),
    /// Show, add, remove and stop the servers of a cluster
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Show what a running server is doing
    #[command(after_help = "Examples:
  fourfold status                            the server of this folder, or, for root, of this machine
  fourfold status --watch                    what clients do now; q ends, ? shows the keys
  fourfold status --json | jq '.sessions'    for scripts
  fourfold status --state /srv/.fourfold     the server with that state folder

Exit codes:
  0  it answered
  1  it runs but did not answer
  3  no server runs with this state folder")]
    Status(Status),
    /// Show the caches of a running server, and change their limits
    #[command(after_help = caches::EXAMPLES)]
    Caches(Caches),
    /// Say what would make a running server faster, and how many users it carries
    #[command(after_help = advise::EXAMPLES)]
    Advise(Advise),
    /// Measure file servers, and say what limits them
    #[command(after_help = bench::EXAMPLES)]
    Bench(Box<BenchArguments>),
    /// Say which metadata of Macs, DOS and Unix a server keeps between its protocols
    #[command(after_help = verify_metadata::EXAMPLES)]
    VerifyMetadata(VerifyMetadata),
    /// Copy a tree of files from another server, with all that the files are, and prove what arrived
    #[command(after_help = migrate::EXAMPLES)]
    Migrate(Migrate),
    /// List a folder of any server
    #[command(after_help = files::LS)]
    Ls(ListFolder),
    /// Print a file of any server
    #[command(after_help = files::CAT)]
    Cat(Cat),
    /// Copy files and folders between servers, with forks and Finder info
    #[command(after_help = files::CP)]
    Cp(Copy),
    /// Mount a folder of any server on this machine
    #[command(after_help = mount::EXAMPLES)]
    Mount(MountCommand),
    /// Remove files and folders of any server
    #[command(after_help = files::RM)]
    Rm(RemoveFiles),
    /// Show a message to users who are logged in
    #[command(after_help = "Macs show it over AFP; the other protocols have no way to.

Examples:
  fourfold say 'The server restarts at six.'

Exit codes:
  0  it was passed on; how many were told is printed
  1  the server runs but did not answer
  3  no server runs with this state folder")]
    Say(Say),
    /// End sessions of SMB, AFP and iSCSI, or close a file that they have open
    #[command(
        after_help = "All that is given must hold for a session. Clients may log in again: `fourfold user` and client rules keep them out.

Examples:
  fourfold disconnect --user ada                      every session of the account
  fourfold disconnect --client 192.168.1.20           every session from this address
  fourfold disconnect --connection 192.168.1.20:51515 the session of one connection of `fourfold status`
  fourfold disconnect --file /srv/projects/film.mov   sessions go on, but have the file closed

Exit codes:
  0  it was done; how many were ended is printed
  1  no session was meant, or the server runs but did not answer
  3  no server runs with this state folder"
    )]
    Disconnect(Disconnect),
    /// Print the completions of this command line for a shell
    #[command(after_help = "The packages install them.

Examples:
  fourfold completions bash > ~/.local/share/bash-completion/completions/fourfold
  fourfold completions zsh > ~/.zfunc/_fourfold       with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  fourfold completions fish > ~/.config/fish/completions/fourfold.fish")]
    Completions(Completions),
    /// Write the manual pages of all commands
    #[command(after_help = "The packages install them.

Examples:
  fourfold man ~/.local/share/man/man1
  man fourfold-snapshot-create")]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Print every setting as it counts, with where it comes from: default, file and line, or command line
    #[arg(long)]
    pub(crate) print: bool,
    /// One JSON object, for scripts: whether they are accepted, each error and note with its place, the accounts
    #[arg(long, conflicts_with = "print")]
    pub(crate) json: bool,
    /// What `fourfold serve` would be started with.
    #[command(flatten)]
    pub(crate) serve: Serve,
}

/// Where the state folder is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Where {
    /// State folder of the server; by default that of the settings
    #[arg(long, value_name = "DIR")]
    state: Option<String>,
    /// Settings file; by default ./fourfold.toml, else, for root, /etc/fourfold/fourfold.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Where {
    /// The flags again, for another program.
    pub(crate) fn words(&self) -> Vec<std::ffi::OsString> {
        let state = self.state.iter().flat_map(|state| ["--state".into(), state.into()]);
        state.chain(self.config.iter().flat_map(|config| ["--config".into(), config.into()])).collect()
    }

    /// What was typed, for [`admin::Settings::state_folder`].
    pub(crate) fn arguments(&self, privileged: bool, folder: PathBuf) -> Arguments {
        let flags = self.state.iter().map(|state| ("state".to_owned(), state.clone())).collect();
        let (config, state_home) = (self.config.clone(), here::state_home());
        Arguments { config, flags, state_home, ..Arguments::new(privileged, folder) }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// One JSON object, for scripts; with --watch one in each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what clients do in a second, and what is slow, again and again, every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", require_equals = true,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) watch: Option<u64>,
    /// Show where the time of each client went in the last minute, and what slows it down
    #[arg(long, conflicts_with = "watch")]
    pub(crate) slow: bool,
    #[command(flatten)]
    pub(crate) state: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Say {
    /// The message; old Macs show up to 199 characters of it
    pub(crate) text: String,
    /// Only to this account
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only to this address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Option<ClientIp>,
    /// Only to the session with this connection, as `fourfold status` shows it
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) connection: Option<ClientAddress>,
    #[command(flatten)]
    pub(crate) state: Where,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct Disconnect {
    /// Sessions of this account
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) user: Option<String>,
    /// Sessions from this address
    #[arg(long, value_name = "ADDRESS", group = "what")]
    pub(crate) client: Option<ClientIp>,
    /// The session with this connection, as `fourfold status` shows it
    #[arg(long, value_name = "ADDRESS:PORT", group = "what")]
    pub(crate) connection: Option<ClientAddress>,
    /// Close this file, and let the sessions go on: a path on the server
    #[arg(long, value_name = "PATH", group = "what")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// The whole command line, with the help of the settings filled in from their table.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command().mut_subcommand("serve", serve::with_help_from_table);
    let command = command.mut_subcommand("check", serve::with_help_from_table);
    command.mut_subcommand("doctor", serve::with_help_from_table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(words: &[&str]) -> Serve {
        let words = ["fourfold", "serve"].iter().chain(words);
        match Cli::try_parse_from(words).unwrap().command {
            Command::Serve(serve) => *serve,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn every_flag_of_the_table_is_a_flag_of_serve_and_its_help_says_the_same() {
        let mut command = command();
        let serve = command.find_subcommand_mut("serve").unwrap();
        let help = serve.render_long_help().to_string();
        for setting in admin::settings::SETTINGS.iter().filter(|s| s.flag.is_some()) {
            let (flag, value) = setting.flag.unwrap();
            assert!(help.contains(&format!("--{flag}")), "{flag}");
            let argument = serve.get_arguments().find(|a| a.get_long() == Some(flag)).unwrap();
            assert_eq!(
                argument.get_help().unwrap().to_string(),
                setting.brief.trim_end_matches('.'),
                "{flag}"
            );
            assert_eq!(argument.get_action().takes_values(), !value.is_empty(), "{flag}");
        }
    }

    #[test]
    fn serve_understands_every_form_of_its_usage_line() {
        let parsed = serve(&[
            "Music=/srv/music",
            "/srv/a=b",
            "--listen=127.0.0.1",
            "--listen",
            "::1",
            "--nfs-port",
            "0",
            "--smb-port",
            "off",
            "--user",
            "ada:se:cret",
            "--user",
            "grace:x",
            "--guest",
            "--nfs-clients",
            "10.0.0.0/8,fd00::/8",
            "--read-only",
            "--log-format",
            "json",
        ]);
        let arguments = parsed.arguments(false, "/tmp".into());
        assert_eq!(arguments.shares, ["Music=/srv/music", "/srv/a=b"]);
        assert_eq!(arguments.users, ["ada:se:cret", "grace:x"]);
        let expected = [
            ("listen", "127.0.0.1"),
            ("listen", "::1"),
            ("nfs-port", "0"),
            ("smb-port", "off"),
            ("log-format", "json"),
            ("nfs-clients", "10.0.0.0/8"),
            ("nfs-clients", "fd00::/8"),
            ("read-only", ""),
            ("guest", ""),
        ];
        let flags: Vec<(&str, &str)> =
            arguments.flags.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(flags, expected);
    }

    #[test]
    fn every_command_has_examples() {
        let mut command = command();
        let of = |command: &mut clap::Command, name| command.find_subcommand_mut(name).unwrap().clone();
        let mut groups = ["user", "group", "share", "lun", "pool", "snapshot", "caches", "fork", "namespace"]
            .map(|name| of(&mut command, name))
            .to_vec();
        groups.push(of(&mut of(&mut command, "lun"), "snapshot"));
        let mut commands: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        commands.extend(groups.iter().flat_map(clap::Command::get_subcommands).cloned());
        for mut command in commands {
            let help = command.render_help().to_string();
            assert!(help.contains("Examples:") || command.has_subcommands(), "{help}");
        }
    }

    #[test]
    fn a_folder_that_is_not_utf8_is_accepted() {
        use std::os::unix::ffi::OsStringExt;
        let odd = std::ffi::OsString::from_vec(b"A=/srv/\xff".to_vec());
        let cli = Cli::try_parse_from(["fourfold".into(), "serve".into(), odd.clone()]).unwrap();
        let Command::Serve(serve) = cli.command else { panic!("not serve") };
        assert_eq!(serve.shares, [odd]);
    }
}
