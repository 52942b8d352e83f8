//! What the API and the page cost while no client uses them.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::checks::Scene;
use crate::process::Running;
use crate::{ports, server};

/// What a server may have more with the API.
const MOST_THREADS: u64 = 2;
const MOST_KIB: u64 = 4 << 10;
/// Until a server that has just started is idle: threads that waited for a disk end after 10 s.
const SETTLED: Duration = Duration::from_secs(12);

const SETTINGS: &str = "[[share]]\nname = \"share\"\npath = \"share\"\n";

/// Two servers, one with the API and one without it: their threads and their memory.
pub fn idle(scene: &mut Scene) -> Result<()> {
    let folder = scene.place.folder().join("idle");
    let without = started(&folder.join("without"), "off")?;
    let with = started(&folder.join("with"), &ports::free_port()?.to_string())?;
    std::thread::sleep(SETTLED);
    let (without, with) = (cost(&without)?, cost(&with)?);
    let (threads, memory) = (with.0.saturating_sub(without.0), with.1.saturating_sub(without.1));
    println!("idle API: {threads} threads and {memory} KiB more than {} and {} KiB", without.0, without.1);
    ensure!(threads <= MOST_THREADS, "{threads} threads more");
    ensure!(memory < MOST_KIB, "{memory} KiB more");
    Ok(())
}

/// A server in this folder, with this port for the API.
fn started(folder: &Path, api: &str) -> Result<Running> {
    std::fs::create_dir_all(folder.join("share"))?;
    let (settings, state) = (folder.join("fourfold.toml"), folder.join("state"));
    std::fs::write(&settings, SETTINGS)?;
    let ports = ["--admin-port", api, "--nfs-port", "0", "--smb-port", "0", "--bonjour", "off"];
    server::ours_with_settings(&settings, &state, &ports)
}

/// The threads of a server, and its KiB of memory besides the program itself: what is mapped of the program depends on how it
/// was built.
fn cost(running: &Running) -> Result<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid()))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next()).and_then(|text| text.parse().ok());
        number.with_context(|| format!("the kernel does not tell {name}"))
    };
    Ok((field("Threads:")?, field("RssAnon:")?))
}
