//! The check of a volume, read-only. Each step can be stopped, and begun again.
//!
//! | step | checks |
//! |---|---|
//! | 0 | both volume headers, the journal |
//! | 1, 2, 3 | the trees: nodes, keys, links, records, maps of nodes |
//! | 4 | what records say of each other: threads, folders, links, attributes |
//! | 5 | the blocks: extents of all forks, overlaps, the allocation bitmap |
//!
//! Memory is bounded: a bit for each node of a tree, and steps 4 and 5 take large volumes in windows.

mod bits;
mod blocks;
mod records;
mod relations;
mod walk;

use std::sync::Arc;

use self::records::PathNames;
use self::walk::{Walk, Walked};
use super::btree::Tree;
use super::fork::Disk;
use super::header::{Headers, INCONSISTENT, PLACE, UNMOUNTED, VolumeHeader, unwrapped};
use super::volume::{self, attributes_tree, catalogue_tree, extents_tree};
use crate::check::{Problem, Steps};
use crate::{Error, ReadAt, Result};

/// What the steps share.
struct Checking {
    disk: Arc<Disk>,
    header: VolumeHeader,
    /// Where the alternate volume header is.
    copy_place: u64,
    extents: Arc<Tree>,
    catalogue: Arc<Tree>,
    attributes: Option<Arc<Tree>>,
}

/// Reports damage; other errors stop the check.
fn report<T>(result: Result<T>, steps: &mut Steps<'_>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Damaged { structure, place, problem }) => {
            steps.problem(Problem::new(structure, Some(place), problem));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

pub(super) fn check(bytes: Arc<dyn ReadAt>, steps: &mut Steps<'_>) -> Result<()> {
    let bytes = unwrapped(bytes)?;
    let (bytes, headers, journal) = volume::replayed(bytes)?;
    if steps.begin(0, "volume headers", 1) {
        check_headers(&headers, bytes.length(), steps);
        report(journal, steps)?;
    } else if steps.is_stopped() {
        return Ok(());
    }
    let Ok(header) = headers.best() else { return Ok(()) };
    let disk = volume::disk(bytes, &header);
    let Some(extents) = report(extents_tree(&disk, &header), steps)? else { return Ok(()) };
    let catalogue = report(catalogue_tree(&disk, &header, &extents), steps)?;
    let attributes = report(attributes_tree(&disk, &header, &extents), steps)?;
    let has_attributes = attributes.is_some();
    let attributes = attributes.flatten();
    for (step, tree) in [(1, Some(&extents)), (2, catalogue.as_ref()), (3, attributes.as_ref())] {
        if let Some(tree) = tree
            && steps.begin(step, step_name(step), tree.header.nodes.into())
        {
            let names = catalogue.clone().map(PathNames::new);
            check_tree(tree, &header, names.as_ref(), steps)?;
        }
    }
    let Some(catalogue) = catalogue.filter(|_| has_attributes) else { return Ok(()) };
    let checking = Checking { disk, header, copy_place: headers.copy_place, extents, catalogue, attributes };
    if steps.begin(4, "relations of records", 1) {
        relations::check(&checking, steps)?;
    }
    if steps.begin(5, "blocks", 1) {
        blocks::check(&checking, steps)?;
    }
    Ok(())
}

fn step_name(step: u32) -> &'static str {
    match step {
        1 => "extents overflow",
        2 => "catalogue",
        _ => "attributes",
    }
}

fn check_headers(headers: &Headers, length: u64, steps: &mut Steps<'_>) {
    for result in [&headers.first, &headers.copy] {
        if let Err(Error::Damaged { structure, place, problem }) = result {
            steps.problem(Problem::new(structure, Some(*place), problem));
        }
    }
    let Ok(header) = headers.best() else { return };
    let mut problem = |problem: String| steps.problem(Problem::new("volume header", Some(PLACE), problem));
    if header.volume_length() > length {
        problem(format!(
            "it has {} bytes of blocks, but the partition only {length}",
            header.volume_length()
        ));
    }
    if header.attributes & INCONSISTENT != 0 {
        problem("a Mac has marked the volume as inconsistent".into());
    }
    if header.free_blocks > header.blocks {
        problem(format!("{} of {} blocks are free", header.free_blocks, header.blocks));
    }
    if let (Ok(first), Ok(copy)) = (&headers.first, &headers.copy) {
        let of = |header: &VolumeHeader| (header.is_hfsx, header.block_size, header.blocks);
        if of(first) != of(copy) {
            let text = "it describes another volume than the volume header";
            steps.problem(Problem::new("alternate volume header", Some(headers.copy_place), text));
        }
    }
}

/// The structure of a tree, and each of its records by itself.
fn check_tree(
    tree: &Arc<Tree>,
    header: &VolumeHeader,
    names: Option<&PathNames>,
    steps: &mut Steps<'_>,
) -> Result<()> {
    let context = records::RecordContext { header, names };
    let walked = Walk::new(tree, true)?.run(steps, &mut |leaf, steps| {
        for problem in context.problems(tree.name, leaf) {
            steps.problem(problem);
        }
        Ok(())
    })?;
    walk::check_header(tree, &walked, steps)
}

impl Checking {
    /// Whether the numbers in the volume header were written when the volume was unmounted.
    fn has_final_counts(&self) -> bool {
        self.header.attributes & UNMOUNTED != 0
    }

    /// Calls `visit` for each record of a tree. `false` if the tree is damaged, so that records may be missing, or the check
    /// was stopped.
    fn each_record(
        &self,
        tree: &Arc<Tree>,
        steps: &mut Steps<'_>,
        visit: &mut dyn FnMut(&walk::Leaf<'_>, &mut Steps<'_>) -> Result<()>,
    ) -> Result<bool> {
        let Walked { is_sound, .. } = Walk::new(tree, false)?.run(steps, visit)?;
        Ok(is_sound && !steps.is_stopped())
    }
}
