//! The messages of the destination's side, in their order.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use snapshots::{Dataset, Refusal, steps};
use wire::hex;

use super::apply::DataNeed;
use super::{Target, expect};
use crate::failure::{Failure, Result};
use crate::host;
use crate::link::Link;
use crate::location::FolderLocation;
use crate::native::{self, ReceivedSnapshots};
use crate::record::{self, Record};
use crate::sender::Progress;
use crate::wire::{Begin, Entry, Kind, Message, Native, State, VERSION, Want};

/// The most entries and bytes of a batch. A sender stays far below.
const MOST_ENTRIES: usize = 4096;
const MOST_BYTES: usize = 32 << 20;
/// How often the same file is wanted in one batch.
const MOST_TRIES: u32 = 3;

/// One run.
pub(super) struct Session<'a> {
    dataset: &'a Dataset,
    link: &'a mut Link,
    progress: &'a mut dyn FnMut(&Progress),
    _lock: File,
    received: Box<dyn ReceivedSnapshots>,
    record: Record,
    target: Target,
}

impl<'a> Session<'a> {
    pub(super) fn open(
        dataset: &'a Dataset,
        link: &'a mut Link,
        progress: &'a mut dyn FnMut(&Progress),
    ) -> Result<Self> {
        let hello = expect(link, |message| matches!(message, Message::Hello { .. }), "no greeting")?;
        let Message::Hello { version, name, source } = hello else {
            return Err(Failure::Order("no greeting"));
        };
        if version != VERSION {
            return Err(Failure::Other(format!(
                "the source speaks version {version} of the stream, and this program version {VERSION}; use the same \
                 version of `fourfold` on both sides"
            )));
        }
        let folder = dataset.folder();
        let lock = record::lock(folder)?;
        let target = Target::open(dataset)?;
        let record = match Record::read(folder)? {
            Some(mut record) if record.source_id == hex::encode(&source) => {
                record.source = name;
                record
            }
            Some(record) => {
                return Err(Failure::Other(format!(
                    "{} is a replica of {}, which is another dataset; replicate to another place, or promote this one",
                    folder.display(),
                    record.source
                )));
            }
            None => {
                target.must_be_empty(dataset)?;
                Record::new(name, &source)
            }
        };
        let received = native::received(dataset);
        Ok(Self { dataset, link, progress, _lock: lock, received, record, target })
    }

    pub(super) fn run(mut self) -> Result<Vec<String>> {
        self.tell_state()?;
        // The sender refuses a destination that overlaps with its source: it is no replica before the sender goes on.
        let mut message = self.link.receive()?;
        self.record.write(self.dataset.folder())?;
        let mut warnings = Vec::new();
        loop {
            match message {
                Message::Begin(begin) => {
                    let lines = self.snapshot(&begin)?;
                    warnings.extend(lines.iter().cloned());
                    self.finished(lines)?;
                }
                Message::Snapshots { rows, keep } => {
                    let lines = super::names::follow(self.dataset, &mut self.record, &rows, keep)?;
                    warnings.extend(lines.iter().cloned());
                    self.finished(lines)?;
                    return Ok(warnings);
                }
                _ => return Err(Failure::Order("neither a snapshot nor the end")),
            }
            message = self.link.receive()?;
        }
    }

    fn tell_state(&mut self) -> Result<()> {
        self.forget_removed()?;
        let has = |kept: &record::DestinationSnapshot| hex::decode(&kept.id);
        let complete = self.record.snapshots.iter().filter_map(has);
        let snapshots = complete.chain(FolderLocation::of(self.dataset.folder()).ids()).collect();
        let native = match native::able(self.dataset, "destination") {
            Err(why) => Native::Unable(why),
            Ok(format) => {
                let newest = self.record.newest().filter(|_| self.record.receiving().is_none());
                let newest = newest.and_then(|kept| hex::decode(&kept.id));
                self.received.tidy_up(newest.as_ref())?;
                Native::Ready(format, self.received.all()?)
            }
        };
        let state = State { version: VERSION, snapshots, receiving: self.record.receiving(), native };
        self.link.send(&Message::State(state))?;
        self.link.flush()
    }

    fn finished(&mut self, lines: Vec<String>) -> Result<()> {
        self.link.send(&Message::Finished(lines))?;
        self.link.flush()
    }

    /// Snapshots that were removed here are not there for the source.
    fn forget_removed(&mut self) -> Result<()> {
        let names: Vec<String> = self.dataset.list()?.into_iter().map(|one| one.name).collect();
        self.record.retain(&names);
        Ok(())
    }

    /// Takes one snapshot. Returns what did not go as it was meant to.
    fn snapshot(&mut self, begin: &Begin) -> Result<Vec<String>> {
        self.target.base = match &begin.base {
            None => None,
            Some(base) => {
                let kept = self.record.find(base).ok_or(Failure::Order("a base that is not there"))?;
                let path = self.dataset.mount(&kept.name)?;
                Some(host::root(&path).map_err(Failure::io("open", path.as_os_str().as_encoded_bytes()))?)
            }
        };
        self.record.begin(&begin.id, begin.base.as_ref());
        self.record.write(self.dataset.folder())?;
        let lines = self.stream(begin)?;
        apply(&mut self.target, self.link, begin, self.progress)?;
        rustix::fs::syncfs(&self.target.root).map_err(Failure::io("write", b""))?;
        steps::pass()?;
        let name = record::first_name(&hex::encode(&begin.id));
        if self.record.find(&begin.id).is_none() {
            match self.dataset.create(&name, UNIX_EPOCH + Duration::from_nanos(begin.created)) {
                Err(Refusal::Exists { .. }) => {
                    // An earlier run took it and ended before it was recorded; the tree may have been changed since.
                    self.dataset.remove(&name)?;
                    self.dataset.create(&name, UNIX_EPOCH + Duration::from_nanos(begin.created))?;
                }
                taken => taken?,
            }
        }
        self.target.base = None; // ZFS renames and removes no snapshot that is open
        self.record.complete(&begin.id, &name);
        self.record.write(self.dataset.folder())?;
        steps::pass()?;
        if self.target.received.take().is_some() {
            self.received.remove_others(Some(&begin.id))?;
        }
        Ok(lines)
    }

    /// Receives the stream of the host's program, if it comes.
    fn stream(&mut self, begin: &Begin) -> Result<Vec<String>> {
        self.target.received = None;
        if begin.native.is_err() {
            return Ok(Vec::new());
        }
        native::able(self.dataset, "destination").map_err(Failure::Other)?;
        let mut progress = progress(begin);
        let key = self.record.stream_key()?;
        self.record.write(self.dataset.folder())?;
        let taken = native::take(&*self.received, (&begin.id, &key), self.link, &mut |bytes| {
            progress.done = (progress.done + bytes).min(progress.total);
            (self.progress)(&progress);
        })?;
        match taken {
            Ok(()) => self.target.received = self.received.root(&begin.id)?,
            Err(why) => {
                let name = &begin.name;
                return Ok(vec![format!("{name} was sent by changed files, because a stream failed: {why}")]);
            }
        }
        Ok(Vec::new())
    }
}

/// Makes the target what the other side sends, without a snapshot and a record.
pub(super) fn apply_tree(
    target: &mut Target,
    link: &mut Link,
    told: &mut dyn FnMut(&Progress),
) -> Result<()> {
    let Message::Begin(begin) = link.receive()? else { return Err(Failure::Order("no tree")) };
    apply(target, link, &begin, told)
}

fn progress(begin: &Begin) -> Progress {
    let native = begin.native.clone();
    Progress { snapshot: begin.name.clone(), total: begin.bytes, native, ..Progress::default() }
}

fn apply(target: &mut Target, link: &mut Link, begin: &Begin, told: &mut dyn FnMut(&Progress)) -> Result<()> {
    let mut progress = progress(begin);
    let mut batch = Batch::default();
    loop {
        match link.receive()? {
            Message::Entry(entry) => {
                progress.entries += 1;
                batch.add(target, *entry)?;
            }
            Message::Names { folder, names, is_last } => target.names(folder, names, is_last)?,
            Message::Turn => {
                batch.turn(target, link, &mut |bytes| {
                    progress.done += bytes;
                    told(&progress);
                })?;
                told(&progress);
            }
            Message::Done if batch.count == 0 => return target.names_are_complete(),
            _ => return Err(Failure::Order("no entry")),
        }
    }
}

/// The entries since the last turn.
#[derive(Default)]
struct Batch {
    count: u32,
    bytes: usize,
    /// Files whose data are wanted, and how often they were.
    wanted: BTreeMap<u32, (Entry, Want, u32)>,
}

impl Batch {
    fn add(&mut self, target: &mut Target, entry: Entry) -> Result<()> {
        self.bytes += entry.xattrs.iter().map(|(_, value)| value.len()).sum::<usize>() + 256;
        if self.count as usize >= MOST_ENTRIES || self.bytes > MOST_BYTES {
            return Err(Failure::Order("a batch that is too large"));
        }
        let index = self.count;
        self.count += 1;
        if let DataNeed::Wanted { from, is_delta } = target.entry(&entry)?
            && !target.fill_from_received(&entry)?
        {
            self.wanted.insert(index, (entry, Want { index, from, is_delta }, 1));
        }
        Ok(())
    }

    /// Asks for data until there is nothing to ask for.
    fn turn(&mut self, target: &mut Target, link: &mut Link, count: &mut dyn FnMut(u64)) -> Result<()> {
        loop {
            let wants: Vec<Want> = self.wanted.values().map(|(_, want, _)| *want).collect();
            link.send(&Message::Wants(wants.clone()))?;
            link.flush()?;
            if wants.is_empty() {
                (self.count, self.bytes) = (0, 0);
                return Ok(());
            }
            for want in wants {
                let Some((entry, _, tries)) = self.wanted.get_mut(&want.index) else { continue };
                let Kind::File { size, .. } = entry.kind else { continue };
                expect(link, |message| *message == Message::File(want.index), "another file")?;
                if target.fill(entry, size, want, link, count)? {
                    self.wanted.remove(&want.index);
                } else if *tries >= MOST_TRIES {
                    let path = target.place(&entry.place)?;
                    return Err(Failure::Other(format!(
                        "{}: its checksum differs after {MOST_TRIES} tries; look for failing memory or disks",
                        crate::failure::shown(&path).display()
                    )));
                } else {
                    // The whole of it, from the start.
                    let again = Want { from: 0, is_delta: false, ..want };
                    let tries = *tries + 1;
                    if let Some(wanted) = self.wanted.get_mut(&want.index) {
                        (wanted.1, wanted.2) = (again, tries);
                    }
                }
            }
        }
    }
}
