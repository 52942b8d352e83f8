//! Files from their beginning to their end.

use super::Worker;
use crate::Result;
use crate::meter::Meter;
use client::OpenIntent;

const LARGE: &str = "large";
const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

pub(super) fn prepare_large(worker: &mut Worker<'_>) -> Result<()> {
    let length = worker.length();
    worker.write_file(LARGE, length)
}

pub(super) fn prepare_small(worker: &mut Worker<'_>) -> Result<()> {
    prepare_large(worker)
}

pub(super) fn read_large(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let block = MIB.min(worker.session.largest() as u64);
    let length = worker.length();
    let file = worker.open(LARGE, OpenIntent::Read)?;
    worker.stream(meter, file, (0, length), block, false)?;
    worker.session.close(file)
}

pub(super) fn write_large(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let block = MIB.min(worker.session.largest() as u64);
    write(worker, meter, block)
}

/// As a client that keeps no attributes: it asks for them before each write, and so has one write in flight.
pub(super) fn write_noac(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let block = MIB.min(worker.session.largest() as u64);
    let (length, path) = (worker.length(), worker.path(LARGE));
    let file = worker.create(LARGE)?;
    let mut at = 0;
    while at < length && meter.goes_on() {
        worker.session.stat(&path)?;
        let end = (at + block).min(length);
        worker.stream(meter, file, (at, end), block, true)?;
        at = end;
    }
    worker.settle(file)
}

pub(super) fn read_small(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let length = worker.length();
    let file = worker.open(LARGE, OpenIntent::Read)?;
    worker.stream(meter, file, (0, length), KIB, false)?;
    worker.session.close(file)
}

pub(super) fn write_small(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    write(worker, meter, KIB)
}

/// Reads records of 1 KiB all over the file, a hundred asked for at once.
pub(super) fn read_small_at_once(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    const AT_ONCE: u64 = 100;
    let length = worker.length();
    let file = worker.open(LARGE, OpenIntent::Read)?;
    let (all, apart) = (length / KIB, length / KIB / AT_ONCE);
    for first in 0..apart.max(1) {
        if !meter.goes_on() {
            break;
        }
        let records = (0..AT_ONCE).map(|number| first + number * apart).filter(|record| *record < all);
        let mut flights = Vec::new();
        for record in records {
            flights.push(worker.start(file, record * KIB, KIB as usize, false, false)?);
        }
        while !flights.is_empty() {
            let flight = worker.finish(&mut flights)?;
            meter.done(flight.begun, flight.length as u64);
        }
    }
    worker.session.close(file)
}

fn write(worker: &mut Worker<'_>, meter: &mut Meter<'_>, block: u64) -> Result<()> {
    let length = worker.length();
    let file = worker.create(LARGE)?;
    worker.stream(meter, file, (0, length), block, true)?;
    worker.settle(file)
}

/// Records of lmdd.
const RECORD: u64 = 512;

pub(super) fn write_records(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    write(worker, meter, RECORD)
}

pub(super) fn read_records(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let length = worker.length();
    let file = worker.open(LARGE, OpenIntent::Read)?;
    worker.stream(meter, file, (0, length), RECORD, false)?;
    worker.session.close(file)
}

/// Writes, then reads what was written.
pub(super) fn lmdd(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let length = worker.length();
    let file = worker.create(LARGE)?;
    let before = meter.bytes();
    worker.stream(meter, file, (0, length), RECORD, true)?;
    let written = meter.bytes() - before;
    worker.settle(file)?;
    let file = worker.open(LARGE, OpenIntent::Read)?;
    worker.stream(meter, file, (0, written), RECORD, false)?;
    worker.session.close(file)
}
