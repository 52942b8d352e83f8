//! Long commands run in pieces, so that other tasks run in between.

use super::{CommandContext, CommandRefusal, limits};
use crate::wire::scsi::Status;

/// A range in pieces that fit into memory: offset and length of each.
pub(super) fn pieces(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize)> + Send {
    let whole = pieces_of(u64::from(limits::PIECE_BYTES), offset, length);
    whole.map(|(offset, length)| (offset, length as usize))
}

/// Like `pieces`, with another size.
pub(super) fn pieces_of(step: u64, offset: u64, length: u64) -> impl Iterator<Item = (u64, u64)> + Send {
    (0..length.div_ceil(step)).map(move |number| (offset + number * step, (length - number * step).min(step)))
}

impl CommandContext {
    /// Called between two pieces: lets other tasks use the thread, and ends the command if it is
    /// aborted.
    pub(super) async fn go_on(&self) -> Result<(), CommandRefusal> {
        tokio::task::yield_now().await;
        if self.is_aborted() { Err(CommandRefusal::Status(Status::TASK_ABORTED)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_of_a_mebibyte_but_for_the_last() {
        let all: Vec<_> = pieces(512, (2 << 20) + 1).collect();
        assert_eq!(all, [(512, 1 << 20), (512 + (1 << 20), 1 << 20), (512 + (2 << 20), 1)]);
        assert_eq!(pieces(512, 0).count(), 0);
    }
}
