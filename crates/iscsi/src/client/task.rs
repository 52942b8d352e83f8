//! SCSI commands: their sending, data transfer and responses.

use wire::{Malformed, Reader};

use super::{Client, Error, Link, Pdu, Result, encoded};
use crate::wire::pdu::{
    Attribute, DataIn, DataOut, Lun, NO_TAG, Opcode, R2t, Residual, ScsiCommand, ScsiResponse,
};
use crate::wire::scsi::{Asc, Key, Sense, Status};

/// The most data of a command.
const MAX_DATA: usize = 64 << 20;

/// The data transfer of a command.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// No data.
    None,
    /// At most this many bytes to the initiator.
    In(u32),
    /// These bytes to the target.
    Out(&'a [u8]),
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: Status,
    /// The data from the target.
    pub data: Vec<u8>,
    /// The reason if the command failed.
    pub sense: Option<(Key, Asc)>,
    /// How much less or more data the target had than was expected.
    pub residual: Residual,
}

impl Answer {
    /// The data of a successful command.
    ///
    /// # Errors
    /// The status is not GOOD.
    pub fn well(self) -> Result<Vec<u8>> {
        match self.status {
            Status::GOOD => Ok(self.data),
            status => Err(Error::Command(status, self.sense)),
        }
    }
}

/// A command in flight.
pub(super) struct InitiatorTask {
    pub(super) cmd_sn: u32,
    lun: Lun,
    out: Vec<u8>,
    data: Vec<u8>,
    ended: Option<Answer>,
}

impl<L: Link> Client<L> {
    /// Executes a whole command.
    pub fn execute(&mut self, lun: u16, cdb: &[u8], data: Data<'_>) -> Result<Answer> {
        let tag = self.begin(lun, cdb, data)?;
        self.end(tag)
    }

    /// Sends a command and its immediate data; returns its tag.
    pub fn begin(&mut self, lun: u16, cdb: &[u8], data: Data<'_>) -> Result<u32> {
        let (task_tag, cmd_sn) = (self.new_tag(), self.take_cmd_sn());
        let (reads, writes, expected, out) = match data {
            Data::None => (false, false, 0, &[][..]),
            Data::In(length) => (true, false, length, &[][..]),
            Data::Out(bytes) => (false, true, bytes.len() as u32, bytes),
        };
        let mut block = [0; 16];
        block[..cdb.len().min(16)].copy_from_slice(&cdb[..cdb.len().min(16)]);
        let command = ScsiCommand {
            immediate: false,
            is_final: true,
            reads,
            writes,
            attribute: Attribute::SIMPLE,
            lun: Lun::of(lun),
            task_tag,
            expected_length: expected,
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            cdb: block,
        };
        let most = self.agreed.first_burst.min(self.agreed.max_segment);
        let immediate = if self.agreed.immediate_data { &out[..out.len().min(most)] } else { &[] };
        let task =
            InitiatorTask { cmd_sn, lun: command.lun, out: out.to_vec(), data: Vec::new(), ended: None };
        self.tasks.insert(task_tag, task);
        self.send(encoded(|w| command.encode(immediate.len(), w)), immediate)?;
        Ok(task_tag)
    }

    /// Waits for the end of a command. Meanwhile, other commands may progress and end.
    pub fn end(&mut self, tag: u32) -> Result<Answer> {
        loop {
            let task = self.tasks.get_mut(&tag).ok_or(Malformed("a command that was not begun"))?;
            if let Some(answer) = task.ended.take() {
                self.tasks.remove(&tag);
                return Ok(answer);
            }
            let pdu = self.receive()?;
            self.take_in(pdu)?;
        }
    }

    /// Forgets an aborted command, which gets no response.
    pub fn forget(&mut self, tag: u32) {
        self.tasks.remove(&tag);
    }

    /// Processes a PDU that concerns a command in flight.
    pub(super) fn take_in(&mut self, pdu: Pdu) -> Result<()> {
        let mut r = Reader::new(&pdu.header);
        match pdu.opcode() {
            Opcode::DATA_IN => self.data_in(DataIn::decode(&mut r)?, pdu.data),
            Opcode::R2T => self.data_out(R2t::decode(&mut r)?),
            Opcode::SCSI_RESPONSE => self.response(ScsiResponse::decode(&mut r)?, &pdu.data),
            Opcode::REJECT => Err(Error::Rejected(pdu.reject_reason()?)),
            _ => Err(Malformed("an answer to another question").into()),
        }
    }

    fn task(&mut self, tag: u32) -> Result<&mut InitiatorTask> {
        Ok(self.tasks.get_mut(&tag).ok_or(Malformed("an answer to a command that was not begun"))?)
    }

    fn data_in(&mut self, head: DataIn, bytes: Vec<u8>) -> Result<()> {
        let task = self.task(head.task_tag)?;
        let (begin, end) = (head.offset as usize, head.offset as usize + bytes.len());
        if end > MAX_DATA {
            return Err(Malformed("more data than anybody asks for").into());
        }
        if begin == 0 && task.data.is_empty() {
            task.data = bytes; // often all of them
        } else if begin == task.data.len() {
            task.data.extend_from_slice(&bytes);
        } else {
            task.data.resize(task.data.len().max(end), 0);
            task.data[begin..end].copy_from_slice(&bytes);
        }
        if let Some((status, residual)) = head.status {
            let data = std::mem::take(&mut task.data);
            task.ended = Some(Answer { status, data, sense: None, residual });
        }
        Ok(())
    }

    fn response(&mut self, head: ScsiResponse, bytes: &[u8]) -> Result<()> {
        let task = self.task(head.task_tag)?;
        let sense = Sense::decode(&mut Reader::new(bytes.get(2..).unwrap_or_default())).ok();
        let sense = sense.map(|sense| (sense.key, sense.asc));
        let data = std::mem::take(&mut task.data);
        task.ended = Some(Answer { status: head.status, data, sense, residual: head.residual });
        Ok(())
    }

    /// Sends the data that an R2T solicits.
    fn data_out(&mut self, asked: R2t) -> Result<()> {
        let task = self.task(asked.task_tag)?;
        let (lun, begin) = (task.lun, asked.offset as usize);
        let range = begin..begin + asked.length as usize;
        let bytes = task.out.get(range).ok_or(Malformed("an R2T beyond the data"))?.to_vec();
        let most = self.agreed.max_segment;
        let count = bytes.chunks(most).len();
        for (number, part) in bytes.chunks(most).enumerate() {
            let head = DataOut {
                is_final: number + 1 == count,
                lun,
                task_tag: asked.task_tag,
                transfer_tag: asked.transfer_tag,
                exp_stat_sn: self.exp_stat_sn,
                data_sn: number as u32,
                offset: asked.offset + (number * most) as u32,
            };
            self.send(encoded(|w| head.encode(part.len(), w)), part)?;
        }
        Ok(())
    }

    /// Sends data that the target has not solicited, with this header.
    pub fn send_data(&mut self, head: &DataOut, bytes: &[u8]) -> Result<()> {
        self.send(encoded(|w| head.encode(bytes.len(), w)), bytes)
    }

    /// The first PDU of unsolicited data for a command.
    #[must_use]
    pub fn unsolicited(&self, lun: u16, task_tag: u32, offset: u32) -> DataOut {
        let exp_stat_sn = self.exp_stat_sn;
        DataOut {
            is_final: true,
            lun: Lun::of(lun),
            task_tag,
            transfer_tag: NO_TAG,
            exp_stat_sn,
            data_sn: 0,
            offset,
        }
    }
}
