//! The program `fourfold`: one file per subcommand, and shared parts.
#![deny(clippy::print_stdout, clippy::print_stderr)] // they panic if the reader has gone: see `out`

mod accounts;
mod adopt;
mod advise;
mod afp_homes;
mod afp_view;
mod alerts;
mod announce;
mod api;
mod arriving;
mod asking;
mod audit;
mod availability;
mod bench;
mod bind;
mod bonjour;
mod caches;
mod check;
mod cli;
mod command_line;
mod confinement;
mod console;
mod dataset;
mod disconnect;
mod doctor;
mod entries;
mod exit;
mod explain;
mod exports;
mod figures;
mod files;
mod folders;
mod fork;
mod gates;
mod gateway;
mod groups;
mod heartbeat;
mod here;
mod host_accounts;
mod host_names;
mod iscsi_view;
mod keeper;
mod links;
mod log;
mod logons;
mod lun;
mod luns;
mod manual;
mod membership;
mod memory;
mod migrate;
mod misplaced;
mod mount;
mod names;
mod namespace;
mod nfs_view;
mod out;
mod overlap;
mod password;
mod pool;
mod privileges;
mod progress;
mod quotas;
mod ranks;
mod replicate;
mod restoring;
mod rights;
mod running;
mod samba_acls;
mod say;
mod scrub;
mod serve;
mod slow;
mod smb_view;
mod snapshot;
mod snapshots;
mod status;
mod stores;
mod tickets;
mod token;
mod user;
mod verify_metadata;
mod volumes;
mod who;
mod wsd_view;

use std::process::ExitCode;

use clap::FromArgMatches;

/// It returns free memory to the host. glibc keeps the most that each of its arenas ever had.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let _ = client::security::umask(); // which servers clear
    ::snapshots::after_copy(snapshots::put_keys_right);
    let matches = cli::command().try_get_matches_from(command_line::words());
    match matches.and_then(|matches| cli::Cli::from_arg_matches(&matches)) {
        Ok(cli) => exit::code(run(cli.command)),
        Err(error) => exit::usage(&error),
    }
}

fn run(command: cli::Command) -> anyhow::Result<ExitCode> {
    match command {
        cli::Command::Serve(arguments) => serve::run(&arguments),
        cli::Command::Check(arguments) => check::run(&arguments),
        cli::Command::Doctor(arguments) => doctor::run(&arguments),
        cli::Command::Adopt(arguments) => adopt::run(&arguments),
        cli::Command::Explain(arguments) => explain::run(&arguments),
        cli::Command::Names(arguments) => names::run(&arguments),
        cli::Command::Scrub(arguments) => scrub::run(&arguments),
        cli::Command::Fork(arguments) => fork::run(&arguments),
        cli::Command::Create(arguments) => dataset::create(&arguments),
        cli::Command::Destroy(arguments) => dataset::destroy(&arguments),
        cli::Command::Rename(arguments) => dataset::rename(&arguments),
        cli::Command::Set(arguments) => dataset::set(&arguments),
        cli::Command::Get(arguments) => dataset::get(&arguments),
        cli::Command::Inherit(arguments) => dataset::inherit(&arguments),
        cli::Command::List(arguments) => dataset::list(&arguments),
        cli::Command::Pool(arguments) => pool::run(&arguments),
        cli::Command::Snapshot(arguments) => snapshot::run(&arguments),
        cli::Command::Replicate(arguments) => replicate::run(&arguments),
        cli::Command::User(arguments) => user::run(&arguments),
        cli::Command::Domain(arguments) => membership::run(&arguments),
        cli::Command::Token(arguments) => token::run(&arguments),
        cli::Command::Lun(arguments) => lun::run(&arguments),
        cli::Command::Namespace(arguments) => namespace::run(&arguments),
        cli::Command::Cluster(arguments) => gateway::run(&arguments),
        cli::Command::Status(arguments) => status::run(&arguments),
        cli::Command::Caches(arguments) => caches::run(&arguments),
        cli::Command::Advise(arguments) => advise::run(&arguments),
        cli::Command::Bench(arguments) => bench::run(&arguments),
        cli::Command::VerifyMetadata(arguments) => verify_metadata::run(&arguments),
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
    }
}
