//! Copies one file: its data, in pieces, then everything else, the date last.

use std::sync::atomic::Ordering;

use client::tree::{Tree, below};
use client::{DataTransfer, Error, OpenFileId, OpenIntent, Result};
use sha2::{Digest as _, Sha256};

use crate::rights;
use crate::walk::CopyContext;
use crate::worker::{Job, Sides, extras};

/// Bytes of one read or write, if the servers allow as much.
const PIECE: usize = 1 << 20;
/// Writes in flight.
const DEPTH: usize = 4;
/// What the name of a file ends with while its data arrive.
pub(crate) const PARTIAL: &str = ".fourfold.partial";
/// Bytes of a name, on all file systems and in all protocols.
const LONGEST_NAME: usize = 255;
/// Why something is lost.
pub(crate) const NO_WAY: &str = "the destination's protocol has no way to";

/// A copy that was made.
pub(crate) struct FileCopy {
    /// The SHA-256 of its data, in hexadecimal digits.
    pub(crate) sum: String,
    /// What of the file could not be written.
    lost: Vec<String>,
}

/// Copies the file. It has another name until all data are there, so that an interrupted copy leaves no file that looks whole.
pub(crate) fn copy(shared: &CopyContext<'_>, job: &Job, sides: &mut Sides) -> Result<FileCopy> {
    let (from, to) = (sides.from.native(&job.path), sides.to.native(&job.to));
    let extra = sides.from.extra(&from, job.entry.kind)?;
    let wanted = rights::read(shared, sides, (&job.path, &from, job.entry.kind), &extra)?;
    let source = sides.from.open(&from, OpenIntent::Read)?;
    let partial = sides.to.native(&partial(&job.to));
    let made =
        make(sides, &partial, if wanted.is_known() { OpenIntent::Private } else { OpenIntent::Create })?;
    let sum = data(shared, job, sides, (source, made))?;
    if job.entry.length > 0 {
        sides.to.flush(made)?;
    }
    sides.to.close(made)?;
    sides.from.close(source)?;
    if job.there.is_some() {
        sides.to.remove(&to)?; // with what belongs to it
    }
    sides.to.rename(&partial, &to)?;
    let extra = wanted.dress(extra);
    let mut known = Vec::new();
    let lost = sides.to.set_extra(&to, job.entry.kind, &extra)?;
    for lost in lost.iter().filter(|lost| !rights::is_right(&lost.what)) {
        let why = lost.why.as_deref().unwrap_or(NO_WAY);
        shared.tally.lose(&job.path, &lost.what, why);
        known.push(lost.what.clone());
    }
    known.extend(rights::finish(shared, sides, (&job.path, &to, job.entry.kind), &wanted, &lost)?);
    if job.entry.links > 1 {
        shared.tally.lose(&job.path, "hard link", "each name became a file of its own");
    }
    Ok(FileCopy { sum, lost: known })
}

/// Makes the file. What a former attempt has left by its name goes.
fn make(sides: &mut Sides, partial: &str, how: OpenIntent) -> Result<OpenFileId> {
    match sides.to.open(partial, how) {
        Err(error) if !error.ends_session() && sides.to.stat(partial).is_ok() => {
            sides.to.remove(partial).map_err(|_| error)?;
            sides.to.open(partial, how)
        }
        made => made,
    }
}

/// The name of a file while its data arrive.
pub(crate) fn partial(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    below(folder, &partial_name(name))
}

/// A name that is too long for a suffix is cut, and told from others by a part of its sum.
fn partial_name(name: &str) -> String {
    if name.len() + PARTIAL.len() <= LONGEST_NAME {
        return format!("{name}{PARTIAL}");
    }
    let sum = &wire::hex::encode(&Sha256::digest(name.as_bytes()))[..16];
    let mut end = LONGEST_NAME - PARTIAL.len() - sum.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{sum}{PARTIAL}", &name[..end])
}

fn data(
    shared: &CopyContext<'_>,
    job: &Job,
    sides: &mut Sides,
    (source, made): (OpenFileId, OpenFileId),
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
        if bytes.len() > piece {
            return Err(Error::Other("the source sent more than it was asked for".into()));
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
            sides.to.start(made, DataTransfer::Write { offset, data: &bytes, stable: false })?;
            in_flight += 1;
        }
        let mut length = bytes.len() as u64;
        if ends_in_hole {
            length += skip_hole(sides, (source, offset + length), job.entry.length, &mut hash)?;
        }
        offset += length;
        shared.tally.bytes.fetch_add(length, Ordering::Relaxed);
        shared.tally.count(|report| report.bytes += length);
        if offset > job.entry.length {
            break; // it has grown, or has no end
        }
    }
    for _ in 0..in_flight {
        finish(sides)?;
    }
    if ends_in_hole {
        sides.to.start(made, DataTransfer::Write { offset: offset - 1, data: &[0], stable: false })?;
        finish(sides)?;
    }
    if offset != job.entry.length {
        let now = format!(
            "it had {} bytes, and {offset} were read: it changes while it is copied",
            job.entry.length
        );
        return Err(Error::Other(now));
    }
    Ok(wire::hex::encode(&hash.finalize()))
}

/// Behind a piece of zeros there may be a hole, whose zeros need not be read. Returns its length.
fn skip_hole(
    sides: &mut Sides,
    (source, offset): (OpenFileId, u64),
    end: u64,
    hash: &mut Sha256,
) -> Result<u64> {
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
pub(crate) fn check(shared: &CopyContext<'_>, job: &Job, sides: &mut Sides, copied: &FileCopy) -> Result<()> {
    if sum(shared, &mut *sides.to, &job.to)? != copied.sum {
        return Err(Error::Other("what was read back is not what was copied".into()));
    }
    extras(shared, job, sides, &copied.lost)
}

/// The SHA-256 of a file's data.
pub(crate) fn sum(shared: &CopyContext<'_>, tree: &mut dyn Tree, path: &str) -> Result<String> {
    let file = tree.open(&tree.native(path), OpenIntent::Read)?;
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
    Ok(wire::hex::encode(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_file_is_beside_the_file_and_its_name_fits() {
        assert_eq!(partial("a/b"), "a/b.fourfold.partial");
        let long = "\u{e9}".repeat(127);
        let (one, other) = (partial(&format!("{long}a")), partial(&format!("{long}b")));
        assert!(one.len() <= 255 && other.len() <= 255 && one != other && one.ends_with(".partial"));
    }
}
