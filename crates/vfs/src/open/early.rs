//! Writes through an open whose data are still arriving: [`EarlyWrite`].

use super::Open;
use crate::EarlyWrite;
use crate::changing::early::at_once;
use crate::changing::pipeline::PinnedChange;
use crate::changing::pipeline::opened::OpenChange;
use crate::state::Modes;

impl Open {
    /// Begins a write whose data are still arriving. `None`: it is to be made when all of them are there.
    pub fn begin_early(&self, offset: u64, length: u64) -> Option<EarlyWrite> {
        self.require(Modes::WRITE).ok().filter(|()| self.is_data)?;
        EarlyWrite::begin(&self.volume, &self.actor, &self.node, (offset, length))
    }

    /// Writes what has `arrived` of the data and is not written yet, in whole pages of the file. False: no more of it is to
    /// be written before all of it is there.
    pub fn write_early(&self, early: &mut EarlyWrite, arrived: &[u8]) -> bool {
        let piece = early.piece(arrived);
        if piece.1.is_empty() {
            return true;
        }
        let permitted = OpenChange::to_write(self.permitted(), self);
        let Some(Ok(quiet)) = at_once(permitted.quiet_range(early.range())) else { return false };
        if !early.is_undisturbed() {
            return false;
        }
        let Ok(writing) = quiet.pinned().and_then(PinnedChange::announce) else { return false };
        early.write(piece, |written| match written {
            Ok(()) => writing.end_part(),
            Err(error) => {
                let _ = writing.end(Err::<(), _>(error)); // it is the result of the whole write
                None
            }
        })
    }
}
