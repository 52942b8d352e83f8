//! One snapshot on its way: the stream of the host's program, then the entries in batches, and the data that the other side wants.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

use snapshots::Dataset;

use crate::failure::{Failure, Result};
use crate::files::Sending;
use crate::link::Link;
use crate::native;
use crate::sender::{Progress, SourceSnapshot};
use crate::source::{ChangeSink, Tree, TreeComparison};
use crate::wire::{Begin, Entry, Kind, Message, Place, Want};

/// Entries of a batch, and bytes of their messages.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 4 << 20;
/// Names in one message.
const NAMES: usize = 4096;
/// Bytes of a stream in one message.
const PIECE: usize = 128 << 10;

/// The stream of a snapshot.
pub(crate) enum SnapshotStream<'a> {
    /// The other side has all of it.
    Received,
    /// The difference to this one.
    From(&'a SourceSnapshot),
    Whole,
}

/// Sends one tree.
pub(crate) fn send_tree(
    comparison: &TreeComparison<'_>,
    begin: Begin,
    link: &mut Link,
    progress: Progress,
    told: &mut dyn FnMut(&Progress),
) -> Result<()> {
    link.send(&Message::Begin(begin))?;
    send_entries(comparison, link, progress, told)
}

/// Sends the stream of a snapshot. If the host's program fails, the other side asks for the files.
pub(crate) fn send_stream(
    dataset: &Dataset,
    stream: &SnapshotStream<'_>,
    one: &SourceSnapshot,
    link: &mut Link,
    progress: &mut Progress,
    told: &mut dyn FnMut(&Progress),
) -> Result<()> {
    let older = match stream {
        SnapshotStream::Received => return link.send(&Message::StreamEnd(String::new())),
        SnapshotStream::From(older) => Some(&older.snapshot),
        SnapshotStream::Whole => None,
    };
    let (program, mut output) = native::Program::send(dataset, older, &one.snapshot)?;
    loop {
        let mut bytes = Vec::with_capacity(PIECE);
        let failed = Failure::io::<std::io::Error>("read", b"the stream of a snapshot");
        if (&mut output).take(PIECE as u64).read_to_end(&mut bytes).map_err(failed)? == 0 {
            break;
        }
        // The files in it were counted by their size, which is more: unchanged parts are not in the stream.
        progress.done = (progress.done + bytes.len() as u64).min(progress.total);
        link.send(&Message::Stream(bytes))?;
        told(progress);
    }
    let why = program.end().err().map(|why| format!("the source could not send it: {why}"));
    link.send(&Message::StreamEnd(why.unwrap_or_default()))
}

/// Sends what changed.
pub(crate) fn send_entries(
    comparison: &TreeComparison<'_>,
    link: &mut Link,
    progress: Progress,
    told: &mut dyn FnMut(&Progress),
) -> Result<()> {
    let (newer, older) = (comparison.newer, comparison.older);
    let mut batch =
        SentBatch { newer, older, link, files: HashMap::new(), count: 0, bytes: 0, progress, told };
    comparison.walk(&mut batch)?;
    batch.turn()?;
    link.send(&Message::Done)?;
    link.flush()
}

/// The entries that were sent since the other side was asked.
struct SentBatch<'a> {
    newer: &'a Tree,
    older: Option<&'a Tree>,
    link: &'a mut Link,
    /// Files by their position.
    files: HashMap<u32, ToSend>,
    count: u32,
    bytes: usize,
    progress: Progress,
    told: &'a mut dyn FnMut(&Progress),
}

/// A file that the other side may want.
struct ToSend {
    source: Vec<u8>,
    size: u64,
    base: Option<(Vec<u8>, u64)>,
}

impl ChangeSink for SentBatch<'_> {
    fn entry(&mut self, mut entry: Entry, source: &[u8]) -> Result<()> {
        if self.progress.native.is_ok() && !matches!(entry.place, Place::Tree(_)) {
            entry.source = Some(source.to_vec());
        }
        if let Kind::File { size, base, .. } = &entry.kind {
            let base = base.as_ref().map(|(path, size, _)| (path.clone(), *size));
            self.files.insert(self.count, ToSend { source: source.to_vec(), size: *size, base });
        }
        self.bytes += entry.xattrs.iter().map(|(_, value)| value.len()).sum::<usize>() + 256;
        self.link.send(&Message::Entry(Box::new(entry)))?;
        self.count += 1;
        self.progress.entries += 1;
        if self.count as usize >= BATCH || self.bytes >= BATCH_BYTES { self.turn() } else { Ok(()) }
    }

    fn names(&mut self, folder: &[u8], names: &[Vec<u8>]) -> Result<()> {
        let mut parts = names.chunks(NAMES).peekable();
        let send = |part: &[Vec<u8>], is_last| Message::Names {
            folder: folder.to_vec(),
            names: part.to_vec(),
            is_last,
        };
        if parts.peek().is_none() {
            return self.link.send(&send(&[], true));
        }
        while let Some(part) = parts.next() {
            self.link.send(&send(part, parts.peek().is_none()))?;
        }
        Ok(())
    }
}

impl SentBatch<'_> {
    /// Asks which data the other side lacks, and sends them.
    fn turn(&mut self) -> Result<()> {
        self.link.send(&Message::Turn)?;
        self.link.flush()?;
        loop {
            let Message::Wants(wants) = self.link.receive()? else { return Err(Failure::Order("no wants")) };
            if wants.is_empty() {
                self.files.clear();
                (self.count, self.bytes) = (0, 0);
                (self.told)(&self.progress);
                return Ok(());
            }
            for want in wants {
                self.file(want)?;
            }
            self.link.flush()?;
        }
    }

    fn file(&mut self, want: Want) -> Result<()> {
        let to_send = self.files.get(&want.index).ok_or(Failure::Order("a file of another batch"))?;
        self.link.send(&Message::File(want.index))?;
        let file = self.newer.file(&to_send.source)?;
        let (path, size) = (&*to_send.source, to_send.size);
        let (progress, told) = (&mut self.progress, &mut *self.told);
        let mut count = |bytes| {
            progress.done += bytes;
            told(progress);
        };
        let mut sending = Sending { file: &file, size, path, progress: &mut count };
        match (&to_send.base, self.older) {
            (Some((path, size)), Some(older)) if want.is_delta => {
                let older: File = older.file(path)?;
                sending.difference(&older, *size, self.link)
            }
            _ if want.is_delta => Err(Failure::Order("a difference to nothing")),
            _ => sending.whole(want.from, self.link),
        }
    }
}
