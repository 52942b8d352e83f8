//! The check of a container: every checksum, every tree, and the space manager against what is reachable.
//!
//! Memory does not grow with the number of files: a bit for each block, and counts of files by windows ([`census`]).
//! Blocks that are reachable but marked as free are always damage. Blocks that are allocated and that nothing reaches are
//! told only where everything was understood and read.

mod census;
mod seal;
mod space;
mod trees;
mod used;
mod volumes;

use std::sync::Arc;

use wire::{Malformed, Reader};

use super::blocks::damaged;
use super::container::Container;
use super::object::kind;
use super::superblock::Superblock;
use crate::check::{Problem, Steps};
use crate::{Error, Passphrase, ReadAt, Result};

use used::BlockSet;

/// How many problems are told. The rest would only follow from the first ones.
const MOST_PROBLEMS: u64 = 1000;
/// How large a container may be that is checked: the sets of blocks take at most a bit for each, 1 GiB each.
const MOST_BLOCKS: u64 = 1 << 33;

/// The steps: a check that is resumed goes on at one of them. Which blocks are used is found again for each volume, by its
/// object map and its extents; catalogues, which are most of a volume, are not read again.
mod step {
    pub(super) const CONTAINER: u32 = 0;
    pub(super) const SPACE: u32 = u32::MAX;
    /// The most snapshots of a volume with steps of their own.
    const SNAPSHOTS: u32 = 0xfffc;

    pub(super) fn volume(index: usize) -> u32 {
        1 + index as u32 * 0x1_0000
    }

    pub(super) fn catalogue(index: usize) -> u32 {
        volume(index) + 1
    }

    pub(super) fn snapshot(index: usize, number: usize) -> u32 {
        volume(index) + 2 + u32::try_from(number).unwrap_or(SNAPSHOTS).min(SNAPSHOTS)
    }
}

/// The state of a check.
struct Check<'a, 'b> {
    container: &'a Container,
    steps: &'a mut Steps<'b>,
    /// Blocks of metadata, and of files.
    metadata: BlockSet,
    data: BlockSet,
    /// Blocks of nodes that were read, of trees that snapshots share.
    walked: BlockSet,
    /// Nodes of the present tree that were read.
    nodes: u64,
    /// The step, and whether it was finished before: then it is repeated without a word, to know which blocks are used.
    step: u32,
    is_repeated: bool,
    /// Whether everything was understood and read so far, so that what is not reached is lost.
    is_exact: bool,
    /// What could not be checked, the first of it.
    unread: Option<Error>,
}

/// Checks a container and its volumes. Those that are encrypted need the passphrase for their catalogues; the rest of them
/// is checked without it.
///
/// # Errors
///
/// [`Error::Damaged`] if the container cannot be opened at all; [`Error::NotSupported`]; [`Error::Passphrase`] if a volume is
/// encrypted and was checked only in part; what the source says. Other damage is told to `steps`.
pub fn check(disk: Arc<dyn ReadAt>, passphrase: Option<&Passphrase>, steps: &mut Steps<'_>) -> Result<()> {
    let container = Container::open(disk)?;
    let count = container.blocks.count;
    if count > MOST_BLOCKS {
        return Err(Error::NotSupported(format!("checking an APFS container of {count} blocks")));
    }
    let mut check = Check {
        container: &container,
        steps,
        metadata: BlockSet::new(count),
        data: BlockSet::new(count),
        walked: BlockSet::new(count),
        nodes: 0,
        step: 0,
        is_repeated: false,
        is_exact: true,
        unread: None,
    };
    check.enter(step::CONTAINER, "checkpoint");
    check.superblocks()?;
    check.ephemeral_objects()?;
    check.container_map()?;
    for index in 0..container.volume_count() {
        check.volume(index, passphrase)?;
    }
    check.enter(step::SPACE, "space manager");
    check.space()?;
    match check.unread {
        Some(error) if !check.steps.is_stopped() => Err(error),
        _ => Ok(()),
    }
}

impl Check<'_, '_> {
    /// Begins a step.
    fn enter(&mut self, step: u32, name: &'static str) {
        self.step = step;
        self.begin(name, 0);
    }

    /// Begins a part of a step. `false` ends the check.
    fn begin(&mut self, name: &'static str, total: u64) -> bool {
        self.nodes = 0;
        self.is_repeated = !self.steps.begin(self.step, name, total);
        self.may_go_on()
    }

    /// Begins the check of a catalogue. `false` if it is finished, or the check ends.
    fn enters_catalogue(&mut self, step: u32) -> bool {
        self.enter(step, "catalogue");
        // What is not read again may have had damage.
        self.is_exact &= !self.is_repeated;
        !self.is_repeated && self.may_go_on()
    }

    fn may_go_on(&self) -> bool {
        !self.steps.is_stopped() && self.steps.found() < MOST_PROBLEMS
    }

    fn problem(&mut self, structure: impl Into<String>, block: u64, problem: impl Into<String>) {
        let place = self.container.blocks.place(block);
        self.tell_problem(Problem::new(structure, Some(place), problem));
    }

    fn tell_problem(&mut self, problem: Problem) {
        self.is_exact = false;
        if !self.is_repeated {
            self.steps.problem(problem);
        }
    }

    /// Tells damage, and notes what could not be read. Errors of the source are returned.
    fn tell(&mut self, error: Error) -> Result<()> {
        self.is_exact = false;
        match error {
            Error::Damaged { structure, place, problem } => {
                self.tell_problem(Problem::new(structure, Some(place), problem));
            }
            Error::Source(error) => return Err(Error::Source(error)),
            other => {
                self.unread.get_or_insert(other);
            }
        }
        Ok(())
    }

    /// The value, or `None` after its damage was told.
    fn told<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.tell(error).map(|()| None),
        }
    }

    /// Notes that metadata has blocks.
    fn uses(&mut self, first: u64, count: u64, what: &str) {
        let blocks = self.container.blocks.count;
        if first.checked_add(count).is_none_or(|end| end > blocks) {
            return self.problem(what, first, "it would be behind the end of the container");
        }
        let clash = self.metadata.add(first, count).or_else(|| self.data.first_in(first, count));
        if let Some(block) = clash {
            self.problem(what, block, "its block also belongs to something else");
        }
    }

    /// The first block, superblocks and descriptors.
    fn superblocks(&mut self) -> Result<()> {
        let container = self.container;
        for error in container.skipped.clone() {
            self.tell(error)?;
        }
        let checkpoint = &container.checkpoint.superblock;
        let first = container.blocks.object(0, 1, "container superblock");
        if let Some(first) = self.told(first)? {
            let superblock = Superblock::decode(&first.bytes);
            let superblock = superblock.map_err(|malformed| damaged("container superblock", 0, malformed.0));
            if let Some(first) = self.told(superblock)? {
                self.compare_superblocks(&first, checkpoint);
            }
        }
        if checkpoint.next_xid <= checkpoint.header.xid {
            self.problem("checkpoint superblock", 0, "the next transaction is not after its own");
        }
        let length = checkpoint.block_count.checked_mul(u64::from(checkpoint.block_size));
        if length.is_none_or(|length| length > container.blocks.length()) {
            self.problem("container superblock", 0, "the container is longer than the partition or image");
        }
        self.is_exact &= !checkpoint.is_resized;
        self.uses(0, 1, "container superblock");
        for (area, name) in [(checkpoint.descriptors, "descriptor"), (checkpoint.data, "data")] {
            self.uses(area.first, area.blocks.into(), &format!("checkpoint {name} area"));
        }
        Ok(())
    }

    fn compare_superblocks(&mut self, first: &Superblock, checkpoint: &Superblock) {
        let what = "container superblock";
        let same = first.uuid == checkpoint.uuid
            && first.block_count == checkpoint.block_count
            && first.descriptors.first == checkpoint.descriptors.first
            && first.data.first == checkpoint.data.first;
        if !same {
            self.problem(what, 0, "it does not describe the container of its checkpoint");
        }
        if first.header.xid > checkpoint.header.xid {
            self.problem(what, 0, "its checkpoint is lost, and an older one is used");
        }
        if first.header.object_type() != kind::SUPERBLOCK || first.header.oid != 1 {
            self.problem(what, 0, "its header is of another object");
        }
    }

    /// The objects that a checkpoint has in its data area.
    fn ephemeral_objects(&mut self) -> Result<()> {
        let container = self.container;
        let mut oids = Vec::new();
        for mapping in &container.checkpoint.mappings {
            let what = format!("ephemeral object {}", mapping.oid);
            if oids.contains(&mapping.oid) {
                self.problem(&what, mapping.block, "the checkpoint has it twice");
            }
            oids.push(mapping.oid);
            let object = container.checkpoint.object(&container.blocks, mapping, &what);
            let Some(object) = self.told(object)? else { continue };
            let header = object.header;
            if header.oid != mapping.oid || header.kind != mapping.kind || header.subtype != mapping.subtype {
                self.problem(&what, mapping.block, "its header is of another object");
            } else if !header.is_ephemeral() {
                self.problem(&what, mapping.block, "it is not marked as ephemeral");
            } else if header.xid != container.xid() {
                self.problem(&what, mapping.block, "it is of another checkpoint");
            }
        }
        self.reaper(container)
    }

    /// The reaper: what is removed step by step. While it has something, blocks may belong to nothing.
    fn reaper(&mut self, container: &Container) -> Result<()> {
        let Some(mapping) = container.checkpoint.mapping(container.checkpoint.superblock.reaper) else {
            self.problem("checkpoint map", 0, "it has no reaper");
            return Ok(());
        };
        let bytes = container.blocks.read(mapping.block, 1, "reaper");
        let Some(bytes) = self.told(bytes)? else { return Ok(()) };
        let head = |bytes: &[u8]| {
            let mut r = Reader::new(bytes);
            r.skip(32 + 16)?; // header, next and completed ids
            Ok::<_, Malformed>((r.u64_le()?, r.u64_le()?))
        };
        if head(&bytes).is_ok_and(|ends| ends != (0, 0)) {
            self.is_exact = false;
        }
        Ok(())
    }
}
