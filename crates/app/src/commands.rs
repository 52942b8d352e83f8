//! The subcommands of `fourfold`, one file or folder for each. `serve` has a folder of its own.

pub(crate) mod adopt;
pub(crate) mod advise;
pub(crate) mod backups;
pub(crate) mod bench;
pub(crate) mod caches;
pub(crate) mod check;
pub(crate) mod complete;
pub(crate) mod dataset;
pub(crate) mod disconnect;
pub(crate) mod disks;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod find;
pub(crate) mod fork;
pub(crate) mod group;
pub(crate) mod lun;
pub(crate) mod manual;
pub(crate) mod migrate;
pub(crate) mod mount;
pub(crate) mod names;
pub(crate) mod namespace;
pub(crate) mod pool;
pub(crate) mod replicate;
pub(crate) mod rights;
pub(crate) mod say;
pub(crate) mod scrub;
pub(crate) mod setup;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod test_alert;
pub(crate) mod token;
pub(crate) mod user;
pub(crate) mod verify_edit;
pub(crate) mod verify_metadata;

use std::process::ExitCode;

use crate::people::membership;
use crate::terminal::loudness;
use crate::{cli, gateway, serve};

/// Executes a subcommand.
pub(crate) fn run(command: cli::Command) -> anyhow::Result<ExitCode> {
    if !matches!(command, cli::Command::Serve(_)) {
        loudness::show_steps()?;
    }
    match command {
        cli::Command::Setup(arguments) => setup::run(&arguments),
        cli::Command::Serve(arguments) => serve::run(&arguments),
        cli::Command::Check(arguments) => check::run(&arguments),
        cli::Command::Doctor(arguments) => doctor::run(&arguments),
        cli::Command::Disks(arguments) => disks::run(&arguments),
        cli::Command::TestAlert(arguments) => test_alert::run(&arguments),
        cli::Command::Adopt(arguments) => adopt::run(&arguments),
        cli::Command::Explain(arguments) => explain::run(&arguments),
        cli::Command::Find(arguments) => find::run(&arguments),
        cli::Command::Names(arguments) => names::run(&arguments),
        cli::Command::Rights(command) => rights::run(&command),
        cli::Command::Scrub(arguments) => scrub::run(&arguments),
        cli::Command::Fork(arguments) => fork::run(&arguments),
        cli::Command::Create(arguments) => dataset::create(&arguments),
        cli::Command::Destroy(arguments) => dataset::destroy(&arguments),
        cli::Command::Rename(arguments) => dataset::rename(&arguments),
        cli::Command::Set(arguments) => dataset::set(&arguments),
        cli::Command::Get(arguments) => dataset::get(&arguments),
        cli::Command::Inherit(arguments) => dataset::inherit(&arguments),
        cli::Command::List(arguments) => dataset::list(&arguments),
        cli::Command::Share(cli::ShareCommand::Access(arguments)) => dataset::access(&arguments),
        cli::Command::Pool(arguments) => pool::run(&arguments),
        cli::Command::Snapshot(arguments) => snapshot::run(&arguments),
        cli::Command::Backups(command) => backups::run(&command),
        cli::Command::Replicate(arguments) => replicate::run(&arguments),
        cli::Command::BackupState(arguments) => state::backup(&arguments),
        cli::Command::RestoreState(arguments) => state::restore(&arguments),
        cli::Command::User(arguments) => user::run(&arguments),
        cli::Command::Group(arguments) => group::run(&arguments),
        cli::Command::Domain(arguments) => membership::run(&arguments),
        cli::Command::Token(arguments) => token::run(&arguments),
        cli::Command::Lun(arguments) => lun::run(&arguments),
        cli::Command::Namespace(arguments) => namespace::run(&arguments),
        cli::Command::Cluster(arguments) => gateway::run(&arguments),
        cli::Command::Status(arguments) => status::run(&arguments),
        cli::Command::Stream(command) => stream::run(&command),
        cli::Command::Caches(arguments) => caches::run(&arguments),
        cli::Command::Advise(arguments) => advise::run(&arguments),
        cli::Command::Bench(arguments) => bench::run(&arguments),
        cli::Command::VerifyMetadata(arguments) => verify_metadata::run(&arguments),
        cli::Command::VerifyEdit(arguments) => verify_edit::run(&arguments),
        cli::Command::Migrate(arguments) => migrate::run(&arguments),
        cli::Command::Ls(arguments) => files::list(&arguments),
        cli::Command::Cat(arguments) => files::cat(&arguments),
        cli::Command::Cp(arguments) => files::copy(&arguments),
        cli::Command::Mount(arguments) => mount::run(&arguments),
        cli::Command::Rm(arguments) => files::remove(&arguments),
        cli::Command::Say(arguments) => say::run(&arguments),
        cli::Command::Disconnect(arguments) => disconnect::run(&arguments),
        cli::Command::Completions(arguments) => manual::completions(&arguments),
        cli::Command::Man(arguments) => manual::pages(&arguments),
        cli::Command::Complete(arguments) => complete::run(&arguments),
    }
}
