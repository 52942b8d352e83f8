//! The program `fourfold`: one file per subcommand, and shared parts.
#![deny(clippy::print_stdout, clippy::print_stderr)] // they panic if the reader has gone: see `out`

mod accounts;
mod afp_view;
mod announce;
mod asking;
mod availability;
mod bind;
mod bonjour;
mod check;
mod cli;
mod disconnect;
mod exit;
mod exports;
mod folders;
mod heartbeat;
mod here;
mod iscsi_view;
mod log;
mod lun;
mod luns;
mod memory;
mod nfs_view;
mod out;
mod password;
mod privileges;
mod rights;
mod running;
mod say;
mod serve;
mod smb_view;
mod status;
mod user;
mod volumes;
mod who;
mod wsd_view;

use std::process::ExitCode;

use clap::FromArgMatches;

/// It returns free memory to the host. glibc keeps the most that each of its arenas ever had.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let matches = cli::command().try_get_matches();
    match matches.and_then(|matches| cli::Cli::from_arg_matches(&matches)) {
        Ok(cli) => exit::code(run(cli.command)),
        Err(error) => exit::usage(&error),
    }
}

fn run(command: cli::Command) -> anyhow::Result<ExitCode> {
    match command {
        cli::Command::Serve(arguments) => serve::run(&arguments),
        cli::Command::Check(arguments) => check::run(&arguments),
        cli::Command::User(arguments) => user::run(&arguments),
        cli::Command::Lun(arguments) => lun::run(&arguments),
        cli::Command::Status(arguments) => status::run(&arguments),
        cli::Command::Say(arguments) => say::run(&arguments),
        cli::Command::Disconnect(arguments) => disconnect::run(&arguments),
    }
}
