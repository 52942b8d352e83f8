//! What `btrfs receive` makes at a destination.
//!
//! ```text
//! FOLDER/.fourfold-snapshots/.received/
//!     IDENTITY/        the newest snapshot of the source that came by a stream, read-only
//!     new-IDENTITY/    one that is not yet complete, or not yet on the disk
//! ```
//! The next stream is the difference to it. The live tree gets the changed files from it, with shared blocks.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use auth::hex;

use snapshots::steps;

use super::{PROGRAM, Program};
use crate::failure::{Failure, Result};
use crate::host;
use crate::link::Link;
use crate::wire::btrfs::{self, COMMAND_HEAD, START};
use crate::wire::{Id, Message};

const FOLDER: &str = ".received";
const NEW: &str = "new-";
/// The number of the root folder of each subvolume of btrfs.
const SUBVOLUME: u64 = 256;

/// The folder of received snapshots of a dataset.
pub(crate) struct Received {
    folder: PathBuf,
}

impl Received {
    pub(crate) fn of(dataset: &Path) -> Self {
        Self { folder: dataset.join(snapshots::FOLDER).join(FOLDER) }
    }

    /// The snapshots that are complete.
    pub(crate) fn all(&self) -> Result<Vec<Id>> {
        Ok(self.names()?.iter().filter_map(|name| hex::decode(name.to_str()?)).collect())
    }

    fn names(&self) -> Result<Vec<OsString>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(self.failed("list"))?,
        };
        Ok(entries.flatten().map(|entry| entry.file_name()).collect())
    }

    /// Removes all but one. What cannot be removed now is removed by the next run.
    pub(crate) fn remove_others(&self, keep: Option<&Id>) -> Result<()> {
        let keep = keep.map(|id| hex::encode(id));
        self.remove(|name| Some(name) != keep.as_deref())
    }

    fn remove(&self, is_unwanted: impl Fn(&str) -> bool) -> Result<()> {
        for name in self.names()?.into_iter().filter(|name| is_unwanted(&name.to_string_lossy())) {
            let path = self.folder.join(name);
            let Ok(there) = path.symlink_metadata() else { continue };
            if there.is_dir() && there.ino() == SUBVOLUME {
                let mut command = Command::new(PROGRAM);
                command.args(["subvolume", "delete"]).arg(path);
                let _ = Program::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?.end();
            } else {
                // A stream may have made it beside its subvolume.
                let _ =
                    if there.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            }
        }
        Ok(())
    }

    /// Removes what runs that were cut off have left. `newest` is the newest snapshot that the live tree has had completely,
    /// unless it has another one in part.
    pub(crate) fn tidy_up(&self, newest: Option<&Id>) -> Result<()> {
        let complete = self.all()?;
        match newest.filter(|newest| complete.contains(newest)) {
            Some(newest) => self.remove(|name| name != hex::encode(newest)),
            None => self.remove(|name| hex::decode::<16>(name).is_none()),
        }
    }

    /// The root of a complete one.
    pub(crate) fn root(&self, id: &Id) -> Result<Option<OwnedFd>> {
        match host::root(&self.folder.join(hex::encode(id))) {
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            root => root.map(Some).map_err(self.failed("open")),
        }
    }

    /// Removes all with their folder.
    pub(crate) fn remove_all(&self) -> Result<()> {
        self.remove_others(None)?;
        match std::fs::remove_dir(&self.folder) {
            Err(why) if why.kind() != ErrorKind::NotFound => Err(self.failed("remove")(why)),
            _ => Ok(()),
        }
    }

    fn start(&self, id: &Id) -> Result<Receiving> {
        match std::fs::DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(self.failed("make")(why)),
            _ => {}
        }
        let mut command = Command::new(PROGRAM);
        // The paths of a stream must not lead out of this folder.
        command.args(["receive", "-q", "-C"]).arg(&self.folder).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut program = Program::start(&mut command)?;
        let input = program.child.stdin.take();
        let name = format!("{NEW}{}", hex::encode(id)).into_bytes();
        Ok(Receiving { program, input, name, first: Vec::new(), is_named: false })
    }

    /// Gives a snapshot its name when it is on the disk.
    fn complete(&self, id: &Id) -> Result<()> {
        let name = hex::encode(id);
        let folder = host::root(&self.folder).map_err(self.failed("open"))?;
        steps::pass()?;
        rustix::fs::syncfs(&folder).map_err(self.failed("write"))?;
        steps::pass()?;
        rustix::fs::renameat(&folder, format!("{NEW}{name}"), &folder, name)
            .map_err(self.failed("rename"))?;
        rustix::fs::fsync(&folder).map_err(self.failed("write"))?;
        Ok(steps::pass()?)
    }

    fn failed<E: Into<std::io::Error>>(&self, what: &'static str) -> impl FnOnce(E) -> Failure + use<E> {
        Failure::io(what, self.folder.as_os_str().as_encoded_bytes())
    }
}

/// A running `btrfs receive`.
struct Receiving {
    program: Program,
    input: Option<ChildStdin>,
    /// The name that the subvolume gets.
    name: Vec<u8>,
    /// The stream up to the end of its first command.
    first: Vec<u8>,
    is_named: bool,
}

impl Receiving {
    fn add(&mut self, bytes: &[u8]) -> std::result::Result<(), String> {
        if self.is_named {
            return self.write(bytes);
        }
        self.first.extend_from_slice(bytes);
        let text = |why: wire::Malformed| why.to_string();
        let Some(head) = self.first.get(START..START + COMMAND_HEAD) else { return Ok(()) };
        btrfs::start(&self.first[..START]).map_err(text)?;
        let end = START + btrfs::length(head).map_err(text)?;
        let Some(command) = self.first.get(START..end) else { return Ok(()) };
        let command = btrfs::renamed(command, &self.name).map_err(text)?;
        let all = [&self.first[..START], &command, &self.first[end..]].concat();
        (self.first, self.is_named) = (Vec::new(), true);
        self.write(&all)
    }

    fn write(&mut self, bytes: &[u8]) -> std::result::Result<(), String> {
        let Some(input) = &mut self.input else { return Ok(()) };
        input.write_all(bytes).map_err(|why| why.to_string())
    }

    fn end(mut self) -> std::result::Result<(), String> {
        drop(self.input.take());
        self.program.end()
    }
}

/// Takes a stream from the link up to its end. The inner error is a sentence why the snapshot is not there: its files
/// are then asked for one by one.
pub(crate) fn take(
    received: &Received,
    id: &Id,
    link: &mut Link,
    count: &mut dyn FnMut(u64),
) -> Result<std::result::Result<(), String>> {
    let mut receiving: Option<Receiving> = None;
    let mut failure = None;
    loop {
        match link.receive()? {
            Message::Stream(bytes) if failure.is_none() => {
                let running = match &mut receiving {
                    Some(running) => running,
                    None => receiving.insert(received.start(id)?),
                };
                count(bytes.len() as u64);
                if let Err(why) = running.add(&bytes) {
                    // What the program says is the reason, if it has ended.
                    failure = Some(receiving.take().and_then(|running| running.end().err()).unwrap_or(why));
                }
            }
            Message::Stream(_) => {}
            Message::StreamEnd(why) => {
                if !why.is_empty() {
                    failure = Some(failure.unwrap_or(why));
                }
                break;
            }
            _ => return Err(Failure::Order("the stream of btrfs has no end")),
        }
    }
    let ended = match (failure, receiving) {
        (Some(why), running) => {
            drop(running);
            Err(why)
        }
        (None, Some(running)) => running.end(),
        // The snapshot is there from a run that was cut off behind it.
        (None, None) => return Ok(Ok(())),
    };
    match ended {
        Ok(()) => received.complete(id)?,
        // The next stream could not be the difference to what is there.
        Err(_) => received.remove_others(None)?,
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_stream_has_made_beside_its_subvolume_is_removed() {
        let dataset = tempfile::tempdir().unwrap();
        let kept = dataset.path().join("kept");
        std::fs::write(&kept, "live").unwrap();
        let received = Received::of(dataset.path());
        let folder = received.folder.clone();
        std::fs::create_dir_all(folder.join("stray/below")).unwrap();
        std::fs::write(folder.join("stray/below/file"), "1").unwrap();
        std::fs::write(folder.join(std::ffi::OsStr::from_bytes(b"\xff")), "1").unwrap();
        symlink(dataset.path(), folder.join("link")).unwrap();
        received.remove_all().unwrap();
        assert!(!folder.exists());
        assert_eq!(std::fs::read(kept).unwrap(), b"live");
    }
}
