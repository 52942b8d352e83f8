//! Reads of streams that are reserved: they are noted, and their files are read ahead.

use std::time::Instant;

use crate::backend::{NextRead, Node, Wait};
use crate::reserved::{ByteRange, StreamRead};
use crate::{Caller, Error, Volume};

/// Shorter writes gather: the disk would have more work with each of them alone.
const LONG_WRITE: usize = 64 * 1024;
/// A piece of this length leaves the memory of the host once it is on the disk: it is of a copy or a recording, and would push out
/// what streams read next.
const LONG_PIECE: u64 = 1 << 20;

/// Notes a read that is permitted, before it is made: where it begins, its length, and whether it reaches the end of the
/// file. If it is a reserved stream's, the file is read ahead.
#[inline]
pub(crate) fn note_stream(volume: &Volume, caller: &Caller, node: &Node, read: (u64, usize, bool)) {
    if volume.site.reserved.is_on() {
        note_reserved(volume, caller, node, read);
    }
}

fn note_reserved(volume: &Volume, caller: &Caller, node: &Node, (offset, length, end): (u64, usize, bool)) {
    let origin = caller.origin.as_ref();
    let read = StreamRead {
        view: volume.view(),
        file: node.id(),
        account: origin.and_then(|origin| origin.account.as_deref()),
        uid: caller.uid,
        client: origin.map(|origin| origin.address),
        offset,
        length,
    };
    if let Some((from, length)) = volume.site.reserved.note(&read, Instant::now()) {
        let ahead = node.clone();
        volume.site.pool.start(node.id(), move || ahead.expect(from, length, NextRead::Soon));
    }
    if end {
        volume.site.reserved.note_end(&read);
    }
}

/// Notes a write to the memory of the host. While streams are reserved, it goes to the disk soon: what gathers in memory would be
/// written in one go later, and reads would wait for it.
#[inline]
pub(crate) fn note_written(volume: &Volume, node: &Node, offset: u64, length: usize) {
    let reserved = &volume.site.reserved;
    if reserved.is_on() && length >= LONG_WRITE {
        let (written, streams) = (node.clone(), reserved.clone());
        reserved.backlog().add(node.id(), (offset, length as u64), move |(offset, length)| {
            written.write_out(offset, length);
            if length >= LONG_PIECE && streams.is_read(Instant::now()) {
                written.expect(offset, length, NextRead::Never);
            }
        });
    }
}

/// Whether the host still reads a range that is in its memory, up to this end. To send it would block the thread. It is asked only
/// while streams are reserved: their files are read ahead, so it is frequent.
pub(super) fn is_arriving(volume: &Volume, node: &Node, end: u64) -> bool {
    let mut last = Vec::with_capacity(1);
    volume.site.reserved.is_on()
        && node.read_at(end.saturating_sub(1), 1, &mut last, Wait::Never) == Err(Error::WouldBlock)
}

/// What of a file has been passed by others than reserved streams, which read this range now from the disk. It leaves the
/// memory of the host.
pub(super) fn passed(volume: &Volume, node: &Node, offset: u64, length: usize) -> Option<ByteRange> {
    let reserved = &volume.site.reserved;
    if reserved.is_on() { reserved.passed(node.id(), offset, length, Instant::now()) } else { None }
}
