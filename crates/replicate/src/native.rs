//! What the host's own program can do for a replication: `btrfs send` and `receive`, `zfs send` and `receive`.

mod changed;
mod received;

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use snapshots::{Dataset, EngineKind, Snapshot};

use crate::failure::{Failure, Result};
use crate::wire::StreamFormat;

pub(crate) use changed::{ChangedPaths, changed};
pub(crate) use received::{ReceivedSnapshots, received, take};

/// Bytes of a program's message that are kept.
const MOST_SAID: u64 = 4096;

/// The format of the stream that a dataset can send and receive.
pub(crate) fn format(dataset: &Dataset) -> Option<StreamFormat> {
    match dataset.engine() {
        EngineKind::Btrfs => Some(StreamFormat::Btrfs),
        EngineKind::Zfs => Some(StreamFormat::Zfs),
        EngineKind::Reflink | EngineKind::Ceph => None,
    }
}

/// The format of a dataset's stream. The error is the reason why it can take part in none.
pub(crate) fn able(dataset: &Dataset, side: &str) -> std::result::Result<StreamFormat, String> {
    let none = || format!("the {side} is neither a subvolume of btrfs nor a dataset of ZFS");
    let format = format(dataset).ok_or_else(none)?;
    if !rustix::process::geteuid().is_root() {
        return Err(format!("the {side}'s program does not run as root"));
    }
    if format == StreamFormat::Zfs {
        return Ok(format); // its program has said that it is a dataset
    }
    let started = Command::new("btrfs").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match started {
        Ok(status) if status.success() => Ok(format),
        _ => Err(format!("the program `btrfs` is missing at the {side}; install the package btrfs-progs")),
    }
}

/// A running program, which is ended if this is dropped before its end.
pub(crate) struct Program {
    child: Child,
    said: Option<JoinHandle<String>>,
}

impl Program {
    fn start(command: &mut Command) -> Result<Self> {
        command.env("LC_ALL", "C").stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(Failure::io("start", command.get_program().as_encoded_bytes()))?;
        let said = child.stderr.take().map(|pipe| std::thread::spawn(move || said(pipe)));
        Ok(Self { child, said })
    }

    /// Runs a program to its end. The inner error is what it says.
    fn run(command: &mut Command) -> Result<std::result::Result<(), String>> {
        Ok(Self::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?.end())
    }

    /// Starts the program that writes the stream of a snapshot, whole or as the difference to an older one, and returns its
    /// output.
    pub(crate) fn send(
        dataset: &Dataset,
        older: Option<&Snapshot>,
        one: &Snapshot,
    ) -> Result<(Self, ChildStdout)> {
        let Some(name) = dataset.zfs_name() else {
            return Self::send_btrfs(older.map(|older| &*older.path), &one.path, true);
        };
        let mut command = Command::new("zfs");
        command.arg("send");
        if let Some(older) = older {
            command.args(["-i", &format!("@{}", older.name)]);
        }
        Self::output(command.arg(format!("{name}@{}", one.name)))
    }

    /// Starts `btrfs send`, with or without the content of files.
    fn send_btrfs(base: Option<&Path>, path: &Path, data: bool) -> Result<(Self, ChildStdout)> {
        let mut command = Command::new("btrfs");
        command.args(["send", "-q"]).args((!data).then_some("--no-data"));
        if let Some(base) = base {
            command.arg("-p").arg(base);
        }
        Self::output(command.arg(path))
    }

    fn output(command: &mut Command) -> Result<(Self, ChildStdout)> {
        let mut program = Self::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
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
