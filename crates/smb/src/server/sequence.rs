//! Which requests were sent before a client lost one of its channels: MS-SMB2 3.3.5.2.10.
//!
//! A client that moves to another channel counts up its channel sequence. A change that was sent
//! before that and arrives later would undo newer changes: it is refused.

use std::sync::Arc;

use lock::Mutex;

use crate::ranks;
use crate::wire::Status;
use crate::wire::header::{Flags, Header};

/// An open's channel sequence, and its requests under way.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    current: u16,
    /// Requests under way with the current number.
    now: u32,
    /// Requests under way with earlier numbers.
    earlier: u32,
    /// The request that made the open has not been answered yet.
    unborn: bool,
}

/// A request that is counted until this is dropped.
#[derive(Debug)]
pub(super) struct SequenceGuard {
    sequence: Arc<Mutex<Sequence, ranks::SmbSequence>>,
    number: u16,
    birth: bool,
}

impl Sequence {
    /// The sequence of an open that a request with this number makes.
    pub(super) fn beginning(number: u16) -> Arc<Mutex<Self, ranks::SmbSequence>> {
        Arc::new(Mutex::new(Self { current: number, ..Self::default() }))
    }

    /// Counts the request that makes the open.
    pub(super) fn born(sequence: &Arc<Mutex<Self, ranks::SmbSequence>>) -> SequenceGuard {
        let mut this = sequence.lock();
        (this.now, this.unborn) = (this.now + 1, true);
        SequenceGuard { sequence: sequence.clone(), number: this.current, birth: true }
    }

    /// Whether the client has not yet received the open's id.
    pub(super) fn is_unborn(&self) -> bool {
        self.unborn
    }

    /// Whether a request has the current number. It may be executed, and nothing changes if it is counted.
    pub(super) fn is_current(&self, header: &Header) -> bool {
        header.channel_sequence() == self.current
    }

    /// Counts a request, if it may be executed.
    pub(super) fn admit(
        sequence: &Arc<Mutex<Self, ranks::SmbSequence>>,
        header: &Header,
    ) -> Result<Option<SequenceGuard>, Status> {
        let changes = header.command.properties().in_sequence;
        let number = header.channel_sequence();
        let mut this = sequence.lock();
        match number.wrapping_sub(this.current) {
            0 => {}
            1..=0x7FFF => {
                this.earlier += std::mem::take(&mut this.now);
                this.current = number;
            }
            _ if changes => return Err(Status::FILE_NOT_AVAILABLE),
            _ => return Ok(None),
        }
        if changes && header.flags.contains(Flags::REPLAY) && this.earlier > 0 {
            return Err(Status::FILE_NOT_AVAILABLE);
        }
        this.now += 1;
        Ok(Some(SequenceGuard { sequence: sequence.clone(), number, birth: false }))
    }
}

impl Drop for SequenceGuard {
    fn drop(&mut self) {
        let mut sequence = self.sequence.lock();
        sequence.unborn &= !self.birth;
        match sequence.current == self.number {
            true => sequence.now = sequence.now.saturating_sub(1),
            false => sequence.earlier = sequence.earlier.saturating_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::header::Command;

    fn header(command: Command, number: u16) -> Header {
        Header { status: Status(number.into()), ..Header::request(command, 1) }
    }

    fn admit(
        sequence: &Arc<Mutex<Sequence, ranks::SmbSequence>>,
        command: Command,
        number: u16,
    ) -> Result<Option<SequenceGuard>, Status> {
        Sequence::admit(sequence, &header(command, number))
    }

    // MS-SMB2 3.3.5.2.10 for all of these.

    #[test]
    fn a_change_of_an_earlier_number_is_refused_and_a_look_is_not() {
        let sequence = Sequence::beginning(0);
        assert!(admit(&sequence, Command::WRITE, 0x7FFF).is_ok());
        for late in [0x7FFE, 0, 0xFFFF] {
            assert_eq!(admit(&sequence, Command::WRITE, late).unwrap_err(), Status::FILE_NOT_AVAILABLE);
            assert_eq!(admit(&sequence, Command::SET_INFO, late).unwrap_err(), Status::FILE_NOT_AVAILABLE);
            assert!(admit(&sequence, Command::READ, late).is_ok());
        }
    }

    #[test]
    fn numbers_go_round() {
        let sequence = Sequence::beginning(0xFFFF);
        assert!(admit(&sequence, Command::WRITE, 0).is_ok());
        assert!(admit(&sequence, Command::WRITE, 0xFFFF).is_err());
    }

    #[test]
    fn a_change_comes_again_only_when_nothing_sent_earlier_is_under_way() {
        let sequence = Sequence::beginning(1);
        let earlier = admit(&sequence, Command::WRITE, 1).unwrap();
        let again = Header { flags: Flags::REPLAY, ..header(Command::WRITE, 2) };
        assert_eq!(Sequence::admit(&sequence, &again).unwrap_err(), Status::FILE_NOT_AVAILABLE);
        drop(earlier);
        assert!(Sequence::admit(&sequence, &again).is_ok());
    }
}
