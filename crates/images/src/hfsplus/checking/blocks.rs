//! The blocks of a volume: which fork has each of them, that no two have one, and that the allocation bitmap says so.
//!
//! Blocks are taken in windows, so that memory does not grow with the volume.

use std::sync::Arc;

use super::bits::{BitSet, MAX_BITS, Runs};
use super::records::{PathNames, SYSTEM_FILES};
use super::{Checking, PLACE};
use crate::check::{Problem, Steps};
use crate::hfsplus::attributes::AttributeRecord;
use crate::hfsplus::btree::Tree;
use crate::hfsplus::catalogue::Record;
use crate::hfsplus::fork::{DATA, Extent, ForkData, ForkReader, RESOURCE};
use crate::hfsplus::header;
use crate::hfsplus::keys::{AttributesKey, ExtentsKey};
use crate::{Error, ReadAt, Result, decode};

/// Bytes of the bitmap that are read at once.
const PIECE: usize = 64 << 10;
/// The most ranges of blocks with two owners that are explained.
const MAX_SHARED: usize = 100;

/// Who has blocks.
#[derive(Clone)]
enum Owner {
    Headers,
    System(&'static str),
    Fork { file: u32, fork: u8 },
    Attribute { file: u32 },
}

impl Owner {
    fn problem(&self, names: &PathNames, text: String) -> Problem {
        match self {
            Self::Headers => Problem::new("volume header", Some(PLACE), text),
            Self::System(name) => Problem::new(*name, None, text),
            Self::Fork { file, fork } => {
                let fork = if *fork == RESOURCE { "resource fork" } else { "data fork" };
                Problem::new(format!("{fork} of file {file}"), None, text).of_file(names.of(*file))
            }
            Self::Attribute { file } => {
                Problem::new(format!("attribute of {file}"), None, text).of_file(names.of(*file))
            }
        }
    }
}

/// What is called for the extents of an owner.
type Use<'u> = &'u mut dyn FnMut(&Owner, Extent, &mut Steps<'_>);

pub(super) fn check(checking: &Checking, steps: &mut Steps<'_>) -> Result<()> {
    let names = PathNames::new(checking.catalogue.clone());
    let blocks = u64::from(checking.header.blocks);
    let (mut first, mut free) = (0, 0);
    while first < blocks {
        let count = (blocks - first).min(MAX_BITS);
        let mut used = BitSet::new(count)?;
        let mut shared: Vec<Extent> = Vec::new();
        let is_whole = each_extent(checking, steps, first == 0, &names, &mut |owner, extent, steps| {
            let end = u64::from(extent.start) + u64::from(extent.count);
            if end > blocks {
                if first == 0 {
                    let text = format!("blocks {} to {} are beyond the volume", extent.start, end - 1);
                    steps.problem(owner.problem(&names, text));
                }
                return;
            }
            let (from, to) = (u64::from(extent.start).max(first), end.min(first + count));
            if from < to && used.set_range(from - first, to - from) > 0 && shared.len() < MAX_SHARED {
                shared.push(extent);
            }
        })?;
        if steps.is_stopped() {
            return Ok(());
        }
        explain_shared(checking, steps, &names, &shared)?;
        match compare(checking, steps, first, &used, is_whole && shared.is_empty())? {
            Some(window) => free += window,
            None => return Ok(()),
        }
        first += count;
    }
    if checking.has_final_counts() && u64::from(checking.header.free_blocks) != free {
        let text = format!("it says {} free blocks, but the bitmap has {free}", checking.header.free_blocks);
        steps.problem(Problem::new("volume header", Some(PLACE), text));
    }
    Ok(())
}

/// Reports each owner of blocks that several have.
fn explain_shared(
    checking: &Checking,
    steps: &mut Steps<'_>,
    names: &PathNames,
    shared: &[Extent],
) -> Result<()> {
    if shared.is_empty() {
        return Ok(());
    }
    let mut reported = 0;
    each_extent(checking, steps, false, names, &mut |owner, extent, steps| {
        let range = |of: &Extent| u64::from(of.start)..u64::from(of.start) + u64::from(of.count);
        let (start, end) = (range(&extent).start, range(&extent).end);
        let common = shared.iter().find(|of| range(of).start < end && start < range(of).end);
        if let Some(common) = common.filter(|_| reported < MAX_SHARED) {
            reported += 1;
            let (from, to) = (start.max(range(common).start), end.min(range(common).end) - 1);
            steps.problem(
                owner.problem(names, format!("blocks {from} to {to} are used by something else, too")),
            );
        }
    })?;
    Ok(())
}

/// Compares the bitmap with the used blocks of a window. Returns how many are free in the bitmap.
fn compare(
    checking: &Checking,
    steps: &mut Steps<'_>,
    first: u64,
    used: &BitSet,
    is_whole: bool,
) -> Result<Option<u64>> {
    const NAME: &str = "allocation bitmap";
    let Checking { disk, header, extents, .. } = checking;
    let bitmap = ForkReader::new(disk.clone(), header.allocation, (6, DATA), Some(extents.clone()));
    let blocks = u64::from(header.blocks);
    let (mut lost, mut taken, mut free) = (Runs::default(), Runs::default(), 0);
    let bytes = used.bytes();
    for (piece, expected) in bytes.chunks(PIECE).enumerate() {
        let offset = first / 8 + (piece * PIECE) as u64;
        let mut stored = vec![0; expected.len()];
        match bitmap.read_at(offset, &mut stored) {
            Ok(()) => {}
            Err(Error::Damaged { structure, place, problem }) => {
                steps.problem(Problem::new(structure, Some(place), problem));
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        for (index, (stored, expected)) in stored.iter().zip(expected).enumerate() {
            let base = (offset + index as u64) * 8;
            let valid = blocks.saturating_sub(base).min(8);
            let mask = if valid == 8 { 0xFF } else { !(0xFFu8 >> valid) };
            free += u64::from((!stored & mask).count_ones());
            if (stored ^ expected) & mask == 0 {
                continue;
            }
            for bit in 0..valid {
                let of = 0x80u8 >> bit;
                match (expected & of != 0, stored & of != 0) {
                    (true, false) => taken.add(base + bit),
                    (false, true) if is_whole => lost.add(base + bit),
                    _ => {}
                }
            }
        }
        if !steps.at(offset) {
            return Ok(None);
        }
    }
    for (runs, text) in [
        (&taken, "are used, but free in the bitmap"),
        (&lost, "are not free in the bitmap, but nothing has them"),
    ] {
        for (start, count) in &runs.list {
            let place = bitmap.place(start / 8);
            let text = format!("blocks {start} to {} {text}", start + count - 1);
            steps.problem(Problem::new(NAME, Some(place), text));
        }
        if runs.more > 0 {
            steps.problem(Problem::new(NAME, None, format!("{} more runs of blocks {text}", runs.more)));
        }
    }
    Ok(Some(free))
}

/// Calls `found` for all extents of the volume. `false` if a tree is damaged, so that extents may be missing. `totals` says
/// whether the sums of each fork's extents are compared, too.
fn each_extent(
    checking: &Checking,
    steps: &mut Steps<'_>,
    totals: bool,
    names: &PathNames,
    found: Use<'_>,
) -> Result<bool> {
    let header = &checking.header;
    let block = checking.disk.block;
    for place in [0, checking.copy_place] {
        let length = if place == 0 { PLACE + header::LENGTH as u64 } else { PLACE };
        let (start, end) = (place / block, (place + length).div_ceil(block).min(u64::from(header.blocks)));
        if start < end {
            found(&Owner::Headers, Extent { start: start as u32, count: (end - start) as u32 }, steps);
        }
    }
    for (file, fork, name) in [
        (3, &header.extents, "extents overflow file"),
        (4, &header.catalogue, "catalogue file"),
        (6, &header.allocation, "allocation file"),
        (7, &header.startup, "startup file"),
        (8, &header.attribute_file, "attributes file"),
    ] {
        let owner = Owner::System(name);
        inline(fork, |extent| found(&owner, extent, steps));
        if totals {
            check_fork(checking, fork, (file, DATA), &owner, names, steps)?;
        }
    }
    let mut is_whole = checking.each_record(&checking.catalogue, steps, &mut |leaf, steps| {
        let Ok(Record::File(item, part)) = Record::decode(leaf.data) else { return Ok(()) };
        for (fork, data) in [(DATA, &part.data), (RESOURCE, &part.resource)] {
            let owner = Owner::Fork { file: item.id, fork };
            inline(data, |extent| found(&owner, extent, steps));
            if totals {
                check_fork(checking, data, (item.id, fork), &owner, names, steps)?;
            }
        }
        Ok(())
    })?;
    is_whole &= checking.each_record(&checking.extents, steps, &mut |leaf, steps| {
        let key = decode("extents key", leaf.place, leaf.key, |r| ExtentsKey::decode(r.rest()))?;
        let Ok(extents) = Extent::decode_all(&mut wire::Reader::new(leaf.data)) else { return Ok(()) };
        let owner = match key.file {
            5 => Owner::System("bad blocks"),
            file if SYSTEM_FILES.contains(&file) => Owner::System("further extents of a file of the volume"),
            file => Owner::Fork { file, fork: key.fork },
        };
        used(&extents, |extent| found(&owner, extent, steps));
        Ok(())
    })?;
    let Some(tree) = &checking.attributes else { return Ok(is_whole) };
    Ok(is_whole & attribute_extents(checking, tree, steps, found)?)
}

fn attribute_extents(
    checking: &Checking,
    tree: &Arc<Tree>,
    steps: &mut Steps<'_>,
    found: Use<'_>,
) -> Result<bool> {
    checking.each_record(tree, steps, &mut |leaf, steps| {
        let key = decode("attribute key", leaf.place, leaf.key, |r| AttributesKey::decode(r.rest()))?;
        let owner = Owner::Attribute { file: key.file };
        match AttributeRecord::decode(leaf.data) {
            Ok(AttributeRecord::Fork(data)) => inline(&data, |extent| found(&owner, extent, steps)),
            Ok(AttributeRecord::Extension(extents)) => used(&extents, |extent| found(&owner, extent, steps)),
            Ok(AttributeRecord::Inline(_)) | Err(_) => {}
        }
        Ok(())
    })
}

fn inline(data: &ForkData, found: impl FnMut(Extent)) {
    used(&data.extents, found);
}

fn used(extents: &[Extent], found: impl FnMut(Extent)) {
    extents.iter().take_while(|extent| extent.count > 0).copied().for_each(found);
}

/// Compares the sum of a fork's extents with the blocks that it says, and these with its size.
fn check_fork(
    checking: &Checking,
    data: &ForkData,
    (file, fork): (u32, u8),
    owner: &Owner,
    names: &PathNames,
    steps: &mut Steps<'_>,
) -> Result<()> {
    let mut sum = 0u64;
    inline(data, |extent| sum += u64::from(extent.count));
    let is_full = data.extents.iter().all(|extent| extent.count > 0);
    // Further extents follow only eight full ones.
    while is_full && sum < u64::from(data.blocks) {
        let Ok(block) = u32::try_from(sum) else { break };
        let key = ExtentsKey { fork, file, block }.encode();
        let record = match checking.extents.get(&key) {
            Ok(Some(record)) => record,
            Ok(None) | Err(Error::Damaged { .. }) => break,
            Err(error) => return Err(error),
        };
        let (_, record) = record.record()?;
        let before = sum;
        if let Ok(extents) = Extent::decode_all(&mut wire::Reader::new(record)) {
            used(&extents, |extent| sum += u64::from(extent.count));
        }
        if sum == before {
            break;
        }
    }
    if sum != u64::from(data.blocks) {
        let text = format!("it says {} blocks, but its extents have {sum}", data.blocks);
        steps.problem(owner.problem(names, text));
    } else if data.size > sum * checking.disk.block {
        let text = format!("its {} bytes are more than its {sum} blocks have", data.size);
        steps.problem(owner.problem(names, text));
    }
    Ok(())
}
