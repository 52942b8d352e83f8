//! `cargo xtask compare search`: finding a file by a part of its name, with our index and in the ways that are left without one: `find`
//! on the server, and a listing of the whole share over SMB, as Explorer's search box does it. Then what the index costs those who
//! use the share ([`service`]).
//!
//! No server of another project that is packaged answers such searches by itself: Samba needs Elasticsearch or an indexer of a desktop.

mod service;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::folder;
use crate::samba::{self, SambaUser};
use crate::server::{self, UID};
use crate::{debian, isolate, ports, process};

pub const PACKAGES: &[&[debian::Package]] = &[debian::SMB_LOAD, debian::NFS_CLIENTS];

const ADA: SambaUser = SambaUser { name: "ada", password: "secret" };
/// Files of a folder.
const EACH: usize = 100;
/// The file that is looked for.
const WANTED: &str = "the lost contract.docx";
/// Our search may take this part of the time of the quickest way without an index.
const BAR: f64 = 0.5;
/// The longest time of one run, and of building the index.
const LIMIT: Duration = Duration::from_secs(900);

pub fn run(rounds: usize, quick: bool, libsmb2: Option<&Path>) -> Result<()> {
    if !isolate::is_isolated() {
        bail!(
            "as root only, and where namespaces may be made: the files are made on a file system of their own"
        );
    }
    let files = if quick { 20_000 } else { 500_000 };
    let (folder, place) = (folder::prepare_for_many()?, process::fresh_folder("compare/search")?);
    println!("making {files} files …");
    fill(&folder, files)?;
    samba::unix_users(&place, &[(ADA, UID)])?;
    queries(&folder, &place, files, rounds)?;
    service::run(&folder, rounds, libsmb2)
}

/// Compares the times of a search.
fn queries(folder: &Path, place: &Path, files: usize, rounds: usize) -> Result<()> {
    let (settings, state) = (place.join("settings.toml"), place.join("state"));
    let share = format!("[[share]]\nname = \"share\"\npath = \"{}\"\nsearch = \"names\"\n", folder.display());
    std::fs::write(&settings, share)?;
    server::add_user(&state, ADA.name, ADA.password, UID)?;
    let port = ports::free_port()?.to_string();
    let _running = server::ours_with_settings(&settings, &state, &["--smb-port", &port])?;
    let (program, state) = (server::binary().display().to_string(), state.display().to_string());
    let ours = [program.as_str(), "find", "contract", "--state", &state];
    let begun = Instant::now();
    while !is_complete(&ours)? {
        ensure!(begun.elapsed() < LIMIT, "the index is not complete after {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("the index is complete after {:.1} s", begun.elapsed().as_secs_f64());
    let (tree, login) = (folder.display().to_string(), format!("{}%{}", ADA.name, ADA.password));
    let configuration = samba::client_configuration(&place.join("client"))?.display().to_string();
    let walked = ["find", &tree, "-iname", "*contract*"];
    let listed = [
        "smbclient",
        "//127.0.0.1/share",
        "-s",
        &configuration,
        "-p",
        &port,
        "-U",
        &login,
        "-c",
        "recurse ON; ls",
    ];
    let times = [ours.as_slice(), &walked, &listed].map(|command| least(command, rounds));
    let [ours, walked, listed] = times;
    let (ours, walked, listed) = (ours?, walked?, listed?);
    println!("\n| a part of a name in {files} files | ms |\n|---|---|");
    println!(
        "| `fourfold find`, by the index | {ours:.1} |\n| `find -iname` on the server, all in memory | {walked:.1} |"
    );
    println!("| a listing of the share over SMB | {listed:.1} |");
    // Of few files, the start of the command is most of its time.
    ensure!(files < 100_000 || ours <= walked.min(listed) * BAR, "the index does not pay");
    Ok(())
}

/// Whether our command has found the file and has no note that something may be missing.
fn is_complete(command: &[&str]) -> Result<bool> {
    let output = process::output(command[0], &command[1..], LIMIT)?;
    Ok(output.stderr.is_empty() && String::from_utf8_lossy(&output.stdout).contains(WANTED))
}

/// Whether the command has found the file.
fn has_found(command: &[&str]) -> Result<bool> {
    let (program, words) = command.split_first().context("a command has a program")?;
    let output = process::output(program, words, LIMIT)?;
    Ok(String::from_utf8_lossy(&output.stdout).contains(WANTED))
}

/// The least of the times in milliseconds.
fn least(command: &[&str], rounds: usize) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..rounds.max(1) {
        let begun = Instant::now();
        ensure!(has_found(command)?, "{} has not found the file", command.join(" "));
        least = least.min(begun.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(least)
}

fn fill(folder: &Path, files: usize) -> Result<()> {
    for number in 0..files / EACH {
        let folder = folder.join(format!("area {}", number / EACH)).join(format!("job {number}"));
        std::fs::create_dir_all(&folder)?;
        for file in 0..EACH {
            File::create(folder.join(format!("invoice {number} {file}.pdf")))?;
        }
    }
    File::create(folder.join("area 0/job 7").join(WANTED))?;
    Ok(())
}
