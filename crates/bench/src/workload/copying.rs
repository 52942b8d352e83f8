//! Copies, backups, archives.

use std::time::Instant;

use super::Worker;
use crate::Result;
use crate::meter::Meter;
use client::OpenIntent;

/// Files of a tree, at full scale, and their lengths in turn.
const FILES: usize = 400;
const LENGTHS: [u64; 6] = [512, 4 << 10, 20 << 10, 1536, 128 << 10, 64 << 10];
const PER_FOLDER: usize = 20;
/// What the Finder keeps of a file: the type, the creator, flags, and the place of the icon.
const FINDER_INFO: [u8; 32] = [0; 32];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Finder,
    Explorer,
}

pub(super) fn copy_tree(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    for (manner, name) in [(Manner::Finder, "by Finder"), (Manner::Explorer, "by Explorer")] {
        worker.make_folder(name)?;
        for number in 0..worker.count(FILES) {
            if !meter.goes_on() {
                return Ok(());
            }
            let folder = format!("{name}/folder {}", number / PER_FOLDER);
            if number.is_multiple_of(PER_FOLDER) {
                let begun = Instant::now();
                worker.make_folder(&folder)?;
                meter.done(begun, 0);
            }
            let begun = Instant::now();
            let length = LENGTHS[number % LENGTHS.len()];
            copy_file(worker, &format!("{folder}/item {number}"), length, manner)?;
            meter.done(begun, length);
        }
    }
    Ok(())
}

/// The Finder asks whether the name is free, writes the data, sets Finder info and a quarantine flag as
/// extended attributes, and looks again. The Explorer asks, writes, and looks at the folder's entry.
fn copy_file(worker: &mut Worker<'_>, name: &str, length: u64, manner: Manner) -> Result<()> {
    let path = worker.path(name);
    match worker.session.stat(&path) {
        Err(crate::Error::Missing(_)) => {}
        other => drop(other?),
    }
    let file = worker.create(name)?;
    let flight = worker.start(file, 0, length as usize, true, false)?;
    worker.finish(&mut vec![flight])?;
    worker.settle(file)?;
    if manner == Manner::Finder && worker.session.abilities().attributes {
        for attribute in ["com.apple.FinderInfo.copy", "com.apple.quarantine"] {
            match worker.session.set_attribute(&path, attribute, &FINDER_INFO) {
                Ok(()) | Err(crate::Error::Unsupported(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    worker.session.stat(&path).map(drop)
}

/// The bands of a sparse bundle are written 1 MiB at a time; after each band the bundle's token is locked
/// and its property list is replaced.
pub(super) fn backup_bands(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const BAND: u64 = 8 << 20;
    let (mut left, mut number) = (worker.length(), 0);
    let block = worker.session.largest().min(1 << 20) as u64;
    worker.make_folder("Mac.sparsebundle")?;
    worker.make_folder("Mac.sparsebundle/bands")?;
    let token = worker.create("Mac.sparsebundle/token")?;
    while left > 0 && meter.goes_on() {
        let length = left.min(BAND);
        let band = worker.create(&format!("Mac.sparsebundle/bands/{number:x}"))?;
        worker.stream(meter, band, (0, length), block, true)?;
        worker.settle(band)?;
        let list = format!("Mac.sparsebundle/Info.plist.{number}");
        let begun = Instant::now();
        let file = worker.create(&list)?;
        let flight = worker.start(file, 0, 512, true, false)?;
        worker.finish(&mut vec![flight])?;
        worker.settle(file)?;
        worker.remove(&list)?;
        meter.done(begun, 0);
        (left, number) = (left - length, number + 1);
    }
    worker.session.close(token)
}

pub(super) fn tar_tree(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const RECORD: u64 = 64 << 10;
    let length = worker.length();
    let file = worker.create("archive.tar")?;
    worker.stream(meter, file, (0, length), RECORD, true)?;
    worker.settle(file)
}

/// What a file system writes: blocks of data from the first to the last, and the journal, the catalogue and the bitmap at their
/// places every 64 blocks. `write` writes the block of a number.
fn write_blocks(blocks: u64, write: &mut dyn FnMut(u64) -> Result<bool>) -> Result<()> {
    for at in 0..blocks {
        let mut goes_on = write(at)?;
        if at % 64 == 63 {
            for metadata in [0, 1, 2] {
                goes_on &= write(metadata)?;
            }
        }
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// A file system in a sparse bundle, as macOS makes an image on a share: the blocks of [`disk_image`] in bands, which stay open and
/// are flushed every 1,024 blocks.
pub(super) fn sparse_bundle(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const BLOCK: u64 = 4 << 10;
    const BLOCKS_OF_BAND: u64 = (8 << 20) / BLOCK;
    worker.make_folder("image.sparsebundle")?;
    worker.make_folder("image.sparsebundle/bands")?;
    for (name, length) in [("Info.plist", 512), ("Info.bckup", 512)] {
        worker.write_file(&format!("image.sparsebundle/{name}"), length)?;
    }
    let token = worker.create("image.sparsebundle/token")?;
    let blocks = worker.length() / BLOCK;
    let mut bands = Vec::new();
    write_blocks(blocks, &mut |at| {
        let band = (at / BLOCKS_OF_BAND) as usize;
        if band == bands.len() {
            bands.push(worker.create(&format!("image.sparsebundle/bands/{band:x}"))?);
        }
        let flight = worker.start(bands[band], at % BLOCKS_OF_BAND * BLOCK, BLOCK as usize, true, false)?;
        let flight = worker.finish(&mut vec![flight])?;
        meter.done(flight.begun, BLOCK);
        if at % 1024 == 1023 {
            bands.iter().try_for_each(|band| worker.session.flush(*band))?;
        }
        Ok(meter.goes_on())
    })?;
    bands.into_iter().try_for_each(|band| worker.settle(band))?;
    worker.session.close(token)
}

/// A file system in a file: data in blocks of 4 KiB, and the journal, the catalogue and the bitmap at
/// their places every 64 blocks, then a flush every 1,024.
pub(super) fn disk_image(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const BLOCK: u64 = 4 << 10;
    let blocks = worker.length() / BLOCK;
    let file = worker.create("image")?;
    write_blocks(blocks, &mut |at| {
        let flight = worker.start(file, at * BLOCK, BLOCK as usize, true, false)?;
        let flight = worker.finish(&mut vec![flight])?;
        meter.done(flight.begun, BLOCK);
        if at % 1024 == 1023 {
            worker.session.flush(file)?;
        }
        Ok(meter.goes_on())
    })?;
    worker.settle(file)?;
    let file = worker.open("image", OpenIntent::Read)?;
    worker.session.close(file)
}
