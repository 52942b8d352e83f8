//! What has come to a destination by streams of its host: the newest snapshot, beside the live tree. The next stream is the
//! difference to it, and the live tree gets the changed files from it.

mod btrfs;
mod zfs;

use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{ChildStdin, Command, Stdio};

use snapshots::Dataset;

use super::Program;
use crate::failure::{Failure, Result};
use crate::link::Link;
use crate::record::StreamKey;
use crate::wire::btrfs::{self as stream, COMMAND_HEAD, START};
use crate::wire::{Id, Message};

/// The folder of it, in the folder of a dataset's snapshots.
const FOLDER: &str = ".received";

/// The received snapshots of a dataset.
pub(crate) trait ReceivedSnapshots {
    /// The snapshots that are complete.
    fn all(&self) -> Result<Vec<Id>>;

    /// Removes all but one. What cannot be removed now is removed by the next run.
    fn remove_others(&self, keep: Option<&Id>) -> Result<()>;

    /// Removes what streams that were cut off have left.
    fn remove_incomplete(&self) -> Result<()>;

    /// The root of a complete one.
    fn root(&self, id: &Id) -> Result<Option<OwnedFd>>;

    /// Removes all with their folder.
    fn remove_all(&self) -> Result<()>;

    /// Starts the program that takes the stream of a snapshot.
    fn start(&self, id: &Id, key: &StreamKey) -> Result<Receiving>;

    /// Makes a snapshot a complete one after the program's end.
    fn complete(&self, id: &Id) -> Result<()>;

    /// Removes what runs that were cut off have left. `newest` is the newest snapshot that the live tree has had completely,
    /// unless it has another one in part.
    fn tidy_up(&self, newest: Option<&Id>) -> Result<()> {
        let complete = self.all()?;
        match newest.filter(|newest| complete.contains(newest)) {
            Some(newest) => self.remove_others(Some(newest)),
            None => self.remove_incomplete(),
        }
    }
}

/// The received snapshots of a dataset. On engines without streams there are none.
pub(crate) fn received(dataset: &Dataset) -> Box<dyn ReceivedSnapshots> {
    match zfs::Snapshots::of(dataset) {
        Some(snapshots) => Box::new(snapshots),
        None => Box::new(btrfs::Subvolumes::of(dataset.folder())),
    }
}

/// A running program that takes a stream.
pub(crate) struct Receiving {
    program: Program,
    input: Option<ChildStdin>,
    /// What is done with a stream of btrfs on its way. The host's ZFS gets its streams as they are.
    rewriting: Option<Rewriting>,
}

/// A stream of btrfs, which gets another name and other identities of subvolumes. The source chooses the identities, and the
/// host looks for a base and for the sources of clones in the whole file system: it could choose that of another dataset.
struct Rewriting {
    /// The name that the subvolume gets, until it has it.
    name: Option<Vec<u8>>,
    key: StreamKey,
    /// The beginning of a command, or of the stream.
    pending: Vec<u8>,
    has_start: bool,
    is_ended: bool,
}

impl Rewriting {
    fn new(name: Vec<u8>, key: &StreamKey) -> Self {
        let (name, key) = (Some(name), key.clone());
        Self { name, key, pending: Vec::new(), has_start: false, is_ended: false }
    }

    /// Adds a part of the stream, and takes the commands that are whole.
    fn take(&mut self, bytes: &[u8]) -> std::result::Result<Vec<u8>, wire::Malformed> {
        self.pending.extend_from_slice(bytes);
        let mut whole = Vec::with_capacity(self.pending.len());
        let mut rest = &self.pending[..];
        if !self.has_start {
            let Some((start, others)) = rest.split_at_checked(START) else { return Ok(whole) };
            stream::start(start)?;
            whole.extend_from_slice(start);
            (rest, self.has_start) = (others, true);
        }
        while let Some(head) = rest.get(..COMMAND_HEAD) {
            let Some((command, others)) = rest.split_at_checked(stream::length(head)?) else { break };
            let name = self.name.take();
            let identify = |id: &[u8]| self.key.identity_of(id);
            whole.extend_from_slice(&stream::rewritten(command, name.as_deref(), identify)?);
            self.is_ended |= stream::is_end(command);
            rest = others;
        }
        let taken = self.pending.len() - rest.len();
        self.pending.drain(..taken);
        Ok(whole)
    }
}

impl Receiving {
    fn start(command: &mut Command, rewriting: Option<Rewriting>) -> Result<Self> {
        let mut program = Program::start(command.stdin(Stdio::piped()).stdout(Stdio::null()))?;
        let input = program.child.stdin.take();
        Ok(Self { program, input, rewriting })
    }

    fn add(&mut self, bytes: &[u8]) -> std::result::Result<(), String> {
        let Some(rewriting) = &mut self.rewriting else { return self.write(bytes) };
        let whole = rewriting.take(bytes).map_err(|why| why.to_string())?;
        self.write(&whole)
    }

    fn write(&mut self, bytes: &[u8]) -> std::result::Result<(), String> {
        let Some(input) = &mut self.input else { return Ok(()) };
        input.write_all(bytes).map_err(|why| why.to_string())
    }

    fn end(mut self) -> std::result::Result<(), String> {
        drop(self.input.take());
        self.program.end()?;
        let is_whole = self.rewriting.is_none_or(|rewriting| rewriting.is_ended);
        if is_whole { Ok(()) } else { Err("the stream was cut off".into()) }
    }
}

/// Takes a stream from the link up to its end. The inner error is a sentence why the snapshot is not there: its files
/// are then asked for one by one.
pub(crate) fn take(
    received: &dyn ReceivedSnapshots,
    (id, key): (&Id, &StreamKey),
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
                    None => receiving.insert(received.start(id, key)?),
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
            _ => return Err(Failure::Order("the stream of a snapshot has no end")),
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
