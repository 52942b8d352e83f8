//! What the host's own program can do for a replication: `btrfs send` and `btrfs receive`.

mod changed;
mod received;

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use snapshots::{Dataset, EngineKind};

use crate::failure::{Failure, Result};

pub(crate) use changed::{Changed, changed};
pub(crate) use received::{Received, take};

const PROGRAM: &str = "btrfs";
/// Bytes of a program's message that are kept.
const MOST_SAID: u64 = 4096;

/// Why a dataset can take part in no stream of the host; `None`: it can.
pub(crate) fn unable(dataset: &Dataset, side: &str) -> Option<String> {
    if dataset.engine() != EngineKind::Btrfs {
        let engine = match dataset.engine() {
            EngineKind::Zfs => "on ZFS",
            _ => "not a subvolume of btrfs",
        };
        return Some(format!("the {side} is {engine}"));
    }
    if !rustix::process::geteuid().is_root() {
        return Some(format!("the {side}'s program does not run as root"));
    }
    let started = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match started {
        Ok(status) if status.success() => None,
        _ => Some(format!("the program `btrfs` is missing at the {side}; install the package btrfs-progs")),
    }
}

/// A running `btrfs`, which is ended if this is dropped before its end.
pub(crate) struct Program {
    child: Child,
    said: Option<JoinHandle<String>>,
}

impl Program {
    fn start(command: &mut Command) -> Result<Self> {
        command.env("LC_ALL", "C").stderr(Stdio::piped());
        let mut child = command.spawn().map_err(Failure::io("start", PROGRAM.as_bytes()))?;
        let said = child.stderr.take().map(|pipe| std::thread::spawn(move || said(pipe)));
        Ok(Self { child, said })
    }

    /// Starts `btrfs send`, and returns its output.
    pub(crate) fn send(base: Option<&Path>, path: &Path, data: bool) -> Result<(Self, ChildStdout)> {
        let mut command = Command::new(PROGRAM);
        command.args(["send", "-q"]).args((!data).then_some("--no-data"));
        if let Some(base) = base {
            command.arg("-p").arg(base);
        }
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut program = Self::start(&mut command)?;
        let output = program.child.stdout.take().ok_or(Failure::Order("a program without a pipe"))?;
        Ok((program, output))
    }

    /// Waits for its end. The error is what it says.
    pub(crate) fn end(mut self) -> std::result::Result<(), String> {
        let status = self.child.wait().map_err(|why| why.to_string())?;
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        match said.lines().find(|line| line.contains("ERROR")).or(said.lines().last()) {
            _ if status.success() => Ok(()),
            Some(line) => Err(line.trim_start_matches("ERROR: ").to_owned()),
            None => Err(status.to_string()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // After its end both do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The beginning of what a program says. The rest is read too, or it would wait.
fn said(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.by_ref().take(MOST_SAID).read_to_end(&mut bytes);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}
