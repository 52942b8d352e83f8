//! `cargo xtask soak`: what needs long, and mostly an idle machine. CI does not run it.
//!
//! `busy` looks for false alarms of the doctor on a busy loopback. `streams` proves reserved streams beside writers. `reports` makes the pages in
//! docs/reports anew. All of them start a server of their own with all four protocols, in a network of their own.

mod busy;
mod reports;
mod server;
mod streams;

use std::path::PathBuf;

use anyhow::Result;

use crate::{interop, isolate, process, server as servers};

#[derive(clap::Args)]
pub struct SoakArgs {
    #[command(subcommand)]
    command: SoakCommand,
    /// Take target/interop/fourfold as it is
    #[arg(long, global = true)]
    no_build: bool,
    /// Take this program instead, such as target/release/fourfold
    #[arg(long, value_name = "PATH", global = true)]
    program: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum SoakCommand {
    /// Keep all four protocols busy on the loopback. Each trouble that the doctor names is a false alarm
    Busy(busy::BusyArgs),
    /// Play four reserved streams beside 20 writers, a scrub and snapshots, over each protocol; then the same without reserving
    Streams(streams::StreamsArgs),
    /// Make the pages of docs/reports anew
    Reports(reports::ReportsArgs),
}

pub fn run(args: &SoakArgs) -> Result<()> {
    let built = process::root().join(interop::PROGRAM);
    servers::use_program(args.program.as_deref().unwrap_or(&built));
    if !isolate::is_isolated() && !args.no_build && args.program.is_none() {
        interop::build()?;
    }
    isolate::enter()?;
    match &args.command {
        SoakCommand::Busy(args) => busy::run(args),
        SoakCommand::Streams(args) => streams::run(args),
        SoakCommand::Reports(args) => reports::run(args),
    }
}
