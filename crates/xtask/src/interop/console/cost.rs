//! What the API and the page cost while no client uses them.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::checks::Scene;
use crate::{process, server};

/// What a server may have more with the API.
const MOST_THREADS: u64 = 2;
const MOST_KIB: u64 = 4 << 10;
/// Until a server that has just started is idle.
const SETTLED: Duration = Duration::from_secs(3);

const SETTINGS: &str = "[[share]]\nname = \"share\"\npath = \"share\"\n";

/// Two servers, one with the API and one without it: their threads and their memory.
pub fn idle(scene: &mut Scene) -> Result<()> {
    let folder = scene.place.folder().join("idle");
    std::fs::create_dir_all(folder.join("share"))?;
    std::fs::write(folder.join("fourfold.toml"), SETTINGS)?;
    let without = cost(&folder, "off")?;
    let with = cost(&folder, &process::free_port()?.to_string())?;
    let (threads, memory) = (with.0.saturating_sub(without.0), with.1.saturating_sub(without.1));
    println!("idle API: {threads} threads and {memory} KiB more than {} and {} KiB", without.0, without.1);
    ensure!(threads <= MOST_THREADS, "{threads} threads more");
    ensure!(memory < MOST_KIB, "{memory} KiB more");
    Ok(())
}

/// The threads of a server with this port for the API, and its KiB of memory besides the program itself: what is mapped of
/// the program depends on how it was built.
fn cost(folder: &Path, api: &str) -> Result<(u64, u64)> {
    let (settings, state) = (folder.join("fourfold.toml"), folder.join(format!("state-{api}")));
    let ports = ["--admin-port", api, "--nfs-port", "0", "--smb-port", "0", "--bonjour", "off"];
    let running = server::ours_with_settings(&settings, &state, &ports)?;
    std::thread::sleep(SETTLED);
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid()))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next()).and_then(|text| text.parse().ok());
        number.with_context(|| format!("the kernel does not tell {name}"))
    };
    Ok((field("Threads:")?, field("RssAnon:")?))
}
