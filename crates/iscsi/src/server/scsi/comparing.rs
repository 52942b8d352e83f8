//! Checks of blocks without sending them: whether they are readable, and whether they have the
//! expected data.

use super::medium::unread;
use super::pieces::pieces;
use super::{CommandContext, CommandRefusal, LogicalUnit};
use crate::wire::scsi::{Asc, Key, Sense};

/// The most ranges with data that one request to the host returns.
const RANGES: usize = 64;

impl LogicalUnit {
    /// The bytes of a piece.
    pub(super) async fn bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>, CommandRefusal> {
        let mut bytes = Vec::new();
        let payload = self.read(offset, length).await?;
        if let vfs::Payload::Bytes(bytes) = payload {
            return Ok(bytes);
        }
        payload.append_to(&mut bytes).map_err(|_| unread(offset / u64::from(self.block_size())))?;
        Ok(bytes)
    }

    /// Reads a range to check that it is readable. Ranges that were never written are skipped.
    pub(super) async fn look_through(
        &self,
        command: &CommandContext,
        offset: u64,
        length: u64,
    ) -> Result<(), CommandRefusal> {
        let (mut at, end) = (offset, offset + length);
        loop {
            let found = self.open()?.allocated(at, end - at, RANGES).await?;
            for &(start, length) in &found.ranges {
                for (piece, length) in pieces(start, length) {
                    self.read(piece, length).await?;
                    command.go_on().await?;
                }
            }
            let Some(&(start, length)) = found.ranges.last().filter(|_| found.more) else { return Ok(()) };
            at = start + length;
        }
    }

    /// Compares a range with these bytes, repeated. A difference is MISCOMPARE, with the position
    /// of the first different byte in them.
    pub(super) async fn compare(
        &self,
        command: &CommandContext,
        offset: u64,
        length: u64,
        with: &[u8],
    ) -> Result<(), CommandRefusal> {
        for (piece, length) in pieces(offset, length) {
            let (bytes, mut at) = (self.bytes(piece, length).await?, (piece - offset) as usize % with.len());
            let mut left = &bytes[..];
            while !left.is_empty() {
                let now = left.len().min(with.len() - at);
                let (these, theirs) = (&left[..now], &with[at..at + now]);
                if these != theirs {
                    let differing = these.iter().zip(theirs).take_while(|(one, other)| one == other).count();
                    let sense = Sense::new(Key::MISCOMPARE, Asc::MISCOMPARE_DURING_VERIFY);
                    return Err(sense.about((at + differing) as u64).into());
                }
                (left, at) = (&left[now..], 0);
            }
            command.go_on().await?;
        }
        Ok(())
    }
}
