//! Random places.

use super::Worker;
use crate::Result;
use crate::meter::Meter;
use client::OpenIntent;

const LARGE: &str = "large";
const BLOCK: u64 = 4 << 10;

/// 4, 8, 16, 32 and 64 KiB.
pub(super) fn block_mix(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    random(worker, meter, |worker| {
        let length = BLOCK << worker.random.below(5);
        (length, worker.random.below(10) >= 7)
    })
}

pub(super) fn read_4k(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    random(worker, meter, |_| (BLOCK, false))
}

pub(super) fn read_write_25_1(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    random(worker, meter, |worker| (4 * BLOCK, worker.random.below(26) == 0))
}

/// Transfers of which `next` says the length and whether it writes, as many bytes as the file has.
fn random(
    worker: &mut Worker<'_>,
    meter: &mut Meter<'_>,
    mut next: impl FnMut(&mut Worker<'_>) -> (u64, bool),
) -> Result<()> {
    let whole = worker.length();
    let stable = worker.durability == crate::Durability::Each;
    let file = worker.open(LARGE, OpenIntent::Write)?;
    let (mut left, mut flights) = (whole, Vec::new());
    loop {
        while left > 0 && flights.len() < worker.depth && meter.goes_on() {
            let (length, writes) = next(worker);
            let length = length.min(worker.session.largest() as u64);
            let offset = worker.random.below((whole - length) / BLOCK + 1) * BLOCK;
            flights.push(worker.start(file, offset, length as usize, writes, stable && writes)?);
            left = left.saturating_sub(length);
        }
        if flights.is_empty() {
            return worker.settle(file);
        }
        let flight = worker.finish(&mut flights)?;
        meter.done(flight.begun, flight.length as u64);
    }
}
