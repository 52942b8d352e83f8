//! The command line. The flags of `serve` that are settings take their help from the table of settings.

mod adopt;
mod advise;
mod backups;
mod bench;
mod browse;
mod caches;
mod caution;
mod check;
mod clients;
mod cluster;
mod dataset;
mod disks;
mod doctor;
mod domain;
mod explain;
mod files;
mod find;
mod fork;
mod group;
mod groups;
mod lun;
mod migrate;
mod mount;
mod names;
mod namespace;
mod notes;
mod place;
mod pool;
mod replicate;
mod rights;
mod scrub;
mod serve;
mod setup;
mod share;
mod shell;
mod snapshot;
mod state;
mod status;
mod stream;
mod test_alert;
mod token;
mod user;
mod verify_edit;
mod verify_metadata;

use clap::{Args, CommandFactory, Parser, Subcommand};

pub(crate) use adopt::Adopt;
pub(crate) use advise::Advise;
pub(crate) use backups::{BackupsCommand, DiscardBackup, RenameBackup, RollBackBackup};
pub(crate) use bench::{BenchArguments, BenchCommand, CacheFlag, DurabilityFlag, LinkFlag, SweepFlag};
pub(crate) use browse::{BackupPoints, BrowseBackup, CopyBackup};
pub(crate) use caches::{Caches, CachesCommand, SetCaches};
pub(crate) use caution::Caution;
pub(crate) use check::Check;
pub(crate) use clients::{Disconnect, Say};
pub(crate) use cluster::{
    ClusterAdd, ClusterCommand, ClusterDrain, ClusterRemove, ClusterSettingsCommand, ClusterStatus,
};
pub(crate) use dataset::{
    CreateShare, DestroyShare, GetProperties, InheritProperty, ListShares, RenameShare, SetProperties,
};
pub(crate) use disks::Disks;
pub(crate) use doctor::Doctor;
pub(crate) use domain::{DomainCommand, Password as DomainPassword};
pub(crate) use explain::Explain;
pub(crate) use files::{Cat, Copy, ListFolder, RemoveFiles};
pub(crate) use find::Find;
pub(crate) use fork::{ForkCommand, Pack, PortableForm, Unpack};
pub(crate) use group::{GroupArgs, GroupCommand};
pub(crate) use lun::{Create, LunCommand, LunSnapshot};
pub(crate) use migrate::{Login, Migrate};
pub(crate) use mount::MountCommand;
pub(crate) use names::Names;
pub(crate) use namespace::{ExplainLink, ListLinks, MapLinks, Namespace, TestLinks};
pub(crate) use notes::{Note, parse as parse_notes};
pub(crate) use place::Where;
pub(crate) use pool::PoolCommand;
pub(crate) use replicate::Replicate;
pub(crate) use rights::{CheckRights, ResetRights, RightsCommand};
pub(crate) use scrub::Scrub;
pub(crate) use serve::Serve;
pub(crate) use setup::Setup;
pub(crate) use share::{RoleFlags, ShareAccess, ShareCommand};
pub(crate) use shell::{Complete, Completions, Man, ShellName};
pub(crate) use snapshot::{
    ListSnapshots as SnapshotList, Restore as SnapshotRestore, SnapshotCommand, SnapshotRenameArgs,
};
pub(crate) use state::{BackupState, RestoreState};
pub(crate) use status::Status;
pub(crate) use stream::{ReserveStreams, StreamCommand};
pub(crate) use test_alert::TestAlert;
pub(crate) use token::TokenCommand;
pub(crate) use user::{AccountArgs, PasswordArgs, User, UserRights};
pub(crate) use verify_edit::VerifyEdit;
pub(crate) use verify_metadata::VerifyMetadata;

/// One file tree, served over AFP, SMB, NFS and iSCSI.
#[derive(Debug, Parser)]
#[command(name = "fourfold", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) loudness: Loudness,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How much a command says.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Loudness {
    /// Say only what was asked for, and what went wrong
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more; twice: still more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lead through the first settings: name, folder, people, what for
    #[command(after_help = setup::EXAMPLES)]
    Setup(Setup),
    /// Share folders until told to stop
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<Serve>),
    /// Accept or refuse the settings, and say everything that is wrong with them
    #[command(after_help = check::EXAMPLES)]
    Check(Box<Check>),
    /// Find what on this machine will hurt, and say what mends it
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(Box<Doctor>),
    /// Show the health of the machine's disks and file systems
    #[command(after_help = disks::EXAMPLES)]
    Disks(Disks),
    /// Send a test message by mail and to the webhook of the alerts
    #[command(after_help = test_alert::EXAMPLES)]
    TestAlert(TestAlert),
    /// Say how to serve, as it is, a folder that another server has served
    #[command(after_help = adopt::EXAMPLES)]
    Adopt(Adopt),
    /// Say what a user may do to a file, by which rule, and who uses it now
    #[command(after_help = explain::EXAMPLES)]
    Explain(Explain),
    /// Find files in the shares, by name, kind, size, date, tag and contents
    #[command(after_help = find::EXAMPLES)]
    Find(Find),
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
    /// Make a share, and say who may do what in it
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
    /// Take, list, compare, restore and remove snapshots of shares
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Say whether each Mac is safe, verify and roll back its backups, and get files back from them
    #[command(subcommand, after_help = backups::EXAMPLES)]
    Backups(BackupsCommand),
    /// Have a share follow another one, here or on another host
    #[command(after_help = replicate::EXAMPLES)]
    Replicate(Box<Replicate>),
    /// Write accounts, shares, LUNs and tokens into one file
    #[command(after_help = state::BACKUP)]
    BackupState(BackupState),
    /// Give a new machine the state that `backup-state` has written
    #[command(after_help = state::RESTORE)]
    RestoreState(RestoreState),
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
    #[command(after_help = status::EXAMPLES)]
    Status(Status),
    /// Show the caches of a running server, and change their limits
    #[command(after_help = caches::EXAMPLES)]
    Caches(Caches),
    /// Keep a speed free for streams of video, whatever others do
    #[command(subcommand, after_help = stream::EXAMPLES)]
    Stream(StreamCommand),
    /// Say what would make a running server faster
    #[command(after_help = advise::EXAMPLES)]
    Advise(Advise),
    /// Measure file servers, and say what limits them
    #[command(after_help = bench::EXAMPLES)]
    Bench(Box<BenchArguments>),
    /// Say which metadata of Macs, DOS and Unix a server keeps between its protocols
    #[command(after_help = verify_metadata::EXAMPLES)]
    VerifyMetadata(VerifyMetadata),
    /// Say whether Final Cut Pro, Premiere Pro, Resolve, Pro Tools and Logic Pro work on a share
    #[command(after_help = verify_edit::EXAMPLES)]
    VerifyEdit(VerifyEdit),
    /// Copy everything from another server, and prove what arrived
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
    #[command(after_help = clients::SAY)]
    Say(Say),
    /// End sessions of SMB, AFP and iSCSI, or close a file that they have open
    #[command(after_help = clients::DISCONNECT)]
    Disconnect(Disconnect),
    /// Print the completions of this command line for a shell
    #[command(after_help = shell::COMPLETIONS)]
    Completions(Completions),
    /// Write the manual pages of all commands
    #[command(after_help = shell::MAN)]
    Man(Man),
    /// Say how a command line can go on: the completions of shells ask this
    #[command(hide = true)]
    Complete(Complete),
}

/// The whole command line, for the terminal.
pub(crate) fn command() -> clap::Command {
    command_for(notes::width())
}

/// The same for a terminal of so many columns.
pub(crate) fn command_for(width: usize) -> clap::Command {
    notes::laid_out(groups::with_first_page(Cli::command()), width).term_width(width)
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
            ("nfs-clients", "10.0.0.0/8"),
            ("nfs-clients", "fd00::/8"),
            ("log-format", "json"),
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
        let mut groups =
            ["user", "group", "share", "lun", "pool", "snapshot", "backups", "caches", "fork", "namespace"]
                .map(|name| of(&mut command, name))
                .to_vec();
        groups.push(of(&mut of(&mut command, "lun"), "snapshot"));
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut commands: Vec<clap::Command> = shown.cloned().collect();
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
