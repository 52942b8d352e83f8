//! The peer: Debian's tgtd, over files of its own.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};

use super::place::{LUNS, SECRET, TARGET_SECRET, TARGET_USER, USER, target_name};
use crate::process::{self, Running};

const BRIEFLY: Duration = Duration::from_secs(20);
/// The name of the socket between tgtadm and this tgtd. Another tgtd uses another name.
const CONTROL: &str = "3261";

/// Starts it with all the LUNs.
pub fn start(folder: &Path, port: u16) -> Result<Running> {
    fs::create_dir_all(folder)?;
    fs::create_dir_all("/run/tgtd")?;
    let program = process::find("tgtd").context("tgtd is not installed: apt-get install tgt")?;
    let log = process::log_file(&folder.join("tgtd.log"))?;
    let portal = format!("portal=127.0.0.1:{port}");
    let args = ["-f", "--iscsi", &portal, "--control-port", CONTROL];
    let mut running = Running::start(program, &args, Stdio::null(), log)?;
    running.kill_at_end(); // with targets it does not end on SIGTERM
    process::wait_for_port(&mut running, port, BRIEFLY)?;
    for (user, secret) in [(USER, SECRET), (TARGET_USER, TARGET_SECRET)] {
        admin("--mode account --op new", &["--user", user, "--password", secret])?;
    }
    for (at, lun) in LUNS.iter().enumerate() {
        let (tid, file) = ((at + 1).to_string(), folder.join(lun.name));
        File::create(&file)?.set_len(size(lun.size)?)?;
        let (file, block_size) = (file.to_string_lossy().into_owned(), lun.block_size.to_string());
        admin("--mode target --op new", &["--tid", &tid, "-T", &target_name(lun)])?;
        let unit = ["--tid", &tid, "--lun", "1"];
        let backing = ["-b", &file, "--blocksize", &block_size];
        admin("--mode logicalunit --op new", &[&unit[..], &backing].concat())?;
        let read_only = if lun.read_only { "readonly=1" } else { "readonly=0" };
        let params = format!("{read_only},thin_provisioning=1");
        admin("--mode logicalunit --op update", &[&unit[..], &["--params", &params]].concat())?;
        admin("--mode target --op bind", &["--tid", &tid, "-I", "ALL"])?;
        if lun.is_closed {
            admin("--mode account --op bind", &["--tid", &tid, "--user", USER])?;
            admin("--mode account --op bind", &["--tid", &tid, "--user", TARGET_USER, "--outgoing"])?;
        }
    }
    Ok(running)
}

fn admin(what: &str, more: &[&str]) -> Result<()> {
    let common = ["-C", CONTROL, "--lld", "iscsi"];
    let what: Vec<&str> = what.split(' ').collect();
    process::stdout_of("tgtadm", &[&common[..], &what, more].concat(), BRIEFLY).map(drop)
}

/// `100M` as bytes.
fn size(text: &str) -> Result<u64> {
    let (number, unit) = text.split_at(text.len() - 1);
    let shift = match unit {
        "M" => 20,
        "G" => 30,
        _ => 40,
    };
    Ok(number.parse::<u64>()? << shift)
}
