//! Copies one file: its data, in pieces, then everything else, the date last.

use std::sync::atomic::Ordering;

use client::tree::{Extra, Tree};
use client::{Error, FileId, How, Result, Transfer};
use sha2::{Digest as _, Sha256};

use crate::rights;
use crate::walk::Shared;
use crate::worker::{Job, Sides, extras};

/// Bytes of one read or write, if the servers allow as much.
const PIECE: usize = 1 << 20;
/// Writes in flight.
const DEPTH: usize = 4;

/// A copy that was made.
pub(crate) struct Copied {
    /// The SHA-256 of its data, in hexadecimal digits.
    pub(crate) sum: String,
    /// What of the file could not be written.
    lost: Vec<String>,
}

/// Copies the file.
pub(crate) fn copy(shared: &Shared<'_>, job: &Job, sides: &mut Sides) -> Result<Copied> {
    let (from, to) = (sides.from.native(&job.path), sides.to.native(&job.to));
    let extra = sides.from.extra(&from, job.entry.kind)?;
    let source = sides.from.open(&from, How::Read)?;
    if job.there.is_some() {
        sides.to.remove(&to)?;
    }
    let made = match sides.to.open(&to, How::Create) {
        Ok(made) => made,
        // A former attempt has made it.
        Err(error) if !error.ends_session() && job.there.is_none() && sides.to.stat(&to).is_ok() => {
            sides.to.remove(&to).map_err(|_| error)?;
            sides.to.open(&to, How::Create)?
        }
        Err(error) => return Err(error),
    };
    let sum = data(shared, job, sides, (source, made))?;
    if job.entry.length > 0 {
        sides.to.flush(made)?;
    }
    sides.to.close(made)?;
    sides.from.close(source)?;
    let extra = with_accounts(shared, extra);
    let mut all = Vec::new();
    for lost in sides.to.set_extra(&to, job.entry.kind, &extra)? {
        let why = lost.why.unwrap_or_else(|| "the destination's protocol has no way to".to_owned());
        shared.tally.lose(&job.path, &lost.what, &why);
        all.push(lost.what);
    }
    rights::carry(shared, sides, &job.path, (&from, &to))?;
    if job.entry.links > 1 {
        shared.tally.lose(&job.path, "hard link", "each name became a file of its own");
    }
    Ok(Copied { sum, lost: all })
}

/// What a file is, with the owner that it has in the destination.
pub(crate) fn with_accounts(shared: &Shared<'_>, extra: Extra) -> Extra {
    Extra { owner: extra.owner.map(|uid| shared.plan.accounts.user(uid)), ..extra }
}

fn data(
    shared: &Shared<'_>,
    job: &Job,
    sides: &mut Sides,
    (source, made): (FileId, FileId),
) -> Result<String> {
    let piece = PIECE.min(sides.from.largest()).min(sides.to.largest());
    let (mut hash, mut offset, mut in_flight, mut ends_in_hole) = (Sha256::new(), 0, 0, false);
    loop {
        if shared.is_over() {
            return Err(Error::Stopped);
        }
        let bytes = sides.from.read(source, offset, piece)?;
        if bytes.is_empty() {
            break;
        }
        shared.bucket.take(bytes.len() as u64, shared.stop);
        hash.update(&bytes);
        ends_in_hole = bytes.len() == piece && bytes.iter().all(|byte| *byte == 0);
        // A piece of zeros stays a hole, so that sparse files stay sparse.
        if !ends_in_hole {
            if in_flight == DEPTH {
                finish(sides)?;
                in_flight -= 1;
            }
            sides.to.start(made, Transfer::Write { offset, data: &bytes, stable: false })?;
            in_flight += 1;
        }
        let mut length = bytes.len() as u64;
        if ends_in_hole {
            length += skip_hole(sides, (source, offset + length), job.entry.length, &mut hash)?;
        }
        offset += length;
        shared.tally.bytes.fetch_add(length, Ordering::Relaxed);
        shared.tally.count(|report| report.bytes += length);
    }
    for _ in 0..in_flight {
        finish(sides)?;
    }
    if ends_in_hole {
        sides.to.start(made, Transfer::Write { offset: offset - 1, data: &[0], stable: false })?;
        finish(sides)?;
    }
    if offset != job.entry.length {
        let now = format!(
            "it had {} bytes, and {offset} were read: it changes while it is copied",
            job.entry.length
        );
        return Err(Error::Other(now));
    }
    Ok(hex(&hash.finalize()))
}

/// Behind a piece of zeros there may be a hole, whose zeros need not be read. Returns its length.
fn skip_hole(sides: &mut Sides, (source, offset): (FileId, u64), end: u64, hash: &mut Sha256) -> Result<u64> {
    let next = sides.from.next_data(source, offset)?.unwrap_or(end).min(end);
    let length = next.saturating_sub(offset);
    let zeros = [0; 64 << 10];
    let mut left = length;
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        hash.update(&zeros[..part as usize]);
        left -= part;
    }
    Ok(length)
}

/// Waits for a write.
fn finish(sides: &mut Sides) -> Result<()> {
    sides.to.finish().map(drop)
}

/// Reads the copy back and compares it with what was read from the source.
pub(crate) fn check(shared: &Shared<'_>, job: &Job, sides: &mut Sides, copied: &Copied) -> Result<()> {
    if sum(shared, &mut *sides.to, &job.to)? != copied.sum {
        return Err(Error::Other("what was read back is not what was copied".into()));
    }
    extras(shared, job, sides, &copied.lost)
}

/// The SHA-256 of a file's data.
pub(crate) fn sum(shared: &Shared<'_>, tree: &mut dyn Tree, path: &str) -> Result<String> {
    let file = tree.open(&tree.native(path), How::Read)?;
    let (mut hash, mut offset, piece) = (Sha256::new(), 0, PIECE.min(tree.largest()));
    loop {
        if shared.is_over() {
            return Err(Error::Stopped);
        }
        let bytes = tree.read(file, offset, piece)?;
        if bytes.is_empty() {
            break;
        }
        hash.update(&bytes);
        offset += bytes.len() as u64;
    }
    tree.close(file)?;
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
