//! The data that a command receives from its initiator: immediate, unsolicited and solicited data,
//! RFC 7143 4.2.5.2. Without I/O.
//!
//! ```text
//! command with data ─► unsolicited Data-Out, to the final one ─► R2T ─► Data-Out … final ─► R2T … ─► complete
//!                      (until FirstBurstLength)                  (one burst each, some at a time)
//! ```

use std::collections::VecDeque;

use bytes::Bytes;

use super::limits::MAX_SOLICITED_AT_ONCE;
use super::scsi::CommandRefusal;
use crate::wire::pdu::{DataOut, NO_TAG};
use crate::wire::scsi::{Asc, Key, Sense};

/// The destination of the bytes.
#[derive(Debug)]
pub(super) enum Sink {
    /// The command, as a whole.
    Parameters(Vec<u8>),
    /// This place of the unit.
    Blocks(u64),
    /// They are dropped: the command fails anyway.
    Nowhere,
}

/// The negotiated parameters of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bursts {
    pub(super) immediate: bool,
    pub(super) initial_r2t: bool,
    pub(super) first: u64,
    pub(super) most: u32,
    pub(super) outstanding: usize,
}

/// Bytes for a place of the unit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) data: Bytes,
}

impl Piece {
    /// Copies the bytes, for a piece that is kept: it would keep all bytes that were received with
    /// it.
    pub(super) fn apart(self) -> Self {
        Self { offset: self.offset, data: Bytes::copy_from_slice(&self.data) }
    }
}

/// A solicited sequence that is not complete.
#[derive(Debug)]
struct SolicitedSequence {
    tag: u32,
    end: u64,
    next: u64,
    data_sn: u32,
}

/// The next data to solicit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Solicitation {
    pub(super) tag: u32,
    pub(super) r2t_sn: u32,
    pub(super) offset: u32,
    pub(super) length: u32,
}

/// The data of one command.
#[derive(Debug)]
pub(super) struct DataTransfer {
    /// The most that the initiator will send.
    expects: u64,
    /// The part of it that the command needs.
    wanted: u64,
    sink: Sink,
    bursts: Bursts,
    /// The end of the unsolicited data so far, and the number of the next such PDU, while more may
    /// come.
    unsolicited: Option<(u64, u32)>,
    asked: VecDeque<SolicitedSequence>,
    /// The offset of the next R2T.
    next: u64,
    r2t_sn: u32,
    /// Pieces that are being written.
    writing: usize,
    failed: Option<CommandRefusal>,
}

impl DataTransfer {
    /// The transfer of a command that needs `needs` bytes from an initiator that announces
    /// `expects`.
    pub(super) fn new(expects: u64, needs: u64, sink: Sink, bursts: Bursts) -> Self {
        Self {
            expects,
            wanted: needs.min(expects),
            sink,
            bursts,
            unsolicited: None,
            asked: VecDeque::new(),
            next: 0,
            r2t_sn: 0,
            writing: 0,
            failed: None,
        }
    }

    /// The transfer of a command that fails, whose initiator may still send data.
    pub(super) fn failed(expects: u64, why: CommandRefusal, bursts: Bursts) -> Self {
        let mut transfer = Self::new(expects, 0, Sink::Nowhere, bursts);
        transfer.failed = Some(why);
        transfer
    }

    /// An error: data that arrive from now on are dropped.
    pub(super) fn fail(&mut self, why: CommandRefusal) {
        self.failed.get_or_insert(why);
    }

    /// Takes the immediate data. `more`: unsolicited PDUs follow.
    pub(super) fn immediate(&mut self, data: Bytes, more: bool) -> Option<Piece> {
        let length = data.len() as u64;
        let allowed = self.bursts.immediate && length <= self.bursts.first && length <= self.expects;
        if !data.is_empty() && !allowed {
            self.fail(unexpected());
        }
        if more && self.bursts.initial_r2t {
            self.fail(unexpected());
        }
        self.next = length.min(self.expects);
        self.unsolicited = more.then_some((length, 0));
        self.take(0, data)
    }

    /// Takes a Data-Out PDU; returns the part that is to be written.
    pub(super) fn data_out(&mut self, pdu: &DataOut, data: Bytes) -> Result<Option<Piece>, UnexpectedData> {
        if pdu.transfer_tag == NO_TAG { self.unsolicited(pdu, data) } else { self.solicited(pdu, data) }
    }

    fn unsolicited(&mut self, pdu: &DataOut, data: Bytes) -> Result<Option<Piece>, UnexpectedData> {
        let (at, data_sn) = self.unsolicited.ok_or(UnexpectedData)?;
        let end = at + data.len() as u64;
        let in_order = u64::from(pdu.offset) == at && pdu.data_sn == data_sn;
        if !in_order {
            self.fail(out_of_order());
        } else if end > self.bursts.first || end > self.expects {
            self.fail(unexpected());
        }
        self.unsolicited = (!pdu.is_final).then_some((end, data_sn.wrapping_add(1)));
        self.next = self.next.max(end.min(self.expects));
        Ok(self.take(at, data))
    }

    fn solicited(&mut self, pdu: &DataOut, data: Bytes) -> Result<Option<Piece>, UnexpectedData> {
        let index =
            self.asked.iter().position(|asked| asked.tag == pdu.transfer_tag).ok_or(UnexpectedData)?;
        let asked = &mut self.asked[index];
        let (at, end) = (asked.next, asked.next + data.len() as u64);
        // 13.19: sequences arrive in their order, too. Blocks also find their places if they do
        // not.
        let in_turn = index == 0 || !matches!(self.sink, Sink::Parameters(_));
        let in_order =
            in_turn && u64::from(pdu.offset) == at && pdu.data_sn == asked.data_sn && end <= asked.end;
        // 11.7.2: the final PDU is the one that completes the solicited sequence.
        let complete = pdu.is_final == (end == asked.end);
        (asked.next, asked.data_sn) = (end, asked.data_sn.wrapping_add(1));
        if pdu.is_final || end >= asked.end {
            self.asked.remove(index);
        }
        if !in_order || !complete {
            self.fail(out_of_order());
        }
        Ok(self.take(at, data))
    }

    /// Takes the data for `at`, as far as the command needs them.
    fn take(&mut self, at: u64, mut data: Bytes) -> Option<Piece> {
        data.truncate(usize::try_from(self.wanted.saturating_sub(at)).unwrap_or(usize::MAX));
        if self.failed.is_some() || data.is_empty() {
            return None;
        }
        match &mut self.sink {
            Sink::Nowhere => None,
            Sink::Parameters(bytes) => {
                bytes.extend_from_slice(&data);
                None
            }
            Sink::Blocks(place) => {
                self.writing += 1;
                Some(Piece { offset: *place + at, data })
            }
        }
    }

    /// How much to solicit now, if anything.
    pub(super) fn would_ask(&self) -> Option<u64> {
        let may = self.unsolicited.is_none() && self.failed.is_none();
        if !may || self.next >= self.wanted || self.asked.len() >= self.bursts.outstanding {
            return None;
        }
        Some((self.wanted - self.next).min(u64::from(self.bursts.most.min(MAX_SOLICITED_AT_ONCE))))
    }

    /// Solicits it.
    pub(super) fn ask(&mut self) -> Option<Solicitation> {
        let length = self.would_ask()?;
        let (end, tag) = (self.next + length, self.r2t_sn.wrapping_add(1) & !(1 << 31));
        let ask = Solicitation {
            tag,
            r2t_sn: self.r2t_sn,
            offset: self.next as u32, // `wanted` is at most `expects`, which has 32 bits
            length: length as u32,
        };
        self.asked.push_back(SolicitedSequence { tag, end, next: self.next, data_sn: 0 });
        self.next = end;
        self.r2t_sn = self.r2t_sn.wrapping_add(1);
        Some(ask)
    }

    /// A piece was written, or its write failed.
    pub(super) fn written(&mut self, result: Result<(), CommandRefusal>) {
        self.writing -= 1;
        if let Err(why) = result {
            self.fail(why);
        }
    }

    /// Whether pieces are being written.
    pub(super) fn is_writing(&self) -> bool {
        self.writing > 0
    }

    /// Whether all data are there and written; or whether the command failed and nothing more will
    /// come.
    pub(super) fn is_complete(&self) -> bool {
        let quiet = self.unsolicited.is_none() && self.asked.is_empty() && self.writing == 0;
        quiet && (self.failed.is_some() || self.next >= self.wanted)
    }

    /// The result: parameters, if the command has any.
    pub(super) fn end(&mut self) -> Result<Bytes, CommandRefusal> {
        match (self.failed, std::mem::replace(&mut self.sink, Sink::Nowhere)) {
            (Some(why), _) => Err(why),
            (None, Sink::Parameters(bytes)) => Ok(bytes.into()),
            (None, _) => Ok(Bytes::new()),
        }
    }

    /// How many R2Ts were sent.
    pub(super) fn r2ts(&self) -> u32 {
        self.r2t_sn
    }
}

/// A Data-Out PDU that belongs to no sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnexpectedData;

/// The error of RFC 7143 11.4.7.2.
fn unexpected() -> CommandRefusal {
    Sense::new(Key::ABORTED_COMMAND, Asc::UNEXPECTED_UNSOLICITED_DATA).into()
}

/// RFC 7143 7.9: an earlier PDU was lost.
fn out_of_order() -> CommandRefusal {
    Sense::new(Key::ABORTED_COMMAND, Asc::PROTOCOL_SERVICE_CRC_ERROR).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::pdu::Lun;

    const BURSTS: Bursts =
        Bursts { immediate: true, initial_r2t: false, first: 4096, most: 8192, outstanding: 1 };

    fn out(transfer_tag: u32, data_sn: u32, offset: u32, is_final: bool) -> DataOut {
        DataOut { is_final, lun: Lun::of(0), task_tag: 1, transfer_tag, exp_stat_sn: 0, data_sn, offset }
    }

    fn bytes(length: usize) -> Bytes {
        vec![7; length].into()
    }

    #[test]
    fn a_write_comes_with_the_command_then_unasked_then_asked_for() {
        let mut transfer = DataTransfer::new(20_480, 20_480, Sink::Blocks(512), BURSTS);
        assert_eq!(transfer.immediate(bytes(1024), true).unwrap().offset, 512);
        assert_eq!(transfer.ask(), None);
        let piece = transfer.data_out(&out(NO_TAG, 0, 1024, true), bytes(3072)).unwrap().unwrap();
        assert_eq!((piece.offset, piece.data.len()), (1536, 3072));
        assert_eq!(transfer.ask(), Some(Solicitation { tag: 1, r2t_sn: 0, offset: 4096, length: 8192 }));
        assert_eq!(transfer.ask(), None);
        transfer.data_out(&out(1, 0, 4096, false), bytes(4096)).unwrap().unwrap();
        transfer.data_out(&out(1, 1, 8192, true), bytes(4096)).unwrap().unwrap();
        assert_eq!(transfer.ask(), Some(Solicitation { tag: 2, r2t_sn: 1, offset: 12_288, length: 8192 }));
        transfer.data_out(&out(2, 0, 12_288, true), bytes(8192)).unwrap().unwrap();
        for _ in 0..5 {
            assert!(!transfer.is_complete());
            transfer.written(Ok(()));
        }
        assert!(transfer.is_complete() && transfer.end().is_ok());
    }

    #[test]
    fn what_was_not_asked_for_belongs_to_nothing() {
        let mut transfer = DataTransfer::new(8192, 8192, Sink::Parameters(vec![]), BURSTS);
        transfer.immediate(Bytes::new(), false);
        assert_eq!(transfer.data_out(&out(NO_TAG, 0, 0, true), bytes(10)), Err(UnexpectedData));
        assert_eq!(transfer.data_out(&out(3, 0, 0, true), bytes(10)), Err(UnexpectedData));
    }

    #[test]
    fn wrong_numbers_offsets_and_lengths_fail_the_command_once_the_sequence_is_over() {
        let wrong = [(out(1, 1, 0, true), 8192), (out(1, 0, 512, true), 8192), (out(1, 0, 0, true), 8193)];
        for (pdu, length) in wrong.into_iter().chain([(out(1, 0, 0, true), 100)]) {
            let mut transfer = DataTransfer::new(8192, 8192, Sink::Blocks(0), BURSTS);
            transfer.immediate(Bytes::new(), false);
            transfer.ask().unwrap();
            assert_eq!(transfer.data_out(&pdu, bytes(length)), Ok(None), "{pdu:?}");
            assert!(transfer.is_complete());
            assert_eq!(transfer.end(), Err(out_of_order()));
        }
    }

    #[test]
    fn more_than_the_first_burst_is_unexpected() {
        let mut transfer = DataTransfer::new(8192, 8192, Sink::Blocks(0), BURSTS);
        assert_eq!(transfer.immediate(bytes(4097), false), None);
        assert_eq!(transfer.end(), Err(unexpected()));
        let bursts = Bursts { immediate: false, ..BURSTS };
        let mut transfer = DataTransfer::new(8192, 8192, Sink::Blocks(0), bursts);
        assert_eq!(transfer.immediate(bytes(1), false), None);
        assert_eq!(transfer.end(), Err(unexpected()));
    }

    #[test]
    fn an_initiator_that_has_more_than_the_command_needs_is_not_asked_for_it() {
        let mut transfer = DataTransfer::new(8192, 512, Sink::Blocks(0), BURSTS);
        let piece = transfer.immediate(bytes(1024), false).unwrap();
        assert_eq!(piece.data.len(), 512);
        transfer.written(Ok(()));
        assert!(transfer.is_complete() && transfer.ask().is_none());
    }
}
