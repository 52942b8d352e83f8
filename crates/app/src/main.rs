//! The program `fourfold`: `commands/` has one file per subcommand, `serve/` the server, `fronts/` its protocols.
#![deny(clippy::print_stdout, clippy::print_stderr)] // they panic if the reader has gone: see `out`

mod cli;
mod commands;
mod fronts;
mod gateway;
mod host;
mod people;
mod ranks;
mod serve;
mod shares;
mod terminal;

use std::process::ExitCode;

use clap::FromArgMatches;

use terminal::{command_line, exit, loudness};

/// It returns free memory to the host. glibc keeps the most that each of its arenas ever had.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let _ = client::security::umask(); // which servers clear
    snapshots::after_copy(shares::snapshots::put_keys_right);
    let matches = cli::command().try_get_matches_from(command_line::words());
    match matches.and_then(|matches| cli::Cli::from_arg_matches(&matches)) {
        Ok(cli) => {
            loudness::set(cli.loudness.quiet, cli.loudness.verbose);
            exit::code(commands::run(cli.command))
        }
        Err(error) => exit::usage(&error),
    }
}
