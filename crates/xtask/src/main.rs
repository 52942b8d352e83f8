//! The commands of developers and CI: `cargo xtask check | tidy | test | interop | compare | soak | docs | fuzz | package`.
//!
//! Every subcommand is one file (or folder) here; `process` starts and ends other programs for all of them.
#![allow(clippy::print_stdout)] // a command-line tool: standard output is its product
#![allow(unreachable_pub)] // a program: no other crate can reach its items
#![cfg_attr(not(test), deny(dead_code, unused_imports))] // clippy sees the program of its tests only

mod check;
mod compare;
mod compiler;
mod debian;
mod docs;
mod fuzz;
mod ganesha;
mod interop;
mod isolate;
mod loader;
mod netatalk;
mod package;
mod past;
mod ports;
mod process;
mod samba;
mod server;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "What developers and CI run")]
enum XtaskCommand {
    /// fmt, tidy, clippy, docs, tests: what a change must pass
    Check,
    /// The rules of the code that can be measured
    Tidy,
    /// Every test there is, with other people's clients; installs what it needs when it may
    Test(test::TestArgs),
    /// Other people's clients against a freshly started server, compared with the committed list of outcomes
    Interop(interop::InteropArgs),
    /// The peer from Debian's packages beside ours, driven by the same client in alternating runs; --all judges all four
    Compare(compare::CompareArgs),
    /// What needs long and an idle machine: false alarms of the doctor, reserved streams, the reports of docs/reports
    Soak(soak::SoakArgs),
    /// The manual: guides whose commands are run as the page has them
    Docs(docs::DocsArgs),
    /// A short run of the fuzz targets
    Fuzz(fuzz::FuzzArgs),
    /// A Debian package, a tarball and an OCI image of the program, in target/package
    Package(package::PackageArgs),
}

fn main() -> ExitCode {
    if let Some(words) = compiler::asked(std::env::args_os()) {
        return compiler::run(&words).unwrap_or_else(failed);
    }
    let outcome = match XtaskCommand::parse() {
        XtaskCommand::Check => check::run(),
        XtaskCommand::Tidy => tidy::run(),
        XtaskCommand::Test(args) => test::run(&args),
        XtaskCommand::Interop(args) => interop::run(&args),
        XtaskCommand::Compare(args) => compare::run(&args),
        XtaskCommand::Soak(args) => soak::run(&args),
        XtaskCommand::Docs(args) => docs::run(&args),
        XtaskCommand::Fuzz(args) => fuzz::run(&args),
        XtaskCommand::Package(args) => package::run(&args),
    };
    outcome.map_or_else(failed, |()| ExitCode::SUCCESS)
}

fn failed(error: anyhow::Error) -> ExitCode {
    eprintln!("xtask: {error:#}");
    ExitCode::FAILURE
}
