//! NLM version 4, the lock manager of NFSv3: X/Open XNFS "Network Lock Manager Protocol" and RFC 1813 Appendix II.
//!
//! ```text
//!             ┌─────────────── LOCK, nothing in the way ───────────────┐
//!             │                                                        ▼
//! nothing ────┴─ LOCK, may wait ─► BLOCKED ─► granted by the tree ─► GRANTED to the client ─► held
//!    ▲                                │              │  never answered, or refused  │          │
//!    └──────────── CANCEL ────────────┴──────────────┴─────────────────────────────┴─ UNLOCK ─┘
//! ```
//!
//! A client is the address that it calls from. Its locks are released when it reports a restart
//! (SM_NOTIFY, FREE_ALL). Locks are advisory: an owner's last request decides on each byte.

mod asked;
mod blocked;
mod files;
mod granted;
mod hosts;
mod lock;
mod message;
mod share;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use vfs::backend::Found;
use vfs::state::ClientId;
use vfs::{HostKey, Node};
use wire::Writer;

use super::answer::{Answer, AnswerStatus, CallResult};
use super::call::Call;
use super::{Export, Service};
use crate::wire::nlm::{
    CancelRequest, FreeAllRequest, LockRequest, NlmStat, Procedure, Res, ShareRequest, TestRequest,
    UnlockRequest,
};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::Encode;

/// The lock manager's state: hosts that hold locks, files that it keeps alive, waiting requests,
/// and share reservations.
#[derive(Default)]
pub(super) struct Locks {
    hosts: hosts::Hosts,
    files: files::LockedFiles,
    blocked: blocked::BlockedTable,
    shares: share::ReservationTable,
    messages: message::Room,
}

impl Locks {
    /// Releases all that a host holds, because the host has restarted. A second notice of the same
    /// state releases nothing. Returns whether the host was known.
    pub(super) fn restarted(&self, service: &Service, host: IpAddr, state: i32) -> bool {
        if !self.hosts.changed(host, state) {
            return false;
        }
        self.release(service, host);
        true
    }

    /// A file that a client keeps, even if it has no name any more.
    pub(super) fn file(&self, tag: u32, key: HostKey) -> Option<Node> {
        self.files.node(tag, key)
    }

    /// Keeps a file that a client of version 4 has open.
    pub(super) fn hold(&self, tag: u32, found: &Found, client: ClientId) {
        self.files.hold(tag, found, client);
    }

    /// Releases a file, unless `holds` says that the client still has it open.
    pub(super) fn let_go(&self, tag: u32, key: HostKey, client: ClientId, holds: impl FnOnce() -> bool) {
        self.files.let_go(tag, key, client, holds);
    }

    /// Releases all files that a client of version 4 kept.
    pub(super) fn let_go_all(&self, client: ClientId) {
        self.files.release(client);
    }

    /// Releases all that any host holds.
    pub(super) fn release_all(&self, service: &Service) {
        for host in self.hosts.all() {
            self.release(service, host);
        }
    }

    /// Releases all that clients hold of an export that is gone.
    pub(super) fn leave(&self, export: &Export) {
        self.blocked.forget(|tag, _| tag == export.tag);
        self.shares.release(|tag, _| tag == export.tag);
        for (file, clients) in self.files.leave(export.tag) {
            export.volume.state().release_in(file, &clients);
        }
    }

    fn release(&self, service: &Service, host: IpAddr) {
        let Some(client) = self.hosts.known(host) else { return };
        self.blocked.forget(|_, other| other == client);
        for export in service.exports().iter() {
            export.volume.state().release_client(client);
        }
        self.shares.release(|_, other| other == client);
        self.files.release(client);
        self.hosts.forget(host);
    }
}

/// Runs the procedure that a call names.
pub(super) async fn dispatch(call: &Call<'_>, w: &mut Writer) -> CallResult {
    match Procedure(call.header.procedure) {
        Procedure::NULL => call.no_arguments()?,
        Procedure::FREE_ALL => free_all(call, &call.arguments()?),
        Procedure::GRANTED => {
            // This server waits for no lock of another server.
            let request: TestRequest<'_> = call.arguments()?;
            Res { cookie: request.cookie, stat: NlmStat::DENIED }.encode(w);
            return Ok(Answer::of(AnswerStatus::Nlm(NlmStat::DENIED)));
        }
        Procedure::GRANTED_RES => granted::answered(call, &call.arguments()?),
        Procedure::GRANTED_MSG => drop(call.arguments::<TestRequest<'_>>()?),
        // Answers to messages that this server never sends.
        Procedure::TEST_RES | Procedure::LOCK_RES | Procedure::CANCEL_RES | Procedure::UNLOCK_RES => {}
        procedure => match message::MessagePair::of(procedure) {
            Some(pair) => {
                let results = run(call, pair.procedure, lock::Back::Message).await?;
                message::send(call, pair.answer, results.bytes);
            }
            None => {
                let results = run(call, procedure, lock::Back::Call).await?;
                w.put(&results.bytes);
                return Ok(Answer::of(AnswerStatus::Nlm(results.stat)));
            }
        },
    }
    Ok(Answer::default())
}

/// The results of a procedure.
struct NlmResults {
    stat: NlmStat,
    /// All of them, the status included.
    bytes: Vec<u8>,
}

/// The results of a procedure that exists as a call and as a message, or only as a call.
async fn run(call: &Call<'_>, procedure: Procedure, back: lock::Back) -> Result<NlmResults, Outcome> {
    match procedure {
        Procedure::TEST => {
            let request: TestRequest<'_> = call.arguments()?;
            Ok(lock::test(call, &request).await)
        }
        Procedure::LOCK | Procedure::NM_LOCK => {
            let request: LockRequest<'_> = call.arguments()?;
            let how = lock::LockProcedure { monitored: procedure == Procedure::LOCK, back };
            let stat = lock::lock(call, &request, how).await;
            Ok(NlmResults::of(stat, &Res { cookie: request.cookie, stat }))
        }
        Procedure::CANCEL => {
            let request: CancelRequest<'_> = call.arguments()?;
            let stat = lock::cancel(call, &request).await;
            Ok(NlmResults::of(stat, &Res { cookie: request.cookie, stat }))
        }
        Procedure::UNLOCK => {
            let request: UnlockRequest<'_> = call.arguments()?;
            let stat = lock::unlock(call, &request).await;
            Ok(NlmResults::of(stat, &Res { cookie: request.cookie, stat }))
        }
        Procedure::SHARE => Ok(share::share(call, &call.arguments::<ShareRequest<'_>>()?).await),
        Procedure::UNSHARE => Ok(share::unshare(call, &call.arguments::<ShareRequest<'_>>()?)),
        _ => Err(Outcome::ProcUnavail),
    }
}

impl NlmResults {
    /// These results, in which the status is `stat`.
    fn of(stat: NlmStat, results: &impl Encode) -> Self {
        let mut w = Writer::new();
        results.encode(&mut w);
        Self { stat, bytes: w.into_bytes() }
    }
}

/// FREE_ALL: a client without a status monitor has restarted.
fn free_all(call: &Call<'_>, request: &FreeAllRequest<'_>) {
    let host = call.origin.address;
    tracing::info!(%host, name = %request.name.escape_ascii(), "a client has restarted: its locks are released");
    call.service.locks.release(call.service, host);
}
