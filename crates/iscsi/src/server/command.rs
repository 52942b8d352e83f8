//! SCSI Command, RFC 7143 11.3: from its arrival until it begins.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use conn::{Answer, InFlight, Reservation, observe};
use tokio::sync::SemaphorePermit;
use wire::{Malformed, Reader};

use super::connection::{Connection, SessionConnection};
use super::full_feature::{nothing, reject};
use super::limits::{MAX_IMMEDIATE, MAX_PARAMETERS, MAX_READING_KIB, MAX_WAITING, SHORT_READ};
use super::observed;
use super::respond::respond;
use super::scsi::{self, CommandContext, CommandDefinition, CommandRefusal, Needs};
use super::session::{DecodedRequest, Session};
use super::task::{ScsiTask, Turn, WaitingCommand};
use super::transfer::{DataTransfer, Piece, Sink};
use crate::wire::pdu::{Additional, Attribute, R2t, RejectReason, ScsiCommand};
use crate::wire::scsi::{Asc, Sense, Status};

/// Takes a command whose turn in the session it is, and begins it when its turn among the commands has come.
pub(super) fn take(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: &DecodedRequest,
    in_flight: InFlight,
) -> Answer {
    let (task, attribute, piece) = match enter(connection, joined, message) {
        Ok(entered) => entered,
        Err(reason) => {
            if !message.head.immediate {
                joined.session.window.lock().over();
            }
            return match connection.is_ended() {
                true => nothing(),
                false => reject(connection, joined, message, reason),
            };
        }
    };
    let command = || observed::command_name(&descriptor_block(message).unwrap_or_default());
    if let Some(begun) = observe::begin("iscsi", connection.peer.address, command) {
        let _ = task.begun.set(begun); // a task is new here
    }
    let place = place(&joined.session, attribute);
    let piece = match (&place, piece) {
        (CommandPlace::Queued(_), Some(piece)) => {
            connection.keep(&mut task.state.lock(), piece.data.len());
            Some(piece.apart())
        }
        (_, piece) => piece,
    };
    let connection = connection.clone();
    Box::pin(async move {
        task.declare(&in_flight).await;
        let begun = async {
            let turn = turn(&task, place).await;
            let early = {
                let mut state = task.state.lock();
                state.turn = turn;
                state.early.take().unwrap_or_default()
            };
            ask(&connection, &task);
            for piece in piece.into_iter().chain(early) {
                write(&task, piece).await;
            }
            go_on(&connection, &task).await;
        };
        observe::within(task.begun.get(), begun).await;
        None
    })
}

/// Checks a command as far as is possible without its data, and makes it a task. Errors here reject the PDU. A command that is
/// refused as a command becomes a task that fails.
fn enter(
    connection: &Arc<Connection>,
    joined: &SessionConnection,
    message: &DecodedRequest,
) -> Result<(Arc<ScsiTask>, Attribute, Option<Piece>), RejectReason> {
    let session = &joined.session;
    let invalid = |_| RejectReason::INVALID_PDU_FIELD;
    let pdu = ScsiCommand::decode(&mut Reader::new(&message.header)).map_err(invalid)?;
    if session.target.is_none() {
        return Err(RejectReason::COMMAND_NOT_SUPPORTED); // RFC 7143 4.3: in a discovery session
    }
    if pdu.immediate && session.immediate.fetch_add(1, Ordering::AcqRel) >= MAX_IMMEDIATE {
        session.immediate.fetch_sub(1, Ordering::AcqRel);
        return Err(RejectReason::TOO_MANY_IMMEDIATE);
    }
    let entered = descriptor_block(message).map_err(invalid).and_then(|cdb| {
        let aborted = Arc::new(AtomicBool::new(false));
        let command = command(session, &pdu, cdb, aborted.clone());
        let unit = command.unit.clone();
        let expects = if pdu.writes { u64::from(pdu.expected_length) } else { 0 };
        let (needs, transfer, supported) = plan(connection, session, &command, expects);
        let work = supported.map(|supported| WaitingCommand { command, supported });
        let task = ScsiTask::new(&pdu, unit, needs, transfer, work, aborted);
        let (_, gathered) = needs;
        if gathered > 0 {
            connection.keep(&mut task.state.lock(), gathered);
        }
        let more = pdu.writes && !pdu.is_final;
        let piece = task.state.lock().transfer.immediate(message.data.clone(), more);
        match connection.enter(&task) {
            true => Ok((task, pdu.attribute, piece)),
            false => {
                connection.solicited.give_back(0, task.state.lock().gathered);
                Err(RejectReason::TASK_IN_PROGRESS)
            }
        }
    });
    if entered.is_err() && pdu.immediate {
        session.immediate.fetch_sub(1, Ordering::AcqRel);
    }
    entered
}

/// What a command needs from the initiator (how many bytes, and how many of them are parameters), where that goes, and the
/// command's definition; `None` for one that is refused.
fn plan(
    connection: &Connection,
    session: &Session,
    command: &CommandContext,
    expects: u64,
) -> ((u64, usize), DataTransfer, Option<&'static CommandDefinition>) {
    let bursts = session.bursts();
    match scsi::needs(command).and_then(|(supported, needs)| room(connection, supported, needs, expects)) {
        Ok((supported, needs, sink, gathered)) => {
            ((needs, gathered), DataTransfer::new(expects, needs, sink, bursts), Some(supported))
        }
        Err(why) => ((0, 0), DataTransfer::failed(expects, why, bursts), None),
    }
}

/// The command descriptor block: 16 bytes of the header, and more in the additional header segment.
fn descriptor_block(message: &DecodedRequest) -> Result<Bytes, Malformed> {
    let start = message.header.slice(ScsiCommand::CDB);
    if message.additional.is_empty() {
        return Ok(start);
    }
    let more = Additional::decode(&mut Reader::new(&message.additional))?.cdb;
    Ok(if more.is_empty() { start } else { [&start[..], &more[..]].concat().into() })
}

fn command(
    session: &Arc<Session>,
    pdu: &ScsiCommand,
    cdb: Bytes,
    aborted: Arc<AtomicBool>,
) -> CommandContext {
    let seen = session.seen();
    let number = pdu.lun.number();
    let found = seen.iter().find(|seen| Some(seen.number) == number).cloned();
    let read_only = found.as_ref().is_some_and(|seen| seen.read_only || seen.unit.options.read_only);
    let target = session.target.clone().unwrap_or_else(|| super::target::Target::new("", ""));
    CommandContext {
        target,
        seen,
        unit: found.map(|seen| seen.unit),
        nexus: session.nexus.clone(),
        cdb,
        data: Bytes::new(),
        read_only,
        tag: pdu.task_tag,
        aborted,
    }
}

type Room = (&'static CommandDefinition, u64, Sink, usize);

/// Where the command's data are stored.
fn room(
    connection: &Connection,
    supported: &'static CommandDefinition,
    needs: Needs,
    expects: u64,
) -> Result<Room, CommandRefusal> {
    match needs {
        Needs::Nothing => Ok((supported, 0, Sink::Nowhere, 0)),
        Needs::Blocks { offset, length } => Ok((supported, length, Sink::Blocks(offset), 0)),
        Needs::Exactly(length) if expects != length as u64 => {
            Err(Sense::illegal(Asc::INVALID_FIELD_IN_CDB).into())
        }
        Needs::Parameters(length) | Needs::Exactly(length) if length > MAX_PARAMETERS => {
            Err(Sense::illegal(Asc::INVALID_FIELD_IN_CDB).into())
        }
        Needs::Parameters(length) | Needs::Exactly(length) if !connection.solicited.gather(length) => {
            Err(CommandRefusal::Status(Status::TASK_SET_FULL))
        }
        Needs::Parameters(length) | Needs::Exactly(length) => {
            Ok((supported, length as u64, Sink::Parameters(Vec::new()), length))
        }
    }
}

/// The place of a command in its session's order.
enum CommandPlace {
    /// Its turn has come, or it need not wait for one.
    Here(Option<Turn>),
    /// It waits in the queue.
    Queued(Pin<Box<dyn Future<Output = Turn> + Send>>),
}

/// The place of a command that has just arrived. It is decided at once, because answers begin in
/// any order.
fn place(session: &Session, attribute: Attribute) -> CommandPlace {
    if attribute == Attribute::HEAD_OF_QUEUE {
        return CommandPlace::Here(None);
    }
    let order = session.order.clone();
    let mut turn: Pin<Box<dyn Future<Output = Turn> + Send>> = if attribute == Attribute::ORDERED {
        Box::pin(tokio::task::unconstrained(async { Turn::Alone(order.write_owned().await) }))
    } else if let Ok(turn) = order.clone().try_read_owned() {
        return CommandPlace::Here(Some(Turn::Shared(turn)));
    } else {
        Box::pin(tokio::task::unconstrained(async { Turn::Shared(order.read_owned().await) }))
    };
    match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(turn) => CommandPlace::Here(Some(turn)),
        Poll::Pending => CommandPlace::Queued(turn),
    }
}

async fn turn(task: &ScsiTask, place: CommandPlace) -> Option<Turn> {
    match place {
        CommandPlace::Here(turn) => turn,
        CommandPlace::Queued(turn) => tokio::select! {
            biased;
            turn = turn => Some(turn),
            () = task.called_off.notified() => None,
        },
    }
}

/// Solicits data of commands that waited for the limit on solicited data.
pub(super) fn ask_waiting(connection: &Connection) {
    while let Some(task) = connection.solicited.next() {
        ask(connection, &task);
    }
}

/// Solicits the missing data, within the limits.
pub(super) fn ask(connection: &Connection, task: &Arc<ScsiTask>) {
    let Some(joined) = connection.joined.get() else { return };
    loop {
        let asked = {
            let mut state = task.state.lock();
            if task.is_aborted() {
                return;
            }
            let Some(length) = state.transfer.would_ask() else { return };
            if !connection.solicited.ask(task, length) {
                return;
            }
            state.solicited += length;
            state.transfer.ask()
        };
        let Some(asked) = asked else { return };
        let r2t = R2t {
            lun: task.lun,
            task_tag: task.tag,
            transfer_tag: asked.tag,
            r2t_sn: asked.r2t_sn,
            offset: asked.offset,
            length: asked.length,
        };
        let mut w = super::sender::header();
        r2t.encode(0, &mut w);
        let pdu =
            super::sender::Pdu { header: w.into_bytes(), stat_sn: super::sender::StatSn::Next, data: None };
        connection.sender.send(pdu, || joined.session.numbers());
    }
}

/// Writes a piece of the command's data.
pub(super) async fn write(task: &ScsiTask, piece: Piece) {
    let written = match &task.unit {
        Some(unit) if !task.is_aborted() => unit.write(piece.offset, piece.data).await,
        _ => Ok(()), // no response reports the result
    };
    task.state.lock().transfer.written(written);
    if task.is_aborted() {
        task.end_if_idle();
    }
}

/// Executes the command once all its data are there, and answers.
pub(super) async fn go_on(connection: &Arc<Connection>, task: &Arc<ScsiTask>) {
    let (work, data) = {
        let mut state = task.state.lock();
        if state.running || state.early.is_some() || task.is_aborted() || !state.transfer.is_complete() {
            return;
        }
        state.running = true;
        (state.work.take(), state.transfer.end())
    };
    let reads = work.as_ref().map_or(0, |work| scsi::length_of_read(&work.command));
    let turn = turn_to_read(connection, task, reads).await;
    if !task.is_aborted() {
        let outcome = match (data, work) {
            (Ok(data), Some(WaitingCommand { mut command, supported })) => {
                command.data = data;
                scsi::run(supported, &command).await
            }
            (Ok(_), None) => Err(Sense::illegal(Asc::INVALID_OPERATION_CODE).into()), // refused before
            (Err(why), _) => Err(why),
        };
        respond(connection, task, outcome);
    }
    if turn.is_some() {
        connection.sender.charge();
    }
    drop(turn);
    task.state.lock().turn = None;
    task.set_over();
}

/// A long read waits for three conditions: the client's other reads are below the limit, the client
/// has received most of the waiting responses, and there is memory for the data. An abort ends the
/// wait.
async fn turn_to_read<'a>(
    connection: &'a Connection,
    task: &ScsiTask,
    reads: u32,
) -> Option<(SemaphorePermit<'a>, Reservation)> {
    let reads = if task.reads { reads.max(task.expects) } else { reads };
    if reads <= SHORT_READ {
        return None;
    }
    let turn = async {
        let turn = connection.reading.acquire_many((reads >> 10).min(MAX_READING_KIB)).await.ok()?;
        connection.sender.room(MAX_WAITING).await;
        let bytes = reads.min(MAX_READING_KIB << 10) as usize;
        let reserved = connection.peer.memory.reserve(bytes).await;
        if reserved.is_none() {
            connection.sender.close(); // no memory; and a command must not stay without a response
        }
        Some((turn, reserved.unwrap_or_default()))
    };
    tokio::select! {
        biased;
        () = task.called_off.notified() => None,
        turn = turn => turn,
    }
}
