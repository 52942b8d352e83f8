//! SCSI Response and Data-In, RFC 7143 11.4 and 11.7.

use vfs::Payload;
use wire::Writer;

use super::connection::{Connection, SessionConnection};
use super::observed;
use super::scsi::{CommandRefusal, Outcome};
use super::sender::{Pdu, StatSn, header};
use super::task::ScsiTask;
use crate::wire::pdu::{DataIn, Residual, ScsiResponse};
use crate::wire::scsi::{Sense, Status};

/// Answers a command, unless it was aborted.
pub(super) fn respond(connection: &Connection, task: &ScsiTask, outcome: Outcome) {
    let Some(joined) = connection.joined.get() else { return };
    if !connection.leave(task) {
        return;
    }
    let good = match outcome {
        Ok(good) => good,
        Err(CommandRefusal::Check(sense)) => {
            return status(connection, joined, task, (Status::CHECK_CONDITION, refused(task)), Some(sense));
        }
        Err(CommandRefusal::Status(other)) => {
            return status(connection, joined, task, (other, refused(task)), None);
        }
    };
    let has = good.data.len() as u64;
    let residual = if has > 0 { Residual::of(u64::from(task.expects), has) } else { written(task) };
    let length = if task.reads { has.min(u64::from(task.expects)) as usize } else { 0 };
    if length == 0 {
        return status(connection, joined, task, (good.status, residual), None);
    }
    observed::end(connection, task, (good.status, None), length);
    data_in(connection, joined, task, (good.data, length), (good.status, residual));
}

/// The residual of a refused command: all data that the initiator expected.
fn refused(task: &ScsiTask) -> Residual {
    if task.reads { Residual::of(u64::from(task.expects), 0) } else { written(task) }
}

fn written(task: &ScsiTask) -> Residual {
    Residual::of(u64::from(task.expects), task.needs)
}

/// The first `length` bytes of the data, with the status in the last PDU.
fn data_in(
    connection: &Connection,
    joined: &SessionConnection,
    task: &ScsiTask,
    (data, length): (Payload, usize),
    status: (Status, Residual),
) {
    let most = joined.their_max_data() as usize;
    let burst = joined.session.parameters.max_burst as usize;
    let (mut offset, mut in_burst, mut data_sn) = (0, 0, 0);
    let mut whole = Some(data);
    while offset < length {
        let now = (length - offset).min(most).min(burst - in_burst);
        let last = offset + now == length;
        in_burst += now;
        let pdu = DataIn {
            is_final: last || in_burst == burst,
            status: last.then_some(status),
            lun: task.lun,
            task_tag: task.tag,
            data_sn,
            offset: offset as u32,
        };
        let mut w = header();
        pdu.encode(now, &mut w);
        let part = part(&mut whole, offset, now);
        let stat_sn = if last { StatSn::Own } else { StatSn::None };
        let pdu = Pdu { header: w.into_bytes(), stat_sn, data: part };
        if !connection.sender.queue(pdu, || joined.session.numbers()) {
            return;
        }
        offset += now;
        data_sn += 1;
        in_burst %= burst;
    }
}

/// A part of the data; the whole is not copied.
fn part(whole: &mut Option<Payload>, offset: usize, length: usize) -> Option<Payload> {
    match whole.as_mut()? {
        Payload::File { fd, offset: start, .. } => {
            Some(Payload::File { fd: fd.clone(), offset: *start + offset as u64, length })
        }
        Payload::Bytes(bytes) if bytes.len() == length => whole.take(),
        Payload::Bytes(bytes) => Some(Payload::Bytes(bytes[offset..offset + length].to_vec())),
    }
}

fn status(
    connection: &Connection,
    joined: &SessionConnection,
    task: &ScsiTask,
    (status, residual): (Status, Residual),
    sense: Option<Sense>,
) {
    observed::end(connection, task, (status, sense.as_ref()), 0);
    let data = sense.map(|sense| encoded(task, &sense));
    let exp_data_sn = task.state.lock().transfer.r2ts();
    let response = ScsiResponse { response: 0, status, task_tag: task.tag, exp_data_sn, residual };
    let mut w = header();
    response.encode(data.as_ref().map_or(0, Vec::len), &mut w);
    let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data: data.map(Payload::Bytes) };
    connection.sender.queue(pdu, || joined.session.numbers());
}

/// Sense data after their length, in the format that the initiator has chosen.
fn encoded(task: &ScsiTask, sense: &Sense) -> Vec<u8> {
    let mut w = Writer::new();
    w.u16_be(0);
    match &task.unit {
        Some(unit) if unit.modes.descriptor_sense() => sense.encode_descriptors(&mut w),
        _ => sense.encode_fixed(&mut w),
    }
    let length = w.len() - 2;
    w.patch_u16_be(0, length as u16); // 252 at most
    w.into_bytes()
}
