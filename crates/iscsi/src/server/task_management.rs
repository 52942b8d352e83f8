//! Task management, RFC 7143 11.5 and RFC 7144 4.2: aborts of commands, resets of units.

use std::sync::Arc;
use std::time::Duration;

use conn::Answer;
use wire::Reader;

use super::connection::{Connection, SessionConnection};
use super::full_feature::nothing;
use super::scsi::LogicalUnit;
use super::sender::{Pdu, StatSn, header};
use super::session::{DecodedRequest, EarlyRequest, Session};
use super::target::VisibleUnit;
use super::task::ScsiTask;
use crate::wire::pdu::{Function, FunctionResult, TaskRequest, TaskResponse};
use crate::wire::scsi::Asc;

/// How long the server waits for the end of aborted commands if a disk does not answer.
const ENDING_WITHIN: Duration = Duration::from_secs(10);
/// RFC 7144 7.1.1: from this level on, initiators may query tasks.
const LEVEL_WITH_QUERIES: u8 = 2;

/// Executes the request, and answers once the aborted commands have ended.
pub(super) fn take(connection: &Arc<Connection>, message: &DecodedRequest) -> Answer {
    let Ok(request) = TaskRequest::decode(&mut Reader::new(&message.header)) else { return nothing() };
    let Some(joined) = connection.joined.get() else { return nothing() };
    // At once, because the request does not apply to later commands.
    let (mut result, ending) = run(connection, joined, &request);
    let connection = connection.clone();
    Box::pin(async move {
        let joined = connection.joined.get()?;
        let all = async {
            for task in &ending {
                task.until_over().await;
            }
        };
        if tokio::time::timeout(ENDING_WITHIN, all).await.is_err() {
            // Their writes may still reach the disk: the initiator must not believe that they have
            // ended.
            tracing::warn!("commands that were called off have not ended: the disk does not answer");
            result = FunctionResult::REJECTED;
        }
        if !request.immediate {
            joined.session.window.lock().over();
        }
        let mut w = header();
        TaskResponse { result, task_tag: request.task_tag }.encode(0, &mut w);
        let pdu = Pdu { header: w.into_bytes(), stat_sn: StatSn::Own, data: None };
        connection.sender.queue(pdu, || joined.session.numbers());
        if request.function == Function::TARGET_COLD_RESET && result == FunctionResult::COMPLETE {
            connection.service.end_all_of(joined.session.target.as_ref());
        }
        None
    })
}

type FunctionOutcome = (FunctionResult, Vec<Arc<ScsiTask>>);

fn run(connection: &Connection, joined: &SessionConnection, request: &TaskRequest) -> FunctionOutcome {
    let session = &joined.session;
    let seen = session.seen();
    let unit = seen.iter().find(|seen| Some(seen.number) == request.lun.number());
    let may_query = session.parameters.protocol_level >= LEVEL_WITH_QUERIES;
    match request.function {
        Function::ABORT_TASK => abort_task(connection, session, request),
        Function::TASK_REASSIGN => (FunctionResult::REASSIGN_NOT_SUPPORTED, vec![]),
        Function::TARGET_WARM_RESET | Function::TARGET_COLD_RESET => {
            (FunctionResult::COMPLETE, seen.iter().flat_map(|seen| reset(connection, &seen.unit)).collect())
        }
        Function::QUERY_TASK if may_query => {
            let is_there = connection.task(request.referenced_tag).is_some();
            (if is_there { FunctionResult::SUCCEEDED } else { FunctionResult::COMPLETE }, vec![])
        }
        Function::I_T_NEXUS_RESET if may_query => (FunctionResult::COMPLETE, nexus_reset(session, &seen)),
        Function::ABORT_TASK_SET
        | Function::CLEAR_TASK_SET
        | Function::LOGICAL_UNIT_RESET
        | Function::QUERY_TASK_SET => match unit {
            Some(unit) => on_unit(connection, session, unit, request, may_query),
            None => (FunctionResult::NO_SUCH_LUN, vec![]),
        },
        _ => (FunctionResult::NOT_SUPPORTED, vec![]),
    }
}

/// A session's commands are a separate task set, so clearing it and aborting it are the same.
fn on_unit(
    connection: &Connection,
    session: &Session,
    unit: &VisibleUnit,
    request: &TaskRequest,
    may_query: bool,
) -> FunctionOutcome {
    let of_unit = |task: &ScsiTask| task.lun.number() == Some(unit.number);
    match request.function {
        Function::LOGICAL_UNIT_RESET => (FunctionResult::COMPLETE, reset(connection, &unit.unit)),
        Function::ABORT_TASK_SET | Function::CLEAR_TASK_SET => {
            session.window.lock().call_off(|(_, message)| {
                is_before(message.fields.cmd_sn, request)
                    && message.unit_of_command().is_some_and(|lun| lun.number() == Some(unit.number))
            });
            let aborted = session.connections().into_iter().flat_map(|other| other.abort(of_unit));
            (FunctionResult::COMPLETE, aborted.collect())
        }
        Function::QUERY_TASK_SET if may_query => {
            let any = session.connections().iter().any(|other| other.has(of_unit));
            (if any { FunctionResult::SUCCEEDED } else { FunctionResult::COMPLETE }, vec![])
        }
        _ => (FunctionResult::NOT_SUPPORTED, vec![]),
    }
}

fn abort_task(connection: &Connection, session: &Session, request: &TaskRequest) -> FunctionOutcome {
    let tag = request.referenced_tag;
    let aborted = connection.abort(|task| task.tag == tag && task.lun.number() == request.lun.number());
    let is_early = |(other, message): &EarlyRequest| {
        std::ptr::eq(&raw const **other, connection) && message.fields.task_tag == tag
    };
    let mut window = session.window.lock();
    // 11.6.1: a command that was lost because of a wrong digest is not awaited any more.
    if !aborted.is_empty()
        || window.call_off(is_early)
        || is_before(request.ref_cmd_sn, request) && window.pass(request.ref_cmd_sn)
    {
        (FunctionResult::COMPLETE, aborted)
    } else {
        (FunctionResult::NO_SUCH_TASK, aborted)
    }
}

/// Whether the command with this number was sent before the request.
fn is_before(number: u32, request: &TaskRequest) -> bool {
    (1..1 << 31).contains(&request.cmd_sn.wrapping_sub(number))
}

/// SAM-5 6.3.3: the commands of all initiators end, and all initiators get a unit attention.
fn reset(connection: &Connection, unit: &Arc<LogicalUnit>) -> Vec<Arc<ScsiTask>> {
    let meant = |task: &ScsiTask| task.unit.as_ref().is_some_and(|of| Arc::ptr_eq(of, unit));
    let connections = connection.service.connections();
    let aborted = connections.iter().flat_map(|other| other.abort(meant)).collect();
    unit.reset();
    unit.tell_all(Asc::BUS_DEVICE_RESET);
    aborted
}

/// RFC 7144 4.2: as if the session had been lost and re-established.
fn nexus_reset(session: &Session, seen: &[VisibleUnit]) -> Vec<Arc<ScsiTask>> {
    let aborted = session.connections().into_iter().flat_map(|other| other.abort(|_| true)).collect();
    for seen in seen {
        seen.unit.forget(&session.nexus);
        seen.unit.attentions.raise(&session.nexus.initiator, Asc::NEXUS_LOSS);
    }
    aborted
}
