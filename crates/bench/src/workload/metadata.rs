//! Names, attributes, locks.

use std::time::Instant;

use super::Worker;
use super::worker::CreatedEntry;
use crate::meter::Meter;
use crate::{Error, Result};
use client::OpenIntent;

const SMALL: u64 = 4 << 10;
/// Files of a folder that is listed, at full scale.
const LISTED: usize = 10_000;
/// Times that it is listed.
const LISTINGS: usize = 10;
const ATTRIBUTE: &str = "org.example.fourfold-bench";
const FORK: u64 = 4 << 10;

fn name(number: usize) -> String {
    format!("file {number:06}")
}

pub(super) fn prepare_listing(worker: &mut Worker<'_>) -> Result<()> {
    worker.make_folder("many")?;
    for number in 0..worker.count(LISTED) {
        let file = worker.create(&format!("many/{}", name(number)))?;
        worker.session.close(file)?;
    }
    Ok(())
}

/// An operation is an entry; a latency is that of a whole listing.
pub(super) fn enumerate(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let (folder, expected) = (worker.path("many"), worker.count(LISTED));
    for _ in 0..LISTINGS {
        if !meter.goes_on() {
            break;
        }
        let begun = Instant::now();
        let count = worker.session.list(&folder)?;
        if count != expected {
            return Err(Error::Other(format!("the listing has {count} entries of {expected}")));
        }
        meter.done(begun, 0);
        meter.add_operations(count as u64 - 1);
    }
    Ok(())
}

fn make(worker: &mut Worker<'_>, name: &str, length: u64) -> Result<()> {
    let file = worker.create(name)?;
    let stable = worker.durability == crate::Durability::Each;
    let mut flights = Vec::new();
    let flight = worker.start(file, 0, length as usize, true, stable)?;
    flights.push(flight);
    worker.finish(&mut flights)?;
    worker.settle(file)
}

fn timed(
    worker: &mut Worker<'_>,
    meter: &mut Meter<'_>,
    count: usize,
    mut act: impl FnMut(&mut Worker<'_>, usize) -> Result<()>,
) -> Result<usize> {
    for number in 0..count {
        if !meter.goes_on() {
            return Ok(number);
        }
        let begun = Instant::now();
        act(worker, number)?;
        meter.done(begun, 0);
    }
    Ok(count)
}

pub(super) fn create_stat_delete(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const COUNT: usize = 2000;
    let count = timed(worker, meter, worker.count(COUNT), |w, n| make(w, &name(n), SMALL))?;
    timed(worker, meter, count, |w, n| {
        let length = w.session.stat(&w.path(&name(n)))?;
        if length == SMALL { Ok(()) } else { Err(Error::Other(format!("a file of {length} bytes"))) }
    })?;
    timed(worker, meter, count, |w, n| w.remove(&name(n)))?;
    Ok(())
}

pub(super) fn prepare_locks(worker: &mut Worker<'_>) -> Result<()> {
    worker.write_file("locked", 64 << 10)
}

pub(super) fn lock_unlock(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const COUNT: usize = 2000;
    let file = worker.open("locked", OpenIntent::Write)?;
    timed(worker, meter, worker.count(COUNT), |w, n| {
        let offset = (n as u64 % 1024) * 1024;
        w.session.lock(file, offset, 512, true)?;
        w.session.lock(file, offset, 512, false)
    })?;
    worker.session.close(file)
}

pub(super) fn prepare_attributes(worker: &mut Worker<'_>) -> Result<()> {
    (0..worker.count(500)).try_for_each(|number| worker.write_file(&name(number), SMALL))
}

pub(super) fn attributes_and_forks(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let value = [7; 256];
    let count = worker.count(500);
    let has_forks = worker.session.abilities().forks;
    timed(worker, meter, count, |w, n| w.session.set_attribute(&w.path(&name(n)), ATTRIBUTE, &value))?;
    timed(worker, meter, count, |w, n| {
        let length = w.session.attribute(&w.path(&name(n)), ATTRIBUTE)?;
        let is_whole = length == value.len();
        if is_whole { Ok(()) } else { Err(Error::Other(format!("an attribute of {length} bytes"))) }
    })?;
    if !has_forks {
        return Ok(());
    }
    for writes in [true, false] {
        timed(worker, meter, count, |w, n| {
            let how = if writes { OpenIntent::Write } else { OpenIntent::Read };
            let fork = w.session.open_fork(&w.path(&name(n)), how)?;
            let flight = w.start(fork, 0, FORK as usize, writes, false)?;
            w.finish(&mut vec![flight])?;
            w.session.close(fork)
        })?;
    }
    Ok(())
}

/// The steps of LanTest, whose operations are counted together.
pub(super) fn lantest(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const FILES: usize = 300;
    let count = timed(worker, meter, worker.count(FILES), |w, n| make(w, &name(n), SMALL))?;
    timed(worker, meter, count, |w, n| {
        let file = w.open(&name(n), OpenIntent::Read)?;
        w.session.close(file)
    })?;
    let folder = worker.folder.clone();
    timed(worker, meter, 10, |w, _| w.session.list(&folder).map(drop))?;
    timed(worker, meter, count, |w, n| w.remove(&name(n)))?;
    let (length, block) = (worker.length(), worker.session.largest().min(1 << 20) as u64);
    let file = worker.create("large")?;
    let before = meter.bytes();
    worker.stream(meter, file, (0, length), block, true)?;
    let written = meter.bytes() - before;
    worker.stream(meter, file, (0, written), block, false)?;
    if worker.session.abilities().locks {
        let locked = timed(worker, meter, worker.count(FILES), |w, n| {
            w.session.lock(file, n as u64 * 1024, 512, true)?;
            w.session.lock(file, n as u64 * 1024, 512, false)
        });
        if !matches!(locked, Err(Error::Unsupported(_))) {
            locked?;
        }
    }
    worker.settle(file)?;
    debug_assert!(worker.made.contains(&CreatedEntry::File(worker.path("large"))));
    Ok(())
}
